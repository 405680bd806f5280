"""The server card over HTTP, and the catalog that leads to it: where this server is and which revisions it speaks.

Both are read before a client connects, without a key, so they say nothing of tools, projects or settings. The card
is that of the extension of SEP-2127, the catalog that of the AI Catalog specification, which the extension names.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from mcp_types.version import KNOWN_PROTOCOL_VERSIONS
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from winnow import __version__
from winnow.server.transports.origins import stated_origin

# As in the registry's ``server.json``.
NAME = "com.example.winnow/winnow-mcp"
DESCRIPTION = "An MCP server over your own knowledge base: agents take only the grain."
CARD_PATH, CATALOG_PATH = "/mcp/server-card", "/.well-known/ai-catalog.json"
_ENDPOINT = "/mcp"
_SCHEMA = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json"
_CARD_TYPE, _CATALOG_TYPE = "application/mcp-server-card+json", "application/ai-catalog+json"
_KEY_HEADER: Mapping[str, Any] = {
    "name": "Authorization",
    "description": "Bearer, and an access key or a token",
    "isRequired": True,
    "isSecret": True,
}
# A page may read them where its origin may call this server at all (``origins.py``).
_HEADERS: Mapping[str, str] = {
    "access-control-allow-origin": "*",
    "access-control-allow-methods": "GET",
    "access-control-allow-headers": "Content-Type, If-None-Match",
    "access-control-expose-headers": "ETag",
    "cache-control": "public, max-age=3600",
}


def card_routes(needs_keys: Callable[[], bool], *, has_tls: bool) -> list[Route]:
    """The routes of both. ``needs_keys``: whether clients need one now. ``has_tls``: a proxy ends their TLS."""

    async def show_card(request: Request) -> Response:
        origin = stated_origin(request.scope, has_tls=has_tls)
        return _answer(request, describe_server(origin, needs_keys=needs_keys()), _CARD_TYPE)

    async def show_catalog(request: Request) -> Response:
        return _answer(request, describe_catalog(stated_origin(request.scope, has_tls=has_tls)), _CATALOG_TYPE)

    return [Route(CARD_PATH, show_card), Route(CATALOG_PATH, show_catalog)]


def describe_server(origin: str, *, needs_keys: bool) -> dict[str, Any]:
    """The card of a server that its clients reach at this origin."""
    return {
        "$schema": _SCHEMA,
        "name": NAME,
        "title": "winnow",
        "description": DESCRIPTION,
        "version": __version__,
        "remotes": [
            {
                "type": "streamable-http",
                "url": origin + _ENDPOINT,
                **({"headers": [dict(_KEY_HEADER)]} if needs_keys else {}),
                "supportedProtocolVersions": [*KNOWN_PROTOCOL_VERSIONS],
            }
        ],
    }


def describe_catalog(origin: str) -> dict[str, Any]:
    """The catalog of a server that its clients reach at this origin: its card alone."""
    domain, _, name = NAME.partition("/")
    publisher = ".".join(reversed(domain.split(".")))
    entry = {"identifier": f"urn:air:{publisher}:mcp:{name}", "type": _CARD_TYPE, "url": origin + CARD_PATH}
    return {"specVersion": "1.0", "entries": [entry]}


def _answer(request: Request, facts: Mapping[str, Any], media_type: str) -> Response:
    """The facts as JSON, or 304 for a client that has them."""
    body = json.dumps(facts).encode()
    tag = f'"{hashlib.sha256(body).hexdigest()[:32]}"'
    headers = {**_HEADERS, "etag": tag}
    known = {each.strip().removeprefix("W/") for each in request.headers.get("if-none-match", "").split(",")}
    if tag in known or "*" in known:
        return Response(status_code=304, headers=headers)
    return Response(body, media_type=media_type, headers=headers)
