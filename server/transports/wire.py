"""Tools and results of calls as MCP sends them. No other module renders them for MCP."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from mcp_types import (
    Annotations,
    CallToolResult,
    ContentBlock,
    ImageContent,
    ResourceLink,
    TextContent,
    ToolAnnotations,
)
from mcp_types import Tool as WireTool

from winnow.server.operations.answers.budget import dumps
from winnow.server.operations.base import Image
from winnow.server.runtime.sessions.passage_store import PassageLink
from winnow.server.settings.settings import Settings
from winnow.server.text.printable import one_line
from winnow.server.tools.table import Tool
from winnow.server.transports.call_results import CallResult, ListedTool, Wrapper
from winnow.server.transports.dispatch import Dispatcher

_LINK_CHARS = 300


async def call_tool(
    dispatcher: Dispatcher,
    tool: Tool,
    arguments: Mapping[str, Any],
    client: str,
    progress: Callable[[float, str], Awaitable[None]],
    address: str = "",
) -> CallToolResult:
    """The answer of a call as MCP sends it; its usage is of both channels."""
    answer = await answer_call(dispatcher, tool, arguments, client, progress, address)
    return build_result(answer, dispatcher.settings)


async def answer_call(
    dispatcher: Dispatcher,
    tool: Tool,
    arguments: Mapping[str, Any],
    client: str,
    progress: Callable[[float, str], Awaitable[None]],
    address: str = "",
) -> CallResult:
    """The answer of a call before ``build_result`` renders it."""
    settings = dispatcher.settings

    def render_around(result: CallResult) -> str:
        blocks = [*_blocks(result, settings)] if settings.structured_output_enabled else []
        sent = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in blocks]
        return dumps({"content": sent, "meta": result.meta, "isError": False})

    wrapper = Wrapper(render_around, has_text=settings.structured_output_enabled and settings.content != "summary")
    return await dispatcher.call(tool, arguments, client, progress, address, wrapper=wrapper)


def build_result(result: CallResult, settings: Settings) -> CallToolResult:
    """A result as MCP sends it: text and structured content, or all of it as one text."""
    payload = {**result.payload, "meta": result.meta}
    images = [*map(_image_block, result.images)]
    if not settings.structured_output_enabled:
        blocks: list[ContentBlock] = [_text_block(dumps(payload)), *images]
        return CallToolResult(content=blocks, is_error=result.failed)
    blocks = [*_blocks(result, settings), *images]
    return CallToolResult(content=blocks, structured_content=payload, is_error=result.failed)


def build_tool(listed: ListedTool, settings: Settings, apps: Mapping[str, str]) -> WireTool:
    """A tool as MCP lists it. ``apps``: by its name, the page that this client shows with its answers."""
    tool = listed.tool
    return WireTool(
        name=listed.name,
        title=tool.title,
        description=listed.description,
        input_schema=dict(listed.input_schema),
        output_schema=dict(listed.output_schema) if settings.structured_output_enabled else None,
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=tool.open_world,
        ),
        _meta={"ui": {"resourceUri": apps[tool.name]}} if tool.name in apps else None,
    )


def _blocks(result: CallResult, settings: Settings) -> list[TextContent | ResourceLink]:
    """The content blocks beside the structured content."""
    text = result.summary if settings.content == "summary" and not result.failed else result.text
    lines = [text, *(f"warning: {warning}" for warning in result.warnings)]
    if result.failed:
        lines.append(f"trace: {result.trace_id}")
    links = result.links if settings.resource_links == "on" else ()
    return [_text_block("\n".join(lines)), *map(_resource_link, links)]


def _text_block(text: str) -> TextContent:
    return TextContent(type="text", text=text)


def _image_block(image: Image) -> ImageContent:
    return ImageContent(type="image", data=b64encode(image.data).decode("ascii"), mime_type=image.mime_type)


def _resource_link(link: PassageLink) -> ResourceLink:
    """A link with which a host can read the passage, marked for the model at low priority."""
    return ResourceLink(
        type="resource_link",
        name=link.passage_id,
        title=one_line(link.title, _LINK_CHARS) or None,
        description=one_line(link.place, _LINK_CHARS) or None,
        uri=link.uri,
        mime_type="text/plain",
        size=link.size_bytes,
        annotations=Annotations(audience=["assistant"], priority=0.1, last_modified=link.created_at),
    )
