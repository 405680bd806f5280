"""Configuration files of clients on the disk: read within bounds, backed up, and replaced whole.

A link is followed, because people keep such files in a repository and link to them: the file that it leads to is
replaced, and the link stays. A file that is not regular, not UTF-8, another user's or read-only is never touched.
"""

from __future__ import annotations

import os
import secrets
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from winnow.server.errors import WinnowError
from winnow.server.text.sizes import describe_bytes

# Claude Code keeps a history of every project in its file; those that were reported as too large had some MiB.
MOST_BYTES = 16 * 1024 * 1024
BACKUP = ".winnow-backup-"
_BOM = "\ufeff"
_OWNER_WRITES = stat.S_IWUSR
_READING = os.O_RDONLY
for _name in ("O_NONBLOCK", "O_NOCTTY", "O_CLOEXEC", "O_BINARY"):  # not every system has all of them
    _READING |= getattr(os, _name, 0)
_NEW_MODE, _NEW_FOLDER_MODE = 0o600, 0o700


@dataclass(frozen=True, slots=True)
class ConfigFile:
    """A configuration file as it was read. ``target``: where its links lead. ``data`` is None for no file."""

    path: Path
    target: Path
    data: bytes | None = None

    @property
    def text(self) -> str:
        """The text without a byte order mark, "" for no file."""
        return (self.data or b"").decode("utf-8").removeprefix(_BOM)

    def encode(self, text: str) -> bytes:
        """Bytes of this text, with the byte order mark that the file has."""
        return ((_BOM if (self.data or b"").startswith(_BOM.encode()) else "") + text).encode("utf-8")


def read_config_file(path: Path) -> ConfigFile:
    """Read a file. Raises ``WinnowError("INVALID_REQUEST")`` for one that setup does not edit, with the reason."""
    with _map_errors(path):
        target = _follow(path)
        if not target.exists():
            return ConfigFile(path, target)
        data = _read(path, target)
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise _refusal(path, f"is not UTF-8 (line {line}); save it as UTF-8") from None
    return ConfigFile(path, target, data)


def _read(path: Path, target: Path) -> bytes:
    """The bytes of a regular file. What is checked is what is read, whatever takes its name meanwhile."""
    descriptor = os.open(target, _READING)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise _refusal(path, "is a folder, or no file at all; move it away")
        with open(descriptor, "rb", closefd=False) as file:
            data = file.read(MOST_BYTES + 1)
    finally:
        os.close(descriptor)
    if len(data) > MOST_BYTES:
        raise _refusal(path, f"has more than {describe_bytes(MOST_BYTES)}; no client needs that much")
    return data


def _follow(path: Path) -> Path:
    """The path that the links of a path lead to."""
    if not path.is_symlink():
        return path
    try:
        return path.resolve(strict=True)
    except FileNotFoundError:
        raise _refusal(
            path, f"is a link to {os.readlink(path)}, which is not there; mend or remove the link"
        ) from None
    except RuntimeError:  # a loop, before Python 3.13
        raise _refusal(path, "is a link that leads back to itself; remove it") from None


def require_writable(file: ConfigFile) -> None:
    """Raise ``WinnowError("INVALID_REQUEST")`` where the file is not for this user to write."""
    if file.data is None:
        _require_own_folder(file)
        return
    with _map_errors(file.path):
        status = file.target.stat()
    if not status.st_mode & _OWNER_WRITES:
        raise _refusal(file.path, f"is read-only; make it writable first: chmod u+w {file.target}")
    if hasattr(os, "geteuid") and os.geteuid() not in (0, status.st_uid):
        raise _refusal(file.path, "belongs to another user; run setup as that user")


def _require_own_folder(file: ConfigFile) -> None:
    """Refuse a new file in another user's folder: root would make one that the client cannot read."""
    with _map_errors(file.path):
        folder = next(each for each in file.target.parents if each.exists())
        owner = folder.stat().st_uid
    if hasattr(os, "geteuid") and os.geteuid() != owner:
        raise _refusal(
            file.path, f"would be new in {folder}, which belongs to another user; run setup as that user"
        )


def replace_config_file(file: ConfigFile, data: bytes | None, *, keeps_copy: bool) -> Path | None:
    """Write the file, all or nothing, with the mode and the owner it has; ``data`` None removes it.

    Returns the copy of the file as it was, which is kept beside it; None where there was no file, or no copy is
    wanted. Raises ``WinnowError``: INVALID_REQUEST as ``read_config_file``, and SOURCE_UNAVAILABLE where the file
    changed since it was read.
    """
    require_writable(file)
    with _map_errors(file.path):
        if file.data is None:
            file.target.parent.mkdir(parents=True, exist_ok=True, mode=_NEW_FOLDER_MODE)
        kept = temporary = None
        try:
            kept = _keep(file) if keeps_copy and file.data is not None else None
            temporary = None if data is None else _write_beside(file, f".winnow-{secrets.token_hex(8)}", data)
            _require_unchanged(file)
            if temporary is None:
                file.target.unlink()
            else:
                os.replace(temporary, file.target)
        except BaseException:
            for left in (kept, temporary):
                if left is not None:
                    left.unlink(missing_ok=True)
            raise
    return kept


def _require_unchanged(file: ConfigFile) -> None:
    if read_config_file(file.path) != file:
        raise WinnowError(
            "SOURCE_UNAVAILABLE",
            f"{file.path} was changed by another program meanwhile; run the same command again",
            retryable=True,
        )


def _keep(file: ConfigFile) -> Path:
    """Copy the file beside itself, under a name with the time."""
    assert file.data is not None
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    for again in range(100):
        with suppress(FileExistsError):
            return _write_beside(file, f"{BACKUP}{stamp}{f'-{again}' if again else ''}", file.data)
    raise _refusal(file.path, "has a hundred copies of this second beside it; remove some")


def _write_beside(file: ConfigFile, suffix: str, data: bytes) -> Path:
    """Write a new file beside the target, with its mode and owner; durably."""
    path = file.target.with_name(f"{file.target.name}{suffix}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, _NEW_MODE)
    try:
        with open(descriptor, "wb") as new:
            if file.data is not None and hasattr(os, "fchown"):
                status = file.target.stat()
                os.fchown(descriptor, status.st_uid, status.st_gid)
                os.fchmod(descriptor, stat.S_IMODE(status.st_mode))
            new.write(data)
            new.flush()
            os.fsync(descriptor)
    except BaseException:
        path.unlink()
        raise
    return path


def list_backups(file: ConfigFile) -> list[Path]:
    """The copies beside a file, the newest first."""
    with _map_errors(file.path):
        if not file.target.parent.is_dir():
            return []
        names = [name for name in os.listdir(file.target.parent) if name.startswith(f"{file.target.name}{BACKUP}")]
    return [file.target.with_name(name) for name in sorted(names, reverse=True)]


def remove_backup(path: Path) -> None:
    """Remove a copy that is not needed any more."""
    with _map_errors(path):
        path.unlink()


def _refusal(path: Path, why: str) -> WinnowError:
    return WinnowError("INVALID_REQUEST", f"{path} {why}")


@contextmanager
def _map_errors(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise _refusal(
            path, f"cannot be read or written: {error.strerror or error}; nothing was changed"
        ) from None
