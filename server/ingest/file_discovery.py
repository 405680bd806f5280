"""Finds the files to ingest below the given paths, and the source that each path belongs to."""

from __future__ import annotations

import os
import re
import stat
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from winnow.server.errors import WinnowError
from winnow.server.ingest.selection.file_rules import ALL_FILES, FileRules
from winnow.server.ingest.selection.ignore_files import FolderRules, rules_down_to, rules_of
from winnow.server.readers.bounded_files import describe_type, open_folder
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.reading import DocumentParser, ReaderOutput, is_document, kind_of, read

# Folders of tools and dependencies, not of documents. Names that begin with a dot are skipped as well.
SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__", "venv", "site-packages", "bower_components"})
# A folder with a file of this name is the store of an index: its log and its audit are not documents.
STORE_MARK = "catalogue.sqlite3"
# Deeper folders exceed the stack when they are walked, and each folder is a label of every chunk.
_DEEPEST_FOLDER = 100
_NAMED = 5  # names of links and hidden files in a report
_SUFFIX_CHARS = 12  # what follows the last dot of a longer name is no suffix
# Surrogates, which stand for bytes that are not UTF-8, control characters and line separators.
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


_GONE = (
    "{path} does not exist, and its documents were kept; if they are to leave the index, run: "
    "winnow ingest {path} --allow-deletions --project {project}"
)
_BEHIND_LINK = "{path} has become a link, or a folder above it has"


@dataclass(frozen=True, slots=True)
class File:
    """A file to read: ``uri`` is its path below the root, with slashes.

    ``mark`` stands for what else its documents are made of: another one has the file read again.
    """

    path: Path
    uri: str
    size: int
    modified_ns: int
    mark: str = ""


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
class Named:
    """The number of them, and the names of the first."""

    count: int = 0
    first: list[str] = field(default_factory=list)

    def add(self, name: str) -> None:
        self.count += 1
        if len(self.first) < _NAMED:
            self.first.append(name)

    def update(self, others: Named) -> None:
        self.count += others.count
        self.first += others.first[: _NAMED - len(self.first)]


@dataclass(slots=True)
class Listing:
    """The files below a root, how many others there are, and unreadable paths with their reasons.

    ``skipped`` counts files of unknown types by the end of their names. ``ignored`` files and folders are left
    out by patterns. ``links`` are not followed, and ``hidden`` files and folders (".git") are not looked
    at; both are counted, and the first of them named. ``folders`` are those that were looked into. ``is_emptied``:
    in the source's folder is nothing at all, or it is gone. Files that are ``pending`` are read later.
    """

    files: list[File] = field(default_factory=list)
    skipped: Counter[str] = field(default_factory=Counter)
    ignored: int = 0
    links: Named = field(default_factory=Named)
    hidden: Named = field(default_factory=Named)
    folders: list[str] = field(default_factory=list)
    is_emptied: bool = False
    unreadable: list[tuple[str, str]] = field(default_factory=list)
    pending: set[str] = field(default_factory=set)

    def hides(self, name: str) -> bool:
        """Whether the file may exist although it was not listed: it is read later, or was unreadable."""
        hidden = (path for path, _ in self.unreadable)
        return name in self.pending or any(path in (".", name) or name.startswith(f"{path}/") for path in hidden)


# Reads the documents of a file by a parser of the run.
ReadFile = Callable[[File, DocumentParser], ReaderOutput]


def read_file(file: File, parser: DocumentParser) -> ReaderOutput:
    """Read the documents in a file of a folder. Raises ``UnreadableFile``, or ``OSError``."""
    return read(file.path, file.uri, parser)


@dataclass(frozen=True, slots=True)
class SourcePart:
    """A part of a source, the files in it, and how they are read."""

    root: Root
    listing: Listing
    read: ReadFile = read_file


def find_parts(
    paths: Sequence[Path],
    sources: Sequence[str],
    rules: FileRules = ALL_FILES,
    *,
    project: str = "",
    allows_missing: bool = False,
) -> list[SourcePart]:
    """The files at each path; none at one of the ``sources`` that is gone. Raises as ``resolve_roots`` does."""
    roots = resolve_roots(paths, sources, project=project, allows_missing=allows_missing)
    return [SourcePart(root, find_files(root, rules)) for root in roots]


