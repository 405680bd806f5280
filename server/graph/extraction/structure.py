"""Document, sections and chunks as nodes, and what holds them together. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from server.graph.extraction.names import heading_slug
from server.graph.extraction.prose import Heading
from server.graph.extraction.rules import CONFIDENCE
from server.graph.records import ANCHOR_CHARS, TITLE_CHARS, Edge, EdgeType, Node
from server.ids import section_id
from server.models import Chunk, Document

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_CONFIDENCE = CONFIDENCE["structure"]
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """Where the sections of a document are: ``starts`` ascending, and the heading path from there on.

    ``anchors`` maps what a link may say behind ``#`` to a path; "" in a path is a heading without words.
    """

    starts: tuple[int, ...]
    paths: tuple[Path, ...]
    anchors: Mapping[str, Path]

    def path_at(self, offset: int) -> Path:
        """The heading path of the innermost section at ``offset``; () before the first heading."""
        at = bisect_right(self.starts, offset) - 1
        return self.paths[at] if at >= 0 else ()


class ChunkPlaces:
    """From offsets in a document to the chunks that show them."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = sorted(chunks, key=lambda one: (one.start, one.ordinal))
        self._starts = [one.start for one in self._chunks]

    def at(self, start: int, end: int) -> list[str]:
        """The chunks that hold [start, end) whole; else the next, as for a heading above its text; else the last.

        Chunks overlap with their neighbours only, so what stands in two of them is said twice.
        """
        if not self._chunks:
            return []
        last = bisect_right(self._starts, start) - 1
        holding = [one.id for one in self._chunks[max(last - 1, 0) : last + 1] if one.end >= end]
        return holding or [self._chunks[min(max(last + 1, 0), len(self._chunks) - 1)].id]

    @property
    def first(self) -> tuple[str, ...]:
        """The first chunk, as evidence for what the document says as a whole."""
        return (self._chunks[0].id,) if self._chunks else ()


def build_outline(document: Document, headings: Sequence[Heading]) -> Outline:
    """The sections that the headings open; one that repeats the document's title opens none."""
    opened: list[tuple[int, str]] = []
    starts, paths = [], []
    anchors: dict[str, Path] = {}
    taken: dict[str, int] = {}
    for one in headings:
        opened = [*(above for above in opened if above[0] < one.depth), (one.depth, one.title)]
        path = _without_title(tuple(title for _, title in opened), document.title)
        starts.append(one.start)
        paths.append(path)
        anchor = heading_slug(one.title)
        repetition = taken[anchor] = taken.get(anchor, -1) + 1
        for name in (one.anchor, f"{anchor}-{repetition}" if repetition else anchor):
            if name:
                anchors.setdefault(name.lower(), path)
    return Outline(tuple(starts), tuple(paths), anchors)


def build_structure(document: Document, chunks: Sequence[Chunk], found: Outline) -> tuple[list[Node], list[Edge]]:
    """Document, section and chunk nodes, with PART_OF upward and NEXT along the reading order."""
    sections = _list_sections(chunks, found)
    first = _find_first_chunks(chunks, found)
    anchors: dict[Path, str] = {}
    for name, path in found.anchors.items():
        anchors.setdefault(path, name)
    nodes = [_document_node(document)]
    nodes += [_section_node(document, path, anchors.get(path, "")) for path in sections]
    nodes += [_chunk_node(document, one) for one in chunks]
    edges = [
        _edge(
            document,
            heading_node_id(document, path),
            heading_node_id(document, path[:-1]),
            "PART_OF",
            first.get(path, ()),
        )
        for path in sections
    ]
    edges += [
        _edge(document, one.id, heading_node_id(document, one.heading_path), "PART_OF", (one.id,))
        for one in chunks
    ]
    edges += [_edge(document, one.id, other.id, "NEXT", (one.id, other.id)) for one, other in pairwise(chunks)]
    return nodes, edges


def heading_node_id(document: Document, path: Path) -> str:
    """The node of a heading path: a section, or the document itself."""
    return section_id(document.project, document.uri, path) if path else document.id


def clean_title(title: str) -> str:
    """A title as a node carries it: one line, without control characters."""
    return " ".join(_UNPRINTABLE.sub(" ", title[: 4 * TITLE_CHARS]).split())[:TITLE_CHARS]


def _without_title(path: Path, title: str) -> Path:
    return path[1:] if path and path[0].casefold() == title.casefold() else path


def _list_sections(chunks: Sequence[Chunk], found: Outline) -> list[Path]:
    """Every heading path and those above it, in reading order."""
    paths = dict.fromkeys(path[:depth] for path in found.paths for depth in range(1, len(path) + 1))
    paths |= dict.fromkeys(
        one.heading_path[:depth] for one in chunks for depth in range(1, len(one.heading_path) + 1)
    )
    return list(paths)


def _find_first_chunks(chunks: Sequence[Chunk], found: Outline) -> dict[Path, tuple[str, ...]]:
    """For each section the chunk that shows its beginning."""
    places = ChunkPlaces(chunks)
    first = {
        path: tuple(places.at(start, start)[:1]) for start, path in zip(found.starts, found.paths, strict=True)
    }
    for one in chunks:
        for depth in range(1, len(one.heading_path) + 1):
            first.setdefault(one.heading_path[:depth], (one.id,))
    return first


def _document_node(document: Document) -> Node:
    title, anchor = clean_title(document.title) or clean_title(document.uri), _clean_label(document.uri)
    tag = _clean_label(document.doc_tag)
    return Node(document.id, "Document", document.type, title, 0, 0, tag, anchor, document.id)


def _section_node(document: Document, path: Path, anchor: str) -> Node:
    tag, title = _clean_label(document.doc_tag), clean_title(path[-1])
    return Node(
        heading_node_id(document, path),
        "Section",
        "section",
        title,
        len(path),
        0,
        tag,
        _clean_label(anchor),
        document.id,
    )


def _chunk_node(document: Document, chunk: Chunk) -> Node:
    title = clean_title(chunk.heading_path[-1] if chunk.heading_path else document.title) or clean_title(
        document.uri
    )
    return Node(
        chunk.id, "Chunk", "chunk", title, 0, chunk.tokens, _clean_label(document.doc_tag), "", document.id
    )


def _clean_label(label: str) -> str:
    return _UNPRINTABLE.sub(" ", label)[:ANCHOR_CHARS]


def _edge(document: Document, source: str, target: str, type: EdgeType, evidence: tuple[str, ...]) -> Edge:
    return Edge(source, target, type, 1.0, _CONFIDENCE, evidence, document.id)
