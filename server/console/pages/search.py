"""The search playground: what a tool returns to an agent at each tier, and the tokens that it costs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, get_args

from mcp_types import CallToolResult, TextContent

from winnow.server.console.desk import OpenDesk
from winnow.server.console.records import Asked, PageView
from winnow.server.contracts.kb import SearchMode
from winnow.server.models import DocumentType

_TOP_K, _MOST_TOP_K = 10, 100


@dataclass(frozen=True, slots=True)
class SearchTier:
    """A tool with the arguments that make its answers as long as this tier; modes are of those that take one."""

    label: str
    tool: str
    question: str = "query"
    arguments: Mapping[str, Any] = field(default_factory=dict)
    mode: str = ""


# In the order of their length.
TIERS: Mapping[str, SearchTier] = MappingProxyType(
    {
        "ids": SearchTier("ids", "semantic_search", arguments={"response_mode": "ids_only"}),
        "metadata": SearchTier("metadata", "semantic_search", arguments={"response_mode": "metadata"}),
        "preview": SearchTier("previews", "semantic_search", arguments={"response_mode": "preview"}),
        "full": SearchTier("full passages", "semantic_search", arguments={"response_mode": "full"}),
        "candidates": SearchTier("candidates (kb_search)", "kb.search", mode="options"),
        "quotes": SearchTier("quotes (kb_retrieve_evidence)", "kb.retrieve_evidence", "question", mode="mode"),
    }
)
_USUAL_TIER = "preview"
_LISTED_FILTERS = ("doc_tag", "tags")
_FILTERS = ("path", "path_prefix", "updated_after")
FILTER_FIELDS = ("type", *_LISTED_FILTERS, *_FILTERS)


async def show_search(asked: Asked) -> PageView:
    """The form; with a query, the result of the tool and its tokens, and on demand those of every tier."""
    query, name = asked.text("q"), asked.text("tier", _USUAL_TIER)
    tier = TIERS.get(name, TIERS[_USUAL_TIER])
    values: dict[str, Any] = {
        "tiers": TIERS,
        "modes": get_args(SearchMode),
        "types": get_args(DocumentType),
        "projects": asked.desk.settings.reachable,
        "asked": {key: asked.text(key) for key in _FIELDS} | {"q": query, "tier": name, "top_k": _top_k(asked)},
        "explained": tier.tool.replace(".", "_"),
        "result": None,
        "compared": [],
    }
    if query:
        async with asked.desk.opened() as desk:
            result = values["result"] = await _search(desk, asked, tier)
            if asked.text("compare"):
                values["compared"] = [
                    (each, result if each is tier else await _search(desk, asked, each)) for each in TIERS.values()
                ]
    return PageView("search.html", "Search", values)


_FIELDS = ("mode", "project", "compare", *FILTER_FIELDS)


async def _search(desk: OpenDesk, asked: Asked, tier: SearchTier) -> dict[str, Any]:
    """The result of one call in its parts, as it was sent."""
    arguments = build_arguments(asked, tier)
    result = await desk.call_tool(tier.tool, arguments)
    text = "\n".join(block.text for block in result.content if isinstance(block, TextContent))
    payload = result.structured_content or _parse(text)
    return {
        "call": {"name": tier.tool, "arguments": arguments},
        "takes_mode": bool(tier.mode),
        "text": text,
        "payload": payload,
        "sent": sent_form(result),
        "usage": payload.get("meta", {}).get("usage", {}),
        "warnings": payload.get("meta", {}).get("warnings", []),
        "failed": bool(result.is_error),
        "rows": [*_rows(payload)],
    }


def sent_form(result: CallToolResult) -> str:
    """The result as the JSON that MCP sends."""
    return result.model_dump_json(by_alias=True, exclude_none=True)


def build_arguments(asked: Asked, tier: SearchTier) -> dict[str, Any]:
    """The arguments of the tool; what the form leaves empty is left out, as an agent would."""
    arguments: dict[str, Any] = {tier.question: asked.text("q"), "top_k": _top_k(asked), **tier.arguments}
    arguments |= {**build_filters(asked), **asked.scope}
    mode = asked.text("mode")
    if mode and tier.mode:
        arguments |= {"options": {"mode": mode}} if tier.mode == "options" else {"mode": mode}
    return arguments


def build_filters(asked: Asked) -> dict[str, Any]:
    """The argument ``filters`` alone in its object, which is empty without any."""
    filters: dict[str, Any] = {name: asked.text(name) for name in _FILTERS if asked.text(name)}
    filters |= {name: _split(asked.text(name)) for name in _LISTED_FILTERS if asked.text(name)}
    if asked.text("type"):
        filters["types"] = [asked.text("type")]
    return {"filters": filters} if filters else {}


def _top_k(asked: Asked) -> int:
    return max(1, asked.number("top_k", _TOP_K, _MOST_TOP_K))


def _split(text: str) -> list[str]:
    return [part for each in text.split(",") if (part := each.strip())]


def _parse(text: str) -> dict[str, Any]:
    """The payload of a server whose settings send it as text alone."""
    parsed: dict[str, Any] = json.loads(text)
    return parsed


def _rows(payload: Mapping[str, Any]) -> Iterator[dict[str, str]]:
    """The passages of an answer that a person may want to see: title, place and id."""
    for row in payload.get("results") or payload.get("quotes") or []:
        id = row.get("section_id") or row.get("id", "")
        text = row.get("quote") or row.get("preview") or row.get("content") or ""
        named = row.get("metadata") or row
        title = named.get("title") or named.get("section") or id
        yield {"id": id, "title": title, "place": row.get("locator") or named.get("file") or "", "text": text}
