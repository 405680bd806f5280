"""The structure of a document as a graph: document, section and chunk nodes, PART_OF and NEXT edges. Pure."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from winnow.server.ids import section_id
from winnow.server.models import Chunk, Document
from winnow.server.readers.extraction.names import heading_slug
from winnow.server.readers.extraction.prose import Heading
from winnow.server.readers.extraction.rules import CONFIDENCE
from winnow.server.retrieval.graph.records import ANCHOR_CHARS, TITLE_CHARS, Edge, EdgeType, Node

_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]+")
_CONFIDENCE = CONFIDENCE["structure"]
Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outline:
    """The sections of a document: ``starts``, ascending, and the heading path from each start on.

    ``anchors`` maps link fragments to heading paths; "" in a path is a heading without words.
    """

    starts: tuple[int, ...]
    paths: tuple[Path, ...]
    anchors: Mapping[str, Path]

    def path_at(self, offset: int) -> Path:
        """The heading path of the innermost section at ``offset``; () before the first heading."""
        index = bisect_right(self.starts, offset) - 1
        return self.paths[index] if index >= 0 else ()


class ChunkPlaces:
    """Maps offsets in a document to chunks."""

    def __init__(self, chunks: Sequence[Chunk]) -> None:
        self._chunks = sorted(chunks, key=lambda chunk: (chunk.start, chunk.ordinal))
        self._starts = [chunk.start for chunk in self._chunks]

    def chunks_at(self, start: int, end: int) -> list[str]:
        """The ids of the chunks with [start, end); if there are none, the next chunk, otherwise the last.

        Chunks overlap with their neighbours only, so at most two contain a span.
        """
        if not self._chunks:
            return []
        last = bisect_right(self._starts, start) - 1
        containing = [chunk.id for chunk in self._chunks[max(last - 1, 0) : last + 1] if chunk.end >= end]
        return containing or [self._chunks[min(max(last + 1, 0), len(self._chunks) - 1)].id]

    @property
    def first(self) -> tuple[str, ...]:
        """The first chunk: evidence for facts about the whole document."""
        return (self._chunks[0].id,) if self._chunks else ()


def build_outline(document: Document, headings: Sequence[Heading]) -> Outline:
    """Build the outline from headings; a top heading that repeats the document's title opens no section."""
    open_headings: list[tuple[int, str]] = []
    starts, paths = [], []
    anchors: dict[str, Path] = {}
    repetitions: dict[str, int] = {}
    for heading in headings:
        above = [(depth, title) for depth, title in open_headings if depth < heading.depth]
        open_headings = [*above, (heading.depth, heading.title)]
        path = _without_title(tuple(title for _, title in open_headings), document.title)
        starts.append(heading.start)
        paths.append(path)
        anchor = heading_slug(heading.title)
        repetition = repetitions[anchor] = repetitions.get(anchor, -1) + 1
        for name in (heading.anchor, f"{anchor}-{repetition}" if repetition else anchor):
            if name:
                anchors.setdefault(name.lower(), path)
    return Outline(tuple(starts), tuple(paths), anchors)


def build_structure(
    document: Document, chunks: Sequence[Chunk], outline: Outline
) -> tuple[list[Node], list[Edge]]:
    """Build document, section and chunk nodes, with PART_OF edges upward and NEXT edges in reading order."""
    sections = _list_sections(chunks, outline)
    first = _find_first_chunks(chunks, outline)
    anchors: dict[Path, str] = {}
    for name, path in outline.anchors.items():
        anchors.setdefault(path, name)
    nodes = [_document_node(document)]
    nodes += [_section_node(document, path, anchors.get(path, "")) for path in sections]
    nodes += [_chunk_node(document, chunk) for chunk in chunks]
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
        _edge(document, chunk.id, heading_node_id(document, chunk.heading_path), "PART_OF", (chunk.id,))
        for chunk in chunks
    ]
    edges += [
        _edge(document, chunk.id, other.id, "NEXT", (chunk.id, other.id)) for chunk, other in pairwise(chunks)
    ]
    return nodes, edges


def heading_node_id(document: Document, path: Path) -> str:
    """The id of the node of a heading path: a section, or the document for the empty path."""
    return section_id(document.project, document.uri, path) if path else document.id


def clean_title(title: str) -> str:
    """Clean a title for a node: one line without control signs and blanks of no width, at most ``TITLE_CHARS``."""
    seen = title[: 4 * TITLE_CHARS].replace("\u200b", "")
    return " ".join(_UNPRINTABLE.sub(" ", seen).split())[:TITLE_CHARS]


def _without_title(path: Path, title: str) -> Path:
    return path[1:] if path and path[0].casefold() == title.casefold() else path


def _list_sections(chunks: Sequence[Chunk], outline: Outline) -> list[Path]:
    """List every heading path and the paths above it, in reading order."""
    paths = dict.fromkeys(path[:depth] for path in outline.paths for depth in range(1, len(path) + 1))
    paths |= dict.fromkeys(
        chunk.heading_path[:depth] for chunk in chunks for depth in range(1, len(chunk.heading_path) + 1)
    )
    return list(paths)


def _find_first_chunks(chunks: Sequence[Chunk], outline: Outline) -> dict[Path, tuple[str, ...]]:
    """Find for each section the chunk that has its beginning."""
    places = ChunkPlaces(chunks)
    first = {
        path: tuple(places.chunks_at(start, start)[:1])
        for start, path in zip(outline.starts, outline.paths, strict=True)
    }
    for chunk in chunks:
        for depth in range(1, len(chunk.heading_path) + 1):
            first.setdefault(chunk.heading_path[:depth], (chunk.id,))
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
