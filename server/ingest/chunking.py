"""Documents to chunks: along headings and blocks, 150 to 200 tokens each, every chunk a slice of its document.

The unit that is never cut if it fits is the block: a paragraph, a list item, a fenced block, a table. Blocks
are packed in reading order, never across a heading, unless a section fits with all its subsections: then it
is one chunk. A block that does not fit is cut where its kind allows: containers into their parts, tables and
code between lines, prose between sentences. Prose that was cut, and short prose at the end of a chunk, is
said again at the start of the next one, so that a sentence and its antecedent meet in one of them; code and
tables are not.

Measured on chunk recall with equal budgets: 200 tokens with a fifth of overlap is best for words and vectors
together, and 800 halves what vectors find (docs/decisions/0003-retrieval.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from semantic_text_splitter import TextSplitter

from server.ids import chunk_id
from server.ingest.documents import UnreadableFile
from server.models import Chunk, Document, DocumentType
from server.text.definitions import DEFINITION
from server.text.tokens import count_tokens

# Tokens of o200k_base, or word pieces at the rate below, whichever is more: markup and code make more pieces
# than tokens, and what is beyond the embedding model's window of 256 does not reach the vector. 240 leave room
# for the heading prefix.
LARGEST = 200
_PIECES_PER_TOKEN = 240 / LARGEST
_PIECE_LETTERS = 7  # an estimate that is within 20 % of the model's own count for nine chunks in ten
LEAST = 150  # a piece of prose that was cut is at least this long, if there is more of it
OVERLAP = 40
# Of one document, which is written as a whole: a text of 16 MiB makes 30,000, a log of that size 80,000.
MOST_CHUNKS = 100_000

_TIKTOKEN_MODEL = "gpt-4o"  # the splitter's name for o200k_base
_CODE = frozenset({"fence", "code_block", "table", "html_block"})  # cut between lines, never repeated
_CONTAINERS = frozenset({"bullet_list", "ordered_list", "list_item", "blockquote"})
# A longer heading is a paragraph with a mark before it; each chunk below carries what is kept of it.
_HEADING_CHARS = 300
_HEADING_MARKS = re.compile(r"\s*\{[#.:][^}]*\}\s*$|[`*]|\[(?P<text>[^\]]*)\]\([^)]*\)")

_WORD = re.compile(r"[^\W_]+|[^\w\s]|_")
_PARAGRAPH = re.compile(r"^[^\S\n]*+\S[^\n]*+(?:\n[^\S\n]*+\S[^\n]*+)*+", re.M)
# What has no paragraphs (a log, a table, a text in Chinese) is cut in parts of so many characters: the splitter's
# time grows with the square of its text. A cut falls after a line, a sentence or a word among the last of them.
_PART_CHARS, _PART_END_CHARS = 4_096, 1_024
_PART_ENDS = ("\n", "。", ". ", " ")


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines that belong together: [start, end) characters of the document, with their size (see ``_size``)."""

    start: int
    end: int
    size: int
    is_prose: bool
    parts: tuple[_Block, ...] = ()


