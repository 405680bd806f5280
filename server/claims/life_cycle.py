"""The life cycle of entries: checks after documents changed; statuses from evidence, comparisons and verdicts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from winnow.server.claims.friction import EntryStatus, contradictions, integration_status, pair_friction
from winnow.server.claims.library import ClaimLibrary
from winnow.server.claims.records import ClaimVerdict, Comparison, Entry, IntegrationStatus, entry_of
from winnow.server.claims.store import Notebook, View
from winnow.server.claims.verifying import CurrentIndex, IndexedTexts, check_entry
from winnow.server.errors import WinnowError
from winnow.server.models import Filters

if TYPE_CHECKING:
    from winnow.server.claims.sqlite_store import SqliteClaimStore

_PAGE = 200
_MOST_LOST = 1_000
_LOST_STATUSES = frozenset({"drifted", "missing"})
_NOT_CHECKED = "the quotes of claims are looked for again when their notebook is read: {why}"
_LOST = (
    "quotes of claims that do not stand in their documents now: {count} (altered: {drifted}, gone: {missing}); "
    "winnow claims check names them"
)


@dataclass(frozen=True, slots=True)
class LostQuote:
    """A quote that does not stand in its document now, and the claim that it is evidence of."""

    claim_id: str
    status: str
    document: str
    quote: str


@dataclass(frozen=True, slots=True)
class ChangedStatus:
    """An entry whose friction was updated: its former status, and its status now."""

    entry_id: str
    was: IntegrationStatus
    now: EntryStatus


@dataclass(frozen=True, slots=True)
class DerivedState:
    """The derived status of an entry, and the comparisons that it is derived from, the nearest first."""

    status: EntryStatus
    comparisons: tuple[Comparison, ...]


@dataclass(frozen=True, slots=True)
class FrictionUpdate:
    """The entries whose friction or status changed, and the states of all entries that were examined, by id."""

    changes: tuple[ChangedStatus, ...]
    states: Mapping[str, DerivedState]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """The findings of a check of a notebook.

    They are the number of entries with any change, the evidence by status, the first thousand quotes that are no
    longer found, and the entries whose friction or status changed.
    """

    entries: int
    changed: int
    evidence: Mapping[str, int]
    lost: tuple[LostQuote, ...] = ()
    changes: tuple[ChangedStatus, ...] = ()


def comparisons_of(store: SqliteClaimStore, entry: Entry) -> list[Comparison]:
    """The comparisons of an entry with others that its readers see, from its side, the nearest first.

    An entry that contradicts it is included even if the two were not compared; their entropy is then 1.
    """
    return _compare_all(store, [entry])[entry.id]


def _compare_all(store: SqliteClaimStore, entries: Sequence[Entry]) -> dict[str, list[Comparison]]:
    """The comparisons of entries, by their ids, with newly derived frictions."""
    own = {entry.id: entry for entry in entries}
    verdicts: dict[str, list[ClaimVerdict]] = {id: [] for id in own}
    found: dict[str, dict[str, Comparison]] = {id: {} for id in own}
    for verdict in store.verdicts(list(own)):
        for id in {entry_of(verdict.claim_id), entry_of(verdict.other_id)} & own.keys():
            verdicts[id].append(verdict)
    for id in own:
        judged = sorted({entry_of(other) for _, other in contradictions(verdicts[id])} - {id})
        found[id] |= {other: Comparison(entry_id=id, other_id=other, entropy=1.0) for other in judged}
    for each in store.comparisons(list(own)):
        for id in {each.entry_id, each.other_id} & own.keys():
            of_this = _from_side(id, each)
            found[id][of_this.other_id] = of_this
    others = _read_all(store, {other for compared in found.values() for other in compared})
    return {id: _weigh_comparisons(own[id], compared, others, verdicts[id]) for id, compared in found.items()}


def _read_all(store: SqliteClaimStore, ids: Collection[str]) -> dict[str, Entry]:
    return {entry.id: entry for entry in store.entries(sorted(ids))}


def _weigh_comparisons(
    entry: Entry, compared: Mapping[str, Comparison], others: Mapping[str, Entry], verdicts: Sequence[ClaimVerdict]
) -> list[Comparison]:
    """The comparisons of ``entry`` with entries that its readers see, with their frictions, the nearest first."""
    weighed = [
        each.model_copy(update={"friction": pair_friction(entry, others[id], verdicts).value})
        for id, each in compared.items()
        if id in others and _is_seen(entry, others[id])
    ]
    # An entry that was not compared matters only if a verdict contradicts it now.
    return sorted(
        (each for each in weighed if each.pairs or each.entropy < 1 or each.friction),
        key=lambda each: (each.entropy, each.other_id),
    )


def _is_seen(entry: Entry, other: Entry) -> bool:
    """Whether the readers of an entry see the other. While it waits for approval, only its own session sees it."""
    if (entry.project, entry.owner) != (other.project, other.owner):
        return False
    return not other.needs_review or (entry.needs_review and entry.session == other.session != "")


def _from_side(entry_id: str, comparison: Comparison) -> Comparison:
    """A comparison from the side of the entry with this id."""
    if comparison.entry_id == entry_id:
        return comparison
    pairs = tuple(
        pair.model_copy(update={"claim_id": pair.other_id, "other_id": pair.claim_id}) for pair in comparison.pairs
    )
    return comparison.model_copy(update={"entry_id": entry_id, "other_id": comparison.entry_id, "pairs": pairs})


def derive_state(store: SqliteClaimStore, entry: Entry) -> DerivedState:
    """The friction and status of an entry as derived now, the reason, and the comparisons that they come from."""
    return _derive_states(store, [entry])[entry.id]


def _derive_states(store: SqliteClaimStore, entries: Sequence[Entry]) -> dict[str, DerivedState]:
    """The state of each entry, by its id. This is the only function that derives a status."""
    compared, comparisons = store.compared([entry.id for entry in entries]), _compare_all(store, entries)
    return {
        entry.id: DerivedState(
            integration_status(entry, comparisons[entry.id], is_compared=entry.id in compared),
            tuple(comparisons[entry.id]),
        )
        for entry in entries
    }


def differing_statuses(store: SqliteClaimStore, statuses: Mapping[str, IntegrationStatus]) -> list[ChangedStatus]:
    """The entries whose status differs from the given one, in the order of their ids."""
    entries = _read_all(store, statuses)
    differ = [entry for id, entry in sorted(entries.items()) if entry.integration_status != statuses[id]]
    return [
        ChangedStatus(id, statuses[id], state.status)
        for id, state in sorted(_derive_states(store, differ).items())
    ]


def update_friction(store: SqliteClaimStore, entry_ids: Collection[str]) -> FrictionUpdate:
    """Store the friction and status of these entries and of the entries that verdicts connect to them.

    A verdict changes the friction of both entries, and so does the evidence of either entry.
    """
    with store.deriving():
        joined = {
            entry_of(id) for each in store.verdicts(list(entry_ids)) for id in (each.claim_id, each.other_id)
        }
        entries = _read_all(store, {*entry_ids, *joined})
        states = _derive_states(store, list(entries.values()))
        now = {id: state.status for id, state in states.items()}
        changes = tuple(
            ChangedStatus(id, entry.integration_status, now[id])
            for id, entry in entries.items()
            if (now[id].friction, now[id].status) != (entry.friction, entry.integration_status)
        )
        store.refresh(
            [
                entries[each.entry_id].model_copy(
                    update={"friction": each.now.friction, "integration_status": each.now.status}
                )
                for each in changes
            ]
        )
    return FrictionUpdate(changes, states)


def check_project(library: ClaimLibrary, texts: IndexedTexts, project: str) -> tuple[str, ...]:
    """Check the notebooks of a project after its documents changed; return warnings about quotes no longer found.

    An error here does not fail the ingest: a notebook that is not checked now is checked when it is read.
    """
    try:
        return _check_notebooks(library, texts, project) if library.has_file else ()
    except WinnowError as error:
        return (_NOT_CHECKED.format(why=error.message),)


def _check_notebooks(library: ClaimLibrary, texts: IndexedTexts, project: str) -> tuple[str, ...]:
    statuses: Counter[str] = Counter()
    changed = 0
    index, generation = CurrentIndex(texts, Filters(project)), texts.generation(project)
    for notebook in (each for each in library.store.notebooks() if each.project == project):
        report = check_notebook(library.store, notebook, index, time.time())
        library.checked[notebook] = generation
        statuses.update(report.evidence)
        changed += report.changed
    if not changed or not (lost := statuses["drifted"] + statuses["missing"]):
        return ()
    return (_LOST.format(count=lost, drifted=statuses["drifted"], missing=statuses["missing"]),)


def check_notebook(
    store: SqliteClaimStore,
    notebook: Notebook,
    index: CurrentIndex,
    at: float,
    on_page: Callable[[], None] = lambda: None,
) -> CheckReport:
    """Look for every quote of a notebook again, and store what changed; ``at`` in seconds since 1970.

    Quotes that were verified in a document which has not changed since are not looked for. ``on_page`` is called
    before each page of entries. It may raise an exception to end the check; the findings so far are stored.
    """
    after, entries = 0, 0
    statuses: Counter[str] = Counter()
    lost: list[LostQuote] = []
    differ: set[str] = set()
    changes: dict[str, ChangedStatus] = {}
    with _noting_drift(store, notebook) as drifted:
        while page := store.listing(View(notebook, sees_all=True), after, _PAGE):
            on_page()
            checked = [check_entry(entry, index, at) for entry in page]
            differing = [now for now, was in zip(checked, page, strict=True) if now != was]
            store.refresh(differing)
            # All entries of the page, because a process may have ended between a change and the update after it.
            moved = update_friction(store, [entry.id for entry in page]).changes
            changes |= {each.entry_id: each for each in moved}
            drifted += [now.id for now, was in zip(checked, page, strict=True) if _has_drifted(was, now)]
            differ |= {entry.id for entry in differing} | {each.entry_id for each in moved}
            statuses.update(each.status for entry in checked for claim in entry.claims for each in claim.evidence)
            lost += [quote for entry in checked for quote in _lost_quotes(entry)][: _MOST_LOST - len(lost)]
            entries, after = entries + len(page), page[-1].sequence
    return CheckReport(entries, len(differ), dict(statuses), tuple(lost), tuple(changes.values()))


@contextmanager
def _noting_drift(store: SqliteClaimStore, notebook: Notebook) -> Iterator[list[str]]:
    """A list for the entries whose drift is recorded at the end of a check, also if the check ends early.

    Drift is not recorded during the check, because a change moves its entry to the end of the listing.
    """
    drifted: list[str] = []
    try:
        yield drifted
    finally:
        store.note_drift(notebook, drifted)


def _has_drifted(was: Entry, now: Entry) -> bool:
    """Whether a quote that was verified does not stand in its document now."""
    return any(
        before.status == "verified" and after.status in _LOST_STATUSES
        for earlier, later in zip(was.claims, now.claims, strict=True)
        for before, after in zip(earlier.evidence, later.evidence, strict=True)
    )


def _lost_quotes(entry: Entry) -> Iterator[LostQuote]:
    for claim in entry.claims:
        for each in claim.evidence:
            if each.status in _LOST_STATUSES:
                yield LostQuote(claim.id, each.status, each.document or each.document_id, each.quote)
