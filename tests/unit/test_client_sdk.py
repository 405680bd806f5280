"""Rows and pages as a script sees them."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator
from typing import Any

import pytest

import client_sdk
from client_sdk import MissingField, Results, Row, SDKError, transport

PAGE = {
    "mode": "metadata",
    "count": 2,
    "results": [{"id": "a", "title": "A", "metadata": {"tag": "t"}}, {"id": "b", "title": "B"}],
    "estimated_tokens": 12,
    "next_cursor": "c1",
}


@pytest.fixture
def asked() -> Iterator[list[Any]]:
    """What the SDK asked the host, which answers with one page."""
    calls: list[Any] = []

    def answer(method: str, params: Any) -> dict[str, Any]:
        calls.append((method, dict(params)))
        return {"ok": PAGE}

    transport.connect(answer)
    yield calls
    transport._transport.clear()


def test_a_page_is_a_list_that_knows_its_fields() -> None:
    page = Results(PAGE)
    assert [row.id for row in page] == page.ids == page["ids"] == ["a", "b"]
    assert (page.count, page.mode, page["estimated_tokens"], page.next_cursor, page.warnings) == (
        2, "metadata", 12, "c1", [])  # fmt: skip
    assert page["results"] is page.results is page
    assert ("mode" in page, "nothing" in page, page[0] in page, page.get("nothing", 5)) == (True, False, True, 5)
    assert [row.title for row in page[1:]] == ["B"]


def test_a_page_of_ids_has_rows_of_ids() -> None:
    page = Results({"mode": "ids_only", "count": 2, "ids": ["a", "b"]})
    assert (page.ids, page[0].id, len(page), page.next_cursor) == (["a", "b"], "a", 2, None)


def test_a_row_is_a_dict_with_attributes() -> None:
    row = Results(PAGE)[0]
    row.note = "n"
    assert (row.title, row["title"], row.metadata.tag, row["note"], row.get("x")) == ("A", "A", "t", "n", None)
    assert row == {"id": "a", "title": "A", "metadata": {"tag": "t"}, "note": "n"}


@pytest.mark.parametrize("fields", [{"file": "a.md"}, {"metadata": {"file": "a.md"}}])
def test_what_is_known_of_a_hit_answers_at_every_level_in_both_spellings(fields: dict[str, Any]) -> None:
    row = Results({"results": [{"id": "a", **fields}]})[0]
    assert (row.file, row["file"], row.get("file"), row.metadata.file, row["metadata"]["file"]) == ("a.md",) * 5


@pytest.mark.parametrize(
    ("read", "message"),
    [
        (lambda page: page[0].titel, "did you mean 'title'?"),
        (lambda page: page[0]["text"], "response_mode='full'"),
        (lambda page: page[0].tga, "did you mean 'tag'?"),
        (lambda page: page.cuont, "did you mean 'count'?"),
        (lambda page: page.title, "page[0].title"),
    ],
)
def test_a_missing_field_says_what_to_write(read: Any, message: str) -> None:
    with pytest.raises(MissingField) as caught:
        read(Results(PAGE))
    assert message in str(caught.value)
    assert isinstance(caught.value, KeyError) and isinstance(caught.value, AttributeError)  # noqa: PT018


def test_awaiting_a_page_gives_the_page(asked: list[Any]) -> None:
    async def script() -> Results:
        return await client_sdk.kb.search("q")

    assert asyncio.run(script()).ids == ["a", "b"]
    assert asked == [("kb.search", {"query": "q", "top_k": 5})]


def test_a_refusal_is_an_exception_with_type_and_hint() -> None:
    error = {"type": "SCOPE_VIOLATION", "message": "not yours", "hint": "leave scope out", "limit": False}
    transport.connect(lambda method, params: {"error": error})
    with pytest.raises(SDKError) as caught:
        client_sdk.fetch("a")
    transport._transport.clear()
    assert (caught.value.type, caught.value.hint, caught.value.limit) == (
        "SCOPE_VIOLATION",
        "leave scope out",
        False,
    )
    assert str(caught.value) == "SCOPE_VIOLATION: not yours (leave scope out)"


def test_outside_the_sandbox_a_call_says_so() -> None:
    with pytest.raises(SDKError, match="inside execute_code"):
        client_sdk.kb.search("q")


def test_every_public_function_says_how_it_is_used() -> None:
    for thing in (
        client_sdk.kb.search,
        client_sdk.semantic_search,
        client_sdk.fetch,
        client_sdk.MCPClient,
        Results,
        Row,
    ):
        assert "\n\n" in (thing.__doc__ or "")


def test_a_row_survives_a_copy() -> None:
    row = Results(PAGE)[0]
    assert (pickle.loads(pickle.dumps(row)), type(row.copy())) == (row, dict)
