"""The tools an MCP client sees: one file each, and this table of them, in the order clients list them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from server.tools import (
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
    kb_expand_excerpt,
    kb_extract_evidence,
    kb_read_excerpt,
    kb_retrieve_evidence,
    kb_search,
    read_result,
    search_sections,
    semantic_search,
)
from server.tools.base import Context, Tool, ToolResult

_TOOLS: tuple[Tool, ...] = (
    kb_retrieve_evidence.TOOL,
    kb_search.TOOL,
    kb_extract_evidence.TOOL,
    kb_read_excerpt.TOOL,
    kb_expand_excerpt.TOOL,
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
)
# Earlier names of tools, and what to call instead. Those of the graph took the same arguments, so with the setting
# legacy_tools a call by such a name is a call of the tool itself.
EARLIER: Mapping[str, str] = MappingProxyType(
    {
        "search_sections": "kb.search",
        "get_section_text": "kb.read_excerpt",
        "expand_neighbors": "graph.expand",
    }
)
TOOLS = (*_TOOLS, help.tool_over(_TOOLS))

__all__ = ["EARLIER", "TOOLS", "Context", "Tool", "ToolResult"]
