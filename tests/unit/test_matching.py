"""The rules of path and where: globs as fnmatch, prefixes as text, values without their case."""

from __future__ import annotations

import fnmatch
import time
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.models import Document, Filters
from winnow.server.storage.base import admits
from winnow.server.text.matching import field_texts, is_glob, literal_head, path_matcher

PATHS = st.text("ab/_.-*?[]!é", max_size=12)
PATTERNS = st.text("ab/_.-*?[]!é^", min_size=1, max_size=10)
SCALARS = (
    st.none() | st.booleans() | st.integers(-3, 3) | st.sampled_from(["Beta", "beta", "ALPHA", "", "1", "true"])
)
VALUES = SCALARS | st.lists(SCALARS, max_size=3)


def _document(uri: str, **metadata: object) -> Document:
    return Document("d", "p", uri, "/s", "A title", "markdown", "h", metadata=metadata)


@given(PATTERNS, PATHS)
def test_a_pattern_matches_as_fnmatch_does_and_plain_text_as_a_prefix(pattern: str, path: str) -> None:
    expected = fnmatch.fnmatchcase(path, pattern) if is_glob(pattern) else path.startswith(pattern)
    assert path_matcher(pattern)(path) == expected
    assert admits(Filters("p", path=pattern), _document(path)) == expected


@given(PATTERNS, PATHS)
def test_every_match_begins_with_the_literal_head(pattern: str, path: str) -> None:
    assert not path_matcher(pattern)(path) or path.startswith(literal_head(pattern))


@given(st.dictionaries(st.sampled_from(["stage", "level"]), VALUES), st.lists(SCALARS, min_size=1, max_size=3))
def test_where_compares_texts_without_their_case(metadata: dict[str, object], wanted: list[object]) -> None:
    texts = tuple(text.casefold() for value in wanted for text in field_texts(value))
    value = metadata.get("stage")
    held = {str(item).casefold() for item in (value if isinstance(value, list) else [value]) if item is not None}
    held = held - {""} or {""}  # a document without a value
    filters = Filters("p", where=(("stage", texts),))
    assert admits(filters, _document("a", **metadata)) == bool(held & set(texts))


def test_where_compares_facts_of_a_document_beside_its_front_matter() -> None:
    document = replace(_document("a.md", type="concept"), tags=("x", "Y"))
    for name, text in (("type", "concept"), ("type", "markdown"), ("title", "a title"), ("tags", "y")):
        assert admits(Filters("p", where=((name, (text,)),)), document)
    assert not admits(Filters("p", where=(("content_hash", ("h",)),)), document)


@pytest.mark.parametrize(
    ("value", "texts"),
    [(1.0, ("1",)), (1.5, ("1.5",)), (True, ("true",)), (None, ()), (["a", [2]], ("a", "2")), ("", ("",))],
)
def test_a_value_is_compared_as_its_text(value: object, texts: tuple[str, ...]) -> None:
    assert field_texts(value) == texts


def test_a_pattern_of_many_stars_takes_linear_time() -> None:
    matches = path_matcher("*a" * 200 + "b")
    started = time.process_time()
    assert not matches("a" * 4_000)
    assert time.process_time() - started < 30
