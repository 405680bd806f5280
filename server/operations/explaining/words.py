"""Words of a query that no document in scope has, with words near them; and those that one document lacks."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence

from winnow.server.models import Filters, Hit
from winnow.server.operations.answer_judgement import find_words
from winnow.server.operations.base import RequestContext
from winnow.server.operations.explaining.records import MissingWord
from winnow.server.retrieval.answer_verdict import is_rare
from winnow.server.retrieval.queries import ParsedQuery
from winnow.server.runtime.deadlines import check_deadline
from winnow.server.text.words.tokens import FALLBACK, encoding_name

_WORD = re.compile(r"[^\W\d_]{3,40}")
# Words are taken from these passages, and compared: a comparison takes about ten microseconds.
_SAMPLED_PASSAGES, _COMPARED_WORDS = 400, 20_000
_NEAREST = 3
# "bakcup" and "backup" are alike to 0.83, "encrpytion" and "encrypted" to 0.74. The first letter is seldom wrong.
_LEAST_LIKENESS, _LEAST_WITH_FIRST_LETTER = 0.75, 0.7


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
        near = () if _is_everyday(word) else _find_near(word.casefold(), known)
        found.append(MissingWord(word, tuple(near)))
    return tuple(found)


def _is_everyday(word: str) -> bool:
    """Whether a word is everyday English, which is not misspelt: "backups" does not mean "back"."""
    return word.isascii() and word.isalpha() and encoding_name() != FALLBACK and not is_rare(word)


def _find_near(word: str, known: Sequence[str]) -> list[str]:
    same = [each for each in known if each[0] == word[0]]
    near = difflib.get_close_matches(word, same, n=_NEAREST, cutoff=_LEAST_WITH_FIRST_LETTER)
    near += difflib.get_close_matches(word, known, n=_NEAREST, cutoff=_LEAST_LIKENESS)
    return list(dict.fromkeys(near))[:_NEAREST]


def correct_query(text: str, missing: Sequence[MissingWord]) -> str:
    """The text with each missing word replaced by the nearest one; "" where no word has a near one.

    >>> correct_query("nightly bakcup", [MissingWord("bakcup", ("backup",))])
    'nightly backup'
    """
    nearest = {each.word: each.nearest[0] for each in missing if each.nearest}
    corrected = re.sub(r"\w+", lambda match: nearest.get(match[0], match[0]), text)
    return corrected if nearest else ""


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
