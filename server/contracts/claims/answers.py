"""The answers of the tools of claims.

A row shows claims and no content, because twenty claims cost what one entry would.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, StringConstraints

from winnow.server.contracts.base import Meta, Payload
from winnow.server.contracts.claims.arguments import (
    MAX_ENTRIES,
    ClaimsStatusName,
    EvidenceStatusName,
    IntegrationStatusName,
    StanceName,
)

MAX_TOPICS, MAX_ROW_CLAIMS = 200, 20
PART_CHARS = 8_000  # of a content

# Empty beside an error.
KnownId = Annotated[str, StringConstraints(max_length=64)]
_Number = Annotated[int, Field(ge=1, le=999_999)]
_Count = Annotated[int, Field(ge=0, le=10**12)]
_Share = Annotated[float, Field(ge=0, le=1)]
_Moment = Annotated[str, StringConstraints(max_length=40)]
_ChangeName = Literal["written", "revised", "judged", "approved", "imported", "drifted"]
# Longer than the texts of arguments, some of whose characters an answer replaces.
_Text = Annotated[str, StringConstraints(max_length=2_000)]


class ClaimRow(Payload):
    """A claim in a row. ``verified`` counts verified quotes that support it, ``refuted`` those against it.

    ``author`` is given where a revision by another author than the entry's wrote the claim, "" without a name.
    """

    n: _Number
    text: _Text
    confidence: _Share
    verified: _Count | None = None
    refuted: _Count | None = None
    author: _Text | None = None


class EntryRow(Payload):
    """An entry in a list, without its content. ``claims_total`` is given where not all claims are shown.

    ``author`` wrote it; ``revised_by`` is given where somebody else revised it last, "" without a name.
    """

    entry_id: KnownId
    topic: _Text
    claims: list[ClaimRow] = Field(max_length=MAX_ROW_CLAIMS)
    claims_total: _Count | None = None
    claims_status: ClaimsStatusName
    max_friction: _Share
    integration_status: IntegrationStatusName
    author: _Text | None = None
    revised_by: _Text | None = None
    needs_review: bool | None = None


class FoundEntry(EntryRow):
    """A found entry. ``similarity`` is that of its nearest claim; absent where words alone found it."""

    similarity: _Share | None = None


class ClaimSearchAnswer(Payload):
    """Answer of ``wild_search``. ``mode`` is what answered: "lexical" where there is no model."""

    results: list[FoundEntry] = Field(max_length=MAX_ENTRIES)
    count: _Count
    mode: Literal["semantic", "lexical", "hybrid"]
    meta: Meta


class ContradictionRow(Payload):
    """A verdict that a claim of the entry and one of another contradict each other.

    ``unquoted``: one of the two has no verified quote, so the verdict adds to no friction.
    """

    claim: KnownId
    other: KnownId
    other_text: _Text
    by: _Text
    note: _Text | None = None
    unquoted: bool | None = None


class RelatedEntry(EntryRow):
    """A related entry: how new the asked one is beside it (entropy), and how contradicted (friction)."""

    entropy: _Share
    friction: _Share
    contradictions: list[ContradictionRow] = Field(max_length=20)


class RelatedAnswer(Payload):
    """Answer of ``wild_related``."""

    results: list[RelatedEntry] = Field(max_length=MAX_ENTRIES)
    count: _Count
    meta: Meta


class ClaimsEntry(EntryRow):
    """An entry with all its claims."""

    confidence_avg: _Share


class EntryClaimsAnswer(Payload):
    """Answer of ``wild_claims``, in the order that was asked for. Unknown ids are in ``missing_ids``."""

    entries: list[ClaimsEntry] = Field(max_length=MAX_ENTRIES)
    missing_ids: list[KnownId] = Field(max_length=MAX_ENTRIES)
    meta: Meta


class CheckedQuote(Payload):
    """Evidence of a claim, as it was last checked. ``section_id`` is what kb_read_excerpt takes.

    ``in_full`` is the text of the document where the quote leaves a part of it out.
    """

    quote: _Text
    stance: StanceName
    status: EvidenceStatusName
    document: _Text | None = None
    in_full: _Text | None = None
    section_id: _Text | None = None
    locator: _Text | None = None
    citekey: _Text | None = None
    by: _Text | None = None


class ReadClaim(ClaimRow):
    """A claim with its evidence and what the server noticed. ``friction`` is its own, with the reason for it."""

    evidence: list[CheckedQuote] = Field(max_length=20)
    warnings: list[_Text] | None = Field(default=None, max_length=10)
    friction: _Share | None = None
    friction_why: _Text | None = None
    evidence_entropy: _Share | None = None


class ComparisonRow(Payload):
    """A comparison of the entry with another one."""

    entry_id: KnownId
    entropy: _Share
    friction: _Share
    nearest_claim: KnownId | None = None
    nearest_text: _Text | None = None


class RevisionRow(Payload):
    """A change in the history of the entry. ``by`` is who made it, absent without a name."""

    sequence: _Count
    kind: _ChangeName
    at: _Moment
    by: _Text | None = None


class ReadEntryAnswer(Payload):
    """Answer of ``wild_read``. ``status_why`` explains the status, content goes on at ``next_start_char``.

    Where claims were named, it has these and no content, comparisons, references and revisions.
    """

    entry_id: KnownId
    topic: _Text
    title: _Text
    source: _Text
    author: _Text
    revised_by: _Text | None = None
    content: Annotated[str, StringConstraints(max_length=2 * PART_CHARS)]
    next_start_char: _Count | None
    claims: list[ReadClaim] = Field(max_length=MAX_ROW_CLAIMS)
    claims_total: _Count
    claims_status: ClaimsStatusName
    integration_status: IntegrationStatusName
    status_why: _Text
    max_friction: _Share
    comparisons: list[ComparisonRow] = Field(max_length=10)
    references: list[KnownId] = Field(max_length=50)
    revisions: list[RevisionRow] = Field(max_length=20)
    revision: _Count
    needs_review: bool
    meta: Meta


class StatusBreakdown(Payload):
    """Numbers of entries whose claims the server extracted, or an agent distilled."""

    extracted: _Count
    distilled: _Count


class TopicRow(Payload):
    """A topic. ``claims_status_breakdown`` counts entries by where their claims come from."""

    topic: _Text
    entry_count: _Count
    avg_friction: _Share
    claims_status_breakdown: StatusBreakdown


class TopicsAnswer(Payload):
    """Answer of ``wild_topics``."""

    topics: list[TopicRow] = Field(max_length=MAX_TOPICS)
    count: _Count
    meta: Meta


class FrictionRow(Payload):
    """An entry that others contradict. ``top_contradiction`` is absent where no verdict is recorded."""

    entry_id: KnownId
    topic: _Text
    max_friction: _Share
    integration_status: IntegrationStatusName
    contradiction_count: _Count
    top_contradiction: ContradictionRow | None = None


class FrictionAnswer(Payload):
    """Answer of ``wild_friction``."""

    results: list[FrictionRow] = Field(max_length=MAX_ENTRIES)
    count: _Count
    meta: Meta


class ChangeRow(EntryRow):
    """A change, who made it (absent without a name), and the entry as it is now."""

    sequence: _Count
    kind: _ChangeName
    at: _Moment
    by: _Text | None = None


class RecentAnswer(Payload):
    """Answer of ``wild_recent``: each entry once, with its last change. The next call takes ``next_sequence``."""

    changes: list[ChangeRow] = Field(max_length=MAX_ENTRIES)
    count: _Count
    next_sequence: _Count
    meta: Meta


class IntegrationBreakdown(Payload):
    """Numbers of entries by status."""

    probation: _Count
    integrated: _Count
    contested: _Count


class TopFriction(Payload):
    """A topic by friction."""

    topic: _Text
    avg_friction: _Share


class NotebookStatusAnswer(Payload):
    """Answer of ``wild_status``. ``queue_depth`` counts entries that the model has not compared yet.

    ``contradictions`` counts pairs of claims, quoted or not; absent where the server of notebooks does not say it.
    """

    project: _Text
    total_entries: _Count
    total_claims: _Count
    contradictions: _Count | None = None
    percent_distilled: float = Field(ge=0, le=100)
    queue_depth: _Count
    awaiting_review: _Count
    integration: IntegrationBreakdown
    top_friction: list[TopFriction] = Field(max_length=5)
    last_sequence: _Count
    semantic: bool
    writes: bool
    meta: Meta


class PairRow(Payload):
    """A claim of the entry and one of another entry about the same, which nobody has judged yet."""

    claim: KnownId
    other: KnownId
    other_text: _Text
    similarity: _Share


class WriteAnswer(Payload):
    """Answer of ``wild_write`` and ``wild_revise``.

    ``candidates`` are pairs of claims to judge. Where verdicts alone were recorded, they and claims are left out.
    """

    entry_id: KnownId
    topic: _Text
    revision: _Count
    sequence: _Count
    claims: list[ReadClaim] = Field(max_length=MAX_ROW_CLAIMS)
    claims_status: ClaimsStatusName
    integration_status: IntegrationStatusName
    status_why: _Text
    max_friction: _Share
    needs_review: bool
    candidates: list[PairRow] = Field(max_length=10)
    meta: Meta
