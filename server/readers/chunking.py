"""Splits documents into chunks of 150 to 200 tokens along headings and blocks.

Every chunk is a slice of its document's text, after the front matter. A block (a paragraph, a list item, a fenced
block, a table with its caption) that fits into a chunk is never split. Blocks are packed in reading order and
never across a heading, except that a section that fits with all its subsections is one chunk. A block that does
not fit is split by its kind: containers into their parts, tables and code between lines, prose between sentences.
Split prose, and short prose at the end of a chunk, is repeated at the start of the next chunk, so that a sentence
and its antecedent meet in one of them; code and tables are not repeated.

A chunk never crosses from one slide, sheet (or part of one), chapter or message into the next: each is split like
a document of its own. Pages, cells and times are no boundaries of what is said, and chunks cross them.

Measured by chunk recall at equal token budgets: 200 tokens with a fifth of overlap is best for lexical and vector
search together; 800 tokens halve the recall of vector search (docs/decisions/0003-retrieval.md).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import islice

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from semantic_text_splitter import TextSplitter

from winnow.server.ids import chunk_id
from winnow.server.models import Chunk, Document, DocumentType, Place, PlaceKind
from winnow.server.readers.documents import UnreadableFile
from winnow.server.text.markup.captions import is_caption
from winnow.server.text.markup.markdown_signs import is_markdown
from winnow.server.text.markup.possessive import compile_possessive
from winnow.server.text.markup.template_code import resolve_heading
from winnow.server.text.words.definitions import DEFINITION
from winnow.server.text.words.tokens import count_tokens

# The largest chunk, in tokens of o200k_base or in word pieces at the rate below, whichever count is larger: markup
# and code have more word pieces than tokens, and the embedding model truncates its input to 256 word pieces. 240
# leave room for the heading prefix.
LARGEST = 200
_PIECES_PER_TOKEN = 240 / LARGEST
_PIECE_LETTERS = 7  # an estimate within 20 % of the model's own count for nine chunks in ten
LEAST = 150  # the smallest part of split prose, except the last part
OVERLAP = 40
# The limit per document, which is written as a whole: a text of 16 MiB has 30,000 chunks, a log of that size
# 80,000.
MOST_CHUNKS = 100_000

_APART: frozenset[PlaceKind] = frozenset({"sheet", "slide", "chapter", "message"})
_CODE = frozenset({"fence", "code_block", "table", "html_block"})  # cut between lines, never repeated
_CONTAINERS = frozenset({"bullet_list", "ordered_list", "list_item", "blockquote"})
# Each chunk below a heading carries it in its path; a longer heading is a paragraph by mistake and is truncated.
_HEADING_CHARS = 300
_HEADING_MARKS = re.compile(r"\s*\{[#.:][^}]*\}\s*$|[`*]|\[(?P<text>[^\]]*)\]\([^)]*\)")

# The sizes of this many texts of at most this length are cached.
_KEPT_SIZES, _KEPT_CHARS = 512, 4_000

_PIECE = re.compile(rf"[^\W_]{{1,{_PIECE_LETTERS}}}|[^\w\s]|_")
_PARAGRAPH = compile_possessive(r"^[^\S\n]*+\S[^\n]*+(?:\n[^\S\n]*+\S[^\n]*+)*+", re.M)
# Text without paragraphs (a log, a table, a text in Chinese) is first divided into parts of this many characters,
# because the splitter's time grows with the square of its input. A part ends after a line, a sentence or a word
# among its last _PART_END_CHARS characters.
_PART_CHARS, _PART_END_CHARS = 4_096, 1_024
_PART_ENDS = ("\n", "。", ". ", " ")


@dataclass(frozen=True, slots=True)
class _Block:
    """Lines that are kept together: the character span [start, end) and its size (see ``measure``)."""

    start: int
    end: int
    size: int
    is_prose: bool
    parts: tuple[_Block, ...] = ()


@dataclass(frozen=True, slots=True)
class _Section:
    """A heading and the text up to the next heading of any level, which starts at ``body``."""

    path: tuple[str, ...]
    body: int
    end: int
    blocks: tuple[_Block, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    """The span and heading path of a future chunk."""

    start: int
    end: int
    path: tuple[str, ...]


def chunk(document: Document, text: str, places: Sequence[Place] = ()) -> tuple[Chunk, ...]:
    """The chunks of a document in reading order; a document without words has none.

    Chunks are made of the text after the front matter, and of the front matter where nothing follows it. For each
    chunk, ``text[chunk.start:chunk.end] == chunk.text``. ``places`` are those of the document, in the order of the
    text. Raises ``UnreadableFile`` if there are more than ``MOST_CHUNKS``.
    """
    body = text[document.body_start :]
    pieces = list(islice(_all_pieces(document, body, places), MOST_CHUNKS + 1))
    if len(pieces) > MOST_CHUNKS:
        raise UnreadableFile(f"has more than {MOST_CHUNKS:,} passages; split it into smaller files")
    if not pieces:
        start, end = _fenced_span(text[: document.body_start])
        return _build_chunks(document, text, 0, _split_into_pieces(text, start, end, is_prose=False))
    return _build_chunks(document, body, document.body_start, pieces)


def list_headings(document: Document, text: str, places: Sequence[Place] = ()) -> list[tuple[str, ...]]:
    """The path of each heading of a document, or of each definition of code, in reading order."""
    body = text[document.body_start :]
    return [
        section.path for _, _, sections in _parts(document, body, places) for section in sections if section.path
    ]


def _all_pieces(document: Document, body: str, places: Sequence[Place]) -> Iterator[_Piece]:
    """The pieces of each part of the body.

    A part of a sheet is below the last heading of the sheet's parts before it, unless it has one of its own.
    """
    above: tuple[str, ...] = ()
    number = 0
    for place, part, sections in _parts(document, body, places):
        above, number = (above if place.number == number else ()), place.number
        pieces = _pieces(part, sections)
        first = next(pieces, None)
        if first is None:  # headings and nothing else
            pieces = iter(_split_into_pieces(part, 0, len(part), is_prose=True))
        for piece in (*([] if first is None else [first]), *pieces):
            yield _Piece(place.start + piece.start, place.start + piece.end, piece.path or above)
        above = sections[-1].path or above


def _parts(document: Document, body: str, places: Sequence[Place]) -> Iterator[tuple[Place, str, list[_Section]]]:
    """The parts of the body that chunks do not cross, each with its place in the body, its text and sections.

    Before the first place there may be a part without one, which is number 0.
    """
    apart = [
        replace(place, start=max(place.start - document.body_start, 0)) for place in places if place.kind in _APART
    ]
    ends = [*(place.start for place in apart), len(body)]
    for place, end in zip([Place(0, "page", 0), *apart], ends, strict=True):
        part = body[place.start : end]
        yield place, part, _sections(document.type, part)


def _split_into_pieces(text: str, start: int, end: int, *, is_prose: bool) -> list[_Piece]:
    return [_Piece(block.start, block.end, ()) for block in _split(text, start, end, is_prose=is_prose)]


def _fenced_span(front_matter: str) -> tuple[int, int]:
    """The span of the lines between the fences."""
    start, end = front_matter.find("\n") + 1, front_matter.rstrip().rfind("\n")
    return start, max(start, end)


def _build_chunks(document: Document, text: str, offset: int, pieces: Sequence[_Piece]) -> tuple[Chunk, ...]:
    """The chunks of these pieces of ``text``, which begins at ``offset`` in the document."""
    repetitions: dict[tuple[tuple[str, ...], str], int] = {}
    chunks = []
    for ordinal, piece in enumerate(pieces):
        path = _without_title(piece.path, document.title)
        body = text[piece.start : piece.end]
        repetition = repetitions[path, body] = repetitions.get((path, body), -1) + 1
        id = chunk_id(document.project, document.uri, path, body, repetition)
        _, tokens = _size_and_tokens(body)
        start, end = offset + piece.start, offset + piece.end
        chunks.append(Chunk(id, document.id, ordinal, path, body, start, end, tokens))
    return tuple(chunks)


def _without_title(path: tuple[str, ...], title: str) -> tuple[str, ...]:
    """The path without a first heading that repeats the document's title, as pages often do."""
    return path[1:] if path and path[0].casefold() == title.casefold() else path


