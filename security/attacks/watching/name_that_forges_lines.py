# surface: held
# The name of a watched folder clears the screen and forges a line; so does the name of a file that cannot be read.
from pathlib import Path

from winnow.security.surface import winnow
from winnow.security.watched_folder import STORE, add_notes, make_folders, watch_once

NAME = "a\x1b[2J\nnotes: watched\u202e"


def control():
    print(f"watched: {NAME}")
    return "\x1b" in f"watched: {NAME}"


def surface():
    notes, _ = make_folders()
    (notes / NAME).mkdir()
    (notes / NAME / f"{NAME}.md").write_bytes(b"\0\1\2" * 1000)
    shown = add_notes() + watch_once()[1] + winnow("sources", "add", str(Path(notes, NAME)), *STORE).stderr
    shown += winnow("sources", "list", *STORE).stdout + winnow("doctor", *STORE).stdout
    return any(mark in shown for mark in (b"\x1b", b"\nnotes: watched", "\u202e".encode()))
