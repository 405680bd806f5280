"""The pages of the console, in the order of its navigation.

A page of its own is a function from ``Asked`` to ``PageView``, a template, and a row here.
"""

from __future__ import annotations

from winnow.server.console.pages.search import show_search
from winnow.server.console.records import PageRoute

PAGES: tuple[PageRoute, ...] = (PageRoute("/", show_search, "Search"),)