# --- sections to pieces


def _pieces(text: str, sections: Sequence[_Section]) -> Iterator[_Piece]:
    at = 0
    while at < len(sections):
        section, after = sections[at], _next_index(sections, at)
        start, end = _trim(text, section.body, sections[after - 1].end)
        if sum(block.size for below in sections[at:after] for block in below.blocks) > LARGEST or (
            after > at + 1 and measure(text[start:end]) > LARGEST
        ):
            yield from (_Piece(*_trim(text, *span), section.path) for span in _pack(text, section.blocks))
            at += 1
        else:
            if start < end:
                yield _Piece(start, end, section.path)
            at = after


def _next_index(sections: Sequence[_Section], at: int) -> int:
    """The index after the last subsection of section ``at``."""
    depth = len(sections[at].path)
    below = (index for index in range(at + 1, len(sections)) if len(sections[index].path) <= depth)
    return next(below, len(sections))


def _pack(text: str, blocks: Sequence[_Block]) -> Iterator[tuple[int, int]]:
    """Spans of consecutive blocks that fit into a chunk, in reading order."""
    held: list[_Block] = []
    for block in _split_large_blocks(text, blocks):
        if held and sum(other.size for other in held) + block.size > LARGEST:
            yield held[0].start, held[-1].end
            held = _blocks_to_repeat(held[-1], block)
        held.append(block)
    if held:
        yield held[0].start, held[-1].end


