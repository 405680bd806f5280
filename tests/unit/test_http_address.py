"""Addresses for HTTP."""

from __future__ import annotations

import pytest

from winnow.server.errors import WinnowError
from winnow.server.transports.addresses import parse_address


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1:8765", ("127.0.0.1", 8765)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:80", ("::1", 80)),
        ("0.0.0.0:80", ("0.0.0.0", 80)),
        ("winnow.example.org:80", ("winnow.example.org", 80)),
    ],
)
def test_a_host_and_a_port_are_taken(address: str, expected: tuple[str, int]) -> None:
    assert parse_address(address) == expected


@pytest.mark.parametrize(
    "address",
    ["8765", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:-1", "", ":80", "a b:80", "[::1:80"],
)
def test_anything_else_is_refused(address: str) -> None:
    with pytest.raises(WinnowError):
        parse_address(address)
