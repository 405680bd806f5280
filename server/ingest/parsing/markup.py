"""HTML and reStructuredText as Markdown: what a reader of the page would see, in the form chunks are cut from."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from docutils import nodes
from docutils.core import publish_doctree
from selectolax.lexbor import LexborHTMLParser, LexborNode

from server.ingest.documents import UnreadableFile

_BLANK_LINES = re.compile(r"\n{3,}")
_SPACE = re.compile(r"[ \t\r\f\v\n]+")
# Links within the site are kept: they say which pages belong together. Addresses of other sites, and of places on
# the same page, would only be in the way of the words.
_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|//|#|\Z")
_LONGEST_TARGET = 300
_IN_TARGETS = {ord(one): f"%{ord(one):02X}" for one in " ()<>"}

# --- HTML

_UNSEEN_TAGS = "script style noscript template svg nav footer iframe form button head"
_UNSEEN = frozenset(_UNSEEN_TAGS.split())
_HEADINGS = {f"h{depth}": "#" * depth for depth in range(1, 7)}
_BLOCK_TAGS = """
    address article aside blockquote body caption center dd details div dl dt fieldset figcaption figure footer
    header hr html li main ol p section summary table tbody tfoot thead tr ul
"""
_BLOCKS = frozenset(_BLOCK_TAGS.split())
# Pages of people have 30 elements within each other; what takes the depth into account takes its square of time.
_DEEPEST_ELEMENT = 200
# A page becomes at most so many times as long: a table has its bars, a list its marks.
_GROWTH, _GROWTH_CHARS = 4, 64 * 1024


def html_to_markdown(text: str) -> tuple[str, str]:
    """The title of a page and its body as Markdown.

    Raises ``UnreadableFile`` for a page that is nested too deeply, or becomes too long.
    """
    tree = LexborHTMLParser(text)
    title = tree.css_first("title")
    body = tree.css_first("main") or tree.css_first("article") or tree.body
    written = _joined(_html(body, 0), len(text)) if body else ""
    lines = (line.rstrip() for line in written.split("\n"))
    return _inline(title, 0) if title else "", _BLANK_LINES.sub("\n\n", "\n".join(lines)).strip("\n")


def _joined(parts: Iterable[str], length: int, between: str = "") -> str:
    """The parts as one text. Raises ``UnreadableFile`` if it is far longer than ``length``, that of its source."""
    kept, left = [], _GROWTH * length + _GROWTH_CHARS
    for part in parts:
        left -= len(part)
        if left < 0:
            raise UnreadableFile("becomes many times as long when it is converted")
        kept.append(part)
    return between.join(kept)


def _html(node: LexborNode, depth: int) -> Iterator[str]:
    tag = node.tag or ""
    if tag in _UNSEEN:
        return
    if tag == "-text":
        yield _SPACE.sub(" ", node.text(deep=False))
    elif tag in _HEADINGS:
        yield f"\n\n{_HEADINGS[tag]} {_inline(node, depth)}\n\n"
    elif tag == "pre":
        yield f"\n\n```\n{_text(node, depth).strip(chr(10))}\n```\n\n"
    elif tag == "table":
        yield f"\n\n{_table(node, depth)}\n\n"
    elif tag == "br":
        yield "\n"
    elif tag in _BLOCKS:
        yield "\n- " if tag == "li" else "\n\n"
        yield from _children(node, depth)
        yield "\n" if tag == "li" else "\n\n"
    elif tag == "code":
        yield f"`{_inline(node, depth)}`"
    elif tag == "a":
        yield _linked("".join(_children(node, depth)), node.attributes.get("href") or "")
    elif not tag.startswith("-") and not tag.startswith("_"):
        yield from _children(node, depth)


def _children(node: LexborNode, depth: int) -> Iterator[str]:
    for child in _within(node, depth):
        yield from _html(child, depth + 1)


def _within(node: LexborNode, depth: int) -> Iterator[LexborNode]:
    """The children of a node. Raises ``UnreadableFile`` where they are too deep."""
    if depth >= _DEEPEST_ELEMENT:
        raise UnreadableFile("nested too deeply")
    return node.iter(include_text=True)


def _table(node: LexborNode, depth: int) -> str:
    """The rows of a table. A table within a cell is text of that cell."""
    rows = [
        [_inline(cell, below).replace("|", r"\|") for cell, below in _own(row, ("th", "td"), at)]
        for row, at in _own(node, ("tr",), depth)
    ]
    rows = [row for row in rows if row]
    if not rows:
        return ""
    rule = ["---"] * len(rows[0])
    return "\n".join(f"| {' | '.join(row)} |" for row in (rows[0], rule, *rows[1:]))


def _own(node: LexborNode, tags: tuple[str, ...], depth: int) -> Iterator[tuple[LexborNode, int]]:
    """The rows of a table or the cells of a row, with their depths, not those of tables within."""
    for child in _within(node, depth):
        if child.tag in tags:
            yield child, depth + 1
        elif child.tag != "table" and child.tag not in _UNSEEN:
            yield from _own(child, tags, depth + 1)


def _text(node: LexborNode, depth: int) -> str:
    return "".join(_texts(node, depth))


def _texts(node: LexborNode, depth: int) -> Iterator[str]:
    for child in _within(node, depth):
        if child.tag == "-text":
            yield child.text(deep=False)
        elif child.tag not in _UNSEEN:
            yield from _texts(child, depth + 1)


def _inline(node: LexborNode, depth: int) -> str:
    return _SPACE.sub(" ", _text(node, depth)).strip()


def _linked(text: str, target: str) -> str:
    """``text``, as a link where it is one line and ``target`` is another page of the same site."""
    words, target = text.strip(), target.strip()
    if not words or re.search(r"[\[\]\n]", text) or _ELSEWHERE.match(target) or len(target) > _LONGEST_TARGET:
        return text
    return text.replace(words, f"[{words}]({target.translate(_IN_TARGETS)})")


# --- reStructuredText

_LONGEST_LINE = 10_000
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
    "line_length_limit": _LONGEST_LINE,
}
_DEEPEST_HEADING = 6


def rst_to_markdown(text: str) -> tuple[str, str]:
    """The title of a page and its body as Markdown. What only Sphinx understands stays as it was written.

    Raises ``UnreadableFile``.
    """
    if any(len(line) > _LONGEST_LINE for line in text.splitlines()):  # docutils makes an empty page of it
        raise UnreadableFile(f"a line is longer than {_LONGEST_LINE:,} characters")
    try:
        tree = publish_doctree(text, settings_overrides=dict(_SAFE))
    except RecursionError:
        raise UnreadableFile("nested too deeply") from None
    except Exception as error:  # docutils raises whatever a directive raises
        raise UnreadableFile(f"not reStructuredText: {type(error).__name__}") from error
    try:
        body = _joined((part for part in _rst(tree, 1) if part.strip()), len(text), "\n\n")
    except RecursionError:
        raise UnreadableFile("nested too deeply") from None
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
