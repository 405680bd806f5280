"""Entries as Markdown for people: claims, their quotes with pages and status, and what contradicts them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from winnow.server.claims.friction import contradictions, latest_verdicts
from winnow.server.claims.records import Claim, ClaimVerdict, Entry, Evidence
from winnow.server.claims.store import Notebook
from winnow.server.text.markup.markdown_escaping import escape_line

_MARKS = {
    "verified": "verified",
    "elided": "LEAVES OUT TEXT",
    "weak": "TOO WEAK",
    "drifted": "DRIFTED",
    "missing": "MISSING",
    "unchecked": "not checked",
}
_UNNAMED = "an author without a name"


@dataclass(frozen=True, slots=True)
class Contradiction:
    """A claim that contradicts another by the latest verdict on the two, with the note and the author of that."""

    other: Claim
    note: str
    by: str


Contradictions = Mapping[str, Sequence[Contradiction]]  # by the id of a claim


def contradictions_of(
    verdicts: Sequence[ClaimVerdict], entries: Iterable[Entry]
) -> dict[str, list[Contradiction]]:
    """The contradictions of each claim by the latest verdicts, among the claims of these entries."""
    claims = {claim.id: claim for entry in entries for claim in entry.claims}
    latest = latest_verdicts(verdicts)
    found: dict[str, list[Contradiction]] = {}
    for claim, other in contradictions(verdicts):
        if other in claims:
            verdict = latest[frozenset((claim, other))]
            found.setdefault(claim, []).append(Contradiction(claims[other], verdict.note, verdict.by))
    return found


def report_lines(notebook: Notebook, entries: Iterable[Entry], contradicted: Contradictions) -> Iterator[str]:
    """The lines of a report about these entries, by topic."""
    yield f"# Claims of {escape_line(notebook.project)}"
    topic = None
    for entry in sorted(entries, key=lambda entry: (entry.topic, entry.sequence)):
        if entry.topic != topic:
            topic = entry.topic
            yield ""
            yield f"## {escape_line(topic)}"
        yield from _entry_lines(entry, contradicted)


def _entry_lines(entry: Entry, contradicted: Contradictions) -> Iterator[str]:
    title = f": {escape_line(entry.title)}" if entry.title else ""
    yield ""
    yield f"### {entry.id}{title}"
    yield ""
    review = ", waits for approval" if entry.needs_review else ""
    by = f", by {escape_line(entry.author)}" if entry.author else ""
    if entry.revised_by is not None:
        by += f", revised by {escape_line(entry.revised_by) or _UNNAMED}"
    yield f"{entry.integration_status}, friction {entry.friction:.2f}, {entry.claims_status}{by}{review}"
    for claim in entry.claims:
        yield ""
        yield from _claim_lines(claim)
        for each in contradicted.get(claim.id, ()):
            note = f" ({escape_line(each.note)})" if each.note else ""
            by = f", says {escape_line(each.by)}" if each.by else ""
            yield f"  - **contradicted** by {each.other.id}{by}: {escape_line(each.other.text)}{note}"


def _claim_lines(claim: Claim) -> Iterator[str]:
    by = "" if claim.author is None else f", by {escape_line(claim.author) or _UNNAMED}"
    yield f"- {escape_line(claim.text)} ({claim.confidence:.2f}{by})"
    for evidence in claim.evidence:
        place = ", ".join(
            filter(None, (evidence.citekey and f"@{escape_line(evidence.citekey)}", *_place(evidence)))
        )
        quote = escape_line(evidence.quote)
        yield f'  - {evidence.stance}, **{_MARKS[evidence.status]}**: "{quote}" ({place or "no place"})'
        if evidence.in_full:
            yield f'    - in full: "{escape_line(evidence.in_full)}"'
    for warning in claim.warnings:
        yield f"  - warning: {escape_line(warning)}"


def _place(evidence: Evidence) -> Iterator[str]:
    yield from (escape_line(text) for text in (evidence.document, evidence.locator) if text)
