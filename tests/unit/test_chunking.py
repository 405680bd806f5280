"""Chunks: exact slices of the text, within the size, cut at the structure of the document."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import get_args

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from winnow.server.ingest.indexed_text import indexed_text
from winnow.server.models import Chunk, Document, DocumentType, Place, PlaceKind
from winnow.server.readers.chunking import LARGEST, chunk
from winnow.server.readers.documents import UnreadableFile
from winnow.server.text.words.tokens import count_tokens

SENTENCE = "The scheduler places every pod on a node that has room for it. "


def document(type: DocumentType = "markdown", title: str = "Guide") -> Document:
    return Document("0" * 12, "default", "guide.md", "/docs", title, type, "")


def chunks(text: str, type: DocumentType = "markdown", title: str = "Guide") -> tuple[Chunk, ...]:
    return chunk(document(type, title), text)


blocks = st.sampled_from(
    [
        "# Title",
        "## Part",
        "### Detail",
        "Setext\n======",
        SENTENCE * 3,
        SENTENCE * 30,
        "- one\n- two\n\n  ```\n  nested\n  ```",
        "```python\ndef f():\n\n    return 1\n```",
        "| a | b |\n|---|---|\n| 1 | 2 |",
        "> quoted\n> words",
        "~~~\nnever closed",
        "<div>\n<b>html</b>\n</div>",
        "日本語の文章。" * 40,
        "word" * 400,
        "\t\tindented",
        "\x0c\u2028odd\u00a0spaces",
    ]
)


@example("one\rtwo\r\n\r# Title\rthree", "markdown")
@settings(deadline=None, max_examples=60)
@given(
    st.lists(blocks, max_size=8).map("\n\n".join) | st.text(max_size=400),
    st.sampled_from(get_args(DocumentType)),
)
def test_every_chunk_is_a_slice_of_its_document_and_fits(text: str, type: DocumentType) -> None:
    found = chunks(text, type)
    assert [text[one.start : one.end] for one in found] == [one.text for one in found]
    assert [one.ordinal for one in found] == list(range(len(found)))
    assert len({one.id for one in found}) == len(found)
    assert all(one.text.strip() for one in found)
    assert all(one.tokens == count_tokens(one.text) for one in found)
    # Blocks are counted one by one, which can be a few tokens off the whole.
    assert all(one.tokens <= LARGEST * 1.3 for one in found)


@settings(deadline=None, max_examples=40)
@given(st.lists(blocks, max_size=8).map("\n\n".join))
def test_no_word_of_a_body_is_lost(text: str) -> None:
    covered = "".join(text[one.start : one.end] for one in chunks(text))
    for line in text.split("\n"):
        if line.strip() and not line.lstrip(" >").startswith(("#", "=")) and "Setext" not in line:
            assert "".join(line.split())[:20] in "".join(covered.split())


def test_cutting_is_the_same_every_time() -> None:
    text = f"# A\n\n{SENTENCE * 40}\n\n## B\n\n{SENTENCE * 5}"
    assert chunks(text) == chunks(text)


def test_a_chunk_knows_the_headings_above_it_without_their_markup() -> None:
    body = SENTENCE * 12
    text = f"# Install\n\n{body}\n\n## On `Linux` {{#linux}}\n\n{body}\n\n## [Mac](x.md)\n\n{body}"
    assert list(dict.fromkeys(one.heading_path for one in chunks(text))) == [
        ("Install",),
        ("Install", "On Linux"),
        ("Install", "Mac"),
    ]


def test_a_first_heading_that_repeats_the_title_is_said_once() -> None:
    assert chunks(f"# guide\n\n{SENTENCE}\n\n## Ports\n\n{SENTENCE * 30}")[-1].heading_path == ("Ports",)


def test_a_section_that_fits_with_its_subsections_is_one_chunk() -> None:
    text = (
        f"# Guide\n\n{SENTENCE * 20}\n\n## Ports\n\n{SENTENCE}\n\n### Open\n\n{SENTENCE}\n\n### Shut\n\n{SENTENCE}"
    )
    last = chunks(text)[-1]
    assert (last.heading_path, last.text.count(SENTENCE.strip())) == (("Ports",), 3)


def test_a_fenced_block_that_fits_is_never_cut() -> None:
    code = "```yaml\n" + "\n\n".join(f"key{n}: value" for n in range(25)) + "\n```"
    text = "\n\n".join([SENTENCE * 6, code, SENTENCE * 6, code, SENTENCE * 6])
    assert sum(code in one.text for one in chunks(text)) == 2
    assert all(one.text.count("```") % 2 == 0 for one in chunks(text))


def test_a_table_that_does_not_fit_is_cut_between_rows() -> None:
    rows = [f"| option-{n} | sets the number of {n} workers that wait |" for n in range(60)]
    text = "| name | meaning |\n|---|---|\n" + "\n".join(rows)
    lines = [line for one in chunks(text) for line in one.text.split("\n")]
    assert lines[2:] == rows


@pytest.mark.parametrize("is_above", [True, False])
@pytest.mark.parametrize("filler", range(8))
def test_a_caption_is_in_the_chunk_of_its_table(filler: int, is_above: bool) -> None:
    rows = "".join(f"\n| option-{n} | {n} workers |" for n in range(9))
    table, caption = f"| name | meaning |\n|---|---|{rows}", "Table 2: Measured values of the workers"
    blocks = [caption, table] if is_above else [table, caption]
    text = "\n\n".join([*[SENTENCE * 2] * filler, *blocks, SENTENCE * 9])
    assert ["\n\n".join(blocks) in one.text for one in chunks(text) if caption in one.text] == [True]


def test_a_table_that_does_not_fit_with_its_caption_is_cut_as_before() -> None:
    rows = [f"| option-{n} | sets the number of {n} workers that wait |" for n in range(60)]
    text = "| name | meaning |\n|---|---|\n" + "\n".join(rows) + "\n\nTable 2: Options"
    lines = [line for one in chunks(text) for line in one.text.split("\n") if line.strip()]
    assert lines[2:] == [*rows, "Table 2: Options"]


def test_prose_that_was_cut_overlaps_and_code_does_not() -> None:
    sentences = [f"Sentence number {n} says that the scheduler waits for {n} nodes." for n in range(60)]
    prose = chunks(" ".join(sentences))
    code = chunks("```\n" + "\n".join(sentences) + "\n```")
    assert all(before.end > after.start for before, after in pairwise(prose))
    assert all(before.end <= after.start for before, after in pairwise(code))


def test_a_definition_opens_a_section_of_source_code() -> None:
    body = "\n".join(f"    value_{n} = compute({n})" for n in range(60))
    text = f"import os\n\n\ndef first():\n{body}\n\n\nclass Second:\n{body}\n"
    assert list(dict.fromkeys(one.heading_path for one in chunks(text, "code"))) == [(), ("first",), ("Second",)]


def test_the_same_paragraph_twice_has_two_ids() -> None:
    text = f"# A\n\n{SENTENCE * 14}\n\n# A\n\n{SENTENCE * 14}"
    one, two = chunks(text)
    assert (one.text, one.heading_path) == (two.text, two.heading_path)
    assert one.id != two.id


def test_a_page_of_headings_is_still_found_by_them() -> None:
    assert [one.text for one in chunks("# Only\n\n## Headings")] == ["# Only\n\n## Headings"]


def test_an_empty_document_has_no_chunks() -> None:
    assert chunks(" \n\n\t\n") == ()


def test_title_and_headings_are_put_before_what_is_indexed() -> None:
    below = replace(chunks("8443")[0], heading_path=("Ports", "Open"))
    assert indexed_text(document(title="Guide"), below) == "Guide > Ports > Open\n8443"
    (alone,) = chunks("8443", title="")
    assert indexed_text(document(title=""), alone) == "8443"


@pytest.mark.parametrize(
    ("text", "type"), [("# a\nb\n", "markdown"), ("def f():\n", "code"), (SENTENCE * 20, "text")]
)
def test_a_document_of_too_many_chunks_is_refused(
    text: str, type: DocumentType, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow.server.readers.chunking.MOST_CHUNKS", 40)
    assert len(chunks(text, type)) <= 40
    with pytest.raises(UnreadableFile, match="has more than 40 passages"):
        chunks(text * 50, type)


APART: tuple[PlaceKind, ...] = ("sheet", "slide", "chapter", "message")


@settings(deadline=None)
@given(st.lists(st.lists(blocks, max_size=4).map("\n\n".join), min_size=1, max_size=6), st.sampled_from(APART))
def test_no_chunk_crosses_a_sheet_slide_chapter_or_message_and_no_text_is_lost(
    parts: list[str], kind: PlaceKind
) -> None:
    texts = [f"{part}\n\n" for part in parts]
    starts = [sum(map(len, texts[:number])) for number in range(len(texts))]
    places = [Place(start, kind, number) for number, start in enumerate(starts, 1)]
    text = "".join(texts)
    ends = [*starts[1:], len(text)]
    found = chunk(document("slides"), text, places)
    assert all(text[one.start : one.end] == one.text for one in found)
    for one in found:
        assert any(start <= one.start and one.end <= end for start, end in zip(starts, ends, strict=True)), one
    with_chunks = {number for number, start in enumerate(starts) for one in found if one.start >= start}
    assert all(number in with_chunks for number, part in enumerate(parts) if part.strip())


def test_places_that_chunks_may_cross_change_no_chunk() -> None:
    text = f"# Guide\n\n{SENTENCE * 4}\n\n{SENTENCE * 12}"
    kinds: tuple[PlaceKind, ...] = ("page", "cell", "time")
    for kind in kinds:
        places = [Place(0, kind, 1), Place(40, kind, 2), Place(200, kind, 3)]
        assert chunk(document("pdf"), text, places) == chunk(document("pdf"), text)


def test_a_slide_does_not_have_the_heading_of_the_slide_before_and_a_title_alone_is_found() -> None:
    texts = [f"# Goals\n\n{SENTENCE * 8}\n\n- {SENTENCE * 8}\n\n", "No title here.\n\n", "# Thanks\n\n"]
    places = [Place(sum(map(len, texts[:at])), "slide", at + 1) for at in range(3)]
    found = chunk(document("slides"), "".join(texts), places)
    assert [(one.heading_path, one.text) for one in found] == [
        (("Goals",), (SENTENCE * 8).strip()),
        (("Goals",), f"- {SENTENCE * 8}".strip()),
        ((), "No title here."),
        ((), "# Thanks"),
    ]


def test_a_part_of_a_sheet_is_below_the_heading_of_the_parts_before_it() -> None:
    texts = ["# Q1\n\n| a |\n|---|\n| 1 |\n\n", "| a |\n|---|\n| 2 |\n\n", "| b |\n|---|\n| 3 |\n"]
    rows, numbers = [(2, 2), (3, 3), (2, 2)], [1, 1, 2]
    places = [Place(sum(map(len, texts[:at])), "sheet", numbers[at], "", rows[at]) for at in range(3)]
    found = chunk(document("sheet"), "".join(texts), places)
    assert [one.heading_path for one in found] == [(), ("Q1",), ()]


def test_a_fence_that_a_slide_leaves_open_ends_with_it() -> None:
    texts = ["```\nopen\n\n", f"# Next\n\n{SENTENCE * 8}\n\n- {SENTENCE * 8}\n"]
    found = chunk(document("slides"), "".join(texts), [Place(0, "slide", 1), Place(len(texts[0]), "slide", 2)])
    assert [one.heading_path for one in found] == [(), ("Next",), ("Next",)]
