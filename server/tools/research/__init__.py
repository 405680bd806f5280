"""The pack ``research``: tools for people who write with sources. Listed where the setting ``tools`` names it."""

from __future__ import annotations

from server.tools.base import Tool
from server.tools.research import inspect_collection, list_projects, query, query_hybrid

RESEARCH_TOOLS: tuple[Tool, ...] = (
    list_projects.TOOL,
    query.TOOL,
    query_hybrid.TOOL,
    inspect_collection.TOOL,
)
