"""``kb.*``: search, excerpts and evidence."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, Field, StringConstraints

from winnow.server.contracts.base import (
    LISTED,
    MAX_TOP_K,
    PREVIEW_CHARS,
    UNLISTED,
    WHOLE,
    Arguments,
    ChunkId,
    Cited,
    CursorText,
    Limit,
    Meta,
    Payload,
    Query,
    Scope,
    SearchFilters,
    Syntax,
)
from winnow.server.contracts.claims.citing import Claimed
from winnow.server.text.limits import MAX_QUOTE_CHARS

MAX_SNIPPET_CHARS = 500
MAX_PAGE_SIZE = 100
MAX_EXCERPT_TOKENS = 800
MAX_EXCERPT_BYTES = 32 * 1024
MAX_QUOTES = 20
MAX_QUOTE_TOKENS = 200
MAX_PASSAGES = 50
# A cursor continues through a ranking only this far: nobody was seen to read further.
MAX_ROWS = 100
# More words of a question than these are not looked up.
MAX_MISSING_TERMS = 16

SearchMode = Literal["auto", "vector_only", "hybrid_local", "multi_hop"]
Verdict = Literal["answered", "partly", "not_found"]
Source = Literal["reranked", "rrf_fusion", "graph_expanded", "vector", "bm25", "hybrid"]


def _check_not_blank(text: str) -> str:
    if len(text.strip()) < 2:
        raise ValueError("blank; say in plain words what to look for")
    return text


Question = Annotated[Query, AfterValidator(_check_not_blank)]
PassageId = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Title = Annotated[str, StringConstraints(max_length=500)]
Milliseconds = Annotated[float | None, Field(ge=0, le=86_400_000)]
MissingTerm = Annotated[str, StringConstraints(max_length=1000)]
Uri = Annotated[str, StringConstraints(max_length=200)]


class KbSearchOptions(Arguments):
    """How ``kb.search`` searches and shows its results."""

    max_snippet_chars: int = Field(
        default=PREVIEW_CHARS, ge=20, le=MAX_SNIPPET_CHARS, description="length of a preview in characters"
    )
    max_per_doc: int = Field(default=1, ge=1, le=MAX_TOP_K, description="results of one document at most")
    include_scores: bool = Field(default=False, description="add the score of each leg to every result")
    include_debug: bool = Field(
        default=False, description="add where each result comes from, and how it was found"
    )
    mode: SearchMode = Field(
        default="auto",
        description="vector_only: vectors and words; hybrid_local: the graph as well; multi_hop: the graph first, "
        "for questions that lead from one page to another; auto: what the server has",
    )


class KbSearch(Arguments):
    """Arguments of ``kb.search``."""

    query: Question = Field(
        description="what to look for, in plain words; 2 to 1000 characters; fields: as in semantic_search"
    )
    top_k: int = Field(default=5, ge=1, le=MAX_TOP_K, description="over all pages", json_schema_extra=LISTED)
    cursor: CursorText | None = Field(
        default=None, description="next_cursor of the last answer, with the same other arguments"
    )
    page_size: int = Field(default=5, ge=1, le=MAX_PAGE_SIZE, description="results in one answer")
    scope: Scope | None = Field(default=None, description="narrow the server's scope")
    filters: SearchFilters | None = Field(default=None, description="narrow the search", json_schema_extra=WHOLE)
    syntax: Syntax = Field(
        default="fields", description="plain: vendor:x and the like are words", json_schema_extra=UNLISTED
    )
    options: KbSearchOptions = Field(default_factory=KbSearchOptions, description="how results are shown")


class ExcerptOptions(Arguments):
    """How an excerpt is shown."""

    format: Literal["text", "bullets"] = Field(
        default="text", description="bullets: one line for each sentence, list item or code block"
    )
    include_citation: bool = Field(default=True, description="say where the excerpt comes from")


class ReadExcerpt(Arguments):
    """Arguments of ``kb.read_excerpt``."""

    passage_id: PassageId = Field(description="id of a passage or of any row", json_schema_extra=LISTED)
    max_tokens: int = Field(default=300, ge=8, le=MAX_EXCERPT_TOKENS, description="length of the excerpt")
    start_char: int = Field(default=0, ge=0, le=10_000_000, description="next_start_char of the last answer")
    scope: Scope | None = Field(default=None, description="narrow the server's scope")
    options: ExcerptOptions = Field(default_factory=ExcerptOptions, description="how the excerpt is shown")


class ExpandExcerpt(Arguments):
    """Arguments of ``kb.expand_excerpt``."""

    passage_id: PassageId = Field(description="id of a passage or of any row")
    before_tokens: int = Field(default=150, ge=0, le=MAX_EXCERPT_TOKENS, description="how much before the passage")
    after_tokens: int = Field(default=150, ge=0, le=MAX_EXCERPT_TOKENS, description="how much after the passage")
    scope: Scope | None = Field(default=None, description="narrow the server's scope")


class _Evidence(Arguments):
    question: Question = Field(description="the question to answer, in plain words; 2 to 1000 characters")
    max_quotes: int = Field(default=6, ge=1, le=MAX_QUOTES, description="how many quotes")
    max_quote_tokens: int = Field(default=80, ge=8, le=MAX_QUOTE_TOKENS, description="length of one quote")
    include_context_tokens: int = Field(
        default=20, ge=0, le=100, description="text around the matching sentence, on each side, within the length"
    )
    scope: Scope | None = Field(default=None, description="narrow the server's scope")
    cursor: CursorText | None = Field(
        default=None, description="next_cursor of the last answer, with the same other arguments"
    )


class ExtractEvidence(_Evidence):
    """Arguments of ``kb.extract_evidence``."""

    passage_ids: list[PassageId] = Field(
        min_length=1,
        max_length=MAX_PASSAGES,
        description="ids of passages or of any rows",
        json_schema_extra=LISTED,
    )


class RetrieveEvidence(_Evidence):
    """Arguments of ``kb.retrieve_evidence``."""

    top_k: int = Field(default=5, ge=1, le=MAX_QUOTES, description="how many passages to quote from")
    filters: SearchFilters | None = Field(default=None, description="narrow the search")
    mode: SearchMode = Field(default="auto", description="as in kb_search options")
    syntax: Syntax = Field(
        default="fields", description="plain: vendor:x and the like are words", json_schema_extra=UNLISTED
    )


class LegScores(Payload):
    """Scores of a result: cosine, BM25, nearness in the graph, then reranking, boost and the fused score."""

    dense: float | None = Field(default=None, ge=-1, le=1)
    lexical: float | None = Field(default=None, ge=0, le=1_000_000)
    graph: float | None = Field(default=None, ge=0, le=1)
    reranked: float | None = Field(default=None, ge=0, le=1)
    boost: float | None = Field(default=None, ge=0, le=100_000)
    fused: float = Field(ge=0, le=1)


class RowDebug(Payload):
    """The document and the position that a result comes from."""

    document_id: ChunkId
    file: Annotated[str, StringConstraints(max_length=1000)]
    type: Annotated[str, StringConstraints(max_length=40)]
    ordinal: int = Field(ge=0, le=10_000_000)
    tokens: int = Field(ge=0, le=1_000_000)


class KbRow(Cited, Claimed):
    """One candidate: its best sentences, and the ids with which to read more."""

    passage_id: PassageId
    section_id: ChunkId
    doc_tag: Annotated[str, StringConstraints(max_length=200)]
    title: Title
    rank: int = Field(ge=1, le=MAX_ROWS)
    score: float = Field(ge=0, le=1)
    source: Source
    preview: Annotated[str, StringConstraints(max_length=MAX_SNIPPET_CHARS)]
    scratch_uri: Uri
    size_bytes: int = Field(ge=0, le=100_000_000)
    anchor: Annotated[str, StringConstraints(max_length=200)] | None
    scores: LegScores | None = None
    debug: RowDebug | None = None


class Stages(Payload):
    """Milliseconds of each stage of a search; absent for a cached ranking."""

    analyse: Milliseconds = None
    embed: Milliseconds = None
    dense: Milliseconds = None
    sparse: Milliseconds = None
    fill: Milliseconds = None
    fuse: Milliseconds = None
    walk: Milliseconds = None
    boost: Milliseconds = None
    rerank: Milliseconds = None
    read: Milliseconds = None


class SearchDebug(Payload):
    """How a search was done."""

    search_mode: Literal["hybrid", "lexical-only", "semantic-only"]
    fusion: Literal["convex", "rrf", "none"]
    walked: bool
    generation: int = Field(ge=0, le=1 << 53)
    duplicates_suppressed: int = Field(ge=0, le=1_000_000)
    relevance: float | None = Field(ge=0, le=1)
    stages_ms: Stages


class KbSearchAnswer(Payload):
    """Answer of ``kb.search``."""

    results: list[KbRow] = Field(max_length=MAX_PAGE_SIZE)
    next_cursor: CursorText | None
    partial: bool
    limit_reason: Limit
    session_id: Annotated[str, StringConstraints(max_length=64)]
    debug: SearchDebug | None = None
    meta: Meta


class Citation(Payload):
    """The source of an excerpt."""

    section_id: ChunkId
    doc_tag: Annotated[str, StringConstraints(max_length=200)]
    title: Title
    uri: Uri


class ExcerptAnswer(Cited):
    """Answer of ``kb.read_excerpt`` and ``kb.expand_excerpt``.

    ``start_char`` and ``next_start_char`` count characters from the start of the passage; text before it in the
    document has negative numbers.
    """

    passage_id: PassageId
    excerpt: Annotated[str, StringConstraints(max_length=MAX_EXCERPT_BYTES)]
    start_char: int = Field(ge=-100_000_000, le=100_000_000)
    truncated: bool
    next_start_char: Annotated[int, Field(ge=0, le=100_000_000)] | None
    citation: Citation | None = None
    meta: Meta


class QuoteRow(Cited):
    """One quote and its source.

    ``confidence`` is the share of the question's terms that the quote contains; ``likeness`` is the similarity in
    meaning of its sentence and the question, where the model was used.
    """

    quote: Annotated[str, StringConstraints(max_length=MAX_QUOTE_CHARS)]
    passage_id: PassageId
    section_id: ChunkId
    title: Title
    uri: Uri
    confidence: float = Field(ge=0, le=1)
    likeness: float | None = Field(default=None, ge=0, le=1)


class Diagnostics(Payload):
    """How many passages were searched for quotes, and how those were found."""

    passages: int = Field(ge=0, le=MAX_PASSAGES)
    search_mode: Literal["hybrid", "lexical-only", "semantic-only", "by-id"]


class EvidenceAnswer(Payload):
    """Answer of ``kb.extract_evidence``."""

    quotes: list[QuoteRow] = Field(max_length=MAX_QUOTES)
    next_cursor: CursorText | None
    partial: bool
    limit_reason: Limit
    missing_ids: list[PassageId] | None = Field(default=None, max_length=MAX_PASSAGES)
    diagnostics: Diagnostics
    meta: Meta


class RetrievedEvidence(EvidenceAnswer):
    """Answer of ``kb.retrieve_evidence``: quotes, and whether they answer the question.

    ``confidence`` is the probability that the documents in scope answer the question; ``verdict`` is drawn from it
    (``server.retrieval.verdict`` has the thresholds). ``missing_terms`` are the words of the question that no
    document in scope has, stop words aside.
    """

    verdict: Verdict
    confidence: float = Field(ge=0, le=1)
    missing_terms: list[MissingTerm] = Field(max_length=MAX_MISSING_TERMS)
