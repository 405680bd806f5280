"""The handshake with a server as a client does it, by the SDK's own client in a client's bare environment."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from mcp import Client, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import TextContent

from winnow.server.commands.setup.launch import Launch
from winnow.server.errors import WinnowError
from winnow.server.text.printable import one_line
from winnow.server.text.words.tokens import count_tokens

# The most patient clients wait for a minute. A start takes about a second on an idle machine.
_SECONDS = 60.0
_SLOW_SECONDS = 10.0  # what the least patient clients wait for a server
_TAIL_LINES, _TAIL_BYTES = 8, 8_192
_SCRIPTS = "execute_code"
_ASKING = "kb_retrieve_evidence"
# Of the variables that the SDK's client passes on, those that desktop hosts have not, or have others in.
_BARE = {} if sys.platform == "win32" else {"PATH": "", "SHELL": "", "TERM": ""}


@dataclass(frozen=True, slots=True)
class Handshake:
    """The server as a client shows it: its tools, the tokens of their definitions, and whether scripts run."""

    version: str
    tools: tuple[str, ...]
    tokens: int
    seconds: float

    @property
    def has_scripts(self) -> bool:
        """Whether ``execute_code`` is offered."""
        return _SCRIPTS in self.tools

    @property
    def advice(self) -> str:
        """The advice on a start that takes longer than the least patient clients wait; "" for a faster one."""
        if self.seconds <= _SLOW_SECONDS:
            return ""
        return (
            f"it took {self.seconds:.1f} s, and some clients wait {_SLOW_SECONDS:.0f} s only; start it again, "
            "or raise their time-out for starting servers"
        )

    def to_json(self) -> dict[str, Any]:
        """The handshake as JSON data."""
        return {**asdict(self), "has_scripts": self.has_scripts}


def shake_hands(launch: Launch) -> Handshake:
    """Start the server, list its tools and let it end. Of its variables only winnow's own are set.

    Raises ``WinnowError``: SOURCE_UNAVAILABLE, or TIMEOUT, with the end of the server's log in ``details["log"]``.
    """

    async def run() -> Handshake:
        began = time.monotonic()
        async with _connect(launch) as client:
            tools = (await client.list_tools()).tools
            version = client.server_info.version if client.server_info else ""
        # The three that hosts put into a model's context.
        definitions = [(tool.name, tool.description, tool.input_schema) for tool in tools]
        text = json.dumps(definitions, ensure_ascii=False, separators=(",", ":"))
        names = tuple(tool.name for tool in tools)
        return Handshake(version, names, count_tokens(text), round(time.monotonic() - began, 2))

    return asyncio.run(run())


def ask(launch: Launch, question: str) -> str:
    """The server's answer to a question, as an agent gets it. Raises ``WinnowError`` as ``shake_hands``."""

    async def run() -> str:
        async with _connect(launch) as client:
            reply = await client.call_tool(_ASKING, {"question": question})
        return "\n".join(block.text for block in reply.content if isinstance(block, TextContent))

    return asyncio.run(run())


@asynccontextmanager
async def _connect(launch: Launch) -> AsyncIterator[Client]:
    server = StdioServerParameters(
        command=launch.command, args=list(launch.args), env={**_BARE, **launch.tried_env}, cwd=Path.home()
    )
    logging.getLogger("mcp").setLevel(logging.CRITICAL)  # what is wrong is said once, by us
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as log:
        try:
            async with asyncio.timeout(_SECONDS), Client(stdio_client(server, errlog=log)) as client:
                yield client
        except TimeoutError:
            raise _failure("TIMEOUT", f"it did not answer within {_SECONDS:.0f} s", log) from None
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise _failure("SOURCE_UNAVAILABLE", f"{launch.command} cannot be started: {why}", log) from None
        except (MCPError, ExceptionGroup) as error:
            raise _failure(
                "SOURCE_UNAVAILABLE", f"it ended, or speaks no MCP ({_reason_of(error)})", log
            ) from None


def _reason_of(error: Exception) -> str:
    """The message of an error of the protocol, which arrives in groups. Any other error is a bug and is raised."""
    while isinstance(error, ExceptionGroup) and len(error.exceptions) == 1:
        error = error.exceptions[0]
    if not isinstance(error, MCPError):
        raise error
    return str(error)


def _failure(reason: str, why: str, log: IO[str]) -> WinnowError:
    log.flush()
    size = os.fstat(log.fileno()).st_size
    log.seek(max(0, size - _TAIL_BYTES))
    lines = [one_line(line, 400) for line in log.read().splitlines() if line.strip()][-_TAIL_LINES:]
    return WinnowError(reason, f"the server does not start as clients start it: {why}", details={"log": lines})
