"""The tokens that a model writes and reads for a call, counted from the frames.

A call is written as ``{"name": ..., "arguments": ...}``, a script inside as JSON has it, and read as its answer.
Around both a host puts an envelope that pairs them; it differs from host to host, and is counted as one of fixed
size for every call, so that ways of many turns pay for them. What is read again in later turns, which hosts cache,
is not counted.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Literal

from mcp.types import CallToolResult, TextContent, Tool

from winnow.server.text.words.tokens import count_tokens

Client = Literal["text", "structured"]
CLIENTS: tuple[Client, ...] = ("text", "structured")

_ENVELOPE = '{"type":"tool_use","id":"call_0001"}{"type":"tool_result","tool_use_id":"call_0001"}'


@dataclass(frozen=True, slots=True)
class Cost:
    """Tokens of one or several calls: written, and read by either kind of client."""

    calls: int = 0
    written: int = 0
    text: int = 0
    structured: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.calls + other.calls,
            self.written + other.written,
            self.text + other.text,
            self.structured + other.structured,
        )

    def of(self, client: Client) -> int:
        """The total for a client that passes only the text, or only the structure, to its model."""
        return self.calls * envelope() + self.written + (self.text if client == "text" else self.structured)


def envelope() -> int:
    """Tokens around a call and its answer."""
    return count_tokens(_ENVELOPE)


def cost_of(tool: str, arguments: dict[str, Any], reply: CallToolResult) -> Cost:
    """The cost of one call. An answer without structure, such as an error, costs the same for both clients."""
    text = count_tokens(text_of(reply))
    structured = reply.structured_content
    return Cost(
        calls=1,
        written=count_tokens(compact({"name": tool, "arguments": arguments})),
        text=text,
        structured=text if structured is None else count_tokens(compact(structured)),
    )


def text_of(reply: CallToolResult) -> str:
    """The ``content`` of a reply as text; blocks of other types as JSON."""
    return "\n".join(
        block.text if isinstance(block, TextContent) else block.model_dump_json(exclude_none=True, by_alias=True)
        for block in reply.content
    )


def definition_tokens(tool: Tool) -> int:
    """Tokens of a tool's definition as a host passes it to a model: name, description, arguments."""
    return count_tokens(
        compact({"name": tool.name, "description": tool.description, "input_schema": tool.input_schema})
    )


def compact(value: object) -> str:
    """Minified JSON, as UTF-8."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
