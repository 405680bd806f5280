"""Finds the parts of a page that belong to its website, not to its text: menus, sidebars, links to other pages, ¶.

The names are those that generators of documentation write: Sphinx, Doxygen, DocBook, Texinfo, Javadoc, MkDocs,
GTK-Doc, GAPDoc, Asciidoctor.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from selectolax.lexbor import LexborNode

_ROLES = frozenset({"navigation", "search", "contentinfo", "menu", "menubar", "tablist", "dialog"})
_CLASS_NAMES = """
    sphinxsidebar sphinxsidebarwrapper related rst-versions rst-footer-buttons wy-nav-side wy-nav-top
    wy-breadcrumbs navheader navfooter nav navbar navigation nav-panel breadcrumb breadcrumbs md-sidebar md-header
    md-search md-footer navpath navrow1 navrow2 navrow3 navrow4 tablist topNav bottomNav subNav navList
    navListSearch subNavList skipNav fixedNav chlinktop chlinkbot chlinkprevnexttop chlinkprevnextbot pagination
    prev-next-area skip-link
"""
_CLASSES = frozenset(_CLASS_NAMES.split())
_ID_NAMES = """
    side-nav nav-path titlearea MSearchBox MSearchSelectWindow MSearchResultsWindow searchbox footer footer-text
"""
_IDS = frozenset(_ID_NAMES.split())
# Elements that may have such names; others are not checked.
_BEARER_TAGS = "div section aside table ul ol p span header footer tr td address"
_BEARERS = frozenset(_BEARER_TAGS.split())
_LINK_NAMES = """
    headerlink permalink anchor anchor-link anchorjs-link header-anchor heading-anchor hash-link copiable-anchor
    copiable-link
"""
_LINK_CLASSES = frozenset(_LINK_NAMES.split())
_LINK_SIGNS = frozenset({"¶", "#", "§", "🔗", "\uf0c1", "Permalink", "link"})
# Texinfo has its links to other nodes in an element of a common name.
_COMMON_CLASSES = frozenset({"header", "node"})
_NODE_LINKS = re.compile(r"\s*(?:Next|Previous|Prev|Up)(?::|\s*\()")


# Attributes of elements that no reader of the page sees.
_UNSEEN = re.compile(
    r"(?:\A|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden|font-size\s*:\s*0(?:px|pt|em|rem|%)?\s*(?:[;!]|\Z))",
    re.IGNORECASE,
)


def is_furniture(node: LexborNode, stated: Mapping[str, str | None]) -> bool:
    """Whether an element with these attributes belongs to the site around the text, or is hidden by them."""
    if not stated:
        return False
    tag = node.tag or ""
    if "hidden" in stated or _UNSEEN.search(stated.get("style") or ""):
        return True
    if tag == "a":
        return _is_permalink(node, stated)
    if tag not in _BEARERS:
        return False
    classes = (stated.get("class") or "").split()
    if (
        (stated.get("role") or "") in _ROLES
        or (stated.get("id") or "") in _IDS
        or not _CLASSES.isdisjoint(classes)
    ):
        return True
    return not _COMMON_CLASSES.isdisjoint(classes) and bool(_NODE_LINKS.match(node.text()[:100]))


def _is_permalink(node: LexborNode, stated: Mapping[str, str | None]) -> bool:
    """Whether the element is a link of a heading to itself."""
    text = node.text().strip()
    if text == "¶":
        return True
    is_named = not _LINK_CLASSES.isdisjoint((stated.get("class") or "").split())
    return is_named and (not text or text in _LINK_SIGNS)
