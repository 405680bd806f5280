"""Finds the files to ingest below the given paths, and the source that each path belongs to."""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from server.errors import WinnowError
from server.ingest.bounded_files import describe_type
from server.ingest.readers import is_known

# Folders of tools and dependencies, not of documents. Names that begin with a dot are skipped as well.
_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "bower_components"})
# Deeper folders exceed the stack when they are walked, and each folder is a label of every chunk.
_DEEPEST_FOLDER = 100
# Surrogates, which stand for bytes that are not UTF-8, control characters and line separators.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


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
        """The path of the part."""
        return Path(self.source, self.below) if self.below else Path(self.source)

    def holds(self, origin: str) -> bool:
        """Whether the file of this name is in the part."""
        below = name_of(self.below)
        return not below or origin == below or origin.startswith(f"{below}/")


@dataclass(slots=True)
class Listing:
    """The files below a root, the number of files of unknown types, and unreadable paths with their reasons."""

    files: list[File] = field(default_factory=list)
    skipped: int = 0
    unreadable: list[tuple[str, str]] = field(default_factory=list)

    def hides(self, name: str) -> bool:
        """Whether the file may exist although it was not listed: it, or a folder above it, was unreadable."""
        return any(name == hidden or name.startswith(f"{hidden}/") for hidden, _ in self.unreadable)


def resolve_roots(paths: Sequence[Path], sources: Sequence[str]) -> list[Root]:
    """The root of each path: a part of one of the known ``sources``, or a new source.

    Raises ``WinnowError("INVALID_REQUEST")`` for a path that does not exist.
    """
    roots: dict[Root, None] = {}
    check_paths(paths)
    for path in paths:
        whole = path.resolve()
        outer = next((source for source in sources if whole.is_relative_to(source)), str(whole))
        below = whole.relative_to(outer).as_posix()
        roots[Root(outer, "" if below == "." else below)] = None
    return list(roots)


def check_paths(paths: Iterable[Path]) -> None:
    """Raise ``WinnowError("INVALID_REQUEST")`` for a path that does not exist, or whose name cannot be stored."""
    for path in paths:
        if not path.exists():
            raise WinnowError("INVALID_REQUEST", f"{name_of(str(path))} does not exist")
        if _UNPRINTABLE.search(str(path.resolve())):
            raise WinnowError(
                "INVALID_REQUEST",
                f"{name_of(str(path.resolve()))}: the name is not printable UTF-8; rename it, or ingest a folder "
                "above it",
            )


def name_of(path: str) -> str:
    r"""A path as text that can be stored and shown: bytes that are not UTF-8 and control characters as ``\xNN``.

    >>> name_of("caf\udce9\n.md")
    'caf\\xe9\\x0a.md'
    """
    return _UNPRINTABLE.sub(_escape, path)


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code - 0xDC00:02x}" if 0xDC80 <= code <= 0xDCFF else f"\\x{code:02x}"


def find_files(root: Root) -> Listing:
    """List the files of a root, sorted by name."""
    listing = Listing()
    if not root.path.is_dir():
        _add(listing, root.path, name_of(root.below or root.path.name))
    else:
        for path in _walk(root.path, root, listing):
            if is_known(path):
                _add(listing, path, _uri(path, root))
            else:
                listing.skipped += 1
    listing.files.sort(key=lambda file: (file.uri, str(file.path)))
    _report_duplicate_names(listing)
    return listing


def _report_duplicate_names(listing: Listing) -> None:
    """Report files whose displayed name another file has already, which happens if one name is not UTF-8."""
    first: dict[str, File] = {}
    for file in listing.files:
        if first.setdefault(file.uri, file) is not file:
            listing.unreadable.append(
                (file.uri, "another file has the same name when shown as text; rename one of them")
            )
    listing.files[:] = first.values()


def _walk(folder: Path, root: Root, listing: Listing) -> Iterator[Path]:
    def report_unreadable(error: OSError) -> None:
        listing.unreadable.append((_uri(Path(error.filename), root), error.strerror or "unreadable"))

    for place, folders, names in os.walk(folder, onerror=report_unreadable):
        folders[:] = [name for name in folders if not name.startswith(".") and name not in _SKIPPED_FOLDERS]
        if folders and len(Path(place).relative_to(root.source).parts) >= _DEEPEST_FOLDER:
            reason = f"its subfolders are nested more than {_DEEPEST_FOLDER} deep and are not read"
            listing.unreadable.append((_uri(Path(place), root), reason))
            folders.clear()
        for name in names:
            path = Path(place, name)
            # A link may lead out of the folder that the user chose to index.
            if not name.startswith(".") and not path.is_symlink():
                yield path


def _uri(path: Path, root: Root) -> str:
    return name_of(path.relative_to(root.source).as_posix())


def _add(listing: Listing, path: Path, uri: str) -> None:
    try:
        status = path.stat()
    except OSError as error:
        listing.unreadable.append((uri, error.strerror or "unreadable"))
        return
    if not stat.S_ISREG(status.st_mode):
        listing.unreadable.append((uri, describe_type(status.st_mode)))
        return
    listing.files.append(File(path, uri, status.st_size, status.st_mtime_ns))
