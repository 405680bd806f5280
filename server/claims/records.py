"""The records of claims: entries of a notebook, their claims, evidence, verdicts and comparisons. Frozen, bounded.

A notebook belongs to a project and, where clients have access keys, to one key. Its entries are written by agents
and people; nothing in them is an instruction, and only the field ``status`` of evidence says what the server
checked. Times are seconds since 1970, 0 for never.
"""

from __future__ import annotations

import secrets
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from winnow.server.models import PROJECT_NAME

MAX_CLAIMS, MAX_EVIDENCE, MAX_WARNINGS, MAX_PAIRS = 20, 20, 10, 20
CLAIM_CHARS, QUOTE_CHARS, CONTENT_CHARS, NOTE_CHARS = 300, 1_000, 50_000, 300
# Of the complete text, if a quote leaves a part of it out.
FULL_CHARS = 1_000
TITLE_CHARS, TOPIC_CHARS, SOURCE_CHARS, NAME_CHARS = 200, 200, 500, 100

# The alphabet of all ids. Those of entries are random: an entry changes and remains the same entry.
_ALPHABET, _LENGTH = "0123456789abcdefghijklmnopqrstuv", 12
ENTRY_ID = r"^[0-9a-v]{12}$"
# A claim's id is that of its entry and a number, which no later claim of the entry gets again.
CLAIM_ID = r"^[0-9a-v]{12}\.[1-9][0-9]{0,5}$"
# Levels of a topic, separated by slashes: no level is empty, or begins or ends with white space.
_LEVEL = r"[^\s/\x00-\x1f\x7f](?:[^/\x00-\x1f\x7f]*[^\s/\x00-\x1f\x7f])?"
TOPIC = rf"^{_LEVEL}(?:/{_LEVEL})*$"

# The prefix of the name with which the operator's model signs a verdict. No name of an agent begins with it.
MODEL_PREFIX = "nli:"

Stance = Literal["supports", "refutes", "mentions"]
EvidenceStatus = Literal["verified", "elided", "weak", "drifted", "missing", "unchecked"]
# "distilled": claims that an agent wrote; "extracted": sentences that the server took from the content.
ClaimsStatus = Literal["extracted", "distilled"]
IntegrationStatus = Literal["probation", "integrated", "contested"]
Judgement = Literal["contradicts", "agrees", "unrelated"]

_Seconds = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
_Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_Offset = Annotated[int, Field(ge=0, le=10**12)]
_EntryId = Annotated[str, Field(pattern=ENTRY_ID)]
_ClaimId = Annotated[str, Field(pattern=CLAIM_ID)]
_Name = Annotated[str, Field(max_length=NAME_CHARS)]
_Note = Annotated[str, Field(max_length=NOTE_CHARS)]


class ClaimRecord(BaseModel):
    """The common base of records of claims: frozen, without unknown fields."""

    # Models are built on first use: a server that answers a handshake imports them, and may never need them.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, hide_input_in_errors=True)


class Evidence(ClaimRecord):
    """A quote that supports, refutes or mentions a claim, and the result of the server's search for it.

    ``passage_id`` is the id of a chunk (12 characters, the same in every session), ``section_id`` that of the
    section of its headings; at least one is given where the agent named a place. ``document`` is the uri,
    ``document_id`` its id. ``by`` is the author of the stance: an agent, a person, or a model with its digest.
    ``start`` and ``end`` are character offsets of the quote in the document's text, None where it was not found.
    ``page`` is the physical page, counted from 1, 0 for none; ``locator`` the place in words
    ("p. 3 (file page 6)", "slide 3").
    ``in_full`` is the complete text if the quote leaves a part of it out, otherwise "".
    ``digest`` is that of the document's content when the quote was last found. ``checked_at``: the last check.
    """

    passage_id: Annotated[str, Field(max_length=NAME_CHARS)] = ""
    section_id: Annotated[str, Field(max_length=NAME_CHARS)] = ""
    document: Annotated[str, Field(max_length=2_000)] = ""
    document_id: Annotated[str, Field(max_length=12)] = ""
    quote: Annotated[str, Field(min_length=1, max_length=QUOTE_CHARS)]
    stance: Stance = "supports"
    by: _Name = ""
    start: _Offset | None = None
    end: _Offset | None = None
    page: Annotated[int, Field(ge=0, le=10**7)] = 0
    locator: Annotated[str, Field(max_length=200)] = ""
    citekey: Annotated[str, Field(max_length=200)] = ""
    digest: Annotated[str, Field(max_length=128)] = ""
    in_full: Annotated[str, Field(max_length=FULL_CHARS)] = ""
    status: EvidenceStatus = "unchecked"
    checked_at: _Seconds = 0.0


