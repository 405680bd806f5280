"""The table of MCP tools, in the order in which clients list them.

Most are declared with their operation (``server.operations.table``). Those that do more than one operation, or
none, have a file in this folder.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from winnow.server.operations.table import OPERATIONS
from winnow.server.tools import execute_code, help, research
from winnow.server.tools.base import Context, Handler, Tool, ToolResult

# Answers of tools that do more than call their operation once.
_HANDLERS: Mapping[str, Handler] = MappingProxyType(
    {
        "list_projects": research.list_projects,
        "ingest_from_source": research.ingest,
        "job_status": research.show_job,
        "job_cancel": research.cancel_job,
    }
)
_OF_OPERATIONS = tuple(
    Tool.of(operation, _HANDLERS.get(operation.name)) for operation in OPERATIONS.values() if operation.tool
)
_TOOLS: tuple[Tool, ...] = (
    *(tool for tool in _OF_OPERATIONS if not (tool.pack or tool.needs_scripts)),
    execute_code.TOOL,
    *(tool for tool in _OF_OPERATIONS if tool.pack or tool.needs_scripts),
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
