"""The nouns of the knowledge base: frozen records, no behaviour beyond reading themselves."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

DocumentType = Literal["markdown", "text", "html", "rst", "code", "record"]
Environment = Literal["dev", "prod", "scratch"]
Legs = Literal["hybrid", "lexical-only", "semantic-only"]


@dataclass(frozen=True, slots=True)
class Document:
    """One source as its reader saw it.

    ``id`` is derived from (project, uri). ``uri`` is what a person recognises: the path below the ingested
    folder, or ``corpus.jsonl#4983`` for a record. ``source`` is the ingested root the document came from.
    ``created`` is an ISO-8601 date or "" where the source states none. ``metadata`` holds JSON scalars and
    lists of them: front matter or a record's own metadata. ``environment`` ("dev", "prod", "scratch", or
    whatever else the source says) and ``repository`` are labels that a scope is enforced by, "" for none.
    ``language`` (ISO 639-1) is what its text was found to be written in, "" where nobody can tell.
    """

    id: str
    project: str
    uri: str
    source: str
    title: str
    type: DocumentType
    content_hash: str
    vendor: str = ""
    doc_tag: str = ""
    tags: tuple[str, ...] = ()
    created: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    environment: str = ""
    repository: str = ""
    language: str = ""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A retrievable piece of a document: the unit that is indexed, ranked and shown.

    ``id`` is 12 characters of ``0-9a-v`` (60 bits), a digest of (project, uri, heading path, text, n-th
    repetition), hence the same on every machine; ``int(id, 32)`` is its point id in the vector store.
    ``start`` and ``end`` are character offsets into the document's text, ``ordinal`` counts from 0 within
    the document, ``tokens`` counts ``text`` in o200k_base.
    """

    id: str
    document_id: str
    ordinal: int
    heading_path: tuple[str, ...]
    text: str
    start: int
    end: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Passage:
    """A chunk together with the document it belongs to: all that a row of any tier is rendered from."""

    chunk: Chunk
    document: Document


@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked chunk.

    ``score`` is the fused score, joined with the graph's where it was walked; ``dense`` and ``lexical`` are the
    legs' own, ``graph`` the graph's (0..1), where known. ``is_expanded``: only the graph led here. ``before``: the
    fused score before it was joined with the graph's; None where it was not. ``boost``: the factor that its
    document was given; ``reranked``: what the second stage says (0..1).
    """

    chunk_id: str
    score: float
    dense: float | None = None
    lexical: float | None = None
    graph: float | None = None
    is_expanded: bool = False
    before: float | None = None
    boost: float | None = None
    reranked: float | None = None

    def at(self, score: float) -> Hit:
        """The same with another score. A ranking does this a hundred times: ``replace`` takes thrice as long."""
        return Hit(
            self.chunk_id,
            score,
            self.dense,
            self.lexical,
            self.graph,
            self.is_expanded,
            self.before,
            self.boost,
            self.reranked,
        )


@dataclass(frozen=True, slots=True)
class Filters:
    """What narrows a search, pushed into the index. Empty means "do not narrow".
    ``tags`` must all be present; ``doc_tags``, ``types`` and ``repositories`` match any; ``path_prefix`` ends
    at a path segment (``guide/net`` matches ``guide/net/a.md``, not ``guide/network.md``). ``updated_after`` and
    ``updated_before`` are ISO dates, of which the second is not within. A document without a label matches no
    filter on it. Labels are compared exactly, and also as ``spellings`` has them: pairs of a label's name in the
    index and the other ways in which documents write a value that is asked for ("Acme" where "acme" is).
    """

    project: str
    doc_tags: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    vendor: str = ""
    path_prefix: str = ""
    updated_after: str = ""
    updated_before: str = ""
    environment: str = ""
    repositories: tuple[str, ...] = ()
    spellings: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Labels:
    """What the documents within some filters are labelled with; ``values`` by the label's name in the index.

    ``dates`` are the documents' own, in seconds since 1970; ``undated`` counts the documents without one.
    """

    values: Mapping[str, frozenset[str]]
    dates: tuple[float, ...] = ()
    undated: int = 0

    def spellings(self, name: str, value: str) -> tuple[str, ...]:
        """The ways in which documents write this value of a label, whatever the case; none where none has it."""
        folded = value.casefold()
        return tuple(sorted(one for one in self.values.get(name, ()) if one.casefold() == folded))


@dataclass(frozen=True, slots=True)
class Ranking:
    """The answer of one retrieval: hits best first, and how they came about.

    ``legs`` says which legs answered, ``fusion`` how they were joined ("convex", "rrf", or "none" for a
    single leg), ``warnings`` what the reader should know (a leg was down, the model is still loading), ``walked``
    whether the graph had its part in it, ``stages`` the milliseconds that each stage took.
    ``relevance``: how likely the index holds anything relevant, 0 to 1; None where that is not known.
    """

    hits: tuple[Hit, ...]
    legs: Legs
    fusion: str
    warnings: tuple[str, ...] = ()
    walked: bool = False
    stages: Mapping[str, float] = field(default_factory=dict, compare=False)
    relevance: float | None = None


@dataclass(frozen=True, slots=True)
class ProjectInfo:
    """A project as the catalogue knows it. ``generation`` grows with every change of its index."""

    name: str
    documents: int
    chunks: int
    generation: int
    embedding: str
