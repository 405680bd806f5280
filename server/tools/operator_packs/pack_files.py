"""The files of a folder of tool packs: which there are, and who may have written them.

A pack is code of the operator. So every file and folder below the operator's folder that a pack can use is refused
where another user may write it, and so is every symbolic link: it would lead to files that were not checked.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Sequence
from pathlib import Path

from winnow.server.runtime.operator_files import UnusableText, check_writers, read_operator_file
from winnow.server.tools.operator_packs.records import ENDING

_MOST_ENTRIES = 2_000
_MOST_BYTES = 256 * 1024
_DIGESTED_BYTES = 16 * 1024 * 1024


class UnusableFile(Exception):
    """A file of a pack that is not used; the message names it and says why."""


def list_packs(folder: Path) -> Sequence[Path]:
    """All ``*.tool.yaml`` below a folder, in the order of their paths; not through links. Raises ``OSError``."""
    check_writers(folder, folder.stat())
    return [path for path in _walk(folder) if path.name.endswith(ENDING)]


def _walk(folder: Path) -> Sequence[Path]:
    found: list[Path] = []
    for parent, folders, names in os.walk(folder, followlinks=False, onerror=_raise):
        folders.sort()
        found += [Path(parent, name) for name in (*names, *folders)]
        if len(found) > _MOST_ENTRIES:
            raise UnusableFile(
                f"{folder} has more than {_MOST_ENTRIES:,} files; name a folder that has packs only"
            )
    return sorted(found)


def _raise(error: OSError) -> None:
    raise error


def check_folder(folder: Path) -> str:
    """A digest of all that a pack's folder has. Raises ``UnusableFile`` and ``OSError`` for untrusted files."""
    digest, size = hashlib.sha256(), 0
    check_writers(folder, folder.lstat())
    for path in _walk(folder):
        status = path.lstat()
        if stat.S_ISLNK(status.st_mode):
            raise UnusableFile(f"it is a symbolic link: {path}; put the file itself there")
        check_writers(path, status)
        if not stat.S_ISREG(status.st_mode):
            continue
        size += status.st_size
        if size > _DIGESTED_BYTES:
            raise UnusableFile(
                f"{folder} has more than {_DIGESTED_BYTES >> 20} MiB; keep data elsewhere (caps.read)"
            )
        digest.update(f"{path.relative_to(folder)}\0{status.st_mode:o}\0{status.st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()


def read_text(path: Path) -> str:
    """The text of a file of a pack. Raises ``UnusableFile`` and ``PermissionError``."""
    try:
        if path.is_symlink():
            raise UnusableFile(f"it is a symbolic link: {path}; put the file itself there")
        return read_operator_file(path, _MOST_BYTES, is_ours=False)
    except PermissionError:
        raise
    except OSError as error:
        raise UnusableFile(f"{path.name}: {error.strerror or 'it cannot be read'}") from None
    except UnusableText as error:
        raise UnusableFile(f"{path.name}: {error}") from None


def locate(root: Path, start: Path, name: str) -> Path:
    """The regular file that ``name`` means, seen from the folder ``start``. Raises ``UnusableFile``.

    It must lie below ``root``, and no part of its path may be a link.
    """
    path = Path(os.path.normpath(start / name))
    if Path(name).is_absolute() or not path.is_relative_to(root) or path == root:
        raise UnusableFile(f"{name}: not below {root}")
    parts = [path, *[parent for parent in path.parents if parent.is_relative_to(root)][:-1]]
    if any(part.is_symlink() for part in parts):
        raise UnusableFile(f"{name}: it is, or is behind, a symbolic link")
    if not path.is_file():
        raise UnusableFile(f"{name}: there is no such file")
    return path


def find_closed(path: Path) -> Path | None:
    """The path that keeps other users from reading a file or a folder: itself, or one of its parents."""
    real = path.resolve()
    closed = next((each for each in real.parents if not each.stat().st_mode & stat.S_IXOTH), None)
    return closed or (None if real.stat().st_mode & stat.S_IROTH else real)


def state_of(folders: Sequence[Path]) -> object:
    """A value that differs once a file below these folders has changed."""
    found: list[tuple[str, int, int, int]] = []
    for folder in folders:
        try:
            paths = [folder, *_walk(folder.absolute())]
        except (OSError, UnusableFile):
            found.append((str(folder), 0, 0, 0))
            continue
        for path in paths:
            try:
                status = path.lstat()
            except OSError:
                continue
            found.append((str(path), status.st_mtime_ns, status.st_ctime_ns, status.st_size))
    return found
