"""Sources to index, resumably."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from server.backends.base import DocumentStore, Embedder, VectorStore
from server.models import DocumentType


@dataclass(frozen=True, slots=True)
class RawDocument:
    """A document as its reader hands it over; everything but uri, type and text may be empty."""

    uri: str
    type: DocumentType
    title: str
    text: str
    vendor: str = ""
    doc_tag: str = ""
    tags: tuple[str, ...] = ()
    created: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Failure:
    """Something that could not be ingested: what, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Progress:
    """How far an ingest has come. ``documents_total`` is 0 where nobody knows; rates are per second."""

    documents: int
    documents_total: int
    chunks: int
    chunks_per_second: float
    seconds_left: float | None


@dataclass(frozen=True, slots=True)
class Report:
    """What an ingest did. ``chunks`` counts the chunks that were written."""

    project: str
    documents: int
    unchanged: int
    deleted: int
    chunks: int
    seconds: float
    skipped: int = 0
    failures: tuple[Failure, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Target:
    """Where an ingest writes to. ``embedder`` is None where there is no model: the index is lexical then."""

    project: str
    catalogue: DocumentStore
    store: VectorStore
    embedder: Embedder | None


def ingest_documents(
    target: Target,
    source: str,
    documents: Iterable[RawDocument],
    *,
    total: int = 0,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Make the index hold exactly these documents for this source."""
    raise NotImplementedError


def ingest_paths(
    target: Target,
    paths: Sequence[Path],
    *,
    progress: Callable[[Progress], None] | None = None,
) -> Report:
    """Make the index hold what lies in these files and folders now."""
    raise NotImplementedError