@dataclass(frozen=True, slots=True)
class _Section:
    """A heading and what stands below it, up to the next heading of any level. ``body`` is where that starts."""

    path: tuple[str, ...]
    body: int
    end: int
    blocks: tuple[_Block, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    """What becomes a chunk."""

    start: int
    end: int
    path: tuple[str, ...]


def chunk(document: Document, text: str) -> tuple[Chunk, ...]:
    """The chunks of a document in reading order; none of a document without words.

    For each of them ``text[chunk.start:chunk.end] == chunk.text``. Raises ``UnreadableFile`` for too many.
    """
    pieces = list(islice(_pieces(text, _sections(document.type, text)), MOST_CHUNKS + 1))
    if len(pieces) > MOST_CHUNKS:
        raise UnreadableFile(f"makes more than {MOST_CHUNKS:,} passages; divide it")
    if not pieces:  # headings and nothing else
        pieces = [_Piece(block.start, block.end, ()) for block in _cut(text, 0, len(text), is_prose=True)]
    return _chunks(document, text, pieces)


def indexed_text(title: str, heading_path: Sequence[str], text: str) -> str:
    """What is embedded and indexed for a chunk: ``title > heading > heading``, then its text."""
    prefix = " > ".join([title, *heading_path])
    return f"{prefix}\n{text}" if prefix else text


def _chunks(document: Document, text: str, pieces: Sequence[_Piece]) -> tuple[Chunk, ...]:
    said: dict[tuple[tuple[str, ...], str], int] = {}
    chunks = []
    for ordinal, piece in enumerate(pieces):
        path = _without_title(piece.path, document.title)
        body = text[piece.start : piece.end]
        repetition = said[path, body] = said.get((path, body), -1) + 1
        id = chunk_id(document.project, document.uri, path, body, repetition)
        tokens = count_tokens(body)
        chunks.append(Chunk(id, document.id, ordinal, path, body, piece.start, piece.end, tokens))
    return tuple(chunks)


def _without_title(path: tuple[str, ...], title: str) -> tuple[str, ...]:
    """A page often repeats its title as the first heading; once is enough."""
    return path[1:] if path and path[0].casefold() == title.casefold() else path


# --- sections to pieces


def _pieces(text: str, sections: Sequence[_Section]) -> Iterator[_Piece]:
    at = 0
    while at < len(sections):
        section, after = sections[at], _after(sections, at)
        start, end = _trimmed(text, section.body, sections[after - 1].end)
        if sum(block.size for below in sections[at:after] for block in below.blocks) > LARGEST or (
            after > at + 1 and _size(text[start:end]) > LARGEST
        ):
            yield from (_Piece(*_trimmed(text, *span), section.path) for span in _pack(text, section.blocks))
            at += 1
        else:
            if start < end:
                yield _Piece(start, end, section.path)
            at = after


def _after(sections: Sequence[_Section], at: int) -> int:
    """The index after the last subsection of section ``at``."""
    depth = len(sections[at].path)
    below = (index for index in range(at + 1, len(sections)) if len(sections[index].path) <= depth)
    return next(below, len(sections))


def _pack(text: str, blocks: Sequence[_Block]) -> Iterator[tuple[int, int]]:
    """Spans of neighbouring blocks that fit, filled in reading order."""
    held: list[_Block] = []
    for block in _fitting(text, blocks):
        if held and sum(one.size for one in held) + block.size > LARGEST:
            yield held[0].start, held[-1].end
            held = _repeated(held[-1], block)
        held.append(block)
    if held:
        yield held[0].start, held[-1].end


def _size(text: str) -> int:
    """Tokens, or word pieces in the same measure where there are more of them."""
    pieces = sum(1 + (len(word) - 1) // _PIECE_LETTERS for word in _WORD.findall(text))
    return max(count_tokens(text), round(pieces / _PIECES_PER_TOKEN))


def _repeated(last: _Block, following: _Block) -> list[_Block]:
    says_again = last.is_prose and last.size <= OVERLAP and last.size + following.size <= LARGEST
    # A piece that was cut begins with the end of the one before it already.
    return [last] if says_again and last.end <= following.start else []


def _fitting(text: str, blocks: Sequence[_Block]) -> Iterator[_Block]:
    """The blocks, those that are too large replaced by parts that are not."""
    for block in blocks:
        if block.size <= LARGEST:
            yield block
        elif block.parts:
            yield from _fitting(text, block.parts)
        else:
            yield from _cut(text, block.start, block.end, is_prose=block.is_prose)


def _cut(text: str, start: int, end: int, *, is_prose: bool) -> list[_Block]:
    blocks = []
    while start < end:
        after = _part_end(text, start, end)
        blocks += _cut_part(text, start, after, is_prose=is_prose)
        start = after
    return blocks


def _part_end(text: str, start: int, end: int) -> int:
    most = start + _PART_CHARS
    if end <= most:
        return end
    ends = (text.rfind(mark, most - _PART_END_CHARS, most) for mark in _PART_ENDS)
    return next((at + 1 for at in ends if at != -1), most)


def _cut_part(text: str, start: int, end: int, *, is_prose: bool) -> list[_Block]:
    found = _splitter(_capacity(text[start:end]), OVERLAP if is_prose else 0).chunk_indices(text[start:end])
    return [
        _block(text, start + offset, start + offset + len(piece), is_prose=is_prose)
        for offset, piece in found
        if piece.strip()
    ]


def _capacity(text: str) -> int:
    """How many tokens of this text fit, in tens: fewer where it makes many word pieces."""
    return max(10 * int(LARGEST * count_tokens(text) / max(_size(text), 1) / 10), 2 * OVERLAP)


@cache
def _splitter(capacity: int, overlap: int) -> TextSplitter:
    return TextSplitter.from_tiktoken_model(_TIKTOKEN_MODEL, (capacity * LEAST // LARGEST, capacity), overlap)


def _trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without blank lines around it; indentation of its first line stays."""
    body = text[start:end]
    end = start + len(body.rstrip())
    return start + len(body) - len(body.lstrip("\n")), max(end, start)


# --- documents to sections


def _sections(type: DocumentType, text: str) -> list[_Section]:
    if type == "code":
        return _code_sections(text)
    if type in ("text", "record"):
        return [_Section((), 0, len(text), tuple(_paragraphs(text, 0, len(text), is_prose=True)))]
    return _markdown_sections(text)


def _code_sections(text: str) -> list[_Section]:
    starts = [(0, ""), *((match.start(), match["name"]) for match in DEFINITION.finditer(text))]
    ends = [start for start, _ in starts[1:]] + [len(text)]
    return [
        _Section((name,) if name else (), start, end, tuple(_paragraphs(text, start, end, is_prose=False)))
        for (start, name), end in zip(starts, ends, strict=True)
    ]


def _paragraphs(text: str, start: int, end: int, *, is_prose: bool) -> Iterator[_Block]:
    for match in _PARAGRAPH.finditer(text, start, end):
        yield _block(text, match.start(), match.end(), is_prose=is_prose)


def _markdown_sections(text: str) -> list[_Section]:
    lines = _line_starts(text)
    sections: list[_Section] = []
    headings: list[tuple[int, str]] = []  # those that are open, outermost first
    blocks: list[_Block] = []
    body = 0
    for node in SyntaxTreeNode(_parser().parse(text)).children:
        if node.type != "heading":
            blocks.append(_markdown_block(text, lines, node))
            continue
        first, last = node.map or (0, 0)
        sections.append(_section(headings, body, lines[first], blocks))
        depth, blocks, body = int(node.tag[1:]), [], lines[last]
        headings = [*(heading for heading in headings if heading[0] < depth), (depth, _heading(node))]
    sections.append(_section(headings, body, len(text), blocks))
    return sections


def _section(headings: Sequence[tuple[int, str]], body: int, end: int, blocks: Sequence[_Block]) -> _Section:
    return _Section(tuple(title for _, title in headings), body, end, tuple(blocks))


def _heading(node: SyntaxTreeNode) -> str:
    written = " ".join(child.content for child in node.children)[:_HEADING_CHARS]
    return " ".join(_HEADING_MARKS.sub(lambda match: match["text"] or "", written).split())


def _markdown_block(text: str, lines: Sequence[int], node: SyntaxTreeNode) -> _Block:
    first, last = node.map or (0, 0)
    parts: tuple[_Block, ...] = ()
    if node.type in _CONTAINERS:
        parts = tuple(_markdown_block(text, lines, child) for child in node.children if child.map)
    return _block(text, lines[first], lines[last], is_prose=node.type not in _CODE, parts=parts)


@cache
def _parser() -> MarkdownIt:
    # Only blocks matter here, so what is inside a line is left alone.
    return MarkdownIt("commonmark").enable("table").disable(["inline", "text_join"])


def _line_starts(text: str) -> list[int]:
    """Where each line starts, as the parser counts lines, and once more where the text ends."""
    return [0, *(match.end() for match in re.finditer(r"\r\n?|\n", text)), len(text)]


def _block(text: str, start: int, end: int, *, is_prose: bool, parts: tuple[_Block, ...] = ()) -> _Block:
    return _Block(start, end, _size(text[start:end]), is_prose, parts)