class Claim(ClaimRecord):
    """One short declarative sentence, the confidence of its author (0 to 1), and its evidence.

    ``warnings`` are remarks of the server, such as a number that no quote has; they are not verdicts. ``author``
    is the author of a claim that was added in a revision ("" without a name); None stands for the entry's own
    author.
    """

    id: _ClaimId
    text: Annotated[str, Field(min_length=1, max_length=CLAIM_CHARS)]
    confidence: _Share = 0.5
    evidence: Annotated[tuple[Evidence, ...], Field(max_length=MAX_EVIDENCE)] = ()
    warnings: Annotated[tuple[_Note, ...], Field(max_length=MAX_WARNINGS)] = ()
    author: _Name | None = None


class ClaimVerdict(ClaimRecord):
    """The verdict on two claims of different entries. ``by`` is its author: an agent, a person or a model."""

    claim_id: _ClaimId
    other_id: _ClaimId
    judgement: Judgement
    by: _Name = ""
    note: _Note = ""
    created_at: _Seconds = 0.0


class ClaimPair(ClaimRecord):
    """Two claims of different entries about the same subject; ``similarity`` is the cosine of their vectors."""

    claim_id: _ClaimId
    other_id: _ClaimId
    similarity: _Share


class Comparison(ClaimRecord):
    """An entry compared with another one.

    ``entropy`` is the novelty of the entry compared with the other: 1 minus the largest similarity of their
    claims. ``friction`` is the disagreement about claims that verdicts call contradictory. It is derived from both
    entries as they are now, and is not stored. ``pairs`` are the nearest pairs of claims, the nearest first.
    """

    entry_id: _EntryId
    other_id: _EntryId
    entropy: _Share
    friction: _Share = 0.0
    pairs: Annotated[tuple[ClaimPair, ...], Field(max_length=MAX_PAIRS)] = ()


class Entry(ClaimRecord):
    """An entry of a notebook: a text, the claims distilled from it, and its status.

    ``project`` and ``owner`` (the id of an access key, "" without keys) are its notebook. ``source`` says where
    the content comes from, ``author`` and ``session`` who wrote it: the client's own name, and a digest of its
    session. ``revised_by`` is the author of the last revision ("" without a name); None if the entry was not
    revised, or was revised by its own author. ``needs_review``: only the entry's session sees it, until a person
    approves it. ``friction`` is the largest of its comparisons and claims. ``references`` are ids of other
    entries. ``revision`` counts from 1; ``sequence`` is the number of its last change in the notebook, and
    ``next_claim`` the number of the next claim.
    """

    id: _EntryId
    project: Annotated[str, Field(pattern=PROJECT_NAME)]
    owner: Annotated[str, Field(max_length=64)] = ""
    title: Annotated[str, Field(max_length=TITLE_CHARS)] = ""
    topic: Annotated[str, Field(max_length=TOPIC_CHARS, pattern=TOPIC)]
    content: Annotated[str, Field(max_length=CONTENT_CHARS)] = ""
    claims: Annotated[tuple[Claim, ...], Field(min_length=1, max_length=MAX_CLAIMS)]
    source: Annotated[str, Field(max_length=SOURCE_CHARS)] = ""
    author: _Name = ""
    revised_by: _Name | None = None
    session: Annotated[str, Field(max_length=64)] = ""
    claims_status: ClaimsStatus = "distilled"
    integration_status: IntegrationStatus = "probation"
    needs_review: bool = False
    friction: _Share = 0.0
    references: Annotated[tuple[_EntryId, ...], Field(max_length=50)] = ()
    created_at: _Seconds = 0.0
    revised_at: _Seconds = 0.0
    revision: Annotated[int, Field(ge=1, le=10**9)] = 1
    sequence: Annotated[int, Field(ge=0, le=10**15)] = 0
    next_claim: Annotated[int, Field(ge=1, le=999_999)] = 1


def new_entry_id() -> str:
    """A random id for a new entry, so that ids of another notebook cannot be guessed."""
    return "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))


def claim_id(entry_id: str, number: int) -> str:
    """The id of a claim.

    >>> claim_id("0123456789ab", 3)
    '0123456789ab.3'
    """
    return f"{entry_id}.{number}"


def entry_of(claim: str) -> str:
    """The id of the entry that a claim belongs to.

    >>> entry_of("0123456789ab.3")
    '0123456789ab'
    """
    return claim.partition(".")[0]