def measure(text: str) -> int:
    """The size of a text: its tokens, or its word pieces in the same unit if that is more."""
    return _size_and_tokens(text)[0]


def _size_and_tokens(text: str) -> tuple[int, int]:
    """The size of a text as returned by `measure`, and its number of tokens.

    A block is measured, then often the text of a section or a chunk: a result is kept for a short text.
    """
    return _kept_count(text) if len(text) <= _KEPT_CHARS else _count(text)


def _count(text: str) -> tuple[int, int]:
    tokens = count_tokens(text)
    return max(tokens, round(len(_PIECE.findall(text)) / _PIECES_PER_TOKEN)), tokens


_kept_count = lru_cache(maxsize=_KEPT_SIZES)(_count)


def _blocks_to_repeat(last: _Block, following: _Block) -> list[_Block]:
    """The blocks that the next chunk repeats: the last one if it is short prose, else none."""
    is_short = last.is_prose and last.size <= OVERLAP and last.size + following.size <= LARGEST
    # Parts of split prose overlap already.
    return [last] if is_short and last.end <= following.start else []


def _split_large_blocks(text: str, blocks: Sequence[_Block]) -> Iterator[_Block]:
    """The blocks, with each that is too large replaced by parts that fit."""
    for block in blocks:
        if block.size <= LARGEST:
            yield block
        elif block.parts:
            yield from _split_large_blocks(text, block.parts)
        else:
            yield from _split(text, block.start, block.end, is_prose=block.is_prose)


def _split(text: str, start: int, end: int, *, is_prose: bool) -> list[_Block]:
    blocks = []
    while start < end:
        after = _part_end(text, start, end)
        blocks += _split_part(text, start, after, is_prose=is_prose)
        start = after
    return blocks


def _part_end(text: str, start: int, end: int) -> int:
    most = start + _PART_CHARS
    if end <= most:
        return end
    ends = (text.rfind(mark, most - _PART_END_CHARS, most) for mark in _PART_ENDS)
    return next((at + 1 for at in ends if at != -1), most)


def _split_part(text: str, start: int, end: int, *, is_prose: bool) -> list[_Block]:
    parts = _splitter(_capacity(text[start:end]), OVERLAP if is_prose else 0).chunk_indices(text[start:end])
    return [
        _block(text, start + offset, start + offset + len(piece), is_prose=is_prose)
        for offset, piece in parts
        if piece.strip()
    ]


def _capacity(text: str) -> int:
    """The number of tokens of this text that fit into a chunk, in tens: fewer if it has many word pieces."""
    size, tokens = _size_and_tokens(text)
    return max(10 * int(LARGEST * tokens / max(size, 1) / 10), 2 * OVERLAP)


