"""Words of a query that no document in scope has, with words near them; and those that one document lacks."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence

from winnow.server.models import Filters, Hit
from winnow.server.operations.answer_judgement import find_words
from winnow.server.operations.base import RequestContext
from winnow.server.operations.explaining.records import MissingWord
from winnow.server.retrieval.queries import ParsedQuery
from winnow.server.runtime.deadlines import check_deadline

_WORD = re.compile(r"[^\W\d_]{3,40}")
# Words are taken from these passages, and compared: a comparison takes about ten microseconds.
_SAMPLED_PASSAGES, _COMPARED_WORDS = 400, 20_000
_NEAREST = 3
_LEAST_LIKENESS = 0.75  # "backup" and "bakcup" have 0.83, "policy" and "polcy" 0.91


def find_missing_words(
    context: RequestContext, asked: ParsedQuery, missing: Sequence[str], hits: Sequence[Hit]
) -> tuple[MissingWord, ...]:
    """These words that no document has, each with near words of titles and passages in scope."""
    if not missing:
        return ()
    known = list(dict.fromkeys(_known_words(context, asked.filters, hits)))[:_COMPARED_WORDS]
    found = []
    for word in missing:
        check_deadline()
        near = difflib.get_close_matches(word.casefold(), known, n=_NEAREST, cutoff=_LEAST_LIKENESS)
        found.append(MissingWord(word, tuple(near)))
    return tuple(found)


def _known_words(context: RequestContext, filters: Filters, hits: Sequence[Hit]) -> Iterator[str]:
    """Words of the titles, of the passages found, and of passages throughout the project."""
    catalogue = context.index.catalogue
    for title in catalogue.titles(filters):
        yield from _WORD.findall(title.casefold())
    all_chunks = catalogue.chunk_ids(filters.project)
    spread = all_chunks[:: len(all_chunks) // _SAMPLED_PASSAGES + 1]
    ids = dict.fromkeys((*(hit.chunk_id for hit in hits), *spread))
    for passage in catalogue.passages(list(ids), filters.project).values():
        if context.index.admits(filters, passage.document):
            yield from _WORD.findall(passage.chunk.text.casefold())


def split_by_document(
    context: RequestContext, asked: ParsedQuery, chunks: Sequence[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of a query that some of these chunks have, and those that none has."""
    has: list[str] = []
    lacks: list[str] = []
    for word, terms in find_words(context, asked).items():
        (has if context.index.retriever.score_terms(terms, chunks) else lacks).append(word)
    return tuple(has), tuple(lacks)
