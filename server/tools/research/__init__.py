"""The pack ``research``: tools for people who write with sources. Listed where the setting ``tools`` names it."""

from __future__ import annotations

from winnow.server.tools.base import Tool
from winnow.server.tools.research import (
    ingest_from_source,
    inspect_collection,
    job_cancel,
    job_status,
    list_projects,
    query,
    query_hybrid,
)

RESEARCH_TOOLS: tuple[Tool, ...] = (
    list_projects.TOOL,
    query.TOOL,
    query_hybrid.TOOL,
    inspect_collection.TOOL,
    ingest_from_source.TOOL,
    job_status.TOOL,
    job_cancel.TOOL,
)
