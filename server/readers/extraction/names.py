"""Normal forms of entity names, heading anchors and page paths. Pure."""

from __future__ import annotations

import re
from functools import lru_cache
from urllib.parse import unquote

from winnow.server.text.forms.normal_forms import normalize

MAX_NAME_CHARS = 120
_TRIMMED = " \t\n`*_\"'“”‘’«»()[]{}<>,;:!?.~"
_IN_PARENTHESES = re.compile(r"(?<=\S) ?\([^()]{0,120}\)\Z")
_ARTICLE = re.compile(r"\A(?:the|an?) (?=\S)")
_POSSESSIVE = re.compile(r"['’]s?\Z")
_PLURALS = (
    (re.compile(r"(?<=[a-z]{2})ies\Z"), "y"),
    (re.compile(r"(?<=ss|sh|ch)es\Z|(?<=x)es\Z"), ""),
    (re.compile(r"(?<=[a-z]{2}[^sui])s\Z"), ""),
)
_LAST_WORD = re.compile(r"(?:\A|(?<=[ -]))[a-z]{4,40}\Z")

_EXTENSION = re.compile(r"\.(?:md|markdown|mdown|mdx|qmd|html?|xhtml|rst|rest|txt|adoc|pyi?)\Z")
_SEPARATORS = re.compile(r"[/_\\]+")
_FRONT_PAGES = frozenset({"index", "readme"})

_NOT_IN_SLUG = re.compile(r"[^\w\- ]+")


@lru_cache(maxsize=20_000)
def entity_key(text: str) -> str:
    """The key of the entity that ``text`` names; "" for text without letters and digits.

    Compatibility forms, case, articles, plurals, possessives and a disambiguation in parentheses are ignored.

    >>> [entity_key(name) for name in ("The ConfigMaps", "Theodred II (Bishop of Elmham)", "Network Policies")]
    ['configmap', 'theodred ii', 'network policy']
    """
    plain = " ".join(normalize("NFKC", text[: 2 * MAX_NAME_CHARS]).casefold().split())
    plain = _IN_PARENTHESES.sub("", plain).strip(_TRIMMED)
    plain = _POSSESSIVE.sub("", _ARTICLE.sub("", plain))[:MAX_NAME_CHARS].strip(_TRIMMED)
    return _to_singular(plain) if _is_name(plain) else ""


def heading_slug(heading: str) -> str:
    """The anchor that most renderers give a heading.

    >>> heading_slug("What's next? (v1.2)")
    'whats-next-v12'
    """
    return _NOT_IN_SLUG.sub("", heading.strip().lower()).replace(" ", "-")


def page_key(path: str) -> str:
    """The key of a page: its path without extension; folders flattened into the file name are folders again.

    >>> page_key("docs/Concepts/pods/_index.md"), page_key("docs_concepts_pods__index.md")
    ('docs/concepts/pods', 'docs/concepts/pods')
    """
    return "/".join(page_segments(path))


def page_stem(path: str) -> str:
    """The file name without folders and extension, as in a wiki link."""
    return _EXTENSION.sub("", unquote(path).rpartition("/")[2].strip().lower())


def page_segments(path: str) -> list[str]:
    """The parts of ``page_key``: without extension, empty parts, dots and the name of a folder's front page."""
    plain = _EXTENSION.sub("", unquote(path).strip().lower())
    segments = [part for part in _SEPARATORS.split(plain) if part and part != "."]
    while segments and segments[-1] in _FRONT_PAGES:
        segments.pop()
    return segments


def _is_name(text: str) -> bool:
    return any(character.isalnum() for character in text)


def _to_singular(text: str) -> str:
    if _LAST_WORD.search(text):
        for pattern, ending in _PLURALS:
            changed, count = pattern.subn(ending, text)
            if count:
                return changed
    return text
