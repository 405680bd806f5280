"""Addresses for HTTP: loopback only."""

from __future__ import annotations

import pytest

from server.errors import WinnowError
from server.transports.addresses import parse_address


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("127.0.0.1:8765", ("127.0.0.1", 8765)),
        ("localhost:0", ("localhost", 0)),
        ("[::1]:80", ("::1", 80)),
    ],
)
def test_a_loopback_address_is_taken(address: str, expected: tuple[str, int]) -> None:
    assert parse_address(address) == expected


@pytest.mark.parametrize(
    "address",
    ["0.0.0.0:80", "8765", "example.org:80", "127.0.0.1:", "127.0.0.1:99999", "127.0.0.1:-1", "", ":80", "[::]:1"],
)
def test_anything_that_others_could_reach_is_refused(address: str) -> None:
    with pytest.raises(WinnowError):
        parse_address(address)
