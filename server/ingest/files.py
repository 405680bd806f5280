"""Paths to files: what is walked, what is passed over, and which source a path belongs to."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from server.errors import WinnowError
from server.ingest.readers import is_known

# What tools keep in a project's folder and nobody wrote; whatever begins with a dot is passed over as well.
_PASSED_OVER = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "bower_components"})


@dataclass(frozen=True, slots=True)
class File:
    """A file to read: ``uri`` is its path below the root, with slashes."""

    path: Path
    uri: str
    size: int
    modified_ns: int


@dataclass(frozen=True, slots=True)
class Root:
    """A part of a source: everything at ``below`` in the folder (or the one file) ``source``."""

    source: str
    below: str

    @property
    def path(self) -> Path:
        """Where the part lies."""
        return Path(self.source, self.below) if self.below else Path(self.source)

    def holds(self, origin: str) -> bool:
        """Whether the part covers the file of this name."""
        return not self.below or origin == self.below or origin.startswith(f"{self.below}/")


@dataclass(slots=True)
class Listing:
    """What lies below a root: files to read, how many are of unknown kinds, what could not be looked at."""

    files: list[File] = field(default_factory=list)
    skipped: int = 0
    unreadable: list[tuple[str, str]] = field(default_factory=list)

    def hides(self, name: str) -> bool:
        """Whether the file may be there although it was not found: it, or a folder above it, was unreadable."""
        return any(name == hidden or name.startswith(f"{hidden}/") for hidden, _ in self.unreadable)


def roots(paths: Sequence[Path], sources: Sequence[str]) -> list[Root]:
    """Which part of which source each path is: of one of the known ``sources``, or a new source.

    Raises ``WinnowError("INVALID_REQUEST")`` for a path that does not exist.
    """
    found: dict[Root, None] = {}
    for path in paths:
        if not path.exists():
            raise WinnowError("INVALID_REQUEST", f"{path} does not exist")
        whole = path.resolve()
        outer = next((source for source in sources if whole.is_relative_to(source)), str(whole))
        below = whole.relative_to(outer).as_posix()
        found[Root(outer, "" if below == "." else below)] = None
    return list(found)


def find(root: Root) -> Listing:
    """The files of a root, by name."""
    listing = Listing()
    if root.path.is_file():
        _add(listing, root.path, root.below or root.path.name)
    else:
        for path in _walk(root.path, root, listing):
            if is_known(path):
                _add(listing, path, _uri(path, root))
            else:
                listing.skipped += 1
    listing.files.sort(key=lambda file: file.uri)
    return listing


def _walk(folder: Path, root: Root, listing: Listing) -> Iterator[Path]:
    def unreadable(error: OSError) -> None:
        listing.unreadable.append((_uri(Path(error.filename), root), error.strerror or "unreadable"))

    for place, folders, names in os.walk(folder, onerror=unreadable):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _PASSED_OVER]
        for name in names:
            path = Path(place, name)
            # A link may lead out of the folder that somebody chose to index.
            if not name.startswith(".") and not path.is_symlink():
                yield path


def _uri(path: Path, root: Root) -> str:
    return path.relative_to(root.source).as_posix()


def _add(listing: Listing, path: Path, uri: str) -> None:
    try:
        facts = path.stat()
    except OSError as error:
        listing.unreadable.append((uri, error.strerror or "unreadable"))
        return
    listing.files.append(File(path, uri, facts.st_size, facts.st_mtime_ns))
