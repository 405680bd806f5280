"""``kb.extract_evidence`` and ``kb.retrieve_evidence``: the sentences that answer, with where they stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from server.contracts.kb import MAX_QUOTES, ExtractEvidence, RetrieveEvidence
from server.evidence import Quote, quotes
from server.operations.base import Answer, RequestContext
from server.operations.kb import title_of
from server.operations.paging import Cursor, build_page, fingerprint, resume
from server.operations.passages import find_passage, passage_not_found
from server.operations.ranking.candidates import BY_ID, rank_distinct
from server.operations.ranking.scope import filters_of, missing_label_warnings
from server.sessions.passage_store import StoredPassage
from server.text.languages import is_covered
from server.text.printable import printable
from server.tiers import Size

# Quotes beyond what one answer may hold are kept in order for the next page.
_MAX_QUOTES_KEPT = 5 * MAX_QUOTES
_USUAL_TOKENS = 1_000
# Where meaning tells sentences apart, a search looks at so many times the passages that are quoted from: the best
# sentence is not always in the best passages. By words alone more passages are more that only look like an answer.
_PASSAGES_FACTOR = 2
_ROW_OVERHEAD_TOKENS = 80  # tokens of ids, title and address
_SCORE_DIGITS = 3
_WITHOUT_MODEL = "quotes are scored by words alone: {why}"
_UNREAD = "the embedding model does not read the language of this question"


@dataclass(frozen=True, slots=True)
class _QuotedPassages:
    """The passages to quote from, and how they were found; ``priors``: what the legs say of them, if ranked."""

    stored: Sequence[StoredPassage]
    here: Cursor
    legs: str
    priors: Sequence[float] | None = None
    missing: Sequence[str] = ()
    duplicates: int = 0
    warnings: tuple[str, ...] = ()
    cache_hit: bool = False


@dataclass(frozen=True, slots=True)
class _Similarity:
    """How near texts are to the question in meaning; or None, and why, where the settings want it all the same."""

    to_question: Callable[[Sequence[str]], Sequence[float]] | None = None
    why_not: str = ""


def extract_evidence(context: RequestContext, request: ExtractEvidence) -> Answer:
    """Quotes from these passages."""
    at = resume(request.cursor, request)
    wanted = list(dict.fromkeys(request.passage_ids))
    known = {passage_id: find_passage(context, passage_id, request.scope) for passage_id in wanted}
    stored = [one for one in known.values() if one is not None]
    missing = [passage_id for passage_id, one in known.items() if one is None]
    if not stored:
        raise passage_not_found(missing)
    looked = _QuotedPassages(stored, Cursor(at.offset, fingerprint(request), 0, BY_ID), BY_ID, missing=missing)
    return _build_answer(
        context, request, looked, _open_similarity(context, request.question, [one.project for one in stored])
    )


def retrieve_evidence(context: RequestContext, request: RetrieveEvidence) -> Answer:
    """A search, and quotes from what it finds."""
    at = resume(request.cursor, request)
    filters = filters_of(context, request.scope, request.filters)
    near = _open_similarity(context, request.question, [filters.project])
    most = request.top_k if near.to_question is None else _PASSAGES_FACTOR * request.top_k
    found = rank_distinct(context, request.question, filters, most, most, at.legs, request.mode, request.syntax)
    looked = _QuotedPassages(
        [context.session.keep(one.passage, one.passage.document.project) for one in found.found],
        Cursor(at.offset, fingerprint(request), found.generation, found.way),
        found.legs,
        priors=[one.prior for one in found.found],
        duplicates=found.duplicates,
        warnings=(
            *at.moved(found.generation, found.way),
            *found.warnings,
            *(() if found.found else missing_label_warnings(filters)),
        ),
        cache_hit=found.cache_hit,
    )
    return _build_answer(context, request, looked, near)


def _build_answer(
    context: RequestContext,
    request: ExtractEvidence | RetrieveEvidence,
    looked: _QuotedPassages,
    near: _Similarity,
) -> Answer:
    is_said = not near.why_not or looked.legs == "lexical-only"  # by the search, in its own words
    offset, end = looked.here.offset, looked.here.offset + request.max_quotes
    best = quotes(
        request.question,
        [printable(one.passage.chunk.text) for one in looked.stored],
        limit=min(end + 1, _MAX_QUOTES_KEPT),
        max_tokens=request.max_quote_tokens,
        context_tokens=request.include_context_tokens,
        priors=looked.priors,
        similarity=near.to_question,
        from_most=request.top_k if isinstance(request, RetrieveEvidence) else None,
    )
    rows = [_build_row(looked.stored[quote.passage], quote) for quote in best[offset:end]]
    envelope: dict[str, Any] = {"missing_ids": looked.missing} if looked.missing else {}
    envelope["diagnostics"] = {"passages": len(looked.stored), "search_mode": looked.legs}
    shown = build_page(rows, envelope, _size_limit(context, request), looked.here, more=len(best) > end)
    return Answer(
        {"quotes": list(shown.rows), "next_cursor": shown.next_cursor, **shown.ending, **envelope},
        "quotes",
        len(shown.rows),
        shown.tokens,
        (*looked.warnings, *(() if is_said else (_WITHOUT_MODEL.format(why=near.why_not),))),
        cache_hit=looked.cache_hit,
        noted={"cursors": int(offset > 0), "duplicates": looked.duplicates, "quotes": len(shown.rows)},
    )


def _size_limit(context: RequestContext, request: ExtractEvidence | RetrieveEvidence) -> Size:
    """A thousand tokens, unless more or longer quotes were asked for."""
    budget = context.caller.budget.of("quotes")
    asked = request.max_quotes * (request.max_quote_tokens + _ROW_OVERHEAD_TOKENS)
    return Size(min(budget.tokens, max(_USUAL_TOKENS, asked)), budget.bytes)


def _build_row(stored: StoredPassage, quote: Quote) -> dict[str, Any]:
    likeness = {} if quote.likeness is None else {"likeness": round(quote.likeness, _SCORE_DIGITS)}
    return {
        "quote": quote.text,
        "passage_id": stored.passage_id,
        "section_id": stored.passage.chunk.id,
        "title": title_of(stored.passage),
        "uri": stored.uri,
        "confidence": round(quote.confidence, _SCORE_DIGITS),
        **likeness,
    }


def _open_similarity(context: RequestContext, question: str, projects: Sequence[str]) -> _Similarity:
    """How near spans of these projects are to the question."""
    if context.settings.evidence == "lexical":
        return _Similarity()
    embedder = context.index.embedder.ready()
    if embedder is None:
        return _Similarity(why_not=context.index.embedder.why)
    documents = [context.index.catalogue.languages(project) for project in dict.fromkeys(projects)]
    if not all(is_covered(question, one, embedder.languages) for one in documents):
        return _Similarity(why_not=_UNREAD)

    def similarity(spans: Sequence[str]) -> Sequence[float]:
        vectors = embedder.embed([question, *spans])
        return [float(score) for score in vectors[1:] @ vectors[0]]

    return _Similarity(similarity)
