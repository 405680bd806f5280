"""Text apart from its markup: what is prose, what is code, what is a link. Pure, one pass, linear time.

Everything that a reader does not read as a sentence is blanked out, character for character, so that an offset in
the prose is an offset in the document. Every pattern looks at a character a bounded number of times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

# Blank for blank; no document holds it, and no pattern takes it for a word or a space.
GAP = "\0"

Kind = Literal["inline", "reference", "wiki", "role"]

_FENCE = re.compile(
    r"^[ \t>]{0,40}(?:(?:[-*+]|\d{1,3}[.)])[ \t]+)?(?P<fence>`{3,}+|~{3,}+)(?P<info>[^\n]*)$", re.M
)
_LINK_DEFINITION = re.compile(
    r"^ {0,3}\[(?P<label>[^\[\]\n^][^\[\]\n]{0,200}+)\]:[ \t]*<?(?P<target>[^\s<>]{1,500})>?", re.M
)
_ATX_HEADING = re.compile(r"^ {0,3}(?P<marks>#{1,6})(?:[ \t]+(?P<title>[^\n]*)|[ \t]*)$", re.M)
_SETEXT_HEADING = re.compile(
    r"(?:\A|\n[ \t]*\n) {0,3}(?P<title>[^\s#>|\-*+=`~][^\n]{0,300})\n {0,3}(?P<line>=+|-{2,})[ \t]*$", re.M
)
_CLOSING_MARKS = re.compile(r"(?:[ \t]+#+)?[ \t]*\Z")
_ANCHOR = re.compile(r"[ \t]*\{[^{}\n]{0,200}\}[ \t]*\Z")
_ANCHOR_NAME = re.compile(r"#(?P<name>[\w.:-]{1,120})")
_TITLE_MARKS = re.compile(r"[`*]|!?\[(?P<text>[^\[\]]{0,300}+)\](?:\([^()]{0,300}+\))?")

_INLINE = re.compile(
    r"(?P<ticks>`{1,3})(?!`)(?P<code>[^`\n]{1,160}+)(?P=ticks)(?!`)"
    r"|\{\{[<%](?P<shortcode>[^{}\n]{0,400}+)\}\}"
    r"|!?\[\[(?P<wiki>[^\[\]\n|#]{0,200}+)(?:\#(?P<wiki_anchor>[^\[\]\n|]{0,200}+))?"
    r"(?:\|(?P<wiki_text>[^\[\]\n]{0,200}+))?\]\]"
    r"|(?P<image>!)?\[(?P<text>"
    r"(?:[^\[\]\n]++|\n(?![ \t]*\n)|!?\[[^\[\]\n]{0,200}+\](?:\([^()\n]{0,300}+\))?){0,40}+)\]"
    r"(?:\([ \t\n]{0,4}(?:<(?P<angle>[^<>\n]{0,500}+)>"
    r"|(?P<target>\{\{[<%][^{}\n]{0,300}+\}\}[^\s()]{0,100}|(?:[^()\s]++|\([^()\s]{0,200}+\)){0,40}+))"
    r"(?:[ \t\n]{1,4}(?:\"[^\"]{0,300}+\"|'[^']{0,300}+'|\([^()]{0,300}+\)))?[ \t\n]{0,4}\)"
    r"|\[(?P<label>[^\[\]\n]{0,200}+)\])?"
    r"|<code>(?P<element>[^<>\n]{1,160}+)</code>"
    r"|<a[ \t\n](?P<attributes>[^<>]{0,500}+)>"
    r"|</?[A-Za-z!?][^<>]{0,500}+>"
    r"|(?:https?|ftp)://[^\s<>)\]]{1,1000}+"
    r"|:(?P<role>[a-z][a-z0-9:+_-]{0,30}):`(?P<role_text>[^`\n]{1,200}+)`"
)
_HREF = re.compile(r"href\s{0,2}=\s{0,2}(?:\"(?P<double>[^\"]*)\"|'(?P<single>[^']*)'|(?P<bare>[^\s\"'>]+))", re.I)
_SHORTCODE_TARGET = re.compile(
    r"\{\{[<%]\s*(?:rel)?ref\s+\"?(?P<target>[^\"\s<>%]{1,300})\"?\s*[%>]\}\}(?P<rest>\S*)"
)
_SHORTCODE_TEXT = re.compile(r"\btext=\"(?P<text>[^\"\n]{1,120})\"")
_ROLE_TARGET = re.compile(r"(?P<text>[^<>]*?)\s*<(?P<target>[^<>]+)>\Z")


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: its depth (1 is outermost), title without marks, an anchor of its own or "", [start, end)."""

    depth: int
    title: str
    anchor: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ProseLink:
    """What points elsewhere: ``target`` as it is written (a wiki link's name, a role's content), [start, end).

    ``role`` is the name of a reStructuredText role, or "".
    """

    kind: Kind
    text: str
    target: str
    start: int
    end: int
    role: str = ""


