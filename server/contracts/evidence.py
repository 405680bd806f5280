"""``kb.extract_evidence`` and ``kb.retrieve_evidence``: quotes, and whether they answer the question."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from winnow.server.contracts.base import (
    DESCRIBED,
    UNLISTED,
    Arguments,
    ChunkId,
    Cited,
    CursorText,
    Limit,
    Meta,
    Payload,
    Scope,
    SearchFilters,
    Syntax,
)
from winnow.server.contracts.kb import PassageId, Question, SearchMode, Title, Uri
from winnow.server.text.limits import MAX_QUOTE_CHARS

MAX_QUOTES = 20
MAX_QUOTE_TOKENS = 200
MAX_PASSAGES = 50
# More words of a question than these are not looked up.
MAX_MISSING_TERMS = 16

Verdict = Literal["answered", "partly", "not_found"]
MissingTerm = Annotated[str, StringConstraints(max_length=1000)]


class _Evidence(Arguments):
    question: Question = Field(description="the question to answer, in plain words; 2 to 1000 characters")
    max_quotes: int = Field(
        default=6,
        ge=1,
        le=MAX_QUOTES,
        description="how many; without it up to 6 near the best",
    )
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
        json_schema_extra=DESCRIBED,
    )


class RetrieveEvidence(_Evidence):
    """Arguments of ``kb.retrieve_evidence``."""

    top_k: int = Field(default=5, ge=1, le=MAX_QUOTES, description="how many passages to quote from")
    filters: SearchFilters | None = Field(default=None, description="narrow the search")
    mode: SearchMode = Field(default="auto", description="as in kb_search options")
    syntax: Syntax = Field(
        default="fields", description="plain: vendor:x and the like are words", json_schema_extra=UNLISTED
    )


class QuoteRow(Cited):
    """One quote and its source.

    ``confidence`` is the share of the question's terms that the quote contains. ``likeness``, in scripts alone, is
    the similarity in meaning of its sentence and the question, where the model was used. ``file`` is the path of
    its document.
    """

    quote: Annotated[str, StringConstraints(max_length=MAX_QUOTE_CHARS)]
    passage_id: PassageId
    section_id: ChunkId
    title: Title
    uri: Uri
    confidence: float = Field(ge=0, le=1)
    likeness: float | None = Field(default=None, ge=0, le=1)
    file: Annotated[str, StringConstraints(max_length=1000)] | None = None


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
    (``server.retrieval.answer_verdict`` has the thresholds). ``missing_terms`` are the words of the question that
    no document in scope has, stop words aside.
    """

    verdict: Verdict
    confidence: float = Field(ge=0, le=1)
    missing_terms: list[MissingTerm] = Field(max_length=MAX_MISSING_TERMS)
