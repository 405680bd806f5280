"""Whether a folder can be a store, and what it means where the system refuses it: the path, and what to do.

``prepared`` is what every way into a store goes through that may make one (``lock``, ``opening``); ``existing`` is
for commands that only read, so that a mistyped path is an error and not an empty index.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from server.backends.files.private_folder import make_private
from server.errors import WinnowError

CATALOGUE = "catalogue.sqlite3"
# What a store consists of beside its vectors.
FILES = (CATALOGUE, "graph.sqlite3", "ledger.sqlite3")
_OTHER_FILES = ("holder", "writer", "engine", "starter", "engine.log")
_FOLDERS = ("run", "vectors")
_MIB = 1 << 20

_OTHER_STORE = "or choose another folder: --store DIR, or WINNOW_STORE"
_YOURS = f"give it to the user who runs winnow (chown, chmod u+rwX), {_OTHER_STORE}"
_ROOM = "make room there, then do the same again"
# What the system says -> what that means for a store, and what to do.
_MEANINGS: Mapping[int, tuple[str, str]] = MappingProxyType(
    {
        errno.EACCES: ("may not be read and written by this user", _YOURS),
        errno.EPERM: ("may not be read and written by this user", _YOURS),
        errno.EROFS: ("is on a disk that may only be read", f"mount it for writing, {_OTHER_STORE}"),
        errno.ENOSPC: ("is on a disk that is full", _ROOM),
        errno.EDQUOT: ("is on a disk where this user's share is used up", _ROOM),
        errno.ENOENT: ("cannot be made there", f"make the folder above it, {_OTHER_STORE}"),
        errno.ENOTDIR: ("is a file where a folder is wanted", f"move it away, {_OTHER_STORE}"),
        errno.EEXIST: ("is a file where a folder is wanted", f"move it away, {_OTHER_STORE}"),
        errno.EISDIR: ("is a folder where a file is wanted", f"move it away, {_OTHER_STORE}"),
        errno.ENAMETOOLONG: ("has a name that is too long", "choose another folder: --store DIR, or WINNOW_STORE"),
        errno.ELOOP: ("is a link that leads back to itself", f"remove the link, {_OTHER_STORE}"),
        errno.EMFILE: ("cannot be opened beside so many files", "raise the limit of open files (ulimit -n)"),
        errno.ENFILE: ("cannot be opened beside so many files", "raise the system's limit of open files"),
        errno.EIO: ("cannot be read or written by its disk", f"look after the disk, {_OTHER_STORE}"),
    }
)


def prepared(store: Path) -> None:
    """Return where the folder is there and can hold an index; one that is missing is made, for this user alone.

    Raises ``WinnowError("INDEX_UNAVAILABLE")`` with the path that stands in the way and what to do.
    """
    with named(store):
        make_private(store)
        check(store)


def existing(store: Path) -> None:
    """Return where the folder holds an index. Makes nothing.

    Raises ``WinnowError("NOT_FOUND")`` where it does not, and "INDEX_UNAVAILABLE" as ``prepared`` does.
    """
    with named(store):
        if store.exists():
            check(store)
        if not (store / CATALOGUE).exists():
            raise WinnowError(
                "NOT_FOUND",
                f"there is no index in {store}; make one with: winnow ingest PATH --store {store}, {_OTHER_STORE}",
            )


def tried(store: Path) -> Path:
    """Find out whether the folder can hold an index, and leave all as it is: the folder, or the nearest above it.

    Raises ``WinnowError`` as ``prepared`` does.
    """
    missing = [path for path in (store, *store.parents) if not os.path.lexists(path)]
    nearest = missing[-1].parent if missing else store
    with named(store):
        if not missing:
            check(store)
        try:
            with tempfile.TemporaryDirectory(dir=nearest, prefix=".trying-"):
                return nearest
        except OSError as error:
            raise _os_error(error.errno or 0, missing[-1] if missing else store) from error


def check(store: Path) -> None:
    """Raise the ``OSError`` that opening the store would, with the path; nothing is changed."""
    _check(store, is_folder=True)
    for names, is_folder in ((FILES + _OTHER_FILES, False), (_FOLDERS, True)):
        for name in names:
            if os.path.lexists(store / name):
                _check(store / name, is_folder=is_folder)


@contextmanager
def named(store: Path) -> Iterator[None]:
    """Around what is done in a store's folder: where the system refuses, the error says what and what to do."""
    try:
        yield
    except OSError as error:
        raise refused(store, error) from error


def refused(store: Path, error: OSError) -> WinnowError:
    """What the system's refusal means for this store."""
    path = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else store
    above = (*reversed(path.parents), path)
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        path = next((one for one in above if one.is_file()), path)
    elif error.errno == errno.EACCES:
        path = next((one for one in above[:-1] if not os.access(one, os.X_OK)), path)
    usual = f"cannot be used ({error.strerror or type(error).__name__})", f"see that it can, {_OTHER_STORE}"
    why, advice = _MEANINGS.get(error.errno or 0, usual)
    room = f" ({free_mb(store)} MB are free)" if advice == _ROOM else ""
    return WinnowError("INDEX_UNAVAILABLE", f"the store {store} cannot be used: {path} {why}{room}; {advice}")


def free_mb(folder: Path) -> str:
    """What is left on the disk of a folder, for people."""
    try:
        return f"{shutil.disk_usage(folder).free // _MIB:,}"
    except OSError:
        return "0"


def _check(path: Path, *, is_folder: bool) -> None:
    if path.is_dir() != is_folder:
        raise _os_error(errno.ENOTDIR if is_folder else errno.EISDIR, path)
    wanted = os.R_OK | os.W_OK | (os.X_OK if is_folder else 0)
    if not os.access(path, wanted, effective_ids=os.access in os.supports_effective_ids):
        is_read_only = os.statvfs(path).f_flag & os.ST_RDONLY
        raise _os_error(errno.EROFS if is_read_only else errno.EACCES, path)


def _os_error(number: int, path: Path) -> OSError:
    return OSError(number, os.strerror(number), str(path))
