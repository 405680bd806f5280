"""The verdict on a retrieved answer: which words of the question the passages have, and which no document has.

An answer that would count as whole is read once more for the value that is asked for, such as a port or a name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from winnow.server.contracts.evidence import MAX_MISSING_TERMS
from winnow.server.errors import WinnowError
from winnow.server.models import Passage
from winnow.server.operations.base import RequestContext
from winnow.server.operations.kb import title_of
from winnow.server.operations.ranking.candidates import CandidateList
from winnow.server.retrieval.answer_verdict import (
    ANSWERED_FROM,
    Signals,
    WordScores,
    decide,
    estimate_confidence,
    measure_signals,
    rescale_cosine,
    weigh_words,
)
from winnow.server.retrieval.lexical import find_content_words
from winnow.server.retrieval.nearness import is_stated_near
from winnow.server.retrieval.queries import ParsedQuery
from winnow.server.runtime.deadlines import current_deadline
from winnow.server.text.asked_values import ValueKind, find_asked_value
from winnow.server.text.printable import printable
from winnow.server.text.words.languages import UNKNOWN, is_english

# The best passages that are compared with the question.
_COMPARED = 5
# With less time left than this, no further word is looked up: the quotes are worth more.
_LEAST_SECONDS = 1.0
_CONFIDENCE_DIGITS = 3
# The languages in which values are looked for: digits are the same in all, "ninety" and "May" are not.
_READ_LANGUAGES = frozenset(["en", UNKNOWN])
_FILE_NAME = re.compile(r"[^\s\"'()<>,;:?]{1,200}\.[A-Za-z0-9]{1,8}(?![\w/])")

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement of a search on its answer: signals, and the question's words that no document in scope has."""

    question: str
    signals: Signals
    missing: tuple[str, ...]
    is_english: bool

    def to_payload(self) -> dict[str, Any]:
        """The fields of the answer: verdict, confidence and missing terms."""
        confidence = round(estimate_confidence(self.signals), _CONFIDENCE_DIGITS)
        verdict = decide(confidence, self.question, self.missing, is_english=self.is_english)
        return {"verdict": verdict, "confidence": confidence, "missing_terms": list(self.missing)}

    def warnings(self) -> tuple[str, ...]:
        """The warning that the value asked for was not seen, which makes the verdict "partly" at most."""
        kind = self.signals.unstated
        return () if kind is None else (f"no quote shown was seen to state a {kind} that answers",)


def judge_answer(context: RequestContext, ranking: CandidateList) -> Judgement:
    """Judge whether the best passages of a ranking answer its query.

    What counts as missing is within the scope and the filters of the query. Raises ``ValueError`` for passages
    that were fetched by id.
    """
    if ranking.asked is None:
        raise ValueError("passages that were fetched by id answer no query")
    chunks = [candidate.passage.chunk.id for candidate in ranking.candidates[:_COMPARED]]
    terms = find_words(context, ranking.asked)
    words = _look_up_words(context, ranking.asked, terms, chunks)
    missing = tuple(word for word, scores in words.items() if scores.is_missing)
    signals = measure_signals(list(words.values()), _best_cosine(context, ranking))
    if estimate_confidence(signals) >= ANSWERED_FROM:
        passages = [candidate.passage for candidate in ranking.candidates]
        signals = replace(signals, unstated=_find_unstated(ranking.asked.text, words, terms, passages))
    languages = context.index.catalogue.languages(ranking.asked.filters.project) if missing else {}
    is_in_english = bool(missing) and is_english(ranking.asked.text, languages)
    return Judgement(ranking.asked.text, signals, missing, is_in_english)


def _find_unstated(
    question: str,
    words: Mapping[str, WordScores],
    terms: Mapping[str, frozenset[str]],
    passages: Sequence[Passage],
) -> ValueKind | None:
    """The kind of value that a question asks for, if no passage that is quoted from was seen to state one.

    None where one of them is in another language than English, whose words for numbers and months are not known.
    """
    asked = find_asked_value(question)
    if asked is None or not words or any(each.document.language not in _READ_LANGUAGES for each in passages):
        return None
    weights = dict(zip(words, weigh_words(list(words.values())), strict=True))
    texts = ((title_of(each), printable(each.chunk.text)) for each in passages)
    return None if is_stated_near(asked, question, weights, terms, texts) else asked.kind


def _look_up_words(
    context: RequestContext, asked: ParsedQuery, terms: Mapping[str, frozenset[str]], chunks: Sequence[str]
) -> dict[str, WordScores]:
    """The lexical scores of the words of a question, in order; of the longest ones where there are many.

    Only words that none of these chunks has are looked up in others. The question's filters are applied inside the
    index: a word of a document out of scope is missing like any other. Words that could not be looked up, because
    time is short or the index does not answer, are left out.
    """
    retriever = context.index.retriever
    longest = sorted(terms, key=len, reverse=True)[:MAX_MISSING_TERMS]
    here = dict(_while_there_is_time(longest, (retriever.score_terms(terms[word], chunks) for word in longest)))
    others = [word for word, found in here.items() if not found]
    elsewhere = retriever.best_term_scores((terms[word] for word in others), asked.filters)
    best = {word: max(found.values()) for word, found in here.items() if found}
    best |= _while_there_is_time(others, elsewhere)
    return {
        word: WordScores(tuple(here[word].get(chunk, 0.0) for chunk in chunks), best[word])
        for word in terms
        if word in best
    }


def _while_there_is_time(words: Sequence[str], scores: Iterator[T]) -> Iterator[tuple[str, T]]:
    """The words with their scores, until time is short or the index does not answer."""
    for word in words:
        if current_deadline().remaining() < _LEAST_SECONDS:
            return
        try:
            yield word, next(scores)
        except WinnowError:  # the search before has warned that the lexical index does not answer
            return


def find_words(context: RequestContext, asked: ParsedQuery) -> Mapping[str, frozenset[str]]:
    """The content words of a question, in the forms that each language of its project gives them.

    The path of a document in reach is none of them: "what does a.pdf say" asks for no text with the word "pdf".
    """
    languages = context.index.catalogue.languages(asked.filters.project)
    text = _FILE_NAME.sub(lambda name: " " if _is_path(context, asked, name[0]) else name[0], asked.text)
    return find_content_words(text, languages, is_english=is_english(asked.text, languages))


def _is_path(context: RequestContext, asked: ParsedQuery, name: str) -> bool:
    return any(document.uri == name for document in context.index.catalogue.find_documents(asked.filters, name))


def _best_cosine(context: RequestContext, ranking: CandidateList) -> float | None:
    """The cosine of the best passage on the scale of the verdict; None where the model's is unknown."""
    embedder = context.index.embedder.ready()
    hits = (candidate.hit for candidate in ranking.candidates)
    cosines = [hit.dense for hit in hits if hit is not None and hit.dense is not None]
    if ranking.relevance is None or embedder is None or not cosines:
        return None
    return rescale_cosine(max(cosines), embedder.background, embedder.related)
