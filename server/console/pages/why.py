"""Why a ranking came out so: each leg and step by passage, and why a document did not come."""

from __future__ import annotations

from typing import Any, get_args

from winnow.server.console.pages.search import FILTER_FIELDS, build_filters
from winnow.server.console.records import Asked, PageView
from winnow.server.contracts.kb import ExplainedTool

_ROWS, _MOST_ROWS = 10, 50


async def show_why(asked: Asked) -> PageView:
    """The form; with a question, the explanation of what the tool returned for it."""
    query, document = asked.text("q"), asked.text("document")
    tool = asked.text("tool", get_args(ExplainedTool)[0])
    rows = max(1, asked.number("top_k", _ROWS, _MOST_ROWS))
    values: dict[str, Any] = {
        "q": query,
        "document": document,
        "tool": tool,
        "tools": get_args(ExplainedTool),
        "top_k": rows,
        "projects": asked.desk.settings.reachable,
        "project": asked.project,
        "filters": {name: asked.text(name) for name in FILTER_FIELDS if asked.text(name)},
        "why": None,
    }
    if query:
        arguments = {"query": query, "tool": tool, "top_k": rows, **build_filters(asked), **asked.scope}
        async with asked.desk.opened() as desk:
            answer = await desk.call(
                "kb.explain_ranking", arguments | ({"document": document} if document else {})
            )
        values |= {"why": answer.payload, "warnings": answer.warnings}
    return PageView("why.html", "Why this ranking", values)
