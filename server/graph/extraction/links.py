"""What a link may mean: the pages it could point at, in the order in which they are tried. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from server.graph.extraction.names import entity_key, page_segments, page_stem
from server.graph.extraction.prose import ProseLink
from server.graph.extraction.rules import Rule

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}:|//")
_PATH_ROLES = frozenset({"doc", "download", "any"})
_ANCHOR_ROLES = frozenset({"ref", "numref"})
_PYTHON_ROLES = ("class", "func", "function", "meth", "method", "mod", "module", "attr", "exc", "data", "obj")
_NAME_ROLES = frozenset((*_PYTHON_ROLES, "const", "var", "term", "program", "command", "option", "envvar"))
_MAX_DEPTH = 8  # folders: deeper relative paths than these are tried from the top only
STEM_PREFIX = "*/"


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """Where a link may lead. The first page key that one page has decides; ``is_exact`` tells of the first only.

    ``name`` is tried as a title after the keys, and is what the link is called where it leads to no page.
    ``anchor`` is a section of the page, "" for none; ``is_here`` means the page of the link itself.
    """

    keys: tuple[str, ...] = ()
    uri: str = ""
    name: str = ""
    anchor: str = ""
    is_exact: bool = False
    is_here: bool = False
    rule: Rule = "link"


def link_target_of(link: ProseLink, uri: str) -> LinkTarget | None:
    """Where ``link`` may lead from the page ``uri``; None for what leads out of the project."""
    match link.kind:
        case "wiki":
            return _wiki_target(link.target, uri)
        case "role":
            return _role_target(link, uri)
        case _:
            return path_target_of(link.target, uri)


def path_target_of(target: str, uri: str) -> LinkTarget | None:
    """Where a path leads: relative to the page's folder, or from the top; else the same from the folders above.

    Sites are often read from a folder within them, or with their folders flattened into file names, so a path is
    also tried with leading folders left out.
    """
    if _SCHEME.match(target):
        return None
    path, _, anchor = target.partition("#")
    path = path.partition("?")[0]
    if not path:
        return LinkTarget(anchor=_normalise_anchor(anchor), is_here=True) if anchor else None
    wanted, folder = page_segments(path), page_segments(uri.rpartition("/")[0])
    if path.startswith("/"):
        keys = [wanted[at:] for at in range(max(len(wanted) - 1, min(len(wanted), 2)))]
    else:
        keys = _candidate_paths(wanted, folder, page_segments(uri)[:-1])
    joined = tuple(dict.fromkeys("/".join(key) for key in keys if key))
    return (
        LinkTarget(joined, _resolve_path(uri, path), anchor=_normalise_anchor(anchor), is_exact=True)
        if joined
        else None
    )


def _candidate_paths(wanted: list[str], folder: list[str], flattened: list[str]) -> list[list[str]]:
    ups = wanted.count("..")
    rest = [part for part in wanted if part != ".."]
    if not rest:
        return []
    exact = [*folder[: max(len(folder) - ups, 0)], *rest]
    others = [[*flattened[:depth], *rest] for depth in range(min(len(flattened), _MAX_DEPTH), -1, -1)]
    return [exact, *others]


def _resolve_path(uri: str, path: str) -> str:
    """The uri that the path says to the letter, to tell pages apart that differ in their extension only."""
    parts = [] if path.startswith("/") else uri.split("/")[:-1]
    for part in unquote(path).split("/"):
        if part == "..":
            parts = parts[:-1]
        elif part not in ("", "."):
            parts = [*parts, part]
    return "/".join(parts)


def _wiki_target(target: str, uri: str) -> LinkTarget | None:
    name, _, anchor = target.partition("#")
    if not name:
        return LinkTarget(anchor=_normalise_anchor(anchor), is_here=True, rule="wiki link") if anchor else None
    by_path = path_target_of(name, uri) if "/" in name else None
    keys = (*(by_path.keys if by_path else ()), STEM_PREFIX + page_stem(name))
    return LinkTarget(
        keys, name=entity_key(name.rpartition("/")[2]), anchor=_normalise_anchor(anchor), rule="wiki link"
    )


def _role_target(link: ProseLink, uri: str) -> LinkTarget | None:
    if link.role in _PATH_ROLES:
        found = path_target_of(link.target, uri)
        return (
            LinkTarget(found.keys, found.uri, anchor=found.anchor, is_exact=True, rule="role") if found else None
        )
    if link.role in _ANCHOR_ROLES:
        return LinkTarget(anchor=_normalise_anchor(link.target), is_here=True, rule="role")
    if link.role in _NAME_ROLES and (name := entity_key(link.target.removesuffix("()"))):
        return LinkTarget(name=name, rule="role")
    return None


def _normalise_anchor(written: str) -> str:
    return unquote(written).strip().lower()
