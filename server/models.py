"""The records of the knowledge base: documents, chunks, hits, filters. Frozen, without behaviour."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

DocumentType = Literal[
    "markdown", "text", "html", "rst", "manual", "code", "record",
    "pdf", "word", "slides", "sheet", "book", "notebook", "mail", "subtitles", "image",
]  # fmt: skip
PlaceKind = Literal["page", "slide", "sheet", "chapter", "cell", "message", "time"]
Environment = Literal["dev", "prod", "scratch"]
CitationStyle = Literal[
    "pandoc", "apa", "chicago", "harvard", "ieee", "mla", "vancouver", "bibtex", "csl-json", "markdown"
]
# Why a person does not see a run of text, in the words of reports.
HiddenReason = Literal[
    "invisible", "transparent", "colour of its background", "too small", "off the page", "clipped away",
    "set as hidden", "hidden slide", "hidden sheet",
]  # fmt: skip
PROJECT_NAME = r"^[A-Za-z0-9][A-Za-z0-9._/-]{0,63}$"
PROJECT_NAME_IN_WORDS = (
    "at most 64 letters (A-Z, a-z), digits and . _ - /, of which the first is a letter or a digit"
)
Legs = Literal["hybrid", "lexical-only", "semantic-only"]
# What a text must hold: at least one text of each clause, in which ASCII letters stand for both of their cases.
NeededTexts = Sequence[tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Document:
    """A document as its reader produced it.

    ``id`` is derived from (project, uri). ``uri`` is what a person recognises: the path below the ingested
    folder, or ``corpus.jsonl#4983`` for a record. ``source`` is the ingested root the document came from.
    ``created`` is an ISO-8601 date, or "" if the source states none. ``metadata`` holds JSON scalars and
    lists of them: front matter or a record's own metadata, nested fields under dotted names. ``environment``
    ("dev", "prod", "scratch", or another text from the source) and ``repository`` are labels by which a scope is
    enforced, "" for none. ``language`` (ISO 639-1) is the detected language of its text, "" if unknown.
    ``body_start`` is the length of the front matter that its text begins with, fences included.
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
    body_start: int = 0


