"""Records whose text is Markdown are read as files of Markdown are; plain records stay as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from winnow.server.ingest import change_detection
from winnow.server.ingest.change_detection import document_of, indexed_document_of
from winnow.server.models import Chunk
from winnow.server.readers.chunking import chunk
from winnow.server.readers.documents import RawDocument, clean_document
from winnow.server.readers.reading import read
from winnow.server.text.markup.markdown_signs import is_markdown

WORDS = "The scheduler places every pod on a node that has room for it. "
PAGE = (
    f"# Scheduling\n\n{WORDS * 12}\n\n## Options\n\n| name | meaning |\n|---|---|\n| a | b |\n\n{WORDS * 12}\n\n"
    f'```yaml\na: 1\n\nb: 2\n```\n\n## {{{{% heading "whatsnext" %}}}}\n\n* one\n* two\n\n{WORDS * 12}\n'
)


def read_only(path: Path) -> RawDocument:
    (raw,) = read(path, path.name)
    assert isinstance(raw, RawDocument)
    return clean_document(raw)


def write_record(folder: Path, text: str, **fields: object) -> Path:
    path = folder / "c.jsonl"
    path.write_text(json.dumps({"_id": "1", "text": text, **fields}))
    return path


def split(raw: RawDocument) -> list[Chunk]:
    return list(chunk(document_of("p", "/docs", raw), raw.text))


@pytest.mark.parametrize("front_matter", ["", "---\ntitle: Pods\nstage: beta\n---\n"])
def test_a_record_that_is_markdown_is_split_like_the_file(tmp_path: Path, front_matter: str) -> None:
    text = front_matter + PAGE
    (tmp_path / "a.md").write_text(text)
    file, record = read_only(tmp_path / "a.md"), read_only(write_record(tmp_path, text))
    assert (record.title, record.text, record.body_start, record.metadata) == (
        file.title,
        text,
        len(front_matter),
        file.metadata,
    )
    assert [(one.heading_path, one.text, one.start) for one in split(record)] == [
        (one.heading_path, one.text, one.start) for one in split(file)
    ]
    assert {"Options", "Whatsnext"} <= {name for one in split(record) for name in one.heading_path}


def test_what_a_record_states_counts_more_than_what_its_text_states(tmp_path: Path) -> None:
    text = "---\ntitle: Of the text\nvendor: acme\nstage: beta\n---\n# Heading\n\nWords.\n"
    record = read_only(write_record(tmp_path, text, title="Of the record", metadata={"vendor": "other", "n": 1}))
    assert (record.vendor, record.metadata["stage"], record.metadata["n"]) == ("other", "beta", 1)
    titled = read_only(write_record(tmp_path, "# Heading\n\n* a\n", title="Pods in {{< version >}}"))
    assert titled.title == "Pods in"


def test_a_plain_record_keeps_its_text_title_and_state(tmp_path: Path) -> None:
    text = "One paragraph.\n\nAnother one - with a dash.\n- and one more\n#3 is a number"
    record = read_only(write_record(tmp_path, text))
    assert (record.title, record.text, record.body_start) == ("", text, 0)
    assert [one.heading_path for one in split(record)] == [()]
    plain = document_of("p", "/docs", record)
    assert indexed_document_of(plain, "c.jsonl", "m").content_hash == plain.content_hash


def test_only_markdown_with_a_table_and_a_caption_is_split_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table = "| a | b |\n|---|---|\n| 1 | 2 |"
    texts = [f"{table}\n\nTable 1: Values", f"{table}\n\nSee Table 1: values", "Table 1: Values", table]
    raws = [RawDocument("a.md", "markdown", "A", text) for text in texts]
    before = [document_of("p", "/docs", raw).content_hash for raw in raws]
    monkeypatch.setattr(change_detection, "CAPTIONS_VERSION", 0)
    after = [document_of("p", "/docs", raw).content_hash for raw in raws]
    assert [one != other for one, other in zip(before, after, strict=True)] == [True, False, False, False]


@pytest.mark.parametrize(
    "text",
    [
        "# One\n\nWords.\n\n## Two\n\nMore.",
        "# One\n\nSee [this](that.md).",
        "Words\n\n```\ncode\n```\n",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "a | b\n--- | :---:\n1 | 2",
        "* one\n* two\n\n[a](b) and [c](d)",
        "Use `a` or **b**:\n\n1. one\n2. two",
    ],
)
def test_signs_of_markdown(text: str) -> None:
    assert is_markdown(text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        WORDS * 30,
        "# 1 of the list",
        "#hashtag and #another\n#third",
        "- one\n- two\n- three",
        "He paid $5 * 3 * 2 and wrote `x`.",
        "a - b\n-----\nc",
        "Results [1](see note) and [2].",
        "1. one\n2. two",
        "```",
        "CO₂ (n = 17) | p < 0.05",
    ],
)
def test_plain_text_is_not_markdown(text: str) -> None:
    assert not is_markdown(text)


@pytest.mark.parametrize(
    "piece", ["#", "# ", "`", "```", "|", "|-", "---|", "[", "[a](", "* ", "**", "1.", " ", "\n#"]
)
def test_text_that_is_all_signs_takes_no_longer_than_its_length(piece: str) -> None:
    """At this size, a pattern that is not linear exceeds the time limit of a test."""
    text = piece * (500_000 // len(piece))
    assert is_markdown(text) == is_markdown(text)


@settings(deadline=None)
@given(st.text(alphabet="ab .,;()\n", max_size=300))
def test_letters_and_points_are_never_markdown(text: str) -> None:
    assert not is_markdown(text)
