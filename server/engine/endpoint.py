"""The sockets of a store: of its engine, and of its servers for their statistics.

A socket lies in the folder ``run`` of the store, which only its owner may enter. Both ends ask the kernel for the
other end's user. A socket address holds about a hundred characters, which the path of a store may exceed, so the
folder is opened first and the address goes through its descriptor.
"""

from __future__ import annotations

import os
import re
import socket
import stat
import struct
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from winnow.server.errors import WinnowError
from winnow.server.storage.files.store_folder import map_os_errors

_SOCKET = "engine.sock"
_SERVER_SOCKET = re.compile(r"server-\d{1,10}\.sock")
_PEER = struct.Struct("3i")
_BACKLOG = 64
_WORK_ALONE = "; to work in one process: the setting daemon = off"


@dataclass(frozen=True, slots=True)
class Peer:
    """The process at the other end, as reported by the kernel."""

    pid: int
    uid: int


def is_supported() -> bool:
    """Whether engines can be shared on this system: the kernel must report a socket's peer, as Linux does."""
    return sys.platform == "linux"


@dataclass(frozen=True, slots=True)
class Listener:
    """A listening socket. ``file`` (device, inode) identifies its file: another engine may replace that."""

    socket: socket.socket
    file: tuple[int, int]


def open_listener(store: Path, name: str = _SOCKET) -> Listener:
    """Listen on a socket for processes of the same user; replaces the socket of an engine that crashed.

    Only for the holder of the store's engine lock, or for a server under its ``server_socket_name``. Sockets of
    servers that were killed are removed. Raises ``WinnowError("INDEX_UNAVAILABLE")`` if the folder is not safe or
    cannot hold a socket.
    """
    _remove_abandoned(store)
    with _run_folder(store, create=True) as folder:
        address = _address(folder, name)
        opened = socket.socket(socket.AF_UNIX)
        try:
            Path(address).unlink(missing_ok=True)
            before = os.umask(0o177)
            try:
                opened.bind(address)
            finally:
                os.umask(before)
            opened.listen(_BACKLOG)
            return Listener(opened, _file_id(address))
        except OSError as error:
            opened.close()
            raise _unusable_store(store, f"it cannot hold a socket ({error.strerror})") from None


def close_listener(store: Path, listener: Listener, name: str = _SOCKET) -> None:
    """Remove the socket's file and refuse the connections that wait, even if other processes hold the socket too.

    The file is left alone if it is another one: the store may have been deleted and made again.
    """
    with suppress(OSError, WinnowError), _run_folder(store, create=False) as folder:
        if _file_id(_address(folder, name)) == listener.file:
            os.unlink(_address(folder, name))
    listener.socket.setblocking(False)
    with suppress(OSError):
        listener.socket.shutdown(socket.SHUT_RDWR)
    with suppress(OSError):
        while True:
            listener.socket.accept()[0].close()


def connect(store: Path, name: str = _SOCKET) -> socket.socket | None:
    """Connect to the store's engine, or to the server socket ``name``; None if nothing listens.

    Raises ``WinnowError("INDEX_UNAVAILABLE")`` if the folder or the listening process belong to another user.
    """
    with map_os_errors(store):
        if not (store / "run").exists():
            return None
    with _run_folder(store, create=False) as folder:
        opened = socket.socket(socket.AF_UNIX)
        try:
            # A process that hangs accepts nothing: do not wait in its queue.
            opened.setblocking(False)
            opened.connect(_address(folder, name))
            opened.setblocking(True)
        except (FileNotFoundError, ConnectionRefusedError):
            opened.close()
            return None
        except BlockingIOError:
            opened.close()
            raise WinnowError(
                "INDEX_HELD",
                f"the engine of {store} accepts no connections: it is busy or hangs; try again or end its process",
                retryable=True,
            ) from None
        except OSError as error:
            opened.close()
            raise _unusable_store(store, f"its engine cannot be reached ({error.strerror})") from None
    if not is_same_user(opened):
        opened.close()
        raise _unusable_store(store, "another user's process listens there")
    return opened


def is_listening(store: Path) -> bool:
    """Whether an engine listens for this store. Raises as ``connect`` does."""
    opened = connect(store)
    if opened is None:
        return False
    opened.close()
    return True


def server_socket_name(pid: int) -> str:
    """The name of the socket at which a server offers its statistics."""
    return f"server-{pid}.sock"


def list_server_sockets(store: Path) -> list[str]:
    """The names of the servers' sockets, also those left by servers that died. Raises as ``connect`` does."""
    if not (store / "run").exists():
        return []
    with _run_folder(store, create=False) as folder:
        return sorted(name for name in os.listdir(folder) if _SERVER_SOCKET.fullmatch(name))


def _remove_abandoned(store: Path) -> None:
    """Remove the sockets of servers whose process is gone, and at which nothing listens."""
    for name in list_server_sockets(store):
        if not _is_alive(int(name.removeprefix("server-").removesuffix(".sock"))):
            with suppress(WinnowError):
                # A process of another container has no number here, but it listens.
                if (opened := connect(store, name)) is None:
                    remove_socket(store, name)
                else:
                    opened.close()


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def remove_socket(store: Path, name: str) -> None:
    """Delete a socket file at which no process listens any more."""
    with suppress(OSError, WinnowError), _run_folder(store, create=False) as folder:
        os.unlink(_address(folder, name))


def peer_of(connection: socket.socket) -> Peer:
    """The process at the other end of a connection."""
    credentials = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    pid, uid, _ = _PEER.unpack(credentials)
    return Peer(pid, uid)


def is_same_user(connection: socket.socket) -> bool:
    """Whether the other end belongs to the same user."""
    return peer_of(connection).uid == os.geteuid()


@contextmanager
def _run_folder(store: Path, *, create: bool) -> Iterator[int]:
    """The socket's folder as a descriptor, so that the folder that is checked is the one that is used."""
    path = store / "run"
    try:
        if create:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise _unusable_store(store, f"{path} cannot be opened ({error.strerror})") from None
    try:
        status = os.fstat(folder)
        if status.st_uid != os.geteuid() or stat.S_IMODE(status.st_mode) & 0o077:
            raise _unusable_store(store, f"{path} must belong to you and be closed to others (chmod 700)")
        yield folder
    finally:
        os.close(folder)


def _file_id(address: str) -> tuple[int, int]:
    status = os.stat(address, follow_symlinks=False)
    return status.st_dev, status.st_ino


def _address(folder: int, name: str) -> str:
    return f"/proc/self/fd/{folder}/{name}"


def _unusable_store(store: Path, why: str) -> WinnowError:
    return WinnowError("INDEX_UNAVAILABLE", f"the store {store} cannot be shared: {why}{_WORK_ALONE}")
