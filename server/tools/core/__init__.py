"""The pack ``core``: searches, plans, citations, exports. Listed where the setting ``tools`` names it."""

from __future__ import annotations

from winnow.server.tools.base import Tool
from winnow.server.tools.core import (
    citations_audit_check,
    docs_load_fetch,
    exports_render_markdown,
    planner_multi_perspective,
    research_execute,
    vector_query_search,
)

CORE_TOOLS: tuple[Tool, ...] = (
    vector_query_search.TOOL,
    planner_multi_perspective.TOOL,
    research_execute.TOOL,
    docs_load_fetch.TOOL,
    citations_audit_check.TOOL,
    exports_render_markdown.TOOL,
)
