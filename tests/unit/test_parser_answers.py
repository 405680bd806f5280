"""What a child says of a file is refused or is within its bounds, whatever it says."""

from __future__ import annotations

import json
from dataclasses import asdict, astuple
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.ingest.children.answers import check_parsed_file, check_text
from winnow.server.models import HiddenReason, Place, PlaceKind, Reading
from winnow.server.readers import frames
from winnow.server.readers.documents import RawDocument, clean_document
from winnow.server.readers.frames import ParserProtocolError
from winnow.server.text import stated_facts
from winnow.server.text.printable import one_line

_TEXT = "one two three"
_HONEST = Reading("liteparse", 3, 2, True, (1, 3), 1, ("a.csv",), ("two notes",), {"invisible": 1, "too small": 1})

_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=8), inner, max_size=5),
    max_leaves=12,
)
_places = st.lists(
    st.tuples(
        st.integers(-2, 20) | _json,
        st.sampled_from(get_args(PlaceKind)) | _json,
        st.integers(-1, 9) | _json,
        st.text(max_size=400) | _json,
        st.none() | st.lists(st.integers(-1, 9), max_size=3) | _json,
    ).map(list)
    | _json,
    max_size=4,
)
_readings = st.fixed_dictionaries(
    {
        "reader": st.just("r") | _json,
        "pages": st.integers(-1, 2**40) | _json,
        "hidden_runs": st.integers(0, 3) | _json,
        "hidden_kept": st.booleans() | _json,
        "needs_ocr": st.lists(st.integers(0, 9), max_size=3) | _json,
        "ocr_pages": st.just(0) | _json,
        "attachments": st.lists(st.text(max_size=400), max_size=3) | _json,
        "notes": st.just([]) | _json,
        "hidden_reasons": st.just({})
        | st.dictionaries(st.sampled_from(get_args(HiddenReason)), st.integers())
        | _json,
    }
)
_answers = st.fixed_dictionaries(
    {
        "title": st.text(max_size=2000) | _json,
        "places": _places | _json,
        "facts": st.dictionaries(st.text(), _json, max_size=3) | _json,
        "reading": _readings | _json,
    }
)


def _honest(**changes: Any) -> dict[str, Any]:
    facts = {"title": "T", "places": [], "facts": {"author": "A"}, "reading": asdict(_HONEST)}
    encoded: dict[str, Any] = json.loads(frames.dump({**facts, **changes}))
    return encoded


def test_an_honest_answer_arrives_as_it_was_sent() -> None:
    places = (Place(0, "page", 1, "i"), Place(4, "page", 2, "ii"), Place(4, "sheet", 1, "Costs", (2, 40)))
    parsed = check_parsed_file(_honest(places=list(map(astuple, places))), _TEXT)
    assert (parsed.title, parsed.places, parsed.reading) == ("T", places, _HONEST)
    assert (parsed.text, parsed.facts) == (_TEXT, {"author": "A"})


@given(_answers)
def test_any_answer_is_refused_or_is_within_the_bounds(answer: dict[str, Any]) -> None:
    try:
        parsed = check_parsed_file(answer, _TEXT)
    except ParserProtocolError:
        return
    starts = [place.start for place in parsed.places]
    assert starts == sorted(starts)
    assert all(0 <= start <= len(_TEXT) for start in starts)
    lines = [parsed.title, parsed.reading.reader, *parsed.reading.attachments, *parsed.reading.notes]
    lines += [place.label for place in parsed.places]
    assert [line for line in lines if line != one_line(line)] == []
    assert max(map(len, lines)) <= max(300, stated_facts.TITLE_CHARS)
    assert all(type(place.number) is int and place.number >= 1 for place in parsed.places)
    assert all(place.rows is None or 1 <= place.rows[0] <= place.rows[1] for place in parsed.places)
    assert 0 <= parsed.reading.pages <= 2**31
    assert parsed.reading.hidden_reasons.keys() <= set(get_args(HiddenReason))
    assert sum(parsed.reading.hidden_reasons.values()) == parsed.reading.hidden_runs


@given(st.binary(max_size=200))
def test_any_bytes_are_a_text_or_are_refused(data: bytes) -> None:
    try:
        raw = RawDocument("a", "pdf", "", check_text(data))
    except ParserProtocolError:
        return
    text = clean_document(raw).text
    assert not {"\r", "\0"} & set(text)
    text.encode()


@pytest.mark.parametrize("body", [b"", b"[]", b"nan", b'{"a": NaN}', b"{" * 100_000, b"\xff", b"1" * 5_000])
def test_facts_that_are_no_json_object_are_refused(body: bytes) -> None:
    with pytest.raises(ParserProtocolError):
        frames.load(body)


def test_a_text_that_is_too_long_is_refused() -> None:
    assert len(check_text(b"x" * frames.MAX_TEXT_CHARS)) == frames.MAX_TEXT_CHARS
    with pytest.raises(ParserProtocolError):
        check_text(b"x" * (frames.MAX_TEXT_CHARS + 1))