@dataclass(frozen=True, slots=True)
class Place:
    """A part of a file, such as a page, and where its text begins in the document's text.

    It ends where the next place begins. ``start`` is a character offset into the document's text. ``number``
    counts places of this kind from 1, as viewers of such files do. ``label`` is what the file calls it: the
    printed page number, the name of a sheet, the title of a chapter or slide, the subject of a message, a time
    ("00:01:02.500"). ``rows`` are the first and the last row of a part of a sheet, counted from 1.
    """

    start: int
    kind: PlaceKind
    number: int
    label: str = ""
    rows: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """The reading of a file: its reader, and what did not become text.

    ``pages`` counts pages, slides or sheets; 0 for files without them. ``hidden_runs`` counts runs of text that
    a person does not see, ``hidden_kept`` says whether they are in the text. ``needs_ocr`` are the pages without
    text of their own, ``ocr_pages`` counts those that were read by OCR. ``attachments`` are names of files within
    the file, which are not read. ``notes`` are sentences about what was left out. ``hidden_reasons`` counts the
    hidden runs by reason; documents of an older index have none.
    """

    reader: str
    pages: int = 0
    hidden_runs: int = 0
    hidden_kept: bool = False
    needs_ocr: tuple[int, ...] = ()
    ocr_pages: int = 0
    attachments: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    hidden_reasons: Mapping[HiddenReason, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A document, the number of its chunks, and of their tokens."""

    document: Document
    passages: int
    tokens: int


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
    """A chunk with its document and the places that it is in: everything that a row is rendered from."""

    chunk: Chunk
    document: Document
    places: tuple[Place, ...] = ()


@dataclass(frozen=True, slots=True)
class DocumentText:
    """A document's whole text as UTF-8, with the number of its chunks.

    ``number`` counts from 0 the documents that were asked for, in the order of their uris.
    """

    number: int
    id: str
    uri: str
    source: str
    title: str
    data: bytes
    chunks: int


@dataclass(frozen=True, slots=True)
class ExcludedText:
    """A document whose text cannot have what is looked for: an index rules it out, and it was not read.

    ``number`` as in ``DocumentText``; ``chunks`` and ``characters`` are its numbers of these.
    """

    number: int
    chunks: int
    characters: int


@dataclass(frozen=True, slots=True)
class DocumentReading:
    """A document's path, source, type, and the number of its characters and chunks.

    ``reading`` is None for files of text.
    """

    uri: str
    source: str
    type: DocumentType
    characters: int
    chunks: int
    reading: Reading | None


@dataclass(frozen=True, slots=True)
class ChunkSpan:
    """The place of a chunk: character offsets into its document's text."""

    id: str
    start: int
    end: int
    heading_path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Hit:
    """One ranked chunk.

    ``score`` is the fused score, combined with the graph's if the graph was used; ``dense``, ``lexical`` and
    ``graph`` (0..1) are the scores of the parts, where known. ``is_expanded``: only the graph found this chunk.
    ``before``: the fused score without the graph's; None if the graph was not used. ``boost``: the factor of its
    document; ``reranked``: the score of the second stage (0..1).
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
        """A copy with another score. Called a hundred times per ranking: ``replace`` takes three times as long."""
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
class NumberRange:
    """The numbers from ``low`` to ``high``, both included; None for no bound."""

    low: float | None = None
    high: float | None = None

    def __contains__(self, number: float) -> bool:
        return (self.low is None or number >= self.low) and (self.high is None or number <= self.high)

    def __str__(self) -> str:
        low, high = ("" if bound is None else f"{bound:g}" for bound in (self.low, self.high))
        return f"{low}..{high}"


@dataclass(frozen=True, slots=True)
class Filters:
    """The filters of a search, applied by the index. An empty value does not restrict.

    ``tags`` must all be present; ``doc_tags``, ``types`` and ``repositories`` match any; ``path_prefix`` ends
    at a path segment (``guide/net`` matches ``guide/net/a.md``, not ``guide/network.md``). ``updated_after`` and
    ``updated_before`` are ISO dates, the second exclusive. A document without a label matches no filter on it.
    Labels are compared exactly, and also with ``spellings``: pairs of a label's name in the index and another
    spelling of the requested value that documents use ("Acme" for "acme").

    ``path`` is a glob or a plain prefix of the uri (see ``server.text.matching``). ``where`` are pairs of a
    field's whole name and folded texts, one of which the field must have, or a range in which it must have a
    number. An index cannot apply these two:
    ``within`` has the paths of the documents that they match; None where they are not resolved.
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
    path: str = ""
    where: tuple[tuple[str, tuple[str, ...] | NumberRange], ...] = ()
    within: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of the documents that match some filters; ``values`` by the label's name in the index.

    ``dates`` are the documents' own, in seconds since 1970; ``undated`` counts the documents without one.
    """

    values: Mapping[str, frozenset[str]]
    dates: tuple[float, ...] = ()
    undated: int = 0


StepName = Literal["dense", "lexical", "fusion", "graph", "reranker", "boosts", "phrases", "diversity"]


@dataclass(frozen=True, slots=True)
class RankingStep:
    """One stage of a recorded ranking.

    ``scores``: the chunks that it returned, in their order after it, and their scores. ``parts``: what each part
    of the stage gave a chunk, by the name of the part. The parts of "boosts" are factors of the score before; of
    the other stages they are addends of the score. ``facts``: weights and limits that hold for all chunks.
    """

    name: StepName
    scores: Mapping[str, float]
    parts: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    facts: Mapping[str, float | str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Ranking:
    """The result of one retrieval: hits best first, and how they were found.

    ``legs``: the legs that answered. ``fusion``: how they were combined ("convex", "rrf", or "none" for a single
    leg). ``warnings``: for the reader (a leg was down, the model is still loading). ``walked``: whether the graph
    was used. ``stages``: milliseconds by stage. ``relevance``: the probability that the index contains anything
    relevant, 0 to 1; None if unknown. ``steps``: its stages in order, if they were to be recorded.
    """

    hits: tuple[Hit, ...]
    legs: Legs
    fusion: str
    warnings: tuple[str, ...] = ()
    walked: bool = False
    stages: Mapping[str, float] = field(default_factory=dict, compare=False)
    relevance: float | None = None
    steps: tuple[RankingStep, ...] = ()


# The name of the lexical leg's model: BM25 over stemmed words (``server.retrieval.lexical``). Every point has it.
SPARSE_MODEL = "winnow/bm25"


@dataclass(frozen=True, slots=True)
class CollectionFacts:
    """A vector engine's report on the collection that holds a project's points.

    ``size`` counts the points that some filters admit, exactly. ``vectors`` are the names of the vectors that a
    point may have. ``indexes`` are the keys of the payload with an index, and its kind ("keyword", "float").
    ``on_disk_vectors`` and ``on_disk_hnsw``: whether the vectors and the search graph are read from disk when a
    search needs them, instead of being held in memory. ``sample`` are the ids and payloads of some chunks.
    """

    size: int
    vectors: frozenset[str]
    indexes: Mapping[str, str]
    on_disk_vectors: bool
    on_disk_hnsw: bool
    sample: Sequence[tuple[str, Mapping[str, Any]]] = ()


@dataclass(frozen=True, slots=True)
class ProjectInfo:
    """A project in the catalogue. ``generation`` grows with every change of its index.

    ``embedding`` is the fingerprint of the model that all its vectors come from, "" for none or several.
    ``changed`` is the time of the last change (ISO 8601, UTC), "" if that is unknown.
    """

    name: str
    documents: int
    chunks: int
    generation: int
    embedding: str
    changed: str = ""


@dataclass(frozen=True, slots=True)
class WantedText:
    """A text to mark on a page, and how often the same text stands before it on its page."""

    text: str
    repeats_before: int = 0
