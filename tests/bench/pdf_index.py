"""Whether the pages of typeset papers are right in rows of an index: of searches, quotes, scans and pieces.

Each paper is ingested as a user would. Sentences are drawn that begin on one page only; that page is read from the
file by another program. ``scan`` and ``read`` must name exactly that page for the beginning of the sentence; a row
of a search and a quote, which are longer, must include it in a span of few pages.
"""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.bench.pdf_truth import Paper, page_texts, sentences_of, signs_of
from tests.ingesting import ingest_paths
from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.knowledge import make_knowledge_base
from winnow.server.errors import WinnowError
from winnow.server.jobs.target import target_of
from winnow.server.operations.knowledge import SCRIPT, KnowledgeBase
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

OPERATIONS = ("scan", "read", "search", "quote")


@dataclass(frozen=True, slots=True)
class _Sentence:
    """A sentence of a paper, the page that it begins on, and the characters of its beginning in the index."""

    file: str
    text: str
    key: str
    page: int
    start: int
    end: int


async def measure_index(
    known: Iterable[Paper], count: int, seed: int = 1, most_pages: int = 2
) -> dict[str, list[int]]:
    """Of ``count`` sentences: how many have the right page in each operation, and how many were asked for.

    ``most_pages``: more pages of a passage or quote are wrong.
    """
    with tempfile.TemporaryDirectory() as store:
        settings = load_settings(store=Path(store), embedding="off", graph="off")
        known = list(known)
        _ingest(settings, [paper.path for paper in known])
        kb = make_knowledge_base(settings, wait_for_model=False)
        try:
            await kb.open()
            found = [each for paper in known for each in _locate(paper, await _read_whole(kb, paper.path.name))]
            drawn = random.Random(seed).sample(found, min(count, len(found)))
            right = [await _check(kb, sentence, most_pages) for sentence in drawn]
        finally:
            await kb.aclose()
    return {name: [sum(row[name] for row in right), len(right)] for name in OPERATIONS}


def _ingest(settings: Settings, paths: list[Path]) -> None:
    backends = open_backends(settings, wait_for_model=False)
    try:
        report = ingest_paths(target_of(settings, backends, None), paths, allows_weaker=True)
    finally:
        backends.close()
    if report.failures:
        raise WinnowError("INVALID_REQUEST", f"{report.failures[0].name}: {report.failures[0].reason}")


async def _ask(kb: KnowledgeBase, operation: str, **arguments: Any) -> dict[str, Any]:
    return (await kb.call(operation, arguments, kb.caller("bench", SCRIPT, "bench"))).payload


async def _read_whole(kb: KnowledgeBase, file: str) -> str:
    text = ""
    following: int | None = 0
    while following is not None:
        piece = await _ask(kb, "kb.read", document=file, start=following, max_tokens=20_000)
        text, following = text + piece["text"], piece["next"]
    return text


def _locate(paper: Paper, text: str) -> Iterator[_Sentence]:
    """The sentences whose beginning stands on one page, and once in the index."""
    pages = [signs_of(page)[0] for page in page_texts(paper.path)]
    signs, offsets = signs_of(text)
    for sentence, key in sentences_of(paper):
        at = [number for number, page in enumerate(pages, 1) if key in page]
        if len(at) == 1 and signs.count(key) == 1:
            first = signs.index(key)
            start, end = offsets[first], offsets[first + len(key) - 1] + 1
            yield _Sentence(paper.path.name, sentence, key, at[0], start, end)


async def _check(kb: KnowledgeBase, sentence: _Sentence, most_pages: int) -> dict[str, bool]:
    """Whether the page of a sentence is right, by operation."""
    whole = await _ask(kb, "kb.read", document=sentence.file, start=sentence.start, max_tokens=200)
    begin = whole["text"][: sentence.end - sentence.start]
    scanned = await _ask(kb, "kb.scan", pattern=begin, literal=True, path=sentence.file)
    piece = await _ask(kb, "kb.read", document=sentence.file, start=sentence.start, max_tokens=8)
    exact = [sentence.page, sentence.page]
    row = await _find_row(kb, sentence)
    quotes = [] if row is None else await _quotes(kb, sentence, row["id"])
    return {
        "scan": [match["page_span"] for match in scanned["results"]] == [exact],
        "read": piece["page_span"][0] == sentence.page,
        "search": row is not None and _includes(row, sentence, most_pages),
        "quote": any(_includes(quote, sentence, most_pages) for quote in quotes),
    }


async def _find_row(kb: KnowledgeBase, sentence: _Sentence) -> Mapping[str, Any] | None:
    """The row of a search for a sentence that has its beginning."""
    found = await _ask(
        kb,
        "semantic_search",
        query=sentence.text,
        syntax="plain",
        filters={"path": sentence.file},
        top_k=10,
        response_mode="full",
    )
    return next((row for row in found["results"] if sentence.key in signs_of(row["content"])[0]), None)


async def _quotes(kb: KnowledgeBase, sentence: _Sentence, id: str) -> list[Mapping[str, Any]]:
    """The quotes from a passage that have the beginning of a sentence."""
    found = await _ask(
        kb,
        "kb.extract_evidence",
        question=sentence.text,
        passage_ids=[id],
        max_quotes=20,
        max_quote_tokens=200,
        include_context_tokens=0,
    )
    return [quote for quote in found["quotes"] if sentence.key in signs_of(quote["quote"])[0]]


def _includes(row: Mapping[str, Any], sentence: _Sentence, most_pages: int) -> bool:
    """Whether a row's pages include the sentence's, and its link opens the first of them."""
    first, last = row["page_span"]
    is_near = first <= sentence.page <= last and last - first < most_pages
    return bool(is_near and row["link"] == f"{sentence.file}#page={first}")
