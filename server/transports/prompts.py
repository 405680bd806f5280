"""MCP prompts: texts that a user asks for by name, filled in with arguments."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from mcp_types import GetPromptResult, PromptArgument, PromptMessage, TextContent
from mcp_types import Prompt as WirePrompt

from winnow.server.settings.settings import Settings
from winnow.server.tools.prompts.records import Prompt
from winnow.server.tools.reference.guides import spell_tool_names

if TYPE_CHECKING:
    from winnow.server.tools.prompts.library import PromptLibrary


def list_prompts(library: PromptLibrary, tools: Collection[str]) -> list[WirePrompt]:
    """The prompts that a server with these tools offers, in fixed order."""
    return [_build_wire_prompt(prompt) for prompt in library.offered(tools)]


def get_prompt(
    library: PromptLibrary, name: str, arguments: Mapping[str, str], tools: Collection[str], settings: Settings
) -> GetPromptResult:
    """The prompt of this name with its arguments filled in, as one user message.

    Raises ``WinnowError`` as ``PromptLibrary.find`` and ``fill`` do.
    """
    prompt = library.find(name, tools)
    text = spell_tool_names(library.fill(prompt, arguments, tools), settings)
    message = PromptMessage(role="user", content=TextContent(type="text", text=text))
    return GetPromptResult(description=_describe(prompt), messages=[message])


def _build_wire_prompt(prompt: Prompt) -> WirePrompt:
    arguments = [
        PromptArgument(name=each.name, description=each.asks, required=each.required) for each in prompt.arguments
    ]
    name, title = prompt.listed_name, prompt.title if prompt.is_newest else f"{prompt.title} ({prompt.major})"
    return WirePrompt(name=name, title=title, description=_describe(prompt), arguments=arguments)


def _describe(prompt: Prompt) -> str:
    return f"Deprecated: {prompt.deprecated}. {prompt.description}" if prompt.deprecated else prompt.description