@cache
def _splitter(capacity: int, overlap: int) -> TextSplitter:
    # The splitter has the vocabulary, too, but as a second copy: another 0.14 s, and as much memory.
    return TextSplitter.from_callback(count_tokens, (capacity * LEAST // LARGEST, capacity), overlap)


def _trim(text: str, start: int, end: int) -> tuple[int, int]:
    """The span without surrounding blank lines; the indentation of its first line is kept."""
    body = text[start:end]
    end = start + len(body.rstrip())
    return start + len(body) - len(body.lstrip("\n")), max(end, start)


# --- documents to sections


def _sections(type: DocumentType, text: str) -> list[_Section]:
    if type == "code":
        return _code_sections(text)
    if type == "text" or (type == "record" and not is_markdown(text)):
        return [_Section((), 0, len(text), tuple(_find_paragraphs(text, 0, len(text), is_prose=True)))]
    return _markdown_sections(text)


def _code_sections(text: str) -> list[_Section]:
    starts = [(0, ""), *((match.start(), match["name"]) for match in DEFINITION.finditer(text))]
    ends = [start for start, _ in starts[1:]] + [len(text)]
    return [
        _Section((name,) if name else (), start, end, tuple(_find_paragraphs(text, start, end, is_prose=False)))
        for (start, name), end in zip(starts, ends, strict=True)
    ]


def _find_paragraphs(text: str, start: int, end: int, *, is_prose: bool) -> Iterator[_Block]:
    for match in _PARAGRAPH.finditer(text, start, end):
        yield _block(text, match.start(), match.end(), is_prose=is_prose)


def _markdown_sections(text: str) -> list[_Section]:
    lines = _line_starts(text)
    sections: list[_Section] = []
    headings: list[tuple[int, str]] = []  # the enclosing headings, outermost first
    blocks: list[_Block] = []
    body = 0
    for node in SyntaxTreeNode(_parser().parse(text)).children:
        if node.type != "heading":
            _add_block(text, blocks, _markdown_block(text, lines, node))
            continue
        first, last = node.map or (0, 0)
        sections.append(_section(headings, body, lines[first], blocks))
        depth, blocks, body = int(node.tag[1:]), [], lines[last]
        headings = [*(heading for heading in headings if heading[0] < depth), (depth, _heading_text(node))]
    sections.append(_section(headings, body, len(text), blocks))
    return sections


def _section(headings: Sequence[tuple[int, str]], body: int, end: int, blocks: Sequence[_Block]) -> _Section:
    return _Section(tuple(title for _, title in headings), body, end, tuple(blocks))


def _heading_text(node: SyntaxTreeNode) -> str:
    written = resolve_heading(" ".join(child.content for child in node.children))[:_HEADING_CHARS]
    return " ".join(_HEADING_MARKS.sub(lambda match: match["text"] or "", written).split())


def _add_block(text: str, blocks: list[_Block], block: _Block) -> None:
    """Add a block; a caption and the table before or after it are one block of two parts."""
    last = blocks[-1] if blocks else None
    if last is None or not (_is_captioned(text, last, block) or _is_captioned(text, block, last)):
        blocks.append(block)
        return
    blocks[-1] = _block(text, last.start, block.end, is_prose=False, parts=(last, block))


def _is_captioned(text: str, table: _Block, caption: _Block) -> bool:
    is_table = text.startswith("|", table.start) and not table.is_prose and not table.parts
    return is_table and caption.is_prose and is_caption(text[caption.start : caption.end].strip())


def _markdown_block(text: str, lines: Sequence[int], node: SyntaxTreeNode) -> _Block:
    first, last = node.map or (0, 0)
    parts: tuple[_Block, ...] = ()
    if node.type in _CONTAINERS:
        parts = tuple(_markdown_block(text, lines, child) for child in node.children if child.map)
    return _block(text, lines[first], lines[last], is_prose=node.type not in _CODE, parts=parts)


@cache
def _parser() -> MarkdownIt:
    # Only blocks matter here, so inline markup is not parsed.
    return MarkdownIt("commonmark").enable("table").disable(["inline", "text_join"])


def _line_starts(text: str) -> list[int]:
    """The offset of each line, as the parser counts lines, and the length of the text."""
    return [0, *(match.end() for match in re.finditer(r"\r\n?|\n", text)), len(text)]


def _block(text: str, start: int, end: int, *, is_prose: bool, parts: tuple[_Block, ...] = ()) -> _Block:
    return _Block(start, end, measure(text[start:end]), is_prose, parts)
