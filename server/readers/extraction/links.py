"""Link targets: the pages that a link may point at, in the order in which they are tried. Pure."""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import unquote

from winnow.server.readers.extraction.names import entity_key, page_segments, page_stem
from winnow.server.readers.extraction.prose import ProseLink
from winnow.server.readers.extraction.rules import Rule

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]{0,30}:|//")
_PATH_ROLES = frozenset({"doc", "download", "any"})
_ANCHOR_ROLES = frozenset({"ref", "numref"})
_PYTHON_ROLES = ("class", "func", "function", "meth", "method", "mod", "module", "attr", "exc", "data", "obj")
_NAME_ROLES = frozenset((*_PYTHON_ROLES, "const", "var", "term", "program", "command", "option", "envvar"))
_MAX_DEPTH = 8  # folders; below this depth a relative path is tried from the top only
STEM_PREFIX = "*/"


@dataclass(frozen=True, slots=True)
class LinkTarget:
    """The candidate targets of a link: the first of ``keys`` that exactly one page has is the target.

    ``is_exact`` says that the first key is the path as written. ``name`` is tried as a title after the keys, and
    names the entity if no page matches. ``anchor`` is a section of the page, or ""; ``is_here`` means the page of
    the link itself.
    """

    keys: tuple[str, ...] = ()
    uri: str = ""
    name: str = ""
    anchor: str = ""
    is_exact: bool = False
    is_here: bool = False
    rule: Rule = "link"


def link_target_of(link: ProseLink, uri: str) -> LinkTarget | None:
    """The target of ``link`` on the page ``uri``; None if it leads out of the project."""
    match link.kind:
        case "wiki":
            return _wiki_target(link.target, uri)
        case "role":
            return _role_target(link, uri)
        case _:
            return path_target_of(link.target, uri)


def path_target_of(target: str, uri: str) -> LinkTarget | None:
    """The target of a path, relative to the page's folder or to the top; then relative to the folders above.

    Sites are often ingested from one of their folders, or with folders flattened into file names, so a path is
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
        keys = [wanted[depth:] for depth in range(max(len(wanted) - 1, min(len(wanted), 2)))]
    else:
        keys = _candidate_paths(wanted, folder, page_segments(uri)[:-1])
    page_keys = tuple(dict.fromkeys("/".join(key) for key in keys if key))
    if not page_keys:
        return None
    return LinkTarget(page_keys, _resolve_path(uri, path), anchor=_normalise_anchor(anchor), is_exact=True)


def _candidate_paths(wanted: list[str], folder: list[str], flattened: list[str]) -> list[list[str]]:
    ups = wanted.count("..")
    rest = [part for part in wanted if part != ".."]
    if not rest:
        return []
    exact = [*folder[: max(len(folder) - ups, 0)], *rest]
    others = [[*flattened[:depth], *rest] for depth in range(min(len(flattened), _MAX_DEPTH), -1, -1)]
    return [exact, *others]


def _resolve_path(uri: str, path: str) -> str:
    """The uri of the path as written, to distinguish pages that differ only in their extension."""
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
        target = path_target_of(link.target, uri)
        if not target:
            return None
        return LinkTarget(target.keys, target.uri, anchor=target.anchor, is_exact=True, rule="role")
    if link.role in _ANCHOR_ROLES:
        return LinkTarget(anchor=_normalise_anchor(link.target), is_here=True, rule="role")
    if link.role in _NAME_ROLES and (name := entity_key(link.target.removesuffix("()"))):
        return LinkTarget(name=name, rule="role")
    return None


def _normalise_anchor(written: str) -> str:
    return unquote(written).strip().lower()
