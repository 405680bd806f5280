"""``kb.extract_evidence`` and ``kb.retrieve_evidence``: the sentences that answer, with where they stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from server.contracts.kb import MAX_QUOTES, ExtractEvidence, RetrieveEvidence
from server.evidence import Quote, quotes
from server.operations.base import Answer, RequestContext
from server.operations.kb import title_of
from server.operations.paging import Cursor, fingerprint, page, resume
from server.operations.passages import find, not_found
from server.operations.ranking.candidates import BY_ID, distinct
from server.operations.ranking.scope import filters_of, unlabelled
from server.retrieval.languages import is_covered
from server.sessions.passage_store import StoredPassage
from server.text.printable import printable
from server.tiers import Size

# Quotes beyond what one answer may hold are kept in order for the next page.
_DEEPEST = 5 * MAX_QUOTES
_USUAL_TOKENS = 1_000
# Where meaning tells sentences apart, a search looks at so many times the passages that are quoted from: the best
# sentence is not always in the best passages. By words alone more passages are more that only look like an answer.
_LOOKED_AT = 2
_AROUND_A_QUOTE = 80  # tokens of ids, title and address
_SCORE_DIGITS = 3
_WITHOUT_MODEL = "quotes are scored by words alone: {why}"
_UNREAD = "the embedding model does not read the language of this question"


@dataclass(frozen=True, slots=True)
class _Looked:
    """The passages to quote from, and how they were found; ``priors``: what the legs say of them, if ranked."""

    kept: Sequence[StoredPassage]
    here: Cursor
    legs: str
    priors: Sequence[float] | None = None
    missing: Sequence[str] = ()
    duplicates: int = 0
    warnings: tuple[str, ...] = ()
    cache_hit: bool = False


@dataclass(frozen=True, slots=True)
class _Near:
    """How near texts are to the question in meaning; or None, and why, where the settings want it all the same."""

    to_question: Callable[[Sequence[str]], Sequence[float]] | None = None
    why_not: str = ""


def extract_evidence(asking: RequestContext, request: ExtractEvidence) -> Answer:
    """Quotes from these passages."""
    at = resume(request.cursor, request)
    wanted = list(dict.fromkeys(request.passage_ids))
    known = {passage_id: find(asking, passage_id, request.scope) for passage_id in wanted}
    kept = [one for one in known.values() if one is not None]
    missing = [passage_id for passage_id, one in known.items() if one is None]
    if not kept:
        raise not_found(missing)
    looked = _Looked(kept, Cursor(at.offset, fingerprint(request), 0, BY_ID), BY_ID, missing=missing)
    return _answer(asking, request, looked, _similarity(asking, request.question, [one.project for one in kept]))


def retrieve_evidence(asking: RequestContext, request: RetrieveEvidence) -> Answer:
    """A search, and quotes from what it finds."""
    at = resume(request.cursor, request)
    filters = filters_of(asking, request.scope, request.filters)
    near = _similarity(asking, request.question, [filters.project])
    most = request.top_k if near.to_question is None else _LOOKED_AT * request.top_k
    found = distinct(asking, request.question, filters, most, most, at.legs, request.mode, request.syntax)
    looked = _Looked(
        [asking.session.keep(one.passage, one.passage.document.project) for one in found.found],
        Cursor(at.offset, fingerprint(request), found.generation, found.way),
        found.legs,
        priors=[one.prior for one in found.found],
        duplicates=found.duplicates,
        warnings=(
            *at.moved(found.generation, found.way),
            *found.warnings,
            *(() if found.found else unlabelled(filters)),
        ),
        cache_hit=found.cache_hit,
    )
    return _answer(asking, request, looked, near)


def _answer(
    asking: RequestContext, request: ExtractEvidence | RetrieveEvidence, looked: _Looked, near: _Near
) -> Answer:
    is_said = not near.why_not or looked.legs == "lexical-only"  # by the search, in its own words
    offset, end = looked.here.offset, looked.here.offset + request.max_quotes
    best = quotes(
        request.question,
        [printable(one.passage.chunk.text) for one in looked.kept],
        limit=min(end + 1, _DEEPEST),
        max_tokens=request.max_quote_tokens,
        context_tokens=request.include_context_tokens,
        priors=looked.priors,
        similarity=near.to_question,
        from_most=request.top_k if isinstance(request, RetrieveEvidence) else None,
    )
    rows = [_row(looked.kept[quote.passage], quote) for quote in best[offset:end]]
    envelope: dict[str, Any] = {"missing_ids": looked.missing} if looked.missing else {}
    envelope["diagnostics"] = {"passages": len(looked.kept), "search_mode": looked.legs}
    shown = page(rows, envelope, _allowed(asking, request), looked.here, more=len(best) > end)
    return Answer(
        {"quotes": list(shown.rows), "next_cursor": shown.next_cursor, **shown.ending, **envelope},
        "quotes",
        len(shown.rows),
        shown.tokens,
        (*looked.warnings, *(() if is_said else (_WITHOUT_MODEL.format(why=near.why_not),))),
        cache_hit=looked.cache_hit,
        noted={"cursors": int(offset > 0), "duplicates": looked.duplicates, "quotes": len(shown.rows)},
    )


def _allowed(asking: RequestContext, request: ExtractEvidence | RetrieveEvidence) -> Size:
    """A thousand tokens, unless more or longer quotes were asked for."""
    budget = asking.caller.budget.of("quotes")
    asked = request.max_quotes * (request.max_quote_tokens + _AROUND_A_QUOTE)
    return Size(min(budget.tokens, max(_USUAL_TOKENS, asked)), budget.bytes)


def _row(kept: StoredPassage, quote: Quote) -> dict[str, Any]:
    likeness = {} if quote.likeness is None else {"likeness": round(quote.likeness, _SCORE_DIGITS)}
    return {
        "quote": quote.text,
        "passage_id": kept.passage_id,
        "section_id": kept.passage.chunk.id,
        "title": title_of(kept.passage),
        "uri": kept.uri,
        "confidence": round(quote.confidence, _SCORE_DIGITS),
        **likeness,
    }


def _similarity(asking: RequestContext, question: str, projects: Sequence[str]) -> _Near:
    """How near spans of these projects are to the question."""
    if asking.settings.evidence == "lexical":
        return _Near()
    embedder = asking.index.embedder.ready()
    if embedder is None:
        return _Near(why_not=asking.index.embedder.why)
    documents = [asking.index.catalogue.languages(project) for project in dict.fromkeys(projects)]
    if not all(is_covered(question, one, embedder.languages) for one in documents):
        return _Near(why_not=_UNREAD)

    def similarity(spans: Sequence[str]) -> Sequence[float]:
        vectors = embedder.embed([question, *spans])
        return [float(score) for score in vectors[1:] @ vectors[0]]

    return _Near(similarity)