def resolve_roots(
    paths: Sequence[Path], sources: Sequence[str], *, project: str = "", allows_missing: bool = False
) -> list[Root]:
    """The root of each path: a part of one of the known ``sources`` of the project, or a new source.

    Raises ``WinnowError("INVALID_REQUEST")`` for a path that does not exist, unless ``allows_missing`` and it is
    one of the ``sources``.
    """
    gone = [path for path in paths if not path.exists() and os.path.realpath(path) in sources]
    if gone and not allows_missing:
        raise WinnowError("INVALID_REQUEST", _GONE.format(path=name_of(str(gone[0])), project=project))
    check_paths(path for path in paths if path not in gone)
    return list(dict.fromkeys(root_of(path.resolve(), sources) for path in paths))


def root_of(path: Path, sources: Sequence[str]) -> Root:
    """The root of a path as it is, as of one that was resolved: a link that replaced it since is not followed."""
    outer = next((source for source in sources if path.is_relative_to(source)), str(path))
    below = path.relative_to(outer).as_posix()
    return Root(outer, "" if below == "." else below)


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


def find_files(root: Root, rules: FileRules = ALL_FILES) -> Listing:
    """List the files of a root, sorted by name. A part that is gone, or that a link leads to, has none."""
    listing = Listing()
    if not _is_in_place(root, listing) or _is_left_out(root, rules, listing):
        return listing
    if root.path.is_dir():
        _walk(root, rules, listing)
    else:
        _add(listing, root.path, name_of(root.below or root.path.name))
    listing.files.sort(key=lambda file: (file.uri, str(file.path)))
    _report_duplicate_names(listing)
    return listing


def _is_in_place(root: Root, listing: Listing) -> bool:
    """Whether there is something at the path of a part. A source that is gone counts as emptied."""
    if not os.path.lexists(root.source):
        listing.is_emptied = not root.below
        if root.below:
            listing.unreadable.append((".", f"{name_of(root.source)} is not there"))
        return False
    if is_behind_link(Path(root.source)):
        listing.unreadable.append((".", _BEHIND_LINK.format(path=name_of(root.source))))
        return False
    return not root.below or (os.path.lexists(root.path) and not is_behind_link(root.path))


def is_behind_link(path: Path) -> bool:
    """Whether a path that was resolved is a link now, or a folder above it is."""
    # Unlike ``Path.resolve``, this takes links that lead back to themselves.
    return path.is_symlink() or os.path.realpath(path) != str(path)


def _is_left_out(root: Root, rules: FileRules, listing: Listing) -> bool:
    """Whether a part, or a folder above it, is ignored. The source itself never is: its user named it."""
    if not root.below:
        return False
    try:
        way = rules_down_to(Path(root.source), Path(root.below), rules)
        is_ignored = any(here.ignores(str(path), is_folder=path.is_dir()) for path, here in way)
    except UnreadableFile as error:
        listing.unreadable.append((name_of(root.below), str(error)))
        return True
    listing.ignored += is_ignored
    return is_ignored


def _report_duplicate_names(listing: Listing) -> None:
    """Report files whose displayed name another file has already, which happens if one name is not UTF-8."""
    first: dict[str, File] = {}
    for file in listing.files:
        if first.setdefault(file.uri, file) is not file:
            listing.unreadable.append(
                (file.uri, "another file has the same name when shown as text; rename one of them")
            )
    listing.files[:] = first.values()


@dataclass(frozen=True, slots=True)
class _Folder:
    """An open folder: the names of the folders in it, which may be left out, of its links and of all else."""

    place: str
    descriptor: int
    folders: list[str]
    links: frozenset[str]
    others: list[str]

    @property
    def names(self) -> list[str]:
        """The names of what is no folder."""
        return [*self.others, *self.links]


def _walk(root: Root, rules: FileRules, listing: Listing) -> None:
    """List the files below a root that no rule leaves out."""

    def report_unreadable(place: str, error: OSError) -> None:
        listing.unreadable.append((_uri(Path(place), root), error.strerror or "unreadable"))

    in_force: dict[str, FolderRules] = {}
    for folder in _walk_folders(str(root.path), report_unreadable):
        place, folders = folder.place, folder.folders
        try:
            here = _rules_in(place, folder.names, root, rules, in_force)
        except UnreadableFile as error:
            listing.unreadable.append((_uri(Path(place), root), str(error)))
            folders.clear()
            continue
        if STORE_MARK in folder.names:
            folders.clear()
            listing.ignored += 1
            continue
        listing.folders.append(place)
        listing.is_emptied |= place == root.source and not folders and not folder.names
        _leave_out_links(folder, root, listing)
        folders[:] = _folders_to_enter(place, folders, here, root, listing)
        if folders and len(Path(place).relative_to(root.source).parts) >= _DEEPEST_FOLDER:
            reason = f"its subfolders are nested more than {_DEEPEST_FOLDER} deep and are not read"
            listing.unreadable.append((_uri(Path(place), root), reason))
            folders.clear()
        in_force.update((os.path.join(place, name), here) for name in folders)
        _add_files(folder, here, root, listing)


