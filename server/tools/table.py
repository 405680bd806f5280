"""The table of MCP tools, in the order in which clients list them. Each tool has a file of its own."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from winnow.server.tools import (
    execute_code,
    find_vendor_info,
    get_section_text,
    graph_children,
    graph_describe,
    graph_entities_for_sections,
    graph_expand,
    graph_parents,
    graph_paths,
    graph_sections_for_entities,
    help,
    kb_documents,
    kb_expand_excerpt,
    kb_extract_evidence,
    kb_read,
    kb_read_excerpt,
    kb_retrieve_evidence,
    kb_scan,
    kb_search,
    read_result,
    search_sections,
    semantic_search,
)
from winnow.server.tools.base import Context, Tool, ToolResult
from winnow.server.tools.claims import CLAIM_TOOLS
from winnow.server.tools.core import CORE_TOOLS
from winnow.server.tools.research import RESEARCH_TOOLS

_TOOLS: tuple[Tool, ...] = (
    kb_retrieve_evidence.TOOL,
    kb_search.TOOL,
    kb_scan.TOOL,
    kb_extract_evidence.TOOL,
    kb_read_excerpt.TOOL,
    kb_expand_excerpt.TOOL,
    kb_documents.TOOL,
    kb_read.TOOL,
    semantic_search.TOOL,
    graph_describe.TOOL,
    graph_expand.TOOL,
    graph_paths.TOOL,
    graph_parents.TOOL,
    graph_children.TOOL,
    graph_entities_for_sections.TOOL,
    graph_sections_for_entities.TOOL,
    find_vendor_info.TOOL,
    search_sections.TOOL,
    get_section_text.TOOL,
    execute_code.TOOL,
    read_result.TOOL,
    *RESEARCH_TOOLS,
    *CORE_TOOLS,
    *CLAIM_TOOLS,
)
# Earlier names of tools and their successors. The graph tool took the same arguments, so with the setting
# legacy_tools a call by its earlier name is a call of the successor.
EARLIER_NAMES: Mapping[str, str] = MappingProxyType(
    {
        "search_sections": "kb.search",
        "get_section_text": "kb.read_excerpt",
        "expand_neighbors": "graph.expand",
    }
)
# A tool of ``kb.*`` -> the one to call where they are switched off; those without a line have no other.
WITHOUT_KB: Mapping[str, str] = MappingProxyType(
    {
        "kb.search": "search_sections",
        "kb.retrieve_evidence": "search_sections",
        "kb.extract_evidence": "get_section_text",
        "kb.read_excerpt": "get_section_text",
        "kb.expand_excerpt": "get_section_text",
    }
)
TOOLS = (*_TOOLS, help.build_help_tool(_TOOLS))
# Names that no tool of the operator may have, as they are written on the wire.
TAKEN_NAMES = frozenset(name.replace(".", "_") for name in (*(tool.name for tool in TOOLS), *EARLIER_NAMES))

__all__ = ["EARLIER_NAMES", "TAKEN_NAMES", "TOOLS", "WITHOUT_KB", "Context", "Tool", "ToolResult"]
