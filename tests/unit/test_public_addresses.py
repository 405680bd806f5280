"""Addresses of the special-purpose registries are not public, whichever way they are written."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network

import pytest

from winnow.server.tools.operator_packs.public_addresses import is_public

pytestmark = pytest.mark.both_users

# Every block of the registries for special purposes, of the addresses for multicast, and reserved ones.
_BLOCKS_4 = (
    *("0.0.0.0/8", "0.0.0.0/32", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12"),
    *("192.0.0.0/24", "192.0.0.0/29", "192.0.0.8/32", "192.0.0.9/32", "192.0.0.10/32", "192.0.0.170/32"),
    *("192.0.0.171/32", "192.0.2.0/24", "192.88.99.0/24", "192.88.99.2/32", "192.168.0.0/16", "198.18.0.0/15"),
    *("198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "255.255.255.255/32"),
)
_BLOCKS_6 = (
    *(
        "::1/128",
        "::/128",
        "::ffff:0:0:0/96",
        "::/96",
        "64:ff9b:1::/48",
        "100::/64",
        "100:0:0:1::/64",
        "2001::/23",
    ),
    *("2001::/32", "2001:1::1/128", "2001:1::2/128", "2001:1::3/128", "2001:2::/48", "2001:3::/32"),
    *(
        "2001:4:112::/48",
        "2001:10::/28",
        "2001:20::/28",
        "2001:30::/28",
        "2001:db8::/32",
        "3fff::/20",
        "5f00::/16",
    ),
    *("fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8"),
)
_PUBLIC_4 = ("1.1.1.1", "9.9.9.9", "100.63.255.255", "100.128.0.0", "172.15.0.1", "172.32.0.1", "223.255.255.255")
# Reachable by their registry: AS112 and AMT.
_REACHABLE_4 = ("192.31.196.1", "192.52.193.1", "192.175.48.1")
_PUBLIC_6 = ("2606:4700::1111", "2a00:1450::1", "2620:4f:8000::1", "2001:200::1", "2003::1")


def _carriers(address: IPv4Address) -> tuple[str, ...]:
    """The ways in which an address of version 6 carries one of version 4."""
    number = int(address)
    return (
        f"::ffff:{address}",
        str(IPv6Address((0x64FF9B << 96) + number)),
        str(IPv6Address((0x2002 << 112) + (number << 80) + 1)),
    )


@pytest.mark.parametrize("block", _BLOCKS_4)
def test_no_address_of_a_special_block_is_public_in_any_form(block: str) -> None:
    network = IPv4Network(block)
    for address in (network[0], network[network.num_addresses // 2], network[-1]):
        forms = (str(address), *_carriers(address), f"::{address}")
        assert [form for form in forms if is_public(form)] == []


@pytest.mark.parametrize("block", _BLOCKS_6)
def test_no_address_of_a_special_block_of_version_6_is_public(block: str) -> None:
    network = IPv6Network(block)
    ends = (network[0], network[network.num_addresses // 2], network[-1])
    assert [str(address) for address in ends if is_public(str(address))] == []


@pytest.mark.parametrize("address", [*_PUBLIC_4, *_REACHABLE_4])
def test_a_public_address_is_public_in_the_forms_that_carry_it(address: str) -> None:
    forms = (address, *_carriers(IPv4Address(address)))
    assert [form for form in forms if not is_public(form)] == []


@pytest.mark.parametrize("address", _PUBLIC_6)
def test_a_public_address_of_version_6_is_public(address: str) -> None:
    assert is_public(address)


@pytest.mark.parametrize("address", ["64:ff9b::a9fe:a9fe", "fec0::1", "::7f00:1", "2002:7f00:1::1"])
def test_addresses_that_hide_a_private_one_are_not_public(address: str) -> None:
    assert not is_public(address)
