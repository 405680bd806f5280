"""Where an engine listens, and who may be at the two ends of its socket.

The socket lies in the store's folder, below a folder that only its owner may enter. The kernel says whose process
the other end is; both ends ask. A socket's address has room for about a hundred characters, which the path of a
store may exceed: the folder is opened first, and the address leads through the descriptor.
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

from server.backends.files.store_folder import named
from server.errors import WinnowError

_SOCKET = "engine.sock"
_SERVER = re.compile(r"server-\d{1,10}\.sock")
_PEER = struct.Struct("3i")
_BACKLOG = 64
_ALONE = "; to work in one process: the setting daemon = off"


@dataclass(frozen=True, slots=True)
class Peer:
    """The process at the other end, as the kernel knows it."""

    pid: int
    uid: int


def is_possible() -> bool:
    """Whether engines are shared on this system: the kernel must say who is at the other end, as Linux does."""
    return sys.platform == "linux"


@dataclass(frozen=True, slots=True)
class Listener:
    """A socket that listens; ``file`` tells its file from one that another engine may put in its place."""

    socket: socket.socket
    file: tuple[int, int]


def listening(store: Path, name: str = _SOCKET) -> Listener:
    """A socket that the owner's processes can connect to; what a dead engine left is put away.

    Only for the holder of the store's engine lock, or for a server under its ``server_socket``. Raises
    ``WinnowError("INDEX_UNAVAILABLE")`` where the folder is not safe or can hold no socket.
    """
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
            return Listener(opened, _file(address))
        except OSError as error:
            opened.close()
            raise _unusable(store, f"it can hold no socket ({error.strerror})") from None


def shut(store: Path, door: Listener, name: str = _SOCKET) -> None:
    """Nobody finds the door any more, and who stands before it is sent away, also where other processes have it.

    A store that was deleted and made again may have another door.
    """
    with suppress(OSError, WinnowError), _run_folder(store, create=False) as folder:
        if _file(_address(folder, name)) == door.file:
            os.unlink(_address(folder, name))
    door.socket.setblocking(False)
    with suppress(OSError):
        door.socket.shutdown(socket.SHUT_RDWR)
    with suppress(OSError):
        while True:
            door.socket.accept()[0].close()


def connected(store: Path, name: str = _SOCKET) -> socket.socket | None:
    """A connection to the store's engine, or to the server of this name; None where none listens.

    Raises ``WinnowError("INDEX_UNAVAILABLE")`` where folder or engine are somebody else's.
    """
    with named(store):
        if not (store / "run").exists():
            return None
    with _run_folder(store, create=False) as folder:
        opened = socket.socket(socket.AF_UNIX)
        try:
            # No waiting in the queue of one that takes nobody out of it.
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
                f"the engine of {store} takes no connections: it is busy, or hangs; try again, or end its process",
                retryable=True,
            ) from None
        except OSError as error:
            opened.close()
            raise _unusable(store, f"its engine cannot be reached ({error.strerror})") from None
    if not is_ours(opened):
        opened.close()
        raise _unusable(store, "another user's process listens there")
    return opened


def is_listening(store: Path) -> bool:
    """Whether an engine listens for this store. Raises as ``connected`` does."""
    opened = connected(store)
    if opened is None:
        return False
    opened.close()
    return True


def server_socket(pid: int) -> str:
    """The name under which a server of the store listens for who wants its figures."""
    return f"server-{pid}.sock"


def servers(store: Path) -> list[str]:
    """The names of the servers' sockets; some may be left by servers that died. Raises as ``connected`` does."""
    if not (store / "run").exists():
        return []
    with _run_folder(store, create=False) as folder:
        return sorted(name for name in os.listdir(folder) if _SERVER.fullmatch(name))


def forget(store: Path, name: str) -> None:
    """Put away a socket at which nobody listens any more."""
    with suppress(OSError, WinnowError), _run_folder(store, create=False) as folder:
        os.unlink(_address(folder, name))


def peer_of(connection: socket.socket) -> Peer:
    """Who connected, or listened, at the other end."""
    found = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _PEER.size)
    pid, uid, _ = _PEER.unpack(found)
    return Peer(pid, uid)


def is_ours(connection: socket.socket) -> bool:
    """Whether the other end is a process of the same user."""
    return peer_of(connection).uid == os.geteuid()


@contextmanager
def _run_folder(store: Path, *, create: bool) -> Iterator[int]:
    """The folder of the socket as a descriptor: what was looked at is what is used."""
    path = store / "run"
    try:
        if create:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError as error:
        raise _unusable(store, f"{path} cannot be opened ({error.strerror})") from None
    try:
        facts = os.fstat(folder)
        if facts.st_uid != os.geteuid() or stat.S_IMODE(facts.st_mode) & 0o077:
            raise _unusable(store, f"{path} must belong to you, and be closed to others (chmod 700)")
        yield folder
    finally:
        os.close(folder)


def _file(address: str) -> tuple[int, int]:
    facts = os.stat(address, follow_symlinks=False)
    return facts.st_dev, facts.st_ino


def _address(folder: int, name: str) -> str:
    return f"/proc/self/fd/{folder}/{name}"


def _unusable(store: Path, why: str) -> WinnowError:
    return WinnowError("INDEX_UNAVAILABLE", f"the store {store} cannot be shared: {why}{_ALONE}")
