"""The functions that filter, group and format rows, on arbitrary rows."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.client_sdk import (
    Row,
    cite,
    dedupe,
    filter_rows,
    format_for_agent,
    group_by,
    quotes,
    summarize,
    tokens,
    transport,
)
from winnow.server.text.words.tokens import count_tokens

ROWS = [
    Row(
        id="a", title="Retries", score=0.9, file="guide/net/retry.md", type="markdown", vendor="Acme", tags=["net"]
    ),
    Row(id="b", title="Draft", score=0.5, file="guide/draft/retry.md", type="markdown", vendor="", tags=["old"]),
    Row(
        id="c",
        title="Client",
        score=0.4,
        file="src/client.py",
        type="code",
        vendor="acme",
        content="def retry(): 1",
    ),
    Row(id="d", title="Notes", metadata=Row(file="notes.txt", type="text", doc_tag="ops")),
    Row(id="e", quote="Retry three times.", title="Retries", section="Policy", uri="winnow://x", confidence=0.5),
]


@pytest.fixture(autouse=True)
def _counting() -> Iterator[None]:
    """A host that only counts tokens."""
    transport.connect(lambda method, params, each=(): {"ok": {"counts": [*map(count_tokens, params["texts"])]}})
    yield
    transport._transport.clear()


CONDITIONS: Mapping[str, tuple[dict[str, Any], str]] = {
    "a vendor in any case": ({"domain": "ACME"}, "ac"),
    "a tag": ({"domain": "net"}, "a"),
    "a doc tag": ({"domain": "ops"}, "d"),
    "a first folder": ({"domain": "guide"}, "ab"),
    "one of several domains": ({"domain": ["ops", "src"]}, "cd"),
    "a least score": ({"min_score": 0.5}, "ab"),
    "a highest score": ({"max_score": 0.45}, "cde"),
    "scores between": ({"min_score": 0.41, "max_score": 0.6}, "b"),
    "a type": ({"type": "code"}, "c"),
    "a type within the metadata": ({"type": "text"}, "d"),
    "one of several types": ({"type": ["code", "TEXT"]}, "cd"),
    "a language": ({"language": "Python"}, "c"),
    "several languages": ({"language": ["python", "text"]}, "cd"),
    "a path": ({"include": r"^guide/"}, "ab"),
    "one of several paths": ({"include": ["net", r"\.py$"]}, "ac"),
    "not a path": ({"exclude": "draft"}, "acde"),
    "none of several paths": ({"exclude": ["draft", "src", "notes"]}, "ae"),
    "a path without a part of it": ({"include": "retry", "exclude": "draft"}, "a"),
    "a field that equals": ({"metadata": {"title": "retries"}}, "ae"),
    "fields that equal": ({"metadata": {"title": "Retries", "vendor": "acme"}}, "a"),
    "one of several values": ({"metadata": {"id": ["a", "d", "x"]}}, "ad"),
    "a field that nothing has": ({"metadata": {"colour": "red"}}, ""),
    "a predicate": ({"predicate": lambda row: "quote" in row}, "e"),
    "all of several": ({"domain": "acme", "type": "code", "min_score": 0.1}, "c"),
    "any of several": ({"type": "code", "min_score": 0.9, "match": "any"}, "ac"),
    "any with a predicate": ({"predicate": lambda row: row.id == "e", "domain": "ops", "match": "any"}, "de"),
    "nothing asked": ({}, "abcde"),
    "nothing asked of any": ({"match": "any"}, "abcde"),
}


@pytest.mark.parametrize("name", CONDITIONS)
def test_rows_that_fulfil_conditions_keep_their_order(name: str) -> None:
    options, expected = CONDITIONS[name]
    assert "".join(row.id for row in filter_rows(ROWS, **options)) == expected


@settings(deadline=None)
@given(st.lists(st.sampled_from([name for name in CONDITIONS if "any" not in name]), min_size=2, max_size=3))
def test_conditions_one_after_the_other_are_all_of_them(names: list[str]) -> None:
    left = ROWS
    for name in names:
        left = filter_rows(left, **CONDITIONS[name][0])
    alone = [set(CONDITIONS[name][1]) for name in names]
    assert "".join(row.id for row in left) == "".join(
        row.id for row in ROWS if all(row.id in one for one in alone)
    )


def test_a_wrong_way_to_match_is_refused() -> None:
    with pytest.raises(ValueError, match="'all' or 'any'"):
        filter_rows(ROWS, match="some")


def test_rows_of_a_kind_are_one_row() -> None:
    again = [*ROWS, Row(id="x", quote="RETRY, three  times!")]
    assert [row.id for row in dedupe(again, by="title")] == ["a", "b", "c", "d", "x"]
    assert [row.id for row in dedupe(again[4:], by="text")] == ["e"]
    assert [row.id for row in dedupe([*again, *ROWS])] == ["a", "b", "c", "d", "e", "x"]


def test_groups_are_named_in_the_order_of_their_rows() -> None:
    assert {name: [row.id for row in rows] for name, rows in group_by(ROWS, "type").items()} == {
        "markdown": ["a", "b"], "code": ["c"], "text": ["d"], "": ["e"]}  # fmt: skip
    assert list(group_by(ROWS, lambda row: len(row.title))) == ["7", "5", "6"]


def test_a_row_says_where_it_comes_from() -> None:
    assert [cite(row) for row in ROWS[2:]] == [
        "Client (src/client.py) [c]", "Notes (notes.txt) [d]", "Retries, Policy [e]"]  # fmt: skip
    assert quotes([*ROWS, *ROWS]) == [
        {"quote": "def retry(): 1", "source": "Client (src/client.py)", "id": "c"},
        {"quote": "Retry three times.", "source": "Retries, Policy", "id": "e"},
    ]
    assert summarize(ROWS[2:3], 8) == [
        {"id": "c", "title": "Client", "score": 0.4, "file": "src/cli…", "text": "def ret…"}]  # fmt: skip


def test_json_for_an_agent_is_json_with_what_was_left_out() -> None:
    whole = json.loads(format_for_agent(ROWS, "json", fields=["id", "score"]))
    scores = [["a", 0.9], ["b", 0.5], ["c", 0.4], ["d", None], ["e", None]]
    assert whole == {"columns": ["id", "score"], "rows": scores}
    cut = json.loads(format_for_agent(ROWS * 40, "json", max_tokens=80, fields=["id", "title"]))
    assert len(cut["rows"]) + cut["left_out"] == 200
    assert cut["rows"]


def test_a_table_keeps_its_columns_whatever_the_cells_say() -> None:
    table = format_for_agent([Row(title="a | b\nc"), Row(title="d")], "table", fields="title")
    assert table == "| title |\n|---|\n| a \\| b c |\n| d |\n"


def test_a_style_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="'text', 'table', 'json'"):
        format_for_agent(ROWS, "html")


# Letters of different lengths in tokens, and characters that JSON and Markdown escape.
TEXT = st.text('aé日🙂 \n|"\\{,9\u2028', max_size=150)
ANY_ROW = st.dictionaries(
    st.sampled_from(["id", "title", "section", "score", "file", "content", "quote"]),
    st.one_of(TEXT, st.floats(0, 1), st.none()),
)


@settings(deadline=None)
@given(
    st.lists(ANY_ROW, max_size=6),
    st.sampled_from(["text", "table", "json"]),
    st.integers(50, 400),
)
def test_a_text_for_an_agent_never_takes_more_than_asked_for(
    rows: list[dict[str, Any]], style: str, bound: int
) -> None:
    text = format_for_agent(map(Row, rows), style, bound)
    assert count_tokens(text) <= bound
    if style == "json":
        told = json.loads(text)
        assert len(told["rows"]) + told.get("left_out", 0) == len(rows)


@settings(deadline=None)
@given(TEXT, st.integers(1, 100))
def test_a_long_text_is_counted_as_if_it_were_one(text: str, times: int) -> None:
    long = " ".join(itertools.repeat(text or "word", times * 10))
    assert abs(tokens(long) - count_tokens(long)) <= len(long) // 4_000


@pytest.mark.parametrize("field", ["text", "content", "excerpt", "quote", "snippet", "context"])
@pytest.mark.parametrize("make", [dict, Row])
def test_a_text_is_shown_under_any_name(field: str, make: Any) -> None:
    row = make({"id": "a", "title": "T", field: "some words"})
    for name in ("text", "content"):
        assert [dict(small) for small in summarize([row], fields=["id", name])] == [
            {"id": "a", name: "some words"}
        ]
    assert "some words" in format_for_agent([row])
    assert quotes([row])[0].quote == "some words"
