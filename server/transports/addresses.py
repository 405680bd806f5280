"""Addresses: loopback, HOST:PORT, networks, the client behind a proxy, and listening sockets."""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
from collections.abc import Iterable, Sequence
from typing import Any

from winnow.server.errors import WinnowError

_LARGEST_PORT = 65_535
BACKLOG = 128  # connections that wait to be accepted
# All loopback addresses are one machine: a client must not get a second rate limit by using another of them.
LOOPBACK = "loopback"
# An IPv6 client has a network of its own, of which it may use any address.
_IPV6_PREFIX = 64
_MAPPED_PREFIX = 96  # of IPv4 addresses in IPv6
_HOST_NAME = re.compile(r"(?=.{1,253}$)[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*")
_WITH_PORT = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]{2,45})\]|(?P<four>[0-9.]{7,15}))(?::[0-9]{1,5})?")
# A client whose proxy states no address: all of them together have one limit.
UNREAD = "unknown"
_MAX_HOPS = 20  # of a header that names proxies

Networks = tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]


def is_loopback(host: str) -> bool:
    """Whether ``host``, a name or an address without brackets, is this machine and nothing else.

    >>> [is_loopback(host) for host in ("127.0.0.2", "::1", "::ffff:127.0.0.1", "LocalHost.", "10.0.0.1")]
    [True, True, True, True, False]
    """
    if host.lower().removesuffix(".") == "localhost":
        return True
    address = _read_address(host)
    return address is not None and address.is_loopback


def group_of(peer: str) -> str:
    """The key under which limits count a peer's address: the same for all of loopback, and for an IPv6 network.

    >>> [group_of(peer) for peer in ("127.0.0.9", "::ffff:192.0.2.7", "2001:db8:1:2:3::4")]
    ['loopback', '192.0.2.7', '2001:db8:1:2::/64']
    """
    if is_loopback(peer):
        return LOOPBACK
    address = _read_address(peer)
    if isinstance(address, ipaddress.IPv6Address):
        return str(ipaddress.IPv6Network((int(address), _IPV6_PREFIX), strict=False))
    return peer if address is None else str(address)


def parse_networks(option: str, texts: Iterable[str]) -> Networks:
    """Parse addresses and networks such as ``192.0.2.7`` and ``2001:db8::/32``.

    Raises ``WinnowError("INVALID_REQUEST")``, naming the option, for anything else.
    """
    try:
        return tuple(_read_network(text.strip()) for text in texts)
    except ValueError as error:
        raise WinnowError(
            "INVALID_REQUEST", f"{option} takes an address or a network, e.g. 192.0.2.0/24 ({error})"
        ) from None


def _read_network(text: str) -> ipaddress.IPv4Network | ipaddress.IPv6Network:
    """The network, as IPv4 where its addresses are IPv4 in IPv6. Raises ``ValueError``."""
    network = ipaddress.ip_network(text)
    mapped = getattr(network.network_address, "ipv4_mapped", None)
    if mapped is None:
        return network
    return ipaddress.IPv4Network((mapped, network.prefixlen - _MAPPED_PREFIX))


def parse_host_name(text: str) -> str:
    """Parse the name or address of a host, in lower case. Raises ``WinnowError("INVALID_REQUEST")``."""
    name = text.strip().strip("[]").lower().removesuffix(".")
    if not _is_host(name):
        raise WinnowError(
            "INVALID_REQUEST", f"--host-name takes a name without a port, e.g. winnow.example.com (got {text!r})"
        )
    return name


def _is_host(text: str) -> bool:
    return _HOST_NAME.fullmatch(text.lower()) is not None or _read_address(text) is not None


def is_in(address: str, networks: Networks) -> bool:
    """Whether the address is in one of the networks."""
    read = _read_address(address)
    return read is not None and any(read in network for network in networks)


def stated_client(peer: str, headers: Sequence[tuple[bytes, bytes]], proxies: Networks) -> str:
    """The address of the client for whom this proxy sends a request, by its header ``X-Forwarded-For``.

    A client may send that header too, so only the entries of known proxies are believed, from the last one back.
    Some proxies write a port, too. ``UNREAD`` stands for an entry that is no address.
    """
    sent = b",".join(value for name, value in headers if name == b"x-forwarded-for").decode("latin-1")
    client = peer
    for entry in reversed(sent.split(",")[-_MAX_HOPS:] if sent.strip() else []):
        stated = _without_port(entry.strip())
        if _read_address(stated) is None:
            return UNREAD
        client = stated
        if not is_in(client, proxies):
            break
    return client


def _without_port(entry: str) -> str:
    """An address of a header without its port: of 192.0.2.7:4711 and [2001:db8::4]:4711."""
    if found := _WITH_PORT.fullmatch(entry):
        return found["six"] or found["four"]
    return entry


def _read_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """The address, as IPv4 where it is one in IPv6; None for a text that is not an address."""
    with contextlib.suppress(ValueError):
        address = ipaddress.ip_address(host)
        return getattr(address, "ipv4_mapped", None) or address
    return None


def parse_address(address: str) -> tuple[str, int]:
    """Parse ``HOST:PORT``. Raises ``WinnowError("INVALID_REQUEST")`` for anything else."""
    host, _, port = address.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    is_port = port.isascii() and port.isdecimal() and int(port) <= _LARGEST_PORT
    if not is_port or not _is_host(host):
        raise WinnowError("INVALID_REQUEST", f"--http takes HOST:PORT, e.g. 127.0.0.1:8765 (got {address!r})")
    return host, int(port)


def listen(host: str, port: int, option: str = "--http") -> list[socket.socket]:
    """Open listening sockets on every address of ``host``, which errors call by the name of its ``option``.

    Raises:
        WinnowError: INVALID_REQUEST where an address is in use, unknown or not available, or where the name
            ``localhost`` resolves to another machine.
    """
    sockets: list[socket.socket] = []
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        for family, _, _, _, address in dict.fromkeys(addresses):
            if is_loopback(host) and not is_loopback(str(address[0])):
                raise WinnowError(
                    "INVALID_REQUEST", f"{option}: {host!r} resolves to {address[0]}, which is not loopback"
                )
            sockets.append(_bind_socket(family, address))
    except OSError as error:
        _close_all(sockets)
        raise WinnowError(
            "INVALID_REQUEST",
            f"{option}: cannot listen on {host}:{port} ({error.strerror}); stop what listens there, or choose "
            "another port",
        ) from None
    except WinnowError:
        _close_all(sockets)
        raise
    return sockets


def _bind_socket(family: int, address: Any) -> socket.socket:
    # With its protocol named: only then asyncio switches Nagle's algorithm off for the connections, which would
    # delay the second part of an answer by 40 milliseconds.
    bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
        bound.listen(BACKLOG)
    except OSError:
        bound.close()
        raise
    return bound


def _close_all(sockets: list[socket.socket]) -> None:
    for bound in sockets:
        bound.close()