def _walk_folders(top: str, report_unreadable: Callable[[str, OSError], None]) -> Iterator[_Folder]:
    """As ``os.walk``, but no folder is reached through a link, not even one that replaced a folder on the way."""
    pending = [top]
    while pending:
        place = pending.pop()
        try:
            with open_folder(Path(place)) as descriptor:
                yield (folder := _read_folder(place, descriptor))
        except OSError as error:
            report_unreadable(place, error)
            continue
        pending += [os.path.join(place, name) for name in reversed(folder.folders)]


def _read_folder(place: str, descriptor: int) -> _Folder:
    folders: list[str] = []
    others: list[str] = []
    links = set()
    with os.scandir(descriptor) as entries:
        for entry in entries:
            if entry.is_symlink():
                links.add(entry.name)
            else:
                (folders if entry.is_dir(follow_symlinks=False) else others).append(entry.name)
    return _Folder(place, descriptor, folders, frozenset(links), others)


def _rules_in(
    place: str, names: Sequence[str], root: Root, rules: FileRules, in_force: dict[str, FolderRules]
) -> FolderRules:
    """The rules in a folder; ``in_force`` has those of the folder above it, except for the first folder."""
    above = in_force.pop(place, None) or rules_of(Path(root.source), rules)
    if place == str(root.path):
        for _, here in rules_down_to(Path(root.source), Path(root.below), rules):
            above = here
    return above.enter(place, names)


def _folders_to_enter(
    place: str, folders: Sequence[str], here: FolderRules, root: Root, listing: Listing
) -> list[str]:
    kept = []
    for name in folders:
        if name.startswith("."):
            listing.hidden.add(f"{_uri(Path(place, name), root)}/")
            continue
        if name in SKIPPED_FOLDERS:
            continue
        if here.ignores(os.path.join(place, name), is_folder=True):
            listing.ignored += 1
        else:
            kept.append(name)
    return kept


def _leave_out_links(folder: _Folder, root: Root, listing: Listing) -> None:
    """Count the links, and look at nothing that they lead to: it may be outside of what is to be indexed."""
    for name in sorted(folder.links - SKIPPED_FOLDERS):
        (listing.hidden if name.startswith(".") else listing.links).add(_uri(Path(folder.place, name), root))


def _add_files(folder: _Folder, here: FolderRules, root: Root, listing: Listing) -> None:
    for name in folder.others:
        path = Path(folder.place, name)
        if name.startswith("."):
            listing.hidden.add(_uri(path, root))
        elif here.ignores(str(path), is_folder=False):
            listing.ignored += 1
        elif is_document(path):
            _add(listing, path, _uri(path, root), folder.descriptor)
        else:
            suffix = name_of(path.suffix.lower())
            listing.skipped[suffix if len(suffix) <= _SUFFIX_CHARS else ""] += 1


def _uri(path: Path, root: Root) -> str:
    return name_of(path.relative_to(root.source).as_posix())


def _add(listing: Listing, path: Path, uri: str, folder: int | None = None) -> None:
    """Add a file; ``folder`` is the descriptor of its folder, which a link may have replaced meanwhile."""
    try:
        status = path.lstat() if folder is None else os.lstat(path.name, dir_fd=folder)
    except OSError as error:
        listing.unreadable.append((uri, error.strerror or "unreadable"))
        return
    if not stat.S_ISREG(status.st_mode):
        listing.unreadable.append((uri, describe_type(status.st_mode)))
        return
    listing.files.append(File(path, uri, status.st_size, status.st_mtime_ns))


def count_documents(todo: Sequence[Sequence[File]]) -> int:
    """The number of documents in the files; 0 where a collection among them makes it unknown."""
    files = [file for part in todo for file in part]
    return 0 if any(kind_of(file.path) == "record" for file in files) else len(files)


# What the sources of documents that came from an archive begin with.
IMPORTED = "imported:"


def source_exists(source: str) -> bool:
    """Whether the source can still be refreshed: a folder that was moved away cannot, and gives up its names."""
    if source.startswith(IMPORTED):
        return False
    return not Path(source).is_absolute() or Path(source).exists()
