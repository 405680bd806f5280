"""The pages of the console, in the order of its navigation.

A page is a function from ``Asked`` to ``PageView``, a template in ``server/data/console``, and a row here.
"""

from __future__ import annotations

from winnow.server.console.pages.claims import list_claims, show_entry
from winnow.server.console.pages.documents import list_documents, list_thin, show_document, show_page
from winnow.server.console.pages.graph import show_graph
from winnow.server.console.pages.scripts import list_scripts, show_savings, show_script
from winnow.server.console.pages.search import show_search
from winnow.server.console.pages.system import show_doctor, show_settings, show_sources
from winnow.server.console.pages.tools import show_tools
from winnow.server.console.pages.why import show_why
from winnow.server.console.records import PageRoute

PAGES: tuple[PageRoute, ...] = (
    PageRoute("/", show_search, "Search"),
    PageRoute("/why", show_why, under="/"),
    PageRoute("/documents", list_documents, "Documents"),
    PageRoute("/documents/health", list_thin, under="/documents"),
    PageRoute("/document", show_document, under="/documents"),
    PageRoute("/page", show_page, under="/documents"),
    PageRoute("/graph", show_graph, "Graph"),
    PageRoute("/claims", list_claims, "Claims"),
    PageRoute("/claim", show_entry, under="/claims"),
    PageRoute("/tools", show_tools, "Tools"),
    PageRoute("/scripts", list_scripts, "Scripts"),
    PageRoute("/script", show_script, under="/scripts"),
    PageRoute("/savings", show_savings, "Savings"),
    PageRoute("/sources", show_sources, "Sources"),
    PageRoute("/settings", show_settings, "Settings"),
    PageRoute("/doctor", show_doctor, "Doctor"),
)
