"""Checks of a store's folder, and error messages that name the path in the way and what to do.

``prepare_store`` may create a folder and is called before every use that may do so (``lock``, ``opening``).
``require_index`` is for commands that only read, ``require_store`` for those that work on a store which other
commands make, so that a mistyped path is an error and not an empty index.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from types import MappingProxyType

from winnow.server.errors import WinnowError
from winnow.server.storage.files.private_folder import make_private

CATALOGUE, SEAL = "catalogue.sqlite3", "seal.json"
# How an ingest makes files of a store anew.
REPAIR = "run: winnow ingest --repair PATH..., with the files and folders that were ingested"
# The files of a store beside its vectors.
FILES = (CATALOGUE, "graph.sqlite3", "ledger.sqlite3")
_OTHER_FILES = ("holder", "writer", "engine", "starter", "watcher", "sources", "runner", "engine.log")
_FOLDERS = ("run", "jobs", "vectors")
_MIB = 1 << 20
_SHOWN_STORES = 5

_OTHER_STORE = "or choose another folder: --store DIR, or WINNOW_STORE"
_OWNER = f"give it to the user who runs winnow (chown, chmod u+rwX), {_OTHER_STORE}"
_ROOM = "free some space there, then run the same command again"
# Error number -> what is wrong with the path, and what to do.
_MEANINGS: Mapping[int, tuple[str, str]] = MappingProxyType(
    {
        errno.EACCES: ("may not be read and written by this user", _OWNER),
        errno.EPERM: ("may not be read and written by this user", _OWNER),
        errno.EROFS: ("is on a read-only disk", f"mount it for writing, {_OTHER_STORE}"),
        errno.ENOSPC: ("is on a disk that is full", _ROOM),
        errno.EDQUOT: ("is on a disk where this user's quota is used up", _ROOM),
        errno.ENOENT: ("cannot be created there", f"create its parent folder, {_OTHER_STORE}"),
        errno.ENOTDIR: ("is a file where a folder is wanted", f"move it away, {_OTHER_STORE}"),
        errno.EEXIST: ("is a file where a folder is wanted", f"move it away, {_OTHER_STORE}"),
        errno.EISDIR: ("is a folder where a file is wanted", f"move it away, {_OTHER_STORE}"),
        errno.ENAMETOOLONG: ("has a name that is too long", "choose another folder: --store DIR, or WINNOW_STORE"),
        errno.ELOOP: ("is a link that leads back to itself", f"remove the link, {_OTHER_STORE}"),
        errno.EMFILE: (
            "cannot be opened: this process has too many open files",
            "raise the limit of open files (ulimit -n)",
        ),
        errno.ENFILE: (
            "cannot be opened: the system has too many open files",
            "raise the system's limit of open files",
        ),
        errno.EIO: ("cannot be read or written: its disk fails", f"check the disk, {_OTHER_STORE}"),
    }
)


def prepare_store(store: Path) -> None:
    """Check that the folder can hold an index; create it, private to this user, where it is missing.

    Raises ``WinnowError("INDEX_UNAVAILABLE")`` with the path in the way and what to do.
    """
    with map_os_errors(store):
        make_private(store)
        check_access(store)


def require_index(store: Path, usual: Path | None = None) -> None:
    """Check that the folder holds an index. Creates nothing. ``usual`` is the folder of the default settings.

    Raises ``WinnowError("NOT_FOUND")`` with the names of the stores that there are where it holds none, and
    "INDEX_UNAVAILABLE" as ``prepare_store`` does and where its catalogue is gone.
    """
    with map_os_errors(store):
        if store.exists():
            check_access(store)
        require_catalogue(store)
        if not (store / CATALOGUE).exists():
            raise _nothing_there(f"there is no index in {store}", store, usual)


def require_catalogue(store: Path) -> None:
    """Raise ``WinnowError("INDEX_UNAVAILABLE")`` where the catalogue is gone or empty.

    The seal and the vectors beside it show that; both are made after it.
    """
    path = store / CATALOGUE
    if path.exists() and path.stat().st_size:
        return
    if (store / SEAL).exists() or any(each.is_dir() for each in store.glob("vectors*")):
        raise WinnowError(
            "INDEX_UNAVAILABLE",
            f"{path} is {'empty' if path.exists() else 'gone'}, and with it all documents and the settings of "
            f"projects; bring it back, or {REPAIR}; settings come back from a backup: winnow restore FILE",
        )


def require_store(store: Path, usual: Path | None = None) -> None:
    """Check that the folder exists. Creates nothing. ``usual`` is the folder of the default settings.

    Raises ``WinnowError("NOT_FOUND")`` with the names of the stores that there are.
    """
    if not os.path.lexists(store):
        raise _nothing_there(f"there is no store {store}", store, usual)


def _nothing_there(what: str, store: Path, usual: Path | None) -> WinnowError:
    near = list[Path]()
    with suppress(OSError):
        near = [path.parent for path in sorted(store.parent.glob(f"*/{CATALOGUE}"))[:_SHOWN_STORES]]
    if usual is not None and (usual / CATALOGUE).exists() and usual not in near:
        near.append(usual)
    known = f"; stores that there are: {', '.join(map(str, near))}" if near else ""
    return WinnowError(
        "NOT_FOUND", f"{what}{known}; make one with: winnow ingest PATH --store {store}, {_OTHER_STORE}"
    )


def probe_store(store: Path) -> Path:
    """Check that the folder can hold an index, without changing it; returns it or its nearest existing parent.

    Raises ``WinnowError`` as ``prepare_store`` does.
    """
    missing = [path for path in (store, *store.parents) if not os.path.lexists(path)]
    nearest = missing[-1].parent if missing else store
    with map_os_errors(store):
        if not missing:
            check_access(store)
        try:
            with tempfile.TemporaryDirectory(dir=nearest, prefix=".trying-"):
                return nearest
        except OSError as error:
            raise _os_error(error.errno or 0, missing[-1] if missing else store) from error


def check_access(store: Path) -> None:
    """Raise the ``OSError`` that opening the store would raise, with the path. Changes nothing."""
    _check(store, is_folder=True)
    for names, is_folder in ((FILES + _OTHER_FILES, False), (_FOLDERS, True)):
        for name in names:
            if os.path.lexists(store / name):
                _check(store / name, is_folder=is_folder)


@contextmanager
def map_os_errors(store: Path) -> Iterator[None]:
    """Around work in a store's folder: an ``OSError`` becomes the ``WinnowError`` of ``folder_error``."""
    try:
        yield
    except OSError as error:
        raise folder_error(store, error) from error


def folder_error(store: Path, error: OSError) -> WinnowError:
    """The error for an ``OSError`` in a store's folder: the path, what is wrong with it and what to do."""
    path = Path(os.fsdecode(error.filename)) if isinstance(error.filename, str | bytes) else store
    above = (*reversed(path.parents), path)
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        path = next((part for part in above if part.is_file()), path)
    elif error.errno == errno.EACCES:
        path = next((part for part in above[:-1] if not os.access(part, os.X_OK)), path)
    usual = f"cannot be used ({error.strerror or type(error).__name__})", f"make it usable, {_OTHER_STORE}"
    why, advice = _MEANINGS.get(error.errno or 0, usual)
    room = f" ({free_mb(store)} MB are free)" if advice == _ROOM else ""
    return WinnowError("INDEX_UNAVAILABLE", f"the store {store} cannot be used: {path} {why}{room}; {advice}")


def free_mb(folder: Path) -> str:
    """Free space on a folder's disk in MB, formatted for messages."""
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
