"""``kb.extract_evidence`` and ``kb.retrieve_evidence``: the sentences that answer, with where they stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from server.contracts.kb import MAX_QUOTES, ExtractEvidence, RetrieveEvidence
from server.evidence import Quote, quotes
from server.operations.base import Answer, Asking
from server.operations.kb import NO_GRAPH, title_of
from server.operations.paging import START, Cursor, fingerprint, page, resume
from server.operations.passages import find, not_found
from server.operations.ranking import BY_ID, distinct
from server.operations.scoping import filters_of, unlabelled
from server.printable import printable
from server.scratch import Kept
from server.tiers import Size

# Quotes beyond what one answer may hold are kept in order for the next page.
_DEEPEST = 5 * MAX_QUOTES
_USUAL_TOKENS = 1_000
_AROUND_A_QUOTE = 80  # tokens of ids, title and address
_SCORE_DIGITS = 3
_WITHOUT_MODEL = "quotes are scored by words alone: {why}"


def extract_evidence(asking: Asking, request: ExtractEvidence) -> Answer:
    """Quotes from these passages."""
    at = resume(request.cursor, request)
    wanted = list(dict.fromkeys(request.passage_ids))
    known = {passage_id: find(asking, passage_id, request.scope) for passage_id in wanted}
    kept = [one for one in known.values() if one is not None]
    missing = [passage_id for passage_id, one in known.items() if one is None]
    if not kept:
        raise not_found(missing)
    here = Cursor(at.offset, fingerprint(request), 0, BY_ID)
    envelope = {"missing_ids": missing} if missing else {}
    return _answer(asking, request, kept, envelope, here)


def retrieve_evidence(asking: Asking, request: RetrieveEvidence) -> Answer:
    """A search, and quotes from what it finds."""
    at = resume(request.cursor, request)
    filters = filters_of(asking, request.scope, request.filters)
    found = distinct(asking, request.question, filters, request.top_k, per_document=request.top_k, legs=at.legs)
    keep = asking.caller.session.keep
    kept = [keep(one.passage, one.passage.document.project) for one in found.found]
    priors = [one.score or 0.0 for one in found.found]
    here = Cursor(at.offset, fingerprint(request), found.generation, found.legs)
    warnings = [
        *(at.moved(found.generation, found.legs) if at is not START else ()),
        *((NO_GRAPH,) if request.mode == "hybrid_local" else ()),
        *found.warnings,
        *(() if kept else unlabelled(filters)),
    ]
    return _answer(
        asking,
        request,
        kept,
        {},
        here,
        tuple(warnings),
        priors=priors,
        duplicates=found.duplicates,
        cache_hit=found.cache_hit,
    )


def _answer(
    asking: Asking,
    request: ExtractEvidence | RetrieveEvidence,
    kept: Sequence[Kept],
    envelope: dict[str, Any],
    here: Cursor,
    warnings: tuple[str, ...] = (),
    *,
    priors: Sequence[float] | None = None,
    duplicates: int = 0,
    cache_hit: bool = False,
) -> Answer:
    similarity, missing_model = _similarity(asking, request.question)
    best = quotes(
        request.question,
        [printable(one.passage.chunk.text) for one in kept],
        limit=_DEEPEST,
        max_tokens=request.max_quote_tokens,
        context_tokens=request.include_context_tokens,
        priors=priors,
        similarity=similarity,
    )
    shown = best[here.offset : here.offset + request.max_quotes]
    rows = [_row(kept[quote.passage], quote) for quote in shown]
    envelope = {**envelope, "diagnostics": {"passages": len(kept), "search_mode": here.legs}}
    more = len(best) > here.offset + len(shown)
    fitted = page(rows, envelope, _allowed(asking, request), here, more=more)
    return Answer(
        {"quotes": list(fitted.rows), "next_cursor": fitted.next_cursor, **fitted.ending, **envelope},
        "quotes",
        len(fitted.rows),
        fitted.tokens,
        (*warnings, *missing_model),
        cache_hit=cache_hit,
        noted={"cursors": int(here.offset > 0), "duplicates": duplicates, "quotes": len(fitted.rows)},
    )


def _allowed(asking: Asking, request: ExtractEvidence | RetrieveEvidence) -> Size:
    """A thousand tokens, unless more or longer quotes were asked for."""
    budget = asking.caller.budget.of("quotes")
    asked = request.max_quotes * (request.max_quote_tokens + _AROUND_A_QUOTE)
    return Size(min(budget.tokens, max(_USUAL_TOKENS, asked)), budget.bytes)


def _row(kept: Kept, quote: Quote) -> dict[str, Any]:
    return {
        "quote": quote.text,
        "passage_id": kept.passage_id,
        "section_id": kept.passage.chunk.id,
        "title": title_of(kept.passage),
        "uri": kept.uri,
        "confidence": round(quote.score, _SCORE_DIGITS),
    }


def _similarity(
    asking: Asking, question: str
) -> tuple[Callable[[Sequence[str]], Sequence[float]] | None, tuple[str, ...]]:
    """How near a span is to the question in meaning, where the settings want that and the model is there."""
    if asking.settings.evidence == "lexical":
        return None, ()
    embedder = asking.library.embedder.ready()
    if embedder is None:
        return None, (_WITHOUT_MODEL.format(why=asking.library.embedder.why),)

    def similarity(spans: Sequence[str]) -> Sequence[float]:
        vectors = embedder.embed([question, *spans])
        return [float(score) for score in vectors[1:] @ vectors[0]]

    return similarity, ()
