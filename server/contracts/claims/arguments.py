"""The arguments of the tools of claims.

An entry of a notebook has a topic, a content and 1 to 20 claims. The number ``n`` of a claim stays its own;
"ENTRY.N" names it.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from winnow.server.contracts.base import DESCRIBED, WHOLE, Arguments, Query

MAX_ENTRIES = 50
MAX_CONTENT_CHARS = 50_000

ClaimsStatusName = Literal["extracted", "distilled"]
IntegrationStatusName = Literal["probation", "integrated", "contested"]
StanceName = Literal["supports", "refutes", "mentions"]
EvidenceStatusName = Literal["verified", "elided", "weak", "drifted", "missing", "unchecked"]
JudgementName = Literal["contradicts", "agrees", "unrelated"]

EntryId = Annotated[str, StringConstraints(min_length=1, max_length=64)]
ClaimName = Annotated[str, StringConstraints(min_length=1, max_length=64)]
TopicPrefix = Annotated[str, StringConstraints(max_length=200)]
_Project = Annotated[str, StringConstraints(min_length=1, max_length=64)]
_Topic = Annotated[str, StringConstraints(min_length=1, max_length=200)]
_ClaimText = Annotated[str, StringConstraints(min_length=3, max_length=300)]
_Quote = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]
_PassageId = Annotated[str, StringConstraints(max_length=64)]
_Title = Annotated[str, StringConstraints(max_length=200)]
_Source = Annotated[str, StringConstraints(max_length=500)]
_Author = Annotated[str, StringConstraints(max_length=100)]
_Note = Annotated[str, StringConstraints(max_length=300)]
_Content = Annotated[str, StringConstraints(max_length=MAX_CONTENT_CHARS)]
_Number = Annotated[int, Field(ge=1, le=999_999)]
_Count = Annotated[int, Field(ge=0, le=10**12)]
_Share = Annotated[float, Field(ge=0, le=1)]


class _InNotebook(Arguments):
    project: _Project | None = Field(
        default=None, description="project of the notebook; default: the server's", json_schema_extra=DESCRIBED
    )


class ClaimSearch(_InNotebook):
    """Arguments of ``wild_search``."""

    query: Query = Field(description="what to look for, in plain words", json_schema_extra=DESCRIBED)
    mode: Literal["semantic", "lexical", "hybrid"] = Field(
        default="hybrid", description="by meaning, by parts of words, or both", json_schema_extra=DESCRIBED
    )
    top_k: int = Field(
        default=10, ge=1, le=MAX_ENTRIES, description="how many entries", json_schema_extra=DESCRIBED
    )
    topic_prefix: TopicPrefix | None = Field(
        default=None, description='only this topic and those below: "memory/paging"', json_schema_extra=DESCRIBED
    )
    integration_status: IntegrationStatusName | None = Field(
        default=None, description="only entries of this status", json_schema_extra=DESCRIBED
    )
    min_similarity: _Share = Field(
        default=0.3, description="least similarity by meaning, 0 to 1", json_schema_extra=DESCRIBED
    )
    max_claims: int = Field(default=5, ge=1, le=20, description="claims shown of each entry, the nearest first")


class RelatedEntries(_InNotebook):
    """Arguments of ``wild_related``."""

    entry_id: EntryId = Field(description="entry_id of a row", json_schema_extra=DESCRIBED)
    direction: Literal["similar", "contradicts", "all"] = Field(
        default="all",
        description="entries about the same, those that contradict it, or both",
        json_schema_extra=DESCRIBED,
    )
    max_results: int = Field(
        default=10, ge=1, le=MAX_ENTRIES, description="how many entries", json_schema_extra=DESCRIBED
    )


class EntryClaims(_InNotebook):
    """Arguments of ``wild_claims``."""

    entry_ids: list[EntryId] = Field(
        min_length=1, max_length=MAX_ENTRIES, description="entry_id of rows", json_schema_extra=DESCRIBED
    )


class ReadEntry(_InNotebook):
    """Arguments of ``wild_read``."""

    entry_id: EntryId = Field(description="entry_id of a row", json_schema_extra=DESCRIBED)
    claims: list[_Number] = Field(
        default_factory=list,
        max_length=20,
        description="n of claims: these with their quotes, without the rest of the entry",
        json_schema_extra=DESCRIBED,
    )
    start_char: int = Field(
        default=0, ge=0, le=MAX_CONTENT_CHARS, description="where the content is read on: next_start_char"
    )


class ListTopics(_InNotebook):
    """Arguments of ``wild_topics``."""

    prefix: TopicPrefix | None = Field(
        default=None, description="only this topic and those below", json_schema_extra=DESCRIBED
    )
    min_entries: int = Field(
        default=1, ge=1, le=1_000_000, description="only topics with so many entries", json_schema_extra=DESCRIBED
    )


class FindFriction(_InNotebook):
    """Arguments of ``wild_friction``."""

    min_friction: _Share = Field(
        default=0.3,
        description="least friction, 0 to 1, of entries without a verdict",
        json_schema_extra=DESCRIBED,
    )
    topic_prefix: TopicPrefix | None = Field(
        default=None, description="only this topic and those below", json_schema_extra=DESCRIBED
    )
    integration_status: IntegrationStatusName | None = Field(
        default=None, description="only entries of this status: contested", json_schema_extra=DESCRIBED
    )
    limit: int = Field(
        default=10, ge=1, le=MAX_ENTRIES, description="how many entries", json_schema_extra=DESCRIBED
    )


class RecentChanges(_InNotebook):
    """Arguments of ``wild_recent``."""

    since_sequence: _Count = Field(
        default=0,
        description="changes after this one: next_sequence of the last call",
        json_schema_extra=DESCRIBED,
    )
    limit: int = Field(
        default=20, ge=1, le=MAX_ENTRIES, description="how many changes", json_schema_extra=DESCRIBED
    )


class NotebookStatus(_InNotebook):
    """Arguments of ``wild_status``."""


class GivenEvidence(Arguments):
    """A quote and where it stands; the server looks for it there."""

    passage_id: _PassageId | None = Field(
        default=None, description="passage_id of a row", json_schema_extra=DESCRIBED
    )
    section_id: _PassageId | None = Field(
        default=None, description="id or section_id of a row, which lasts", json_schema_extra=DESCRIBED
    )
    quote: _Quote = Field(description="word for word", json_schema_extra=DESCRIBED)
    stance: StanceName = Field(default="supports", description="of the quote", json_schema_extra=DESCRIBED)

    @property
    def place(self) -> str:
        """The id of the passage."""
        return self.passage_id or self.section_id or ""


class GivenClaim(Arguments):
    """A claim: one short declarative sentence."""

    text: _ClaimText = Field(description="one declarative sentence", json_schema_extra=DESCRIBED)
    confidence: _Share = Field(default=0.8, description="0 to 1", json_schema_extra=DESCRIBED)
    evidence: list[GivenEvidence] = Field(
        default_factory=list, max_length=20, description="quotes of documents", json_schema_extra=WHOLE
    )


class WriteEntry(_InNotebook):
    """Arguments of ``wild_write``."""

    topic: _Topic = Field(description='levels separated by slashes: "memory/paging"', json_schema_extra=DESCRIBED)
    claims: list[GivenClaim] = Field(
        default_factory=list,
        max_length=20,
        description="1 to 20; without any, sentences of content are taken",
        json_schema_extra=WHOLE,
    )
    content: _Content = Field(default="", description="the text behind the claims", json_schema_extra=DESCRIBED)
    title: _Title = Field(default="", description="title", json_schema_extra=DESCRIBED)
    source: _Source = Field(default="", description="where the content comes from", json_schema_extra=DESCRIBED)
    author: _Author = Field(default="", description="who writes it: your own name", json_schema_extra=DESCRIBED)
    references: list[EntryId] = Field(
        default_factory=list,
        max_length=50,
        description="other entries that it refers to",
        json_schema_extra=DESCRIBED,
    )


class AddedEvidence(GivenEvidence):
    """Evidence for a claim that the entry has."""

    claim: _Number = Field(description="n of the claim", json_schema_extra=DESCRIBED)


class GivenVerdict(Arguments):
    """What you judge about a claim of this entry and one of another entry."""

    claim: _Number = Field(description="n of the claim of this entry", json_schema_extra=DESCRIBED)
    other: ClaimName = Field(description="claim of another entry: ENTRY_ID.N", json_schema_extra=DESCRIBED)
    judgement: JudgementName = Field(description="what you judge", json_schema_extra=DESCRIBED)
    note: _Note = Field(default="", description="why", json_schema_extra=DESCRIBED)


class ReviseEntry(_InNotebook):
    """Arguments of ``wild_revise``: what is left out stays as it is."""

    entry_id: EntryId = Field(description="entry_id of a row", json_schema_extra=DESCRIBED)
    revision: int | None = Field(
        default=None, ge=1, le=10**9, description="the revision you read; an error if it was revised since"
    )
    topic: _Topic | None = Field(default=None, description="another topic", json_schema_extra=DESCRIBED)
    title: _Title | None = Field(default=None, description="another title")
    content: _Content | None = Field(default=None, description="another content", json_schema_extra=DESCRIBED)
    source: _Source | None = Field(default=None, description="another source", json_schema_extra=DESCRIBED)
    author: _Author = Field(default="", description="who revises it: your own name", json_schema_extra=DESCRIBED)
    claims: list[GivenClaim] = Field(
        default_factory=list,
        max_length=20,
        description="claims in place of all that it has",
        json_schema_extra=WHOLE,
    )
    evidence: list[AddedEvidence] = Field(
        default_factory=list, max_length=20, description="more evidence for its claims", json_schema_extra=WHOLE
    )
    verdicts: list[GivenVerdict] = Field(
        default_factory=list,
        max_length=20,
        description="judgements about pairs of claims",
        json_schema_extra=WHOLE,
    )
