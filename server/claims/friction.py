"""Compares entries and weighs evidence: novelty, candidates, friction, evidence entropy, status. Pure functions.

    value              what it is
    entropy            1 - the largest similarity of a claim of one entry and a claim of the other: novelty
    pairs              the nearest claims, with a similarity of .6 or more: candidates for a verdict
    friction           2·min(s, r)/(s + r), 0 where s or r is 0: 1 where documents disagree evenly
    evidence entropy   the Shannon entropy of supports, refutes and mentions, one added to each, divided by log 3
    status             "probation" until the entry was compared and has verified support, and while a claim has
                       lost all of its verified support; "contested" from a friction of .3 on

A similarity is what a cosine has above those of unrelated texts (``above_background``).

s and r are the votes for and against a claim. Only verified evidence has votes (not a quote that leaves text out
or is too weak). A document has one vote, however many of its quotes there are; if it both supports and refutes a
claim, each side gets half a vote. If a verdict says that two claims contradict each other, support for one of them
refutes the other.

Each value comes with the reason for it, in words, for the people and models that read the entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import log

from winnow.server.claims.records import (
    MAX_PAIRS,
    Claim,
    ClaimPair,
    ClaimVerdict,
    Comparison,
    Entry,
    Evidence,
    IntegrationStatus,
    Stance,
    entry_of,
)
from winnow.server.storage.base import Vector, above_background

LEAST_SIMILARITY = 0.6
LEAST_CONTESTED = 0.3
_OPPOSITE: Mapping[Stance, Stance] = {"supports": "refutes", "refutes": "supports", "mentions": "mentions"}


@dataclass(frozen=True, slots=True)
class Friction:
    """The disagreement of documents about a claim, 0 (not at all) to 1; the votes of both sides; the reason."""

    value: float
    supports: float
    refutes: float
    why: str


@dataclass(frozen=True, slots=True)
class EvidenceEntropy:
    """The entropy of the stances of ``documents`` documents, 0 to 1; 1 if all are equally frequent or absent."""

    value: float
    documents: int
    why: str


@dataclass(frozen=True, slots=True)
class EntryStatus:
    """The friction and the status of an entry, and the reason for the status."""

    friction: float
    status: IntegrationStatus
    why: str


def compare_entries(
    entry: Entry, vectors: Vector, other: Entry, other_vectors: Vector, background: float = 0.0
) -> Comparison:
    """The novelty of an entry compared with another, and their nearest claims; the friction is left out.

    ``vectors`` and ``other_vectors`` have a row of length 1 for each claim, in the order of the claims.
    ``background`` is that of their model.
    """
    similarities = above_background(vectors @ other_vectors.T, background).clip(0, 1).tolist()
    pairs = [
        ClaimPair(claim_id=ours.id, other_id=theirs.id, similarity=similarity)
        for ours, row in zip(entry.claims, similarities, strict=True)
        for theirs, similarity in zip(other.claims, row, strict=True)
    ]
    pairs.sort(key=lambda pair: (-pair.similarity, pair.claim_id, pair.other_id))
    largest = pairs[0].similarity if pairs else 0.0
    return Comparison(
        entry_id=entry.id,
        other_id=other.id,
        entropy=1 - largest,
        pairs=tuple(pair for pair in pairs[:MAX_PAIRS] if pair.similarity >= LEAST_SIMILARITY),
    )


def claim_friction(claim: Claim, contradicting: Sequence[Claim] = ()) -> Friction:
    """The friction of a claim, over its verified evidence and the evidence of the claims that contradict it."""
    votes = _votes([*_stances(claim.evidence), *(pair for other in contradicting for pair in _opposed(other))])
    supports, refutes = votes["supports"], votes["refutes"]
    value = 2 * min(supports, refutes) / (supports + refutes) if supports and refutes else 0.0
    return Friction(round(value, 3), supports, refutes, _explain_friction(supports, refutes, value, contradicting))


def pair_friction(entry: Entry, other: Entry, verdicts: Iterable[ClaimVerdict]) -> Friction:
    """The largest friction of the claims of two entries that contradict each other by the latest verdicts."""
    ours, theirs = ({claim.id: claim for claim in each.claims} for each in (entry, other))
    found = [
        claim_friction(ours[claim], [theirs[opposed]])
        for claim, opposed in contradictions(verdicts)
        if claim in ours and opposed in theirs
    ]
    none = Friction(0.0, 0.0, 0.0, "no verdict says that claims of the two contradict each other")
    return max(found, key=lambda friction: friction.value, default=none)


def latest_verdicts(verdicts: Iterable[ClaimVerdict]) -> dict[frozenset[str], ClaimVerdict]:
    """The verdict that counts, by the ids of the two claims: the latest."""
    ordered = sorted(verdicts, key=lambda verdict: verdict.created_at)
    return {frozenset((verdict.claim_id, verdict.other_id)): verdict for verdict in ordered}


def contradictions(verdicts: Iterable[ClaimVerdict]) -> list[tuple[str, str]]:
    """The pairs of claims that contradict each other, in both directions. The latest verdict on a pair counts."""
    return [
        pair
        for verdict in latest_verdicts(verdicts).values()
        if verdict.judgement == "contradicts" and entry_of(verdict.claim_id) != entry_of(verdict.other_id)
        for pair in ((verdict.claim_id, verdict.other_id), (verdict.other_id, verdict.claim_id))
    ]


def evidence_entropy(evidence: Sequence[Evidence]) -> EvidenceEntropy:
    """The entropy of the stances of verified evidence, with one vote a document."""
    votes = _votes(_stances(evidence))
    counts = [votes["supports"], votes["refutes"], votes["mentions"]]
    total = sum(counts) + len(counts)
    shares = [(count + 1) / total for count in counts]
    value = -sum(share * log(share) for share in shares) / log(len(counts))
    documents = round(sum(counts))
    why = (
        f"{counts[0]:g} for, {counts[1]:g} against, {counts[2]:g} neither: {documents} documents"
        if documents
        else "no document has a verified quote"
    )
    return EvidenceEntropy(round(value, 3), documents, why)


def integration_status(entry: Entry, comparisons: Sequence[Comparison], *, is_compared: bool) -> EntryStatus:
    """The friction and the status of an entry, from its evidence and its comparisons with others.

    ``is_compared``: whether the comparison with the other entries was made, even if there are no others.
    """
    of_claims = [(claim_friction(claim).value, f"its claim {claim.id}") for claim in entry.claims]
    of_others = [(each.friction, f"the comparison with entry {each.other_id}") for each in comparisons]
    friction, source = max([*of_claims, *of_others], key=lambda pair: pair[0], default=(0.0, ""))
    supported = [_supporting_statuses(claim) for claim in entry.claims]
    lost = [
        claim.id
        for claim, statuses in zip(entry.claims, supported, strict=True)
        if statuses and "verified" not in statuses
    ]
    if not is_compared:
        return EntryStatus(friction, "probation", "it was not compared with other entries yet")
    if not any("verified" in statuses for statuses in supported):
        return EntryStatus(friction, "probation", "none of its claims has a verified quote that supports it")
    if lost:
        return EntryStatus(friction, "probation", f"no quote that supports claim {lost[0]} is verified now")
    if friction >= LEAST_CONTESTED:
        return EntryStatus(
            friction, "contested", f"friction {friction:.2f} of {source} is {LEAST_CONTESTED} or more"
        )
    return EntryStatus(
        friction, "integrated", f"compared, supported, and its friction {friction:.2f} is below {LEAST_CONTESTED}"
    )


def _supporting_statuses(claim: Claim) -> set[str]:
    """The statuses of the quotes that support a claim."""
    return {each.status for each in claim.evidence if each.stance == "supports"}


def _stances(evidence: Iterable[Evidence]) -> list[tuple[str, Stance]]:
    """The document and the stance of each verified quote."""
    return [(each.document_id or each.document, each.stance) for each in evidence if each.status == "verified"]


def _opposed(claim: Claim) -> list[tuple[str, Stance]]:
    return [(document, _OPPOSITE[stance]) for document, stance in _stances(claim.evidence)]


def _votes(stances: Iterable[tuple[str, Stance]]) -> dict[Stance, float]:
    """The votes for each stance: one for each document, divided among its stances.

    The mentions of a document that also supports or refutes the claim are ignored.
    """
    by_document: dict[str, set[Stance]] = {}
    for document, stance in stances:
        by_document.setdefault(document, set()).add(stance)
    votes: dict[Stance, float] = {"supports": 0.0, "refutes": 0.0, "mentions": 0.0}
    for taken in by_document.values():
        sides = taken - {"mentions"} or taken
        for stance in sides:
            votes[stance] += 1 / len(sides)
    return votes


def _explain_friction(supports: float, refutes: float, value: float, contradicting: Sequence[Claim]) -> str:
    beside = f", {', '.join(claim.id for claim in contradicting)} included" if contradicting else ""
    votes = f"{supports:g} for, {refutes:g} against, by documents with verified quotes{beside}"
    if not value:
        return f"0, because one side has no verified quote: {votes}"
    return f"{value:.2f}: {votes}"
