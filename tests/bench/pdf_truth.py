"""Compares the Markdown of typeset papers with what was typeset: words, order, headings, tables, pages.

A paper is ``NAME.pdf`` with ``NAME.json`` beside it: ``gt`` (pairs of kind and text in reading order; kinds ``h``
heading, ``p`` paragraph, ``f`` footnote), ``heads`` and ``tables`` (rows of cells).
"""

from __future__ import annotations

import json
import random
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pypdfium2  # type: ignore[import-untyped]

from winnow.server.readers.formats.parsed_file import FormatReader, ParsedFile, ReadOptions
from winnow.server.readers.pdf.headings import title_key

_LONG_WORD = re.compile(r"[A-Za-z]{9,}")
_WORD = re.compile(r"[A-Za-z]{3,}")
_SENTENCE = re.compile(r"[A-Z][^.!?]{60,200}[.!?](?=\s|\Z)")
_SIGNS, _END_SIGNS = 40, 20
_HEADING = re.compile(r"^#{1,6} (.+)$", re.M)
MARKED = ("WHITEINJECT", "TINYINJECT", "INVISINJECT", "OFFPAGEINJECT")
_RUNNING = ("Journal of Synthetic Results", " of many")


@dataclass(frozen=True, slots=True)
class Paper:
    """A paper and its truth."""

    name: str
    path: Path
    truth: dict[str, Any]

    def texts(self, kinds: str) -> list[str]:
        """The texts of these kinds, in reading order."""
        return [text for kind, text in self.truth["gt"] if kind in kinds]


def papers(folder: Path) -> list[Paper]:
    """The papers of a folder that have a truth."""
    found = ((path, path.with_suffix(".pdf")) for path in sorted(folder.glob("*.json")))
    return [Paper(path.stem, pdf, json.loads(path.read_text("utf-8"))) for path, pdf in found if pdf.exists()]


def read_with(reader: FormatReader) -> Callable[[Path, ReadOptions], ParsedFile]:
    """A function that reads a path."""

    def read(path: Path, options: ReadOptions) -> ParsedFile:
        with path.open("rb") as file:
            return reader(file, options)

    return read


def score_paper(paper: Paper, parsed: ParsedFile, sentences: int, seed: int = 1) -> dict[str, Any]:
    """The figures of a paper; shares are 0 to 1, other pairs are found and expected."""
    right, asked = _pages_right(paper, parsed, sentences, seed)
    return score_text(paper, parsed.text) | {"pages": [right, asked]}


def score_text(paper: Paper, text: str) -> dict[str, Any]:
    """What can be said of a text alone, whichever program it comes from."""
    found = {title_key(heading) for heading in _HEADING.findall(text)}
    rows = [row for table in paper.truth["tables"] for row in table]
    written = set(_table_rows(text))
    return {
        "words": recall(paper.texts("hp"), [text], _LONG_WORD),
        "words_with_footnotes": recall(paper.texts("hpf"), [text], _LONG_WORD),
        "order": _order(paper.texts("p"), text),
        "heads": [sum(title_key(head) in found for head in paper.truth["heads"]), len(paper.truth["heads"])],
        "rows": [sum(tuple(row) in written for row in rows), len(rows)],
        "tables": [_tables_in_place(paper, text), len(paper.truth["tables"])],
        "running_heads": sum(text.count(head) for head in _RUNNING),
    }


def recall(expected: Iterable[str], texts: Iterable[str], pattern: re.Pattern[str] = _WORD) -> float:
    """The share of words, each as often as it is expected, that the texts have."""
    wanted = Counter(word for text in expected for word in pattern.findall(text))
    there = Counter(word for text in texts for word in pattern.findall(text))
    return round((wanted & there).total() / max(1, wanted.total()), 4)


def page_texts(path: Path) -> list[str]:
    """The text of each page as the file has it."""
    document = pypdfium2.PdfDocument(path)
    try:
        return [page.get_textpage().get_text_range() for page in document]
    finally:
        document.close()


