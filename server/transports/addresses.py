"""Loopback addresses: which there are, how they are spelled, and who shares one."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from typing import Any

from server.errors import WinnowError

_LARGEST_PORT = 65_535
_BACKLOG = 128  # connections that wait to be accepted
# All loopback addresses are one machine: a client must not get another allowance by another of them.
LOOPBACK = "loopback"


def is_loopback(host: str) -> bool:
    """Whether ``host``, a name or an address without brackets, is this machine and nothing else.

    >>> [is_loopback(host) for host in ("127.0.0.2", "::1", "::ffff:127.0.0.1", "LocalHost.", "10.0.0.1")]
    [True, True, True, True, False]
    """
    if host.lower().removesuffix(".") == "localhost":
        return True
    with contextlib.suppress(ValueError):
        address = ipaddress.ip_address(host)
        mapped = getattr(address, "ipv4_mapped", None)
        return (mapped or address).is_loopback
    return False


def group_of(peer: str) -> str:
    """The name under which limits count a peer's address: the same for all of loopback."""
    return LOOPBACK if is_loopback(peer) else peer


def parse_address(address: str) -> tuple[str, int]:
    """``HOST:PORT`` of a loopback address.

    Raises:
        WinnowError: INVALID_REQUEST for anything else, and for a host that others could reach.
    """
    host, separator, port = address.rpartition(":")
    host = host.strip("[]")
    if not separator or not port.isdecimal() or not port.isascii() or not 0 <= int(port) <= _LARGEST_PORT:
        raise WinnowError("INVALID_REQUEST", f"--http takes HOST:PORT, e.g. 127.0.0.1:8765 (got {address!r})")
    if not is_loopback(host):
        raise WinnowError(
            "INVALID_REQUEST", f"--http: {host!r} is not a loopback address, and there is no authentication yet"
        )
    return host, int(port)


def listen(host: str, port: int) -> list[socket.socket]:
    """Sockets that listen on every address of ``host``.

    Raises:
        WinnowError: INVALID_REQUEST where an address is in use or cannot be had, or where the name ``localhost``
            stands for another machine.
    """
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    sockets: list[socket.socket] = []
    try:
        for family, _, _, _, address in dict.fromkeys(found):
            if not is_loopback(str(address[0])):
                raise WinnowError("INVALID_REQUEST", f"--http: {host!r} stands for {address[0]}, not for loopback")
            sockets.append(_bound(family, address))
    except OSError as error:
        _close(sockets)
        raise WinnowError(
            "INVALID_REQUEST",
            f"--http: cannot listen on {host}:{port} ({error.strerror}); stop what listens there, or choose "
            "another port",
        ) from None
    except WinnowError:
        _close(sockets)
        raise
    return sockets


def _bound(family: int, address: Any) -> socket.socket:
    opened = socket.socket(family, socket.SOCK_STREAM)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            opened.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        opened.bind(address)
        opened.listen(_BACKLOG)
    except OSError:
        opened.close()
        raise
    return opened


def _close(sockets: list[socket.socket]) -> None:
    for opened in sockets:
        opened.close()
