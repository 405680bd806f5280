"""Entries as Markdown for people: each claim with its quotes, their pages, and whether they were found."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from server.claims.records import Claim, Entry, Evidence
from server.claims.store import Notebook
from server.text.markup.markdown_escaping import escape_line

_MARKS = {"verified": "verified", "drifted": "DRIFTED", "missing": "MISSING", "unchecked": "not checked"}


def report_lines(notebook: Notebook, entries: Iterable[Entry]) -> Iterator[str]:
    """The lines of a report about these entries, by topic."""
    yield f"# Claims of {escape_line(notebook.project)}"
    topic = None
    for entry in sorted(entries, key=lambda entry: (entry.topic, entry.sequence)):
        if entry.topic != topic:
            topic = entry.topic
            yield ""
            yield f"## {escape_line(topic)}"
        yield from _entry_lines(entry)


def _entry_lines(entry: Entry) -> Iterator[str]:
    title = f": {escape_line(entry.title)}" if entry.title else ""
    yield ""
    yield f"### {entry.id}{title}"
    yield ""
    review = ", waits for approval" if entry.needs_review else ""
    by = f", by {escape_line(entry.author)}" if entry.author else ""
    yield f"{entry.integration_status}, friction {entry.friction:.2f}, {entry.claims_status}{by}{review}"
    for claim in entry.claims:
        yield ""
        yield from _claim_lines(claim)


def _claim_lines(claim: Claim) -> Iterator[str]:
    yield f"- {escape_line(claim.text)} ({claim.confidence:.2f})"
    for evidence in claim.evidence:
        place = ", ".join(
            filter(None, (evidence.citekey and f"@{escape_line(evidence.citekey)}", *_place(evidence)))
        )
        quote = escape_line(evidence.quote)
        yield f'  - {evidence.stance}, **{_MARKS[evidence.status]}**: "{quote}" ({place or "no place"})'
    for warning in claim.warnings:
        yield f"  - warning: {escape_line(warning)}"


def _place(evidence: Evidence) -> Iterator[str]:
    yield from (escape_line(text) for text in (evidence.document, evidence.locator) if text)
