"""Protocol of a store of entries: notebooks, views of them, and their changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from winnow.server.claims.records import ClaimVerdict, Comparison, Entry, IntegrationStatus

# The kinds of changes: an entry was written, revised, judged together with another entry, approved or imported, or
# one of its quotes no longer stands in its document, which changed.
ChangeKind = Literal["written", "revised", "judged", "approved", "imported", "drifted"]


@dataclass(frozen=True, slots=True)
class Notebook:
    """The entries of a project that one access key wrote; ``owner`` is its id, "" for clients without keys."""

    project: str
    owner: str = ""


@dataclass(frozen=True, slots=True)
class View:
    """A reader's view of a notebook: entries of these topics and this status, "" for all.

    Of the entries that wait for approval, it has those of its own ``session``, or all of them with ``sees_all``.
    ``topic_prefix`` ends at a level: "memory" has "memory/paging" and not "memory-maps".
    """

    notebook: Notebook
    session: str = ""
    sees_all: bool = False
    topic_prefix: str = ""
    integration_status: IntegrationStatus | Literal[""] = ""


@dataclass(frozen=True, slots=True)
class Change:
    """A change in the history of a notebook, which only grows.

    ``sequence`` counts from 1 within the notebook. ``body`` is the record that was written: an ``Entry`` without
    its notebook, or a ``ClaimVerdict``, as JSON. ``digest`` covers this change and the digest of the one before.
    """

    sequence: int
    entry_id: str
    kind: ChangeKind
    at: float
    body: str
    digest: str


@dataclass(frozen=True, slots=True)
class TopicCount:
    """The entries of one topic: their number, mean friction, and number by ``claims_status``."""

    topic: str
    entries: int
    friction: float
    statuses: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class NotebookCounts:
    """The entries of a notebook by status; ``claims`` counts claims, ``sequence`` is that of the last change."""

    entries: int
    claims: int
    by_integration: Mapping[str, int]
    by_claims: Mapping[str, int]
    awaiting_review: int
    sequence: int


class ClaimStore(Protocol):
    """Entries of all notebooks of a store.

    Implementers guarantee: what ``add``, ``revise`` and ``judge`` returned survives a kill of the process and a
    failure of the machine; every reader sees whole changes only; a view never shows another notebook.
    """

    def add(self, notebook: Notebook, entry: Entry) -> Entry:
        """Add a new entry; return it with its sequence."""

    def revise(self, notebook: Notebook, entry: Entry, kind: ChangeKind = "revised") -> Entry:
        """Replace an entry by its next revision; ``entry.revision`` is the revision that this one was made from.

        Raises ``WinnowError("INVALID_REQUEST")`` if the entry was revised meanwhile.
        """

    def judge(self, notebook: Notebook, verdicts: Sequence[ClaimVerdict]) -> None:
        """Record verdicts; a later verdict on two claims replaces an earlier verdict on them.

        A verdict of the operator's model is left out if the two claims already have a verdict.
        """

    def refresh(self, entries: Sequence[Entry]) -> None:
        """Store derived facts about entries (status, friction, warnings). This is not a revision."""

    def note_drift(self, notebook: Notebook, entry_ids: Sequence[str]) -> None:
        """Record that quotes of these entries no longer stand in their documents. This is not a revision."""

    def compare(self, entry_id: str, comparisons: Sequence[Comparison]) -> None:
        """Store the comparisons of an entry with others, in place of earlier ones of the same two entries.

        Their friction is left out, because it changes with either entry.
        """

    def read(self, view: View, entry_ids: Sequence[str]) -> dict[str, Entry]:
        """The entries that the view has, by id. One query."""

    def recent(self, view: View, since: int, limit: int) -> list[tuple[Change, Entry]]:
        """The entries that changed after this sequence, each with its last change, the oldest change first."""

    def topics(self, view: View) -> list[TopicCount]:
        """The topics of the view by name."""

    def most_contested(self, view: View, min_friction: float, limit: int) -> list[Entry]:
        """Entries with at least this friction, the largest first."""

    def listing(self, view: View, after: int, limit: int) -> list[Entry]:
        """Entries in the order of their last changes, after this sequence."""

    def counts(self, view: View) -> NotebookCounts: ...

    def comparisons(self, entry_ids: Sequence[str]) -> list[Comparison]:
        """The comparisons that any of these entries takes part in, with the friction 0."""

    def verdicts(self, entry_ids: Sequence[str]) -> list[ClaimVerdict]:
        """The verdicts about claims of these entries."""

    def verdicts_in(self, notebook: Notebook) -> list[ClaimVerdict]:
        """All verdicts of a notebook, the latest on each pair of claims."""

    def history(self, notebook: Notebook, entry_id: str) -> list[Change]:
        """The changes of one entry, oldest first."""

    def search_words(self, view: View, query: str, limit: int) -> list[tuple[str, float]]:
        """Entries that have words of the query in their claims or content, with their scores, the best first."""
