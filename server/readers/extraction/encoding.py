"""Extractions and facts as bytes, for files that only this program reads. Pure.

A record is the list of its fields in order, in compressed JSON. Decoding returns what was encoded.
"""

from __future__ import annotations

import json
import zlib
from typing import Any, TypeVar

from winnow.server.readers.extraction.document_extraction import (
    DocumentExtraction,
    Mention,
    PageIdentity,
    Reference,
    Relation,
)
from winnow.server.readers.extraction.links import LinkTarget
from winnow.server.readers.extraction.resolution import DocumentFacts
from winnow.server.retrieval.graph.records import Edge, Node

_COMPRESSION = 1

_BESIDE_FACTS = ("project", "nodes", "edges", "entities", "mentions", "relations", "references", "warnings")

R = TypeVar("R")


def encode_facts(facts: DocumentFacts) -> bytes:
    """The facts as bytes; equal facts are equal bytes."""
    page = facts.page
    row = [page.id, page.uri, page.name, page.keys, page.anchors, sorted(facts.votes), sorted(facts.dependencies)]
    return _pack(row)


def decode_facts(data: bytes) -> DocumentFacts:
    """The facts that were encoded. Raises ``zlib.error``, ``ValueError`` or ``TypeError`` for other bytes."""
    id, uri, name, keys, anchors, votes, dependencies = json.loads(zlib.decompress(data))
    page = PageIdentity(id, uri, name, tuple(keys), anchors)
    return DocumentFacts(page, frozenset(votes), frozenset(dependencies))


def encode_extraction(extraction: DocumentExtraction) -> bytes:
    """An extraction without its facts, as bytes."""
    return _pack([getattr(extraction, name) for name in _BESIDE_FACTS])


def decode_extraction(data: bytes, facts: DocumentFacts) -> DocumentExtraction:
    """The extraction that was encoded, with its facts. Raises as ``decode_facts`` does."""
    project, nodes, edges, entities, mentions, relations, references, warnings = json.loads(zlib.decompress(data))
    return DocumentExtraction(
        page=facts.page,
        project=project,
        nodes=tuple(Node(*each) for each in nodes),
        edges=tuple(_record(Edge, each, 5) for each in edges),
        entities={key: (title, type) for key, (title, type) in entities.items()},
        mentions=tuple(_record(Mention, each, 7) for each in mentions),
        relations=tuple(_record(Relation, each, 5) for each in relations),
        references=tuple(
            Reference(source, type, title, _record(LinkTarget, link, 0), count, tuple(evidence))
            for source, type, title, link, count, evidence in references
        ),
        votes=facts.votes,
        dependencies=facts.dependencies,
        warnings=tuple(warnings),
    )


def _pack(value: object) -> bytes:
    return zlib.compress(json.dumps(value, separators=(",", ":"), default=_fields).encode(), _COMPRESSION)


def _fields(record: Any) -> list[Any]:
    """A record, for which JSON has no form, as its fields."""
    return [getattr(record, name) for name in record.__slots__]


def _record(kind: type[R], fields: list[Any], place: int) -> R:
    """The record of these fields; the field at index ``place`` is a tuple."""
    fields[place] = tuple(fields[place])
    return kind(*fields)
