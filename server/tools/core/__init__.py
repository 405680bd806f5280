"""The pack ``core``: searches, plans, citations, exports. Listed where the setting ``tools`` names it."""

from __future__ import annotations

from server.tools.base import Tool
from server.tools.core import planner_multi_perspective, research_execute, vector_query_search

CORE_TOOLS: tuple[Tool, ...] = (
    vector_query_search.TOOL,
    planner_multi_perspective.TOOL,
    research_execute.TOOL,
)
