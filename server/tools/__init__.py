"""The tools an MCP client sees: one file each, and this table of them, in the order clients list them."""

from __future__ import annotations

from server.tools import execute_code, semantic_search
from server.tools.base import Context, Result, Tool

TOOLS: tuple[Tool, ...] = (semantic_search.TOOL, execute_code.TOOL)

__all__ = ["TOOLS", "Context", "Result", "Tool"]