def part_of(parsed: ParsedFile, number: int) -> str:
    """The text of one page."""
    starts = [place.start for place in parsed.places]
    ends = [*starts[1:], len(parsed.text)]
    ranges = zip(parsed.places, ends, strict=True)
    return "".join(parsed.text[place.start : end] for place, end in ranges if place.number == number)


def _order(paragraphs: Sequence[str], text: str) -> float:
    """The share of sentences that stand after the sentence before them; one that is missing counts as wrong."""
    signs, at, right, asked = signs_of(text)[0], 0, 0, 0
    for sentence in (found for paragraph in paragraphs for found in _SENTENCE.findall(paragraph)):
        place = signs.find(signs_of(sentence)[0][:_SIGNS], at)
        asked += 1
        right += place >= 0
        at = place if place >= 0 else at
    return round(right / max(1, asked), 4)


def _pages_right(paper: Paper, parsed: ParsedFile, count: int, seed: int) -> tuple[int, int]:
    """Of ``count`` sentences that begin on one page only: how many begin on that page in the parsed text."""
    texts = [signs_of(text)[0] for text in page_texts(paper.path)]
    signs, offsets = signs_of(parsed.text)
    starts = [place.start for place in parsed.places]
    right = asked = 0
    for key in _keys(paper, count, seed):
        pages = [number for number, text in enumerate(texts, 1) if key in text]
        if len(pages) == 1 and signs.count(key) == 1:
            place = parsed.places[bisect_right(starts, offsets[signs.index(key)]) - 1]
            asked += 1
            right += place.number == pages[0]
    return right, asked


def _keys(paper: Paper, count: int, seed: int) -> list[str]:
    keys = [key for _, key in sentences_of(paper)]
    return random.Random(seed).sample(keys, min(count, len(keys)))


def sentences_of(paper: Paper) -> list[tuple[str, str]]:
    """The sentences of a paper, each with the letters and digits that it begins with."""
    found = [sentence for text in paper.texts("p") for sentence in _SENTENCE.findall(text)]
    return [(sentence, signs_of(sentence)[0][:_SIGNS]) for sentence in found]


def signs_of(text: str) -> tuple[str, list[int]]:
    """The letters and digits of a text in lower case, and the offset of each."""
    kept = [(c.casefold(), place) for place, c in enumerate(text) if c.isascii() and c.isalnum()]
    return "".join(c for c, _ in kept), [place for _, place in kept]


def _tables_in_place(paper: Paper, text: str) -> int:
    """How many tables stand after the one before them, divide no paragraph, and have their caption beside them.

    The caption of the third table begins with "Table 3:"; a text without that has no caption to look for.
    """
    blocks = [block.strip() for block in text.split("\n\n")]
    spans = [span for paragraph in paper.texts("p") if (span := _span(signs_of(paragraph)[0], signs_of(text)[0]))]
    right, last = 0, -1
    for number, rows in enumerate(paper.truth["tables"], 1):
        wanted = {tuple(row) for row in rows}
        at = next((at for at, block in enumerate(blocks) if wanted <= set(_table_rows(block))), -1)
        before = len(signs_of("".join(blocks[: max(at, 0)]))[0])
        divides = any(start < before < end for start, end in spans)
        beside = "\n\n".join(blocks[max(at - 1, 0) : at + 2])
        has_caption = f"\n\nTable {number}:" not in text or f"\n\nTable {number}:" in f"\n\n{beside}"
        right += at > last and not divides and has_caption
        last = max(at, last)
    return right


def _span(paragraph: str, signs: str) -> tuple[int, int] | None:
    """Where a paragraph begins and ends in a text, both as letters and digits; None if an end is missing."""
    start = signs.find(paragraph[:_SIGNS])
    end = signs.find(paragraph[-_END_SIGNS:], max(start, 0))
    return (start, end + _END_SIGNS) if min(start, end) >= 0 else None


def _table_rows(text: str) -> Iterator[tuple[str, ...]]:
    for line in text.split("\n"):
        if line.startswith("|"):
            yield tuple(cell.strip() for cell in line.strip("|").split("|"))
