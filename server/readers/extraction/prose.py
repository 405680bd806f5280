"""Splits Markdown into prose, headings, links and code spans. Pure, one pass, linear time.

Markup and code are replaced by ``GAP``, character for character, so that an offset in the prose is an offset in
the document. Every pattern looks at a character a bounded number of times.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from winnow.server.text.markup.possessive import compile_possessive
from winnow.server.text.markup.template_code import resolve_heading

# The replacement character: in no document, and no pattern matches it as a word or a space.
GAP = "\0"

LinkKind = Literal["inline", "reference", "wiki", "role"]

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
_ANCHOR = re.compile(r"(?<![ \t])[ \t]*+\{[^{}\n]{0,200}\}[ \t]*+\Z")
_ANCHOR_NAME = re.compile(r"#(?P<name>[\w.:-]{1,120})")
_TITLE_MARKS = re.compile(r"[`*]|!?\[(?P<text>[^\[\]]{0,300}+)\](?:\([^()]{0,300}+\))?")

_INLINE = compile_possessive(
    r"\\[\\`]"
    r"|(?P<ticks>`{1,3})(?!`)(?P<code>[^`\n]{1,160}+)(?P=ticks)(?!`)"
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
    """A heading at [start, end): depth (1 is outermost), title without markup, explicit anchor or ""."""

    depth: int
    title: str
    anchor: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class ProseLink:
    """A link at [start, end): ``target`` as written (for a wiki link its name, for a role its content).

    ``role`` is the name of a reStructuredText role, or "".
    """

    kind: LinkKind
    text: str
    target: str
    start: int
    end: int
    role: str = ""


@dataclass(frozen=True, slots=True)
class Snippet:
    """The text of a code span or of a shortcode, and its offset."""

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class Prose:
    """The parts of a document. ``text`` is as long as the document, with ``GAP`` for all that is not prose.

    ``shortcode_texts`` are the texts that Hugo shortcodes display.
    """

    text: str
    headings: tuple[Heading, ...]
    links: tuple[ProseLink, ...]
    code_spans: tuple[Snippet, ...]
    shortcode_texts: tuple[Snippet, ...]


def parse_prose(text: str) -> Prose:
    """Parse a Markdown text; plain text is Markdown without markup."""
    outside = _blank_out(text.replace(GAP, " "), [*_find_fences(text), *_find_comments(text)])
    headings = tuple(_find_headings(outside))
    definitions = {
        _normalise_label(match["label"]): match["target"] for match in _LINK_DEFINITION.finditer(outside)
    }
    heading_spans = [(heading.start, heading.end) for heading in headings]
    body = _blank_out(outside, [*heading_spans, *_find_spans(_LINK_DEFINITION, outside)])
    links: list[ProseLink] = []
    code: list[Snippet] = []
    shortcode_texts: list[Snippet] = []
    gaps: list[tuple[int, int]] = []
    for match in _INLINE.finditer(body):
        text_span = _collect_markup(match, definitions, links, code, shortcode_texts)
        gaps += _spans_around(match.span(), text_span)
    return Prose(_blank_out(body, gaps), headings, tuple(links), tuple(code), tuple(shortcode_texts))


def _collect_markup(
    match: re.Match[str],
    definitions: dict[str, str],
    links: list[ProseLink],
    code: list[Snippet],
    shortcode_texts: list[Snippet],
) -> tuple[int, int] | None:
    """Collect one piece of markup; returns the span of its text that is prose, if any."""
    if match["code"] is not None:
        code.append(Snippet(match["code"].strip(), match.start("code")))
    elif match["element"] is not None:
        code.append(Snippet(match["element"].strip(), match.start("element")))
    elif match["shortcode"] is not None:
        texts = _SHORTCODE_TEXT.finditer(match["shortcode"])
        shortcode_texts += [Snippet(text["text"], match.start()) for text in texts]
    elif match["wiki"] is not None:
        links.append(_wiki_link(match))
    elif match["text"] is not None:
        return _collect_bracketed(match, definitions, links, code)
    elif match["attributes"] is not None:
        if href := _HREF.search(match["attributes"]):
            links.append(ProseLink("inline", "", next(filter(None, href.groups()), ""), *match.span()))
    elif match["role"] is not None:
        links.append(_role_link(match))
    return None


def _collect_bracketed(
    match: re.Match[str], definitions: dict[str, str], links: list[ProseLink], code: list[Snippet]
) -> tuple[int, int] | None:
    text, target = match["text"], match["angle"] or match["target"]
    kind: LinkKind = "inline"
    if target is None:
        label = _normalise_label(match["label"] or text)
        kind, target = "reference", definitions.get(label)
    if match["image"]:
        return None
    if target:
        hugo = _SHORTCODE_TARGET.match(target)
        written = hugo["target"] + hugo["rest"] if hugo else target
        links.append(ProseLink(kind, " ".join(text.split()), written, *match.span()))
    if text.startswith("`") or "](" in text:
        if len(text) > 2 and text.endswith("`") and "`" not in text[1:-1]:
            code.append(Snippet(text[1:-1].strip(), match.start("text") + 1))
        return None
    return match.span("text")


def _wiki_link(match: re.Match[str]) -> ProseLink:
    name, anchor = match["wiki"].strip(), (match["wiki_anchor"] or "").strip()
    target = f"{name}#{anchor}" if anchor else name
    return ProseLink("wiki", (match["wiki_text"] or name or anchor).strip(), target, *match.span())


def _role_link(match: re.Match[str]) -> ProseLink:
    content = match["role_text"].strip()
    explicit = _ROLE_TARGET.match(content)
    text, target = (explicit["text"], explicit["target"]) if explicit else (content, content)
    return ProseLink(
        "role", text.lstrip("~!"), target.lstrip("~!"), *match.span(), role=match["role"].split(":")[-1]
    )


def _normalise_label(text: str) -> str:
    return " ".join(text.casefold().split())


# --- lines


def _find_fences(text: str) -> Iterator[tuple[int, int]]:
    """Find fenced code; an unclosed fence extends to the end."""
    opening: re.Match[str] | None = None
    for match in _FENCE.finditer(text):
        mark = match["fence"]
        if opening is None:
            if not (mark[0] == "`" and "`" in match["info"]):
                opening = match
        elif mark.startswith(opening["fence"]) and not match["info"].strip():
            yield opening.start(), match.end()
            opening = None
    if opening is not None:
        yield opening.start(), len(text)


def _find_comments(text: str) -> Iterator[tuple[int, int]]:
    start = text.find("<!--")
    while start >= 0 and (end := text.find("-->", start + 4)) >= 0:
        yield start, end + 3
        start = text.find("<!--", end + 3)


def _find_headings(text: str) -> list[Heading]:
    headings = [
        _build_heading(len(match["marks"]), match["title"] or "", match) for match in _ATX_HEADING.finditer(text)
    ]
    headings += [
        _build_heading(1 if match["line"][0] == "=" else 2, match["title"], match, match.start("title"))
        for match in _SETEXT_HEADING.finditer(text)
    ]
    return sorted((heading for heading in headings if GAP not in heading.title), key=lambda heading: heading.start)


def _without_closing_marks(title: str) -> str:
    """A title without the signs at its end: "Title ##"."""
    marked = title.rstrip("#")
    return marked.rstrip(" \t") if marked.endswith((" ", "\t")) or not marked else title


def _build_heading(depth: int, written: str, match: re.Match[str], start: int | None = None) -> Heading:
    title = _without_closing_marks(written.rstrip(" \t"))
    braces = _ANCHOR.search(title)
    anchor = _ANCHOR_NAME.search(braces.group()) if braces else None
    if braces and re.match(r"[ \t]*\{[#.:]", braces.group()):
        title = title[: braces.start()]
    title = resolve_heading(title)
    title = " ".join(_TITLE_MARKS.sub(lambda mark: mark["text"] or "", title).split())
    return Heading(
        depth, title, anchor["name"] if anchor else "", match.start() if start is None else start, match.end()
    )


# --- blanks


def _find_spans(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int, int]]:
    return (match.span() for match in pattern.finditer(text))


def _spans_around(outer: tuple[int, int], inner: tuple[int, int] | None) -> list[tuple[int, int]]:
    return [outer] if inner is None else [(outer[0], inner[0]), (inner[1], outer[1])]


def _blank_out(text: str, spans: Sequence[tuple[int, int]]) -> str:
    """Replace these spans, which may overlap, by gaps; line ends inside them too."""
    pieces, position = [], 0
    for start, end in sorted(spans):
        if end > position:
            start = max(start, position)
            pieces += [text[position:start], GAP * (end - start)]
            position = end
    return "".join([*pieces, text[position:]])
