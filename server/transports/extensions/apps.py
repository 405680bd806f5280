"""The MCP App of ``kb_show``: a page that a host shows in a sandbox beside the tool's answer (SEP-1865).

The page is one file that reaches no address. It has the answer from the host, as the model has it, and asks the
host for the pages beside it.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from mcp.server.apps import APP_MIME_TYPE, EXTENSION_ID, client_supports_apps
from mcp_types import Resource

from winnow.server import DATA
from winnow.server.settings.settings import Settings
from winnow.server.tools.reference.guides import spell_tool_names
from winnow.server.transports.sessions import Connection

SHOWN_PAGE = "ui://winnow/shown-page"
# A tool -> its app. The tool is of this pack.
APPS: Mapping[str, str] = MappingProxyType({"kb.show": SHOWN_PAGE})
_PACK = "pages"
# What the host has to let the page reach: nothing.
_POLICY = ("connectDomains", "resourceDomains", "frameDomains", "baseUriDomains")


def app_extensions(settings: Settings) -> dict[str, dict[str, Any]]:
    """The extension as a server with these settings declares it; {} without a tool that has an app."""
    return {EXTENSION_ID: {}} if _PACK in settings.packs else {}


def apps_for(context: Connection) -> Mapping[str, str]:
    """The apps by tool, for a client that said that it shows them; none for others."""
    return APPS if client_supports_apps(context) else {}


def list_apps(tools: Collection[str], settings: Settings) -> list[Resource]:
    """The resources of the apps whose tool is listed."""
    return [
        Resource(
            uri=uri,
            name="shown-page",
            title="The cited page",
            description="Shows what kb_show answers: the page with its mark, and the pages beside it.",
            mime_type=APP_MIME_TYPE,
            size=len(page.encode()),
            _meta=app_meta(),
        )
        for uri, page in _offered(tools, settings).items()
    ]


def read_app(uri: str, tools: Collection[str], settings: Settings) -> str | None:
    """The HTML of an app whose tool is listed; None for any other URI."""
    return _offered(tools, settings).get(uri)


def app_meta() -> dict[str, Any]:
    """The ``_meta`` of an app, by which a host shows it: it reaches no address, and wants a border."""
    return {"ui": {"csp": {name: [] for name in _POLICY}, "prefersBorder": True}}


def _offered(tools: Collection[str], settings: Settings) -> Mapping[str, str]:
    page = spell_tool_names(_read_page(), settings)
    return {uri: page for tool, uri in APPS.items() if tool.replace(".", "_") in tools}


@cache
def _read_page() -> str:
    return (DATA / "shown_page.html").read_text("utf-8")
