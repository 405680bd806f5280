"""Requests for a start of winnow, and their way to a template: one frame, and descriptors beside it."""

from __future__ import annotations

import array
import marshal
import socket
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields

_LENGTH = struct.Struct("<I")
_MAX_DESCRIPTORS = 64


@dataclass(frozen=True, slots=True)
class Request:
    """One start of a program in Python.

    ``name``: the path of the program, or ``-c``. ``numbers``: of the sent descriptors in the new process.
    ``group``: the process group to join; a negative one for none. ``starts_others``: the program starts further
    processes of winnow.
    """

    name: str
    source: str
    arguments: Sequence[str]
    environment: Mapping[bytes, bytes]
    folder: bytes
    numbers: Sequence[int]
    has_own_session: bool
    group: int
    starts_others: bool


def send(channel: socket.socket, request: Request, descriptors: Sequence[int]) -> None:
    """Send a request with its descriptors."""
    body = marshal.dumps(tuple(getattr(request, each.name) for each in fields(request)))
    socket.send_fds(channel, [_LENGTH.pack(len(body))], list(descriptors))
    channel.sendall(body)


def receive(channel: socket.socket) -> tuple[Request, list[int]] | None:
    """The next request with its descriptors; None at the end."""
    head, sent, _, _ = channel.recvmsg(_LENGTH.size, _room(), socket.MSG_WAITALL | socket.MSG_CMSG_CLOEXEC)
    if not head:
        return None
    descriptors = array.array("i")
    for _, _, data in sent:
        descriptors.frombytes(data)
    (length,) = _LENGTH.unpack(head)
    return Request(*marshal.loads(read(channel, length))), list(descriptors)


def _room() -> int:
    return socket.CMSG_SPACE(_MAX_DESCRIPTORS * array.array("i").itemsize)


def read(channel: socket.socket, length: int) -> bytes:
    """So many bytes. ``EOFError`` where the other end is closed before."""
    body = b""
    while len(body) < length:
        if not (more := channel.recv(length - len(body))):
            raise EOFError
        body += more
    return body
