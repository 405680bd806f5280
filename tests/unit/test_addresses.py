"""Addresses are shown without user, password and query."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.settings.addresses import Address, show_address

WORDS = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=4, max_size=20)


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("http://127.0.0.1:6333", "http://127.0.0.1:6333"),
        ("minilm", "minilm"),
        ("onnx:/models/a@b", "onnx:/models/a@b"),
        ("https://me:secret@host:1", "https://***@host:1"),
        ("https://token@host", "https://***@host"),
        ("https://me:p@ss@host/v1", "https://***@host/v1"),
        ("https://me:pa/ss@host/v1", "https://***@host/v1"),
        ("openai:https://me:secret@host/v1#model@2", "openai:https://***@host/v1#model@2"),
        ("bolt+s://me:secret@host:7687", "bolt+s://***@host:7687"),
        ("https://host/v1?api_key=secret&a=b#m", "https://host/v1?api_key=***&a=***#m"),
    ],
)
def test_an_address_is_shown_without_credentials(address: str, shown: str) -> None:
    assert show_address(address) == shown
    assert f"{Address(address)}" == shown
    assert address == shown or address not in repr(Address(address))


@given(user=WORDS, password=WORDS, key=WORDS, host=st.sampled_from(["host", "127.0.0.1:1", "[::1]:1"]))
def test_what_a_library_says_is_passed_on_without_credentials(
    user: str, password: str, key: str, host: str
) -> None:
    address = Address(f"https://{user}:{password}@{host}/v1?api_key={key}")
    said = (
        f"cannot reach {address.whole}: {password} was refused for {user}, header {user}:{password}, query {key}"
    )
    shown = address.without_credentials(said).replace(str(address), "")
    assert [secret for secret in (password, key) if secret in shown.replace("cannot reach", "").split()] == []
    assert f"{user}:{password}" not in shown


def test_the_server_of_an_address_is_what_is_compared() -> None:
    one = Address("https://me:secret@Host:1/v1?key=2#model")
    assert one.server == Address("https://host:1/other").server
    assert one.server != Address("https://host:2/v1").server
    assert one.server != Address("http://host:1/v1").server
