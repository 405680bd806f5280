"""The file that fastmcp.json names as its source. It serves what ``winnow serve`` serves."""

from winnow.server.commands.fastmcp_server import create_mcp_server

__all__ = ["create_mcp_server"]
