"""A server object for programs that run an object instead of a command, such as ``fastmcp run``.

Those programs accept the SDK's high-level server object and call one of its ``run_*_async`` methods. The object
here serves as ``winnow serve`` does; it has no tools of its own.
"""

from __future__ import annotations

from typing import Any

from mcp.server.mcpserver import MCPServer

from winnow import __version__
from winnow.server.commands.serve import check_projects, serve_settings
from winnow.server.settings.loading import load
from winnow.server.settings.settings import Settings


class WinnowServer(MCPServer):
    """``winnow serve`` behind the methods by which other programs run a server."""

    def __init__(self, settings: Settings) -> None:
        super().__init__("winnow", version=__version__)
        self.settings_in_force = settings

    async def run_stdio_async(self) -> None:
        """Serve one client on stdin and stdout, until it closes stdin."""
        await serve_settings(self.settings_in_force, None)

    async def run_streamable_http_async(
        self, *, host: str = "127.0.0.1", port: int = 8000, **options: Any
    ) -> None:
        """Serve HTTP on a loopback address, as ``winnow serve --http HOST:PORT``; other options have no effect."""
        await serve_settings(self.settings_in_force, f"{host}:{port}")


def create_mcp_server() -> WinnowServer:
    """A server with the settings of the environment and the configuration files.

    Raises ``WinnowError("INVALID_REQUEST")`` naming each setting that is wrong.
    """
    configuration = load()
    check_projects(configuration)
    return WinnowServer(configuration.settings)
