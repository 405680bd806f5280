"""Claims in rows of passages: those whose evidence in the passage is verified, where their tools are listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from winnow.server.claims.indexes.citations import PassageClaim
from winnow.server.claims.records import CLAIM_CHARS
from winnow.server.claims.store import View
from winnow.server.contracts.claims.citing import MAX_CITING
from winnow.server.errors import WinnowError
from winnow.server.models import Passage
from winnow.server.operations.answers import budget
from winnow.server.operations.base import RequestContext
from winnow.server.operations.claims.notebooks import open_notebook
from winnow.server.text.printable import one_line

_NOT_SHOWN = "claims are not shown: {why}"


def claims_view(context: RequestContext, project: str) -> View | None:
    """The notebook whose claims rows of this project show; None where it is empty or its tools are not listed.

    Nor does a search wait for another server that keeps the notebooks.
    A notebook that cannot be read adds a warning to the answer and no claims.
    """
    claims = context.index.claims
    if "claims" not in context.settings.packs or claims.is_remote or not claims.has_file:
        return None
    try:
        book = open_notebook(context, project)
        return book.view if book.store.last_sequence(book.view.notebook) else None
    except WinnowError as error:
        context.warnings.append(_NOT_SHOWN.format(why=error.message))
        return None


def add_claims(
    context: RequestContext, view: View | None, rows: Sequence[budget.Row], passages: Sequence[Passage]
) -> list[budget.Row]:
    """The rows of these passages with the claims that cite them. One query for all."""
    if view is None or not passages:
        return [*rows]
    found: dict[str, list[PassageClaim]] = {}
    for each in _read(context, view, [passage.chunk.id for passage in passages]):
        found.setdefault(each.passage, []).append(each)
    return [
        row if isinstance(row, str) else {**row, **_citing(found.get(passage.chunk.id, ()))}
        for row, passage in zip(rows, passages, strict=True)
    ]


def _read(context: RequestContext, view: View, passage_ids: Sequence[str]) -> list[PassageClaim]:
    try:
        return context.index.claims.store.citing(view, passage_ids, MAX_CITING)
    except WinnowError as error:
        context.warnings.append(_NOT_SHOWN.format(why=error.message))
        return []


def _citing(citations: Sequence[PassageClaim]) -> dict[str, Any]:
    if not citations:
        return {}
    total = citations[0].total
    more = {"claims_total": total} if total > len(citations) else {}
    return {"claims": [_row(each) for each in citations], **more}


def _row(citation: PassageClaim) -> dict[str, Any]:
    return {
        "claim": citation.claim_id,
        "text": one_line(citation.text, CLAIM_CHARS),
        "stance": citation.stance,
        "integration_status": citation.integration_status,
        **({"author": one_line(citation.author)} if citation.author else {}),
    }
