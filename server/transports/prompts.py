"""MCP prompts: texts that a user asks for by name, with one argument each."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from mcp_types import GetPromptResult, PromptArgument, PromptMessage, TextContent
from mcp_types import Prompt as WirePrompt

from server.errors import WinnowError
from server.reference.guides import Prompt, select_prompts, spell_tool_names
from server.settings import Settings
from server.text.printable import one_line, printable


def list_prompts(tools: Collection[str]) -> list[WirePrompt]:
    """The prompts that a server with these tools offers, in fixed order."""
    return [_build_wire_prompt(prompt) for prompt in select_prompts(tools).values()]


def find_prompt(name: str, tools: Collection[str]) -> Prompt:
    """The prompt with this name.

    Raises:
        WinnowError: INVALID_REQUEST, naming the prompts of this server.
    """
    offered = select_prompts(tools)
    if name not in offered:
        raise WinnowError(
            "INVALID_REQUEST", f"unknown prompt {one_line(name, 100)!r}; this server has: {', '.join(offered)}"
        )
    return offered[name]


def fill_prompt(
    prompt: Prompt, arguments: Mapping[str, str], tools: Collection[str], settings: Settings
) -> GetPromptResult:
    """The prompt with its argument filled in, as one user message.

    Raises:
        WinnowError: INVALID_REQUEST for an argument that is missing, blank, too long or unknown.
    """
    unknown = sorted(name for name in arguments if name != prompt.argument)
    value = printable(arguments.get(prompt.argument, "")).strip()
    if unknown or not value or len(value) > prompt.max_chars:
        raise WinnowError(
            "INVALID_REQUEST",
            f"{prompt.name} takes one argument, {prompt.argument}: {prompt.asks}, in 1 to {prompt.max_chars:,} "
            "characters",
        )
    text = spell_tool_names(prompt.text(value, tools), settings)
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=prompt.description, messages=[message])


def _build_wire_prompt(prompt: Prompt) -> WirePrompt:
    argument = PromptArgument(name=prompt.argument, description=prompt.asks, required=True)
    return WirePrompt(name=prompt.name, title=prompt.title, description=prompt.description, arguments=[argument])
