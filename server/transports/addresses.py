"""Loopback addresses: recognising them, parsing HOST:PORT, and opening listening sockets."""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from typing import Any

from server.errors import WinnowError

_LARGEST_PORT = 65_535
_BACKLOG = 128  # connections that wait to be accepted
# All loopback addresses are one machine: a client must not get a second rate limit by using another of them.
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
    """The key under which limits count a peer's address: the same for all of loopback."""
    return LOOPBACK if is_loopback(peer) else peer


def parse_address(address: str) -> tuple[str, int]:
    """Parse ``HOST:PORT`` of a loopback address.

    Raises:
        WinnowError: INVALID_REQUEST for anything else, and for a host that other machines could reach.
    """
    host, separator, port = address.rpartition(":")
    host = host.strip("[]")
    if not separator or not port.isdecimal() or not port.isascii() or not 0 <= int(port) <= _LARGEST_PORT:
        raise WinnowError("INVALID_REQUEST", f"--http takes HOST:PORT, e.g. 127.0.0.1:8765 (got {address!r})")
    if not is_loopback(host):
        raise WinnowError(
            "INVALID_REQUEST",
            f"--http: {host!r} is not a loopback address, and there is no authentication yet; use 127.0.0.1",
        )
    return host, int(port)


def listen(host: str, port: int) -> list[socket.socket]:
    """Open listening sockets on every address of ``host``.

    Raises:
        WinnowError: INVALID_REQUEST where an address is in use or not available, or where the name ``localhost``
            resolves to another machine.
    """
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    sockets: list[socket.socket] = []
    try:
        for family, _, _, _, address in dict.fromkeys(addresses):
            if not is_loopback(str(address[0])):
                raise WinnowError(
                    "INVALID_REQUEST", f"--http: {host!r} resolves to {address[0]}, which is not loopback"
                )
            sockets.append(_bind_socket(family, address))
    except OSError as error:
        _close_all(sockets)
        raise WinnowError(
            "INVALID_REQUEST",
            f"--http: cannot listen on {host}:{port} ({error.strerror}); stop what listens there, or choose "
            "another port",
        ) from None
    except WinnowError:
        _close_all(sockets)
        raise
    return sockets


def _bind_socket(family: int, address: Any) -> socket.socket:
    bound = socket.socket(family, socket.SOCK_STREAM)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
        bound.listen(_BACKLOG)
    except OSError:
        bound.close()
        raise
    return bound


def _close_all(sockets: list[socket.socket]) -> None:
    for bound in sockets:
        bound.close()