@dataclass(frozen=True, slots=True)
class Snippet:
    """A code span, or the text that a shortcode shows: what it says and where it stands."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Prose:
    """A document taken apart. ``text`` is as long as the document, with ``GAP`` for all that is not prose."""

    text: str
    headings: tuple[Heading, ...]
    links: tuple[ProseLink, ...]
    code_spans: tuple[Snippet, ...]
    shown: tuple[Snippet, ...]


def parse_prose(text: str) -> Prose:
    """The parts of a Markdown text (plain text is Markdown without marks)."""
    outside = _blank_out(text.replace(GAP, " "), [*_find_fences(text), *_find_comments(text)])
    headings = tuple(_find_headings(outside))
    definitions = {
        _normalise_label(found["label"]): found["target"] for found in _LINK_DEFINITION.finditer(outside)
    }
    body = _blank_out(
        outside, sorted([*((one.start, one.end) for one in headings), *_find_spans(_LINK_DEFINITION, outside)])
    )
    links: list[ProseLink] = []
    code: list[Snippet] = []
    shown: list[Snippet] = []
    gaps: list[tuple[int, int]] = []
    for found in _INLINE.finditer(body):
        seen = _collect_markup(found, definitions, links, code, shown)
        gaps += _spans_around(found.span(), seen)
    return Prose(_blank_out(body, gaps), headings, tuple(links), tuple(code), tuple(shown))


def _collect_markup(
    found: re.Match[str],
    definitions: dict[str, str],
    links: list[ProseLink],
    code: list[Snippet],
    shown: list[Snippet],
) -> tuple[int, int] | None:
    """File one piece of markup; where the text is that a reader sees as prose, if any."""
    if found["code"] is not None:
        code.append(Snippet(found["code"].strip(), found.start("code")))
    elif found["element"] is not None:
        code.append(Snippet(found["element"].strip(), found.start("element")))
    elif found["shortcode"] is not None:
        shown += [Snippet(one["text"], found.start()) for one in _SHORTCODE_TEXT.finditer(found["shortcode"])]
    elif found["wiki"] is not None:
        links.append(_wiki_link(found))
    elif found["text"] is not None:
        return _collect_bracketed(found, definitions, links, code)
    elif found["attributes"] is not None:
        if href := _HREF.search(found["attributes"]):
            links.append(ProseLink("inline", "", next(filter(None, href.groups()), ""), *found.span()))
    elif found["role"] is not None:
        links.append(_role_link(found))
    return None


def _collect_bracketed(
    found: re.Match[str], definitions: dict[str, str], links: list[ProseLink], code: list[Snippet]
) -> tuple[int, int] | None:
    text, target = found["text"], found["angle"] or found["target"]
    kind: Kind = "inline"
    if target is None:
        label = _normalise_label(found["label"] or text)
        kind, target = "reference", definitions.get(label)
    if found["image"]:
        return None
    if target:
        hugo = _SHORTCODE_TARGET.match(target)
        written = hugo["target"] + hugo["rest"] if hugo else target
        links.append(ProseLink(kind, " ".join(text.split()), written, *found.span()))
    if text.startswith("`") or "](" in text:
        if len(text) > 2 and text.endswith("`") and "`" not in text[1:-1]:
            code.append(Snippet(text[1:-1].strip(), found.start("text") + 1))
        return None
    return found.span("text")


def _wiki_link(found: re.Match[str]) -> ProseLink:
    name, anchor = found["wiki"].strip(), (found["wiki_anchor"] or "").strip()
    target = f"{name}#{anchor}" if anchor else name
    return ProseLink("wiki", (found["wiki_text"] or name or anchor).strip(), target, *found.span())


def _role_link(found: re.Match[str]) -> ProseLink:
    content = found["role_text"].strip()
    explicit = _ROLE_TARGET.match(content)
    text, target = (explicit["text"], explicit["target"]) if explicit else (content, content)
    return ProseLink(
        "role", text.lstrip("~!"), target.lstrip("~!"), *found.span(), role=found["role"].split(":")[-1]
    )


def _normalise_label(text: str) -> str:
    return " ".join(text.casefold().split())


# --- lines


def _find_fences(text: str) -> Iterator[tuple[int, int]]:
    """Fenced code; a fence that nobody closes goes on to the end."""
    opening: re.Match[str] | None = None
    for found in _FENCE.finditer(text):
        mark = found["fence"]
        if opening is None:
            if not (mark[0] == "`" and "`" in found["info"]):
                opening = found
        elif mark.startswith(opening["fence"]) and not found["info"].strip():
            yield opening.start(), found.end()
            opening = None
    if opening is not None:
        yield opening.start(), len(text)


def _find_comments(text: str) -> Iterator[tuple[int, int]]:
    at = text.find("<!--")
    while at >= 0 and (end := text.find("-->", at + 4)) >= 0:
        yield at, end + 3
        at = text.find("<!--", end + 3)


def _find_headings(text: str) -> list[Heading]:
    found = [_build_heading(len(one["marks"]), one["title"] or "", one) for one in _ATX_HEADING.finditer(text)]
    found += [
        _build_heading(1 if one["line"][0] == "=" else 2, one["title"], one, one.start("title"))
        for one in _SETEXT_HEADING.finditer(text)
    ]
    return sorted((one for one in found if GAP not in one.title), key=lambda one: one.start)


def _build_heading(depth: int, written: str, found: re.Match[str], start: int | None = None) -> Heading:
    title = _CLOSING_MARKS.sub("", written)
    braces = _ANCHOR.search(title)
    anchor = _ANCHOR_NAME.search(braces.group()) if braces else None
    if braces and re.match(r"[ \t]*\{[#.:]", braces.group()):
        title = title[: braces.start()]
    title = " ".join(_TITLE_MARKS.sub(lambda one: one["text"] or "", title).split())
    return Heading(
        depth, title, anchor["name"] if anchor else "", found.start() if start is None else start, found.end()
    )


# --- blanks


def _find_spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    return (found.span() for found in pattern.finditer(text))


def _spans_around(whole: tuple[int, int], seen: tuple[int, int] | None) -> list[tuple[int, int]]:
    return [whole] if seen is None else [(whole[0], seen[0]), (seen[1], whole[1])]


def _blank_out(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """``text`` with gaps for these spans, which may overlap; line ends go too."""
    pieces, at = [], 0
    for start, end in sorted(spans):
        if end > at:
            start = max(start, at)
            pieces += [text[at:start], GAP * (end - start)]
            at = end
    return "".join([*pieces, text[at:]])
