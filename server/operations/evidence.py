"""``kb.extract_evidence`` and ``kb.retrieve_evidence``: the sentences that answer, with where they stand."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from server.contracts.kb import MAX_QUOTES, ExtractEvidence, RetrieveEvidence
from server.evidence import Quote, quotes
from server.operations.base import Answer, Asking
from server.operations.kb import title_of
from server.operations.paging import Cursor, fingerprint, page, resume
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


@dataclass(frozen=True, slots=True)
class _Looked:
    """The passages to quote from, and how they were found; ``priors``: what the legs say of them, if ranked."""

    kept: Sequence[Kept]
    here: Cursor
    legs: str
    priors: Sequence[float] | None = None
    missing: Sequence[str] = ()
    duplicates: int = 0
    warnings: tuple[str, ...] = ()
    cache_hit: bool = False


def extract_evidence(asking: Asking, request: ExtractEvidence) -> Answer:
    """Quotes from these passages."""
    at = resume(request.cursor, request)
    wanted = list(dict.fromkeys(request.passage_ids))
    known = {passage_id: find(asking, passage_id, request.scope) for passage_id in wanted}
    kept = [one for one in known.values() if one is not None]
    missing = [passage_id for passage_id, one in known.items() if one is None]
    if not kept:
        raise not_found(missing)
    return _answer(
        asking, request, _Looked(kept, Cursor(at.offset, fingerprint(request), 0, BY_ID), BY_ID, missing=missing)
    )


def retrieve_evidence(asking: Asking, request: RetrieveEvidence) -> Answer:
    """A search, and quotes from what it finds."""
    at = resume(request.cursor, request)
    filters = filters_of(asking, request.scope, request.filters)
    found = distinct(asking, request.question, filters, request.top_k, request.top_k, at.legs, request.mode)
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
    return _answer(asking, request, looked)


def _answer(asking: Asking, request: ExtractEvidence | RetrieveEvidence, looked: _Looked) -> Answer:
    similarity, without_model = _similarity(asking, request.question)
    offset, end = looked.here.offset, looked.here.offset + request.max_quotes
    best = quotes(
        request.question,
        [printable(one.passage.chunk.text) for one in looked.kept],
        limit=min(end + 1, _DEEPEST),
        max_tokens=request.max_quote_tokens,
        context_tokens=request.include_context_tokens,
        priors=looked.priors,
        similarity=similarity,
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
        (*looked.warnings, *without_model),
        cache_hit=looked.cache_hit,
        noted={"cursors": int(offset > 0), "duplicates": looked.duplicates, "quotes": len(shown.rows)},
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
    embedder = asking.index.embedder.ready()
    if embedder is None:
        return None, (_WITHOUT_MODEL.format(why=asking.index.embedder.why),)

    def similarity(spans: Sequence[str]) -> Sequence[float]:
        vectors = embedder.embed([question, *spans])
        return [float(score) for score in vectors[1:] @ vectors[0]]

    return similarity, ()
