"""``planner.multi_perspective`` and ``research.execute``: perspectives of a question, and the evidence of each."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from winnow.server.contracts.base import (
    DESCRIBED,
    Arguments,
    ChunkId,
    Cited,
    CursorText,
    Limit,
    Meta,
    Payload,
    Scope,
    SearchFilters,
)
from winnow.server.contracts.evidence import MAX_MISSING_TERMS, MAX_QUOTE_TOKENS, MissingTerm, Verdict
from winnow.server.contracts.kb import Question, Title
from winnow.server.text.limits import MAX_QUOTE_CHARS

MAX_PERSPECTIVES = 10
# Quotes that are asked for of one perspective; of one that was searched (the question's own has twice as many);
# and of an answer with all of its pages.
MAX_QUOTES_EACH, MAX_QUOTES_FOUND, MAX_EVIDENCE = 10, 20, 100
MAX_RESEARCH_TOKENS = 16_000
MAX_NAMED_SECTIONS = 3

PerspectiveKind = Literal["question", "words", "name", "related", "section", "given"]
PerspectiveId = Annotated[str, StringConstraints(min_length=2, max_length=4)]
_Name = Annotated[str, StringConstraints(max_length=500)]
_Sentence = Annotated[str, StringConstraints(max_length=500)]
_QueryText = Annotated[str, StringConstraints(max_length=1000)]
_Rank = Annotated[int, Field(ge=1, le=MAX_EVIDENCE)]


class PlanPerspectives(Arguments):
    """Arguments of ``planner.multi_perspective``."""

    question: Question = Field(description="the question to plan, in plain words; 2 to 1000 characters")
    max_perspectives: int = Field(default=6, ge=1, le=MAX_PERSPECTIVES, description="the question's own included")
    filters: SearchFilters | None = Field(default=None, description="narrow the documents")
    scope: Scope | None = Field(default=None, description="narrow the server's scope")


class Perspective(Payload):
    """One side of a question: a query, why it is asked, and the sections that suggested it."""

    id: PerspectiveId
    kind: PerspectiveKind
    name: _Name
    query: _QueryText
    reason: _Sentence
    section_ids: list[ChunkId] = Field(max_length=MAX_NAMED_SECTIONS)


class OutlinePart(Payload):
    """A part of an outline, and its perspective."""

    heading: _Name
    perspective: PerspectiveId


class PlanNode(Payload):
    """A question, a perspective or a query in the graph of a plan."""

    id: PerspectiveId
    kind: Literal["question", "perspective", "query"]
    label: _Name


class PlanEdge(Payload):
    """An edge in the graph of a plan: from the question to a perspective, or from that to its query."""

    source: PerspectiveId
    target: PerspectiveId
    relation: Literal["seen_as", "asked_by"]


class PlanGraph(Payload):
    """The question, its perspectives and their queries."""

    nodes: list[PlanNode] = Field(max_length=2 * MAX_PERSPECTIVES + 1)
    edges: list[PlanEdge] = Field(max_length=2 * MAX_PERSPECTIVES)


class PlanAnswer(Payload):
    """Answer of ``planner.multi_perspective``. ``for_a_writer`` is what only a person or a model can add."""

    perspectives: list[Perspective] = Field(max_length=MAX_PERSPECTIVES)
    outline: list[OutlinePart] = Field(max_length=MAX_PERSPECTIVES)
    graph: PlanGraph
    for_a_writer: list[_Sentence] = Field(max_length=10)
    count: int = Field(ge=0, le=MAX_PERSPECTIVES)
    meta: Meta


class GivenPerspective(Arguments):
    """A perspective of the caller: a name for the outline, and the query to search with."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=200)]
    query: Question


class ExecuteResearch(Arguments):
    """Arguments of ``research.execute``."""

    question: Question = Field(description="the question, in plain words; 2 to 1000 characters")
    perspectives: list[GivenPerspective] = Field(
        default_factory=list,
        max_length=MAX_PERSPECTIVES,
        description="search for these instead of the planned ones: name and query of each",
        json_schema_extra=DESCRIBED,
    )
    max_perspectives: int = Field(
        default=5, ge=1, le=MAX_PERSPECTIVES, description="planned ones, the question's own included"
    )
    max_quotes: int = Field(
        default=4,
        ge=1,
        le=MAX_QUOTES_EACH,
        description="quotes of each perspective; twice as many of the question",
    )
    max_quote_tokens: int = Field(default=80, ge=8, le=MAX_QUOTE_TOKENS, description="length of one quote")
    max_tokens: int = Field(
        default=4_000, ge=1_000, le=MAX_RESEARCH_TOKENS, description="length of the answer; the rest has a cursor"
    )
    filters: SearchFilters | None = Field(default=None, description="narrow the documents")
    scope: Scope | None = Field(default=None, description="narrow the server's scope")
    cursor: CursorText | None = Field(
        default=None, description="next_cursor of the last answer, with the same other arguments"
    )


class SearchedPerspective(Payload):
    """A perspective that was searched: how well the documents answer it, and its number of quotes."""

    id: PerspectiveId
    kind: PerspectiveKind
    name: _Name
    query: _QueryText
    reason: _Sentence
    verdict: Verdict
    confidence: float = Field(ge=0, le=1)
    quotes: int = Field(ge=0, le=MAX_QUOTES_FOUND)


class EvidenceRow(Cited):
    """A quote, its source, and the perspectives that found it; ``score`` is by reciprocal rank fusion, 1 the best.

    ``rank`` counts over all pages; the outline names ranks.
    """

    rank: _Rank
    score: float = Field(ge=0, le=1)
    quote: Annotated[str, StringConstraints(max_length=MAX_QUOTE_CHARS)]
    perspectives: list[PerspectiveId] = Field(max_length=MAX_PERSPECTIVES)
    section_id: ChunkId
    document_id: ChunkId
    file: Annotated[str, StringConstraints(max_length=1000)]
    title: Title


class EvidencePart(Payload):
    """A part of an outline, and the ranks of its evidence."""

    heading: _Name
    perspective: PerspectiveId
    evidence: list[_Rank] = Field(max_length=MAX_QUOTES_FOUND)


class Gap(Payload):
    """A perspective that the documents do not answer, or only in part, and the words that no document has."""

    perspective: PerspectiveId
    reason: _Sentence
    missing_terms: list[MissingTerm] = Field(max_length=MAX_MISSING_TERMS)


class ResearchAnswer(Payload):
    """Answer of ``research.execute``."""

    perspectives: list[SearchedPerspective] = Field(max_length=MAX_PERSPECTIVES)
    results: list[EvidenceRow] = Field(max_length=MAX_EVIDENCE)
    outline: list[EvidencePart] = Field(max_length=MAX_PERSPECTIVES)
    gaps: list[Gap] = Field(max_length=MAX_PERSPECTIVES)
    for_a_writer: list[_Sentence] = Field(max_length=10)
    documents: int = Field(ge=0, le=MAX_EVIDENCE)
    next_cursor: CursorText | None
    partial: bool
    limit_reason: Limit
    meta: Meta
