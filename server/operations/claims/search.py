"""``claims.search``: entries by the meaning of their claims, by parts of words, or by both."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from winnow.server.claims.store import View
from winnow.server.contracts.claims.arguments import ClaimSearch
from winnow.server.operations.answers import budget
from winnow.server.operations.base import Answer, RequestContext
from winnow.server.operations.claims.notebooks import OpenNotebook, open_notebook
from winnow.server.operations.claims.rows import entry_row, share

# Reciprocal rank fusion (Cormack, Clarke & Buettcher 2009): ranks count from 0, of twice as many as are asked for.
_K, OVERFETCH = 60, 2
NO_MODEL = "lexical: {why}; claims were searched by words alone"
_CUT = "{shown} of {found} entries fit into the answer; ask for fewer (top_k, max_claims)"


def search_claims(context: RequestContext, request: ClaimSearch) -> Answer:
    """Answer with the entries whose claims fit the query best."""
    book = open_notebook(context, request.project, request.topic_prefix, request.integration_status)
    book.bring_up_to_date()
    mode, warnings = request.mode, []
    if mode != "lexical" and book.model is None:
        warnings.append(NO_MODEL.format(why=context.index.embedder.why or "the model is not loaded"))
        mode = "lexical"
    ranked, similarities, nearest = _rank(book, request, mode)
    entries = book.store.read(book.view, ranked)
    rows: list[budget.Row] = []
    for entry_id in ranked:
        if (entry := entries.get(entry_id)) is None:
            continue
        row = entry_row(entry, request.max_claims, nearest.get(entry_id, ""))
        if entry_id in similarities:
            row["similarity"] = share(similarities[entry_id])
        rows.append(row)
    return answer_rows(context, rows, {"mode": mode}, warnings)


def answer_rows(
    context: RequestContext,
    rows: Sequence[budget.Row],
    more: dict[str, Any] | None = None,
    warnings: Sequence[str] = (),
    name: str = "results",
) -> Answer:
    """An answer with the rows that fit into its budget, and a warning where some do not."""
    size = context.caller.budget.of("metadata")
    fitted = budget.fit_rows(rows, size.tokens, size.bytes)
    shown = len(fitted.rows)
    cut = (_CUT.format(shown=shown, found=len(rows)),) if shown < len(rows) else ()
    payload = {name: list(fitted.rows), "count": shown, **(more or {})}
    return Answer(payload, "metadata", shown, fitted.tokens, (*warnings, *cut))


def _rank(
    book: OpenNotebook, request: ClaimSearch, mode: str
) -> tuple[list[str], dict[str, float], dict[str, str]]:
    """Ids of entries, the best first; their similarities and nearest claims where the model was asked."""
    most = request.top_k * OVERFETCH
    by_meaning = []
    if mode != "lexical" and (model := book.model) is not None:
        by_meaning = book.vectors.nearest(model, book.view, request.query, most, request.min_similarity)
    by_words = [] if mode == "semantic" else _by_words(book, book.view, request.query, most)
    similarities = {each.entry_id: each.similarity for each in by_meaning}
    nearest = {each.entry_id: each.claim_id for each in by_meaning}
    legs = [[each.entry_id for each in by_meaning], by_words]
    return fuse(legs)[: request.top_k], similarities, nearest


def _by_words(book: OpenNotebook, view: View, query: str, most: int) -> list[str]:
    return [entry_id for entry_id, _ in book.store.search_words(view, query, most)]


def fuse(legs: Sequence[Sequence[str]]) -> list[str]:
    """Ids by the sum of 1 / (60 + rank) over the lists that have them, ranks from 0; each id once.

    >>> fuse([["a", "b"], ["b", "c"]])
    ['b', 'a', 'c']
    """
    scores: dict[str, float] = {}
    for leg in legs:
        for rank, entry_id in enumerate(leg):
            scores[entry_id] = scores.get(entry_id, 0.0) + 1 / (_K + rank)
    return sorted(scores, key=lambda entry_id: -scores[entry_id])
