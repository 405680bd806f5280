"""The parts of a source to list again after a change, and the files in them that are still being written."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from winnow.server.ingest.file_discovery import SKIPPED_FOLDERS, File, Root, SourcePart, find_files
from winnow.server.ingest.selection.file_rules import FileRules
from winnow.server.ingest.selection.ignore_files import IGNORE_FILES
from winnow.server.readers.reading import is_document

# A file whose size and time are unchanged after this pause is no longer being written.
SETTLE_SECONDS = 0.5
# Files that changed longer ago than this are not being written.
_RECENT_SECONDS = 10.0
# A file that never stops changing is read after this time, as it then is.
_PATIENCE_SECONDS = 30.0
# With more changes, listing everything is faster.
_MOST_CHANGES = 500
_NANO = 1_000_000_000


def changed_parts(root: Root, changes: Iterable[str]) -> list[str]:
    """The parts to list after changes at these absolute paths, as paths relative to the root's source.

    The only part is the root itself if an ignore file directly in it changed, or if very many paths changed.
    Changes of hidden files, in folders of tools, and outside the root are ignored.
    """
    below = {part for path in changes if (part := _part_of(root, Path(path))) is not None}
    if root.below in below or len(below) > _MOST_CHANGES:
        return [root.below]
    return [part for part in sorted(below) if not any(str(up) in below for up in Path(part).parents)]


def _part_of(root: Root, path: Path) -> str | None:
    if not path.is_relative_to(root.path):
        return None
    parts = path.relative_to(root.path).parts
    if parts and parts[-1] in IGNORE_FILES:
        parts = parts[:-1]
    if any(part.startswith(".") or part in SKIPPED_FOLDERS for part in parts):
        return None
    return str(Path(root.below, *parts)) if parts or root.below else ""


def list_parts(source: str, parts: Sequence[str], rules: FileRules) -> list[SourcePart]:
    """The files that these parts of a source have now.

    A part that is a single file of an unknown type has none, although an ingest that names such a file reads it.
    """
    found = [SourcePart(root := Root(source, part), find_files(root, rules)) for part in parts]
    for part in found:
        if part.root.below and not part.listing.folders:
            part.listing.files[:] = [file for file in part.listing.files if is_document(file.path)]
    return found


def watched_folders(former: Collection[str], parts: Sequence[SourcePart]) -> frozenset[str]:
    """The folders to watch after these parts were listed; ``former`` are the folders watched so far."""
    listed = {str(part.root.path) for part in parts}
    kept = {folder for folder in former if not _is_at_or_below(folder, listed)}
    return frozenset(kept.union(*(part.listing.folders for part in parts)))


def _is_at_or_below(folder: str, listed: Collection[str]) -> bool:
    return folder in listed or any(str(up) in listed for up in Path(folder).parents)


@dataclass(slots=True)
class Settling:
    """Leaves files out while they are being written, for a limited time.

    ``expect`` is called with the recent files before each wait, because they will be ingested soon.
    """

    sleep: Callable[[float], object]
    expect: Callable[[Sequence[File]], None]
    _since: dict[Path, float] = field(default_factory=dict)

    def leave_out_unfinished(self, parts: Sequence[SourcePart]) -> set[str]:
        """Remove files that are still being written from the listings; return their paths relative to the source.

        The documents of these files stay in the index. Waits for ``SETTLE_SECONDS`` if any file is recent.
        """
        recent = [(part, file) for part in parts for file in part.listing.files if _is_recent(file)]
        if not recent:
            self._since.clear()
            return set()
        self.expect([file for _, file in recent])
        self.sleep(SETTLE_SECONDS)
        now = time.monotonic()
        unfinished = [(part, file) for part, file in recent if _has_changed(file)]
        self._since = {file.path: self._since.get(file.path, now) for _, file in unfinished}
        waiting = set()
        for part, file in unfinished:
            if now - self._since[file.path] >= _PATIENCE_SECONDS:
                del self._since[file.path]
                continue
            part.listing.files.remove(file)
            part.listing.pending.add(file.uri)
            waiting.add(os.path.relpath(file.path, part.root.source))
        return waiting


def _is_recent(file: File) -> bool:
    return file.modified_ns > time.time_ns() - _RECENT_SECONDS * _NANO


def _has_changed(file: File) -> bool:
    try:
        status = file.path.lstat()
    except OSError:
        return True
    return (status.st_size, status.st_mtime_ns) != (file.size, file.modified_ns)


def snapshot_of(parts: Sequence[SourcePart]) -> dict[str, tuple[int, int]]:
    """The size and time of each file in the listings, by name; two snapshots differ if anything changed."""
    return {file.uri: (file.size, file.modified_ns) for part in parts for file in part.listing.files}
