"""A watched folder and a private one, for the attacks of the family ``watching``."""

from __future__ import annotations

import json
from pathlib import Path

from winnow.security.surface import winnow

STORE = ("--store", "store")
SECRET = "a-private-word"
_SECONDS = 110.0


def make_folders() -> tuple[Path, Path]:
    """A folder ``notes`` of two notes and a folder ``private`` with the secret, under the same names."""
    folders = Path("notes").absolute(), Path("private").absolute()
    for folder in folders:
        (folder / "part").mkdir(parents=True)
    for name in ("part/one.md", "two.md"):
        (folders[0] / name).write_text("Harmless words.\n")
        (folders[1] / name).write_text(f"{SECRET} in another folder.\n")
    return folders


def add_notes() -> bytes:
    """Add ``notes`` as a source, and return what the command prints."""
    return winnow("sources", "add", "notes", *STORE).stdout


def watch_once() -> tuple[int, bytes]:
    """Scan all sources once; returns the exit code and all that is printed."""
    done = winnow("watch", "--once", *STORE, seconds=_SECONDS)
    return done.returncode, done.stdout + done.stderr


def has_secret() -> bool:
    """Whether a search finds the secret."""
    return SECRET.encode() in winnow("search", SECRET, *STORE, "--json").stdout


def count_documents() -> int:
    """The number of documents in the index."""
    return int(json.loads(winnow("documents", *STORE, "--json").stdout)["total"]["documents"])
