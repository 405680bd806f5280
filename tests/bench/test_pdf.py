"""``tests.bench.pdf``: its scores tell a right text from wrong ones, and the readers reach what is promised."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.bench import pdf, pdf_index, pdf_peers, pdf_truth
from tests.bench.pdf_index import OPERATIONS, measure_index
from tests.pdf_files import PdfFile, Text, build_pdf, paragraph
from winnow.server.readers.formats.parsed_file import ReadOptions

SENTENCES = [
    "Passages of a document keep the order in which somebody wrote them down in the beginning.",
    "Retrieval returns the passages whose words answer a question about the stored documents.",
    "Somebody who doubts an answer opens the original document at the page that is quoted.",
]
TYPESET = os.environ.get("WINNOW_TYPESET_PDFS", "")
needs_papers = pytest.mark.skipif(not TYPESET, reason="WINNOW_TYPESET_PDFS names no folder of typeset papers")


@pytest.fixture
def paper(tmp_path: Path) -> pdf_truth.Paper:
    """A paper of three pages: a heading and a sentence on each, a table on the first."""
    rows = [["Store", "Passages", "Pages"], ["alpha", "1,204", "17"], ["beta", "88", "3"]]
    pages = [
        [Text(50, 700, f"{number} Heading of page {number}", size=18, bold=True), *paragraph(50, 660, [sentence])]
        for number, sentence in enumerate(SENTENCES, 1)
    ]
    cells = [Text(60 + 150 * x, 500 - 16 * y, cell) for y, row in enumerate(rows) for x, cell in enumerate(row)]
    (tmp_path / "small.pdf").write_bytes(build_pdf(PdfFile([[*pages[0], *cells], *pages[1:]])))
    heads = [f"Heading of page {number}" for number in (1, 2, 3)]
    gt = [pair for head, text in zip(heads, SENTENCES, strict=True) for pair in (("h", head), ("p", text))]
    (tmp_path / "small.json").write_text(json.dumps({"gt": gt, "heads": heads, "tables": [rows]}))
    (found,) = pdf_truth.papers(tmp_path)
    return found


@pytest.mark.parametrize("name", sorted(pdf.READERS))
def test_a_paper_that_is_read_right_has_full_scores(paper: pdf_truth.Paper, name: str) -> None:
    parsed = pdf_truth.read_with(pdf.READERS[name])(paper.path, ReadOptions())
    assert pdf_truth.score_paper(paper, parsed, 200) == {
        "words": 1.0,
        "words_with_footnotes": 1.0,
        "order": 1.0,
        "heads": [3, 3],
        "rows": [3, 3],
        "tables": [1, 1],
        "running_heads": 0,
        "pages": [3, 3],
    }


@pytest.mark.anyio
async def test_pages_of_sentences_are_right_in_rows_of_an_index(paper: pdf_truth.Paper) -> None:
    assert await measure_index([paper], 200, most_pages=3) == {name: [3, 3] for name in OPERATIONS}


@pytest.mark.anyio
async def test_a_page_that_is_wrong_by_one_is_noticed(
    paper: pdf_truth.Paper, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = pdf_truth.page_texts(paper.path)
    monkeypatch.setattr(pdf_index, "page_texts", lambda path: ["", *texts])
    assert await measure_index([paper], 200) == {name: [0, 3] for name in OPERATIONS}


def test_what_is_lost_or_moved_lowers_the_scores(paper: pdf_truth.Paper) -> None:
    first, second, third = SENTENCES
    moved = f"# Heading of page 1\n\n{second}\n\n{first}\n\n{third}\n\nJournal of Synthetic Results"
    scores = pdf_truth.score_text(paper, moved)
    assert (scores["words"], scores["heads"], scores["rows"], scores["running_heads"]) == (1.0, [1, 3], [0, 3], 1)
    assert scores["order"] < 1.0
    assert pdf_truth.score_text(paper, moved.replace("Retrieval", "Retri eval"))["words"] < 1.0


def test_a_table_is_in_place_unless_it_divides_a_paragraph_or_is_apart_from_its_caption(
    paper: pdf_truth.Paper,
) -> None:
    first, second, third = SENTENCES
    table = "| Store | Passages | Pages |\n| --- | --- | --- |\n| alpha | 1,204 | 17 |\n| beta | 88 | 3 |"
    caption = "Table 1: Stores"
    texts = [
        [first, table, caption, second, third],
        [first, caption, table, second, third],
        [first, table, second, caption, third],
        [first[:50], table, first[50:], second, third],
        [first, second, third],
    ]
    scores = [pdf_truth.score_text(paper, "\n\n".join(blocks))["tables"] for blocks in texts]
    assert scores == [[1, 1], [1, 1], [0, 1], [0, 1], [0, 1]]


def test_a_peer_without_its_package_says_why(paper: pdf_truth.Paper) -> None:
    assert set(pdf_peers.read_all(sys.executable, "markitdown", [paper.path])) == {"missing"}


@needs_papers
@pytest.mark.parametrize("name", sorted(pdf.READERS))
def test_typeset_papers_are_read_as_promised(name: str) -> None:
    figures = pdf.measure_reader(pdf.READERS[name], Path(TYPESET), pdf_truth.papers(Path(TYPESET)))
    hidden: dict[str, Any] = figures.pop("hidden")
    assert (hidden["in_text"], hidden["kept"], hidden["counted"]) == ([], list(pdf_truth.MARKED), 4)
    low = {
        paper: row
        for paper, row in figures.items()
        if row["words"] < 0.99
        or row["order"] < 0.99
        or row["running_heads"]
        or row["rows"][0] < row["rows"][1]
        or row["tables"][0] < row["tables"][1]
    }
    assert (low, [row["pages"] for row in figures.values() if row["pages"][0] < row["pages"][1]]) == ({}, [])
    heads = [sum(row["heads"][place] for row in figures.values()) for place in (0, 1)]
    assert heads[0] * 43 >= heads[1] * 36


@needs_papers
@pytest.mark.anyio
async def test_pages_of_200_sentences_of_typeset_papers_are_right_in_rows_of_an_index() -> None:
    found = await measure_index(pdf_truth.papers(Path(TYPESET)), 200)
    assert found == {name: [200, 200] for name in OPERATIONS}


@needs_papers
@pytest.mark.slow
def test_a_scan_is_read_by_ocr_page_by_page() -> None:
    figures = pdf.measure_ocr(Path(TYPESET))
    if "missing" in figures:
        pytest.skip(figures["missing"])
    assert (figures["pages"], min(figures["words"]) >= 0.9) == (2, True)
