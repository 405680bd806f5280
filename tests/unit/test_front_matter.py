"""Front matter in the index: it is text of its document, searched with the first chunk, and never prose."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.server.ingest.change_detection import document_of, indexed_document_of
from winnow.server.ingest.indexed_text import indexed_text, searchable_fields
from winnow.server.models import Chunk, Document
from winnow.server.readers.chunking import chunk
from winnow.server.readers.documents import RawDocument, clean_document
from winnow.server.readers.extraction.document_extraction import extract_document
from winnow.server.readers.extraction.gazetteer import NO_GAZETTEER
from winnow.server.readers.reading import READERS

FACTS = "---\ntitle: Quotas\nweight: 20\n_build: {list: never}\nstages: [{stage: beta, since: '1.9'}]\n---\n"
BODY = "# Quotas\n\nA quota bounds a namespace.\n\n## Limits\n\nHard Limits Apply Here. Soft ones do not.\n"


def parse(text: str, uri: str = "quotas.md") -> tuple[Document, str, tuple[Chunk, ...]]:
    (raw,) = READERS["markdown"](text, uri)
    assert isinstance(raw, RawDocument)
    raw = clean_document(raw)
    document = document_of("p", "/docs", raw)
    return document, raw.text, chunk(document, raw.text)


def document_with(**metadata: Any) -> Document:
    return Document("0" * 12, "p", "a.md", "/docs", "Quotas", "markdown", "", metadata=metadata, body_start=9)


def test_chunks_are_those_of_the_body_with_offsets_in_the_file() -> None:
    _, text, chunks = parse(FACTS + BODY)
    _, _, plain = parse(BODY)
    assert [(one.id, one.text, one.heading_path) for one in chunks] == [
        (one.id, one.text, one.heading_path) for one in plain
    ]
    assert [text[one.start : one.end] for one in chunks] == [one.text for one in chunks]
    assert [one.start for one in chunks] == [one.start + len(FACTS) for one in plain]


@settings(deadline=None)
@given(st.text(max_size=80), st.sampled_from(["", "\n", "# A\n\nWords.\n", "---\nb: c\n---\nWords.\n"]))
def test_every_chunk_is_a_slice_of_the_whole_file(value: str, body: str) -> None:
    document, text, chunks = parse(f"---\na: {value}\n---\n{body}")
    assert [text[one.start : one.end] for one in chunks] == [one.text for one in chunks]
    assert text.endswith(body) or "\r" in value
    assert bool(chunks) or not text[document.body_start :].strip()


def test_the_first_chunk_is_indexed_with_the_front_matter_and_no_other_one_is() -> None:
    document, _, chunks = parse(FACTS + "# Quotas\n\n" + "A quota bounds a namespace. " * 60)
    first, *others = [indexed_text(document, one) for one in chunks]
    assert first == f"Quotas\n{chunks[0].text}\nbeta\n1.9"
    assert others == [f"Quotas\n{one.text}" for one in chunks[1:]]


def test_a_document_without_a_body_is_found_by_its_front_matter() -> None:
    document, text, (only,) = parse(FACTS + "\n")
    assert (only.text, text[only.start : only.end]) == (FACTS.split("---\n")[1].rstrip("\n"), only.text)
    assert indexed_text(document, only) == f"Quotas\n{only.text}"


@pytest.mark.parametrize("text", ["---\n---\n", "---\n# nothing\n---\n", "+++\n+++\n"])
def test_a_document_of_empty_front_matter_has_no_fields(text: str) -> None:
    assert searchable_fields(parse(text)[0]) == ""


@pytest.mark.parametrize(
    ("value", "searched"),
    [
        ("feature_gate", "feature_gate"),
        ("  two\n  lines ", "two lines"),
        ("v1.24", "v1.24"),
        ("1.8", "1.8"),
        ("役割", "役割"),
        (["alpha", "beta", "alpha", 3, True], "alpha\nbeta"),
        ("20", ""),
        ("2026-02-01", ""),
        (20, ""),
        (True, ""),
        (1.5, ""),
        ("Quotas", ""),
        ("/docs/concepts/quotas/", ""),
        ("https://example.org/quotas", ""),
        ("see /docs/concepts", "see /docs/concepts"),
    ],
)
def test_texts_and_versions_are_searched(value: Any, searched: str) -> None:
    assert searchable_fields(document_with(field=value)) == searched
    assert searchable_fields(document_with(_field=value)) == ""


def test_what_is_indexed_of_long_front_matter_is_bounded() -> None:
    many = {f"f{n}": [f"word{n} " + "x" * 3_000] * 100 for n in range(200)}
    assert len(searchable_fields(document_with(**many))) <= 2_000


def test_a_records_metadata_is_not_front_matter() -> None:
    raw = RawDocument("c.jsonl#1", "record", "One", "first", metadata={"kind": "words"})
    assert searchable_fields(document_of("p", "/docs", raw)) == ""


def test_front_matter_is_not_prose_for_the_graph() -> None:
    document, text, chunks = parse(FACTS.replace("beta", "'Kind of Thing: see [other](other.md)'") + BODY)
    mined = extract_document(document, text, chunks, NO_GAZETTEER)
    plain, body, plain_chunks = parse(BODY)
    alone = extract_document(plain, body, plain_chunks, NO_GAZETTEER)
    assert (mined.references, mined.votes) == (alone.references, alone.votes)
    assert [one.id for one in mined.nodes] == [one.id for one in alone.nodes]


def test_the_state_of_a_document_tells_its_front_matter_from_what_all_chunks_share() -> None:
    def context(text: str) -> list[str]:
        return indexed_document_of(parse(text)[0], "quotas.md", "m").context_hash.split(".")

    with_fields, other = context(FACTS + BODY), context(FACTS.replace("beta", "stable") + BODY)
    assert (len(with_fields), with_fields[0] == other[0], with_fields[1] == other[1]) == (2, True, False)
    assert context("---\ntitle: Quotas\n---\n" + BODY) == with_fields[:1]


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("1.20", "1.20"),
        ("1.5", 1.5),
        ("30", 30),
        ("-5", -5),
        ("0777", "0777"),
        ("1_000", "1_000"),
        ("1.0", 1.0),
        (".inf", ".inf"),
        ("12:30:45", "12:30:45"),
    ],
)
def test_a_number_that_would_be_written_otherwise_stays_text(written: str, value: Any) -> None:
    """``1.20`` is a version, not the number 1.2."""
    document, _, _ = parse(f"---\nfield: {written}\n---\nBody")
    assert document.metadata["field"] == value
    assert type(document.metadata["field"]) is type(value)


def test_a_number_of_toml_stays_as_it_is_written() -> None:
    document, _, _ = parse("+++\nversion = 1.20\nshare = 1.5\n+++\nBody")
    assert document.metadata == {"version": "1.20", "share": 1.5}
