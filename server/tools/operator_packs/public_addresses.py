"""Whether an address is one of the public internet: the special-purpose registries of IANA, as tables.

Addresses of version 6 that carry one of version 4 are judged by that one: a gateway on the way may unpack it. Of
version 6 only global unicast is taken, without the blocks of protocols and documentation in it.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

# Networks of version 6 that carry an address of version 4, and how many bits come after it.
_CARRIERS: Sequence[tuple[IPv6Network, int]] = (
    (IPv6Network("::ffff:0:0/96"), 0),  # mapped
    (IPv6Network("64:ff9b::/96"), 0),  # translated by a gateway
    (IPv6Network("2002::/16"), 80),  # 6to4
)
_SPECIAL_4: Sequence[IPv4Network] = tuple(
    map(
        IPv4Network,
        (
            *("0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
            *("192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15"),
            *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4"),
        ),
    )
)
_GLOBAL_UNICAST = IPv6Network("2000::/3")
# Within global unicast: assignments of protocols (Teredo among them) and documentation.
_SPECIAL_6: Sequence[IPv6Network] = tuple(map(IPv6Network, ("2001::/23", "2001:db8::/32", "3fff::/20")))


def is_public(address: str) -> bool:
    """Whether this address is one of the public internet.

    >>> [is_public(each) for each in ("1.1.1.1", "10.0.0.1", "64:ff9b::a9fe:a9fe", "2606:4700::1111")]
    [True, False, False, True]
    """
    parsed = _unpack(ipaddress.ip_address(address))
    if isinstance(parsed, IPv4Address):
        return not any(parsed in network for network in _SPECIAL_4)
    return parsed in _GLOBAL_UNICAST and not any(parsed in network for network in _SPECIAL_6)


def _unpack(address: IPv4Address | IPv6Address) -> IPv4Address | IPv6Address:
    """The address of version 4 that this one carries; else the address itself."""
    for network, bits in _CARRIERS:
        if isinstance(address, IPv6Address) and address in network:
            return IPv4Address(int(address) >> bits & 0xFFFF_FFFF)
    return address
