"""The table of operations of the pack ``core``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from winnow.server.contracts.core.citations import AuditCitations
from winnow.server.contracts.core.exporting import RenderMarkdown
from winnow.server.contracts.core.loading import LoadDocument
from winnow.server.contracts.core.planning import ExecuteResearch, PlanPerspectives
from winnow.server.contracts.core.searching import VectorQuery
from winnow.server.operations.base import Answer, RequestContext
from winnow.server.operations.core.auditing import audit_citations
from winnow.server.operations.core.executing import execute_research
from winnow.server.operations.core.exporting import render_markdown
from winnow.server.operations.core.loading import load_document
from winnow.server.operations.core.planning import plan_perspectives
from winnow.server.operations.core.searching import search_vectors

# One search each; the others search several times, or read.
SEARCHING = frozenset({"vector.query.search", "planner.multi_perspective"})
OF_CORE: Mapping[str, tuple[type[BaseModel], Callable[[RequestContext, Any], Answer]]] = MappingProxyType(
    {
        "vector.query.search": (VectorQuery, search_vectors),
        "planner.multi_perspective": (PlanPerspectives, plan_perspectives),
        "research.execute": (ExecuteResearch, execute_research),
        "docs.load.fetch": (LoadDocument, load_document),
        "citations.audit.check": (AuditCitations, audit_citations),
        "exports.render.markdown": (RenderMarkdown, render_markdown),
    }
)
