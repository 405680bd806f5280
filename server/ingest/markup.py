"""HTML and reStructuredText as Markdown: what a reader of the page would see, in the form chunks are cut from."""

from __future__ import annotations

import re
from collections.abc import Iterator

from docutils import nodes
from docutils.core import publish_doctree
from selectolax.lexbor import LexborHTMLParser, LexborNode

from server.ingest.documents import Unreadable

_BLANK_LINES = re.compile(r"\n{3,}")
_SPACE = re.compile(r"[ \t\r\f\v\n]+")
# Links within the site are kept: they say which pages belong together. Addresses of other sites, and of places on
# the same page, would only be in the way of the words.
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#|\Z")
_LONGEST_TARGET = 300
_IN_TARGETS = {ord(one): f"%{ord(one):02X}" for one in " ()<>"}

# --- HTML

_UNSEEN = (
    "script, style, noscript, template, svg, nav, header nav, footer, iframe, form, button, head > *:not(title)"
)
_HEADINGS = {f"h{depth}": "#" * depth for depth in range(1, 7)}
_BLOCK_TAGS = """
    address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure footer
    header hr html li main ol p section summary table tbody tfoot thead tr ul
"""
_BLOCKS = frozenset(_BLOCK_TAGS.split())


def html_to_markdown(text: str) -> tuple[str, str]:
    """The title of a page and its body as Markdown.

    Raises ``Unreadable`` for a page that is nested too deeply.
    """
    tree = LexborHTMLParser(text)
    title = tree.css_first("title")
    for node in tree.css(_UNSEEN):
        node.decompose()
    body = tree.css_first("main") or tree.css_first("article") or tree.body
    try:
        written = "".join(_html(body)) if body else ""
    except RecursionError:
        raise Unreadable("nested too deeply") from None
    lines = (line.rstrip() for line in written.split("\n"))
    return _inline(title) if title else "", _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip("\n")


def _html(node: LexborNode) -> Iterator[str]:
    tag = node.tag or ""
    if tag == "-text":
        yield _SPACE.sub(" ", node.text(deep=False))
    elif tag in _HEADINGS:
        yield f"\n\n{_HEADINGS[tag]} {_inline(node)}\n\n"
    elif tag == "pre":
        yield f"\n\n```\n{node.text().strip(chr(10))}\n```\n\n"
    elif tag == "table":
        yield f"\n\n{_table(node)}\n\n"
    elif tag == "br":
        yield "\n"
    elif tag in _BLOCKS:
        yield "\n- " if tag == "li" else "\n\n"
        yield from _children(node)
        yield "\n" if tag == "li" else "\n\n"
    elif tag == "code":
        yield f"`{_inline(node)}`"
    elif tag == "a":
        yield _linked("".join(_children(node)), node.attributes.get("href") or "")
    elif not tag.startswith("-") and not tag.startswith("_"):
        yield from _children(node)


def _children(node: LexborNode) -> Iterator[str]:
    for child in node.iter(include_text=True):
        yield from _html(child)


def _table(node: LexborNode) -> str:
    rows = [[_inline(cell).replace("|", r"\|") for cell in row.css("th, td")] for row in node.css("tr")]
    rows = [row for row in rows if row]
    if not rows:
        return ""
    rule = ["---"] * len(rows[0])
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:]))


def _inline(node: LexborNode) -> str:
    return _SPACE.sub(" ", node.text()).strip()


def _linked(text: str, target: str) -> str:
    """``text``, as a link where it is one line and ``target`` is another page of the same site."""
    words, target = text.strip(), target.strip()
    if not words or re.search(r"[\[\]\n]", text) or _ELSEWHERE.match(target) or len(target) > _LONGEST_TARGET:
        return text
    return text.replace(words, f"[{words}]({target.translate(_IN_TARGETS)})")


# --- reStructuredText

# A page may neither read other files nor speak to the terminal.
_SAFE = {
    "file_insertion_enabled": False,
    "raw_enabled": False,
    "_disable_config": True,
    "report_level": 5,
    "halt_level": 5,
    "warning_stream": False,
    "syntax_highlight": "none",
    "smart_quotes": False,
}
_DEEPEST_HEADING = 6


def rst_to_markdown(text: str) -> tuple[str, str]:
    """The title of a page and its body as Markdown. What only Sphinx understands stays as it was written."""
    try:
        tree = publish_doctree(text, settings_overrides=dict(_SAFE))
    except RecursionError:
        raise Unreadable("nested too deeply") from None
    except Exception as error:  # docutils raises whatever a directive raises
        raise Unreadable(f"not reStructuredText: {error}") from error
    body = "\n\n".join(part for part in _rst(tree, 1) if part.strip())
    return str(tree.get("title", "")), body


def _rst(node: nodes.Node, depth: int) -> Iterator[str]:
    match node:
        case nodes.title():
            yield f"{'#' * min(depth, _DEEPEST_HEADING)} {_one_line(node)}"
        case nodes.section():
            yield from _rst_children(node, depth + 1)
        case nodes.literal_block() | nodes.doctest_block() | nodes.math_block():
            yield _written(node)
        case nodes.list_item():
            yield "- " + "\n\n".join(_rst_children(node, depth)).replace("\n", "\n  ")
        case nodes.definition_list_item() | nodes.field():
            yield "\n".join(_rst_children(node, depth))
        case nodes.row():
            yield "| " + " | ".join(_one_line(cell) for cell in node.children) + " |"
        case nodes.thead():
            yield from _rst_children(node, depth)
            yield "| " + " | ".join("---" for _ in node.children[0].children) + " |"
        case nodes.table() | nodes.tgroup():
            yield "\n".join(_rst_children(node, depth))
        case nodes.tbody():
            yield "\n".join(_rst_children(node, depth))
        case nodes.system_message():  # the parser's complaint is not the page's, what it complains of is
            yield from (_written(child) for child in node.children if isinstance(child, nodes.literal_block))
        case nodes.comment() | nodes.substitution_definition() | nodes.target() | nodes.Invisible():
            return
        case nodes.TextElement():
            yield _words(node)
        case _:
            yield from _rst_children(node, depth)


def _rst_children(node: nodes.Node, depth: int) -> Iterator[str]:
    for child in node.children:
        yield from _rst(child, depth)


def _written(node: nodes.Node) -> str:
    return f"```\n{node.astext()}\n```"


def _words(node: nodes.Node) -> str:
    match node:
        case nodes.reference():
            return _linked(node.astext(), node.get("refuri", ""))
        case nodes.TextElement():
            return "".join(map(_words, node.children))
        case _:
            return str(node.astext())


def _one_line(node: nodes.Node) -> str:
    return _SPACE.sub(" ", node.astext()).strip()
