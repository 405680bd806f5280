"""Entries as rows of answers. Every text in a row is one printable line: what an agent wrote is data."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from winnow.server.claims.friction import claim_friction, evidence_entropy
from winnow.server.claims.records import Claim, ClaimVerdict, Entry, Evidence, entry_of
from winnow.server.claims.store import Change
from winnow.server.contracts.claims.answers import MAX_ROW_CLAIMS
from winnow.server.text.printable import one_line

_SHARE_DIGITS = 3
_BY_AUTHORS = frozenset({"written", "revised"})


def share(value: float) -> float:
    """A number from 0 to 1 as rows have it."""
    return round(min(max(value, 0.0), 1.0), _SHARE_DIGITS)


def number_of(claim: Claim) -> int:
    """The number of a claim within its entry."""
    return int(claim.id.rpartition(".")[2])


def moment(at: float) -> str:
    """A time as rows have it: ISO 8601, UTC, in seconds."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def claim_row(claim: Claim) -> dict[str, Any]:
    """A claim in a list."""
    counts = {
        name: sum(each.status == "verified" and each.stance == stance for each in claim.evidence)
        for name, stance in (("verified", "supports"), ("refuted", "refutes"))
    }
    return {
        "n": number_of(claim),
        "text": one_line(claim.text),
        "confidence": round(claim.confidence, 2),
        **{name: count for name, count in counts.items() if count},
        **({"author": one_line(claim.author)} if claim.author is not None else {}),
    }


def entry_row(entry: Entry, most: int = MAX_ROW_CLAIMS, first: str = "") -> dict[str, Any]:
    """An entry in a list, with at most so many claims; that with the id ``first`` stands before the others."""
    claims = sorted(entry.claims, key=lambda claim: claim.id != first)[:most]
    return {
        "entry_id": entry.id,
        "topic": one_line(entry.topic),
        "claims": [claim_row(claim) for claim in claims],
        **({"claims_total": len(entry.claims)} if len(claims) < len(entry.claims) else {}),
        "claims_status": entry.claims_status,
        "max_friction": share(entry.friction),
        "integration_status": entry.integration_status,
        **({"author": one_line(entry.author)} if entry.author else {}),
        **({"revised_by": one_line(entry.revised_by)} if entry.revised_by is not None else {}),
        **({"needs_review": True} if entry.needs_review else {}),
    }


def change_row(change: Change) -> dict[str, Any]:
    """A change of a notebook; ``by`` is who made it, left out where nobody gave a name."""
    by = _maker(change)
    return {
        "sequence": change.sequence,
        "kind": change.kind,
        "at": moment(change.at),
        **({"by": one_line(by)} if by else {}),
    }


def _maker(change: Change) -> str:
    try:
        body = json.loads(change.body)
    except ValueError:  # an altered history, which winnow claims check names
        return ""
    if not isinstance(body, dict):
        return ""
    if change.kind == "judged":
        return str(body.get("by", ""))
    if change.kind not in _BY_AUTHORS:
        return ""
    # A revision that an earlier version recorded does not say who made it.
    reviser = body.get("revised_by", "" if change.kind == "revised" else None)
    return str(body.get("author", "") if reviser is None else reviser)


def evidence_row(evidence: Evidence) -> dict[str, Any]:
    """Evidence of a claim."""
    known = {
        "document": evidence.document,
        "section_id": evidence.passage_id,
        "locator": evidence.locator,
        "citekey": evidence.citekey,
        "by": evidence.by,
    }
    return {
        "quote": one_line(evidence.quote, 1_000),
        "stance": evidence.stance,
        "status": evidence.status,
        **({"in_full": one_line(evidence.in_full)} if evidence.in_full else {}),
        **{name: one_line(value) for name, value in known.items() if value},
    }


def read_claim(claim: Claim, contradicting: Sequence[Claim] = (), judges: Sequence[str] = ()) -> dict[str, Any]:
    """A claim with its evidence, and its friction with the reason; ``judges`` say that others contradict it."""
    friction = claim_friction(claim, contradicting)
    why = f"{friction.why}; judged by {', '.join(judges)}" if judges else friction.why
    return {
        **claim_row(claim),
        "evidence": [evidence_row(each) for each in claim.evidence],
        **({"warnings": [one_line(text) for text in claim.warnings]} if claim.warnings else {}),
        **({"friction": share(friction.value), "friction_why": one_line(why)} if friction.value else {}),
        **({"evidence_entropy": share(evidence_entropy(claim.evidence).value)} if claim.evidence else {}),
    }


def contradiction_rows(
    entry: Entry, verdicts: Sequence[ClaimVerdict], others: Mapping[str, Entry]
) -> list[dict[str, Any]]:
    """The verdicts that claims of this entry and of the given others contradict each other, from its side.

    Those that add to no friction, because one of the two claims has no verified quote, come last.
    """
    ours = {claim.id: claim for claim in entry.claims}
    theirs = {claim.id: claim for other in others.values() for claim in other.claims}
    rows = []
    for verdict in verdicts:
        own, other = verdict.claim_id, verdict.other_id
        if entry_of(own) != entry.id:
            own, other = other, own
        if verdict.judgement == "contradicts" and own in ours and other in theirs:
            note = {"note": one_line(verdict.note)} if verdict.note else {}
            text = {"other_text": one_line(theirs[other].text), "by": one_line(verdict.by)}
            unquoted = {} if claim_friction(ours[own], [theirs[other]]).value else {"unquoted": True}
            rows.append({"claim": own, "other": other, **text, **note, **unquoted})
    return sorted(rows, key=lambda row: "unquoted" in row)
