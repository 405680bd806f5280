"""The bounds of a page of rows over all documents."""

from __future__ import annotations

from pydantic import BaseModel

from winnow.server.operations.answers.budget import Size
from winnow.server.operations.base import RequestContext

DIRECT_ROWS = 200  # no more fit into a direct answer
# A direct call that says no limit gets so many tokens, one that does up to the budget of its tier.
_USUAL_TOKENS = 2_000


def size_limit(context: RequestContext, request: BaseModel) -> Size:
    """The size limit of a page of this request, which has a field ``limit``."""
    budget = context.caller.budget.of("metadata")
    if not context.caller.budget.is_direct or "limit" in request.model_fields_set:
        return budget
    return Size(min(budget.tokens, _USUAL_TOKENS), budget.bytes)
