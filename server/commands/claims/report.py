"""Entries as Markdown for people: each claim with its quotes, their pages, and whether they were found."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from server.claims.records import Claim, Entry, Evidence
from server.claims.store import Notebook
from server.text.printable import one_line

_MARKUP = re.compile(r"([\\`*_\[\]<>|#~&!])")
_MARKS = {"verified": "verified", "drifted": "DRIFTED", "missing": "MISSING", "unchecked": "not checked"}


def report_lines(notebook: Notebook, entries: Iterable[Entry]) -> Iterator[str]:
    """The lines of a report about these entries, by topic."""
    yield f"# Claims of {_plain(notebook.project)}"
    topic = None
    for entry in sorted(entries, key=lambda entry: (entry.topic, entry.sequence)):
        if entry.topic != topic:
            topic = entry.topic
            yield ""
            yield f"## {_plain(topic)}"
        yield from _entry_lines(entry)


def _entry_lines(entry: Entry) -> Iterator[str]:
    title = f": {_plain(entry.title)}" if entry.title else ""
    yield ""
    yield f"### {entry.id}{title}"
    yield ""
    review = ", waits for approval" if entry.needs_review else ""
    by = f", by {_plain(entry.author)}" if entry.author else ""
    yield f"{entry.integration_status}, friction {entry.friction:.2f}, {entry.claims_status}{by}{review}"
    for claim in entry.claims:
        yield ""
        yield from _claim_lines(claim)


def _claim_lines(claim: Claim) -> Iterator[str]:
    yield f"- {_plain(claim.text)} ({claim.confidence:.2f})"
    for evidence in claim.evidence:
        place = ", ".join(filter(None, (evidence.citekey and f"@{evidence.citekey}", *_place(evidence))))
        quote = _plain(evidence.quote)
        yield f'  - {evidence.stance}, **{_MARKS[evidence.status]}**: "{quote}" ({place or "no place"})'
    for warning in claim.warnings:
        yield f"  - warning: {_plain(warning)}"


def _place(evidence: Evidence) -> Iterator[str]:
    yield from (_plain(text) for text in (evidence.document, evidence.locator) if text)


def _plain(text: str) -> str:
    """A text in one line, without any markup: what agents wrote must not become a link or a heading."""
    return _MARKUP.sub(r"\\\1", one_line(text, 2_000))
