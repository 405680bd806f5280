"""The life of entries: checked again when documents change, and weighed by evidence, comparisons and verdicts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from server.claims.comparing import pair_friction, standing
from server.claims.library import ClaimLibrary
from server.claims.records import Comparison, Entry
from server.claims.store import Notebook, View
from server.claims.verifying import CurrentIndex, IndexedTexts, check_entry
from server.errors import WinnowError
from server.models import Filters

if TYPE_CHECKING:
    from server.claims.sqlite_store import SqliteClaimStore

_PAGE = 200
_MOST_LOST = 1_000
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
class CheckReport:
    """What a check of a notebook found: entries that changed, its evidence by status, and lost quotes.

    ``lost`` has the first thousand of these.
    """

    entries: int
    changed: int
    evidence: Mapping[str, int]
    lost: tuple[LostQuote, ...] = ()


def comparisons_of(store: SqliteClaimStore, notebook: Notebook, entry: Entry) -> list[Comparison]:
    """The comparisons of an entry with others that its own readers see, from its side, the nearest first."""
    found = {
        each.other_id: each for each in (_from_side(entry.id, each) for each in store.comparisons([entry.id]))
    }
    seen = store.read(View(notebook, entry.session), list(found))
    return sorted(
        (each for other, each in found.items() if other in seen), key=lambda each: (each.entropy, each.other_id)
    )


def _from_side(entry_id: str, comparison: Comparison) -> Comparison:
    """A comparison from the side of this one of its entries."""
    if comparison.entry_id == entry_id:
        return comparison
    pairs = tuple(
        pair.model_copy(update={"claim_id": pair.other_id, "other_id": pair.claim_id}) for pair in comparison.pairs
    )
    return comparison.model_copy(update={"entry_id": entry_id, "other_id": comparison.entry_id, "pairs": pairs})


def weigh(store: SqliteClaimStore, notebook: Notebook, entry_ids: Collection[str]) -> None:
    """Store the friction and the status that follow from the evidence and the comparisons of these entries."""
    compared = store.compared(list(entry_ids))
    changed = []
    for entry in store.read(View(notebook, sees_all=True), list(entry_ids)).values():
        comparisons = comparisons_of(store, notebook, entry)
        stands = standing(entry, comparisons, is_compared=entry.id in compared)
        if (stands.friction, stands.status) != (entry.friction, entry.integration_status):
            fields = {"friction": stands.friction, "integration_status": stands.status}
            changed.append(entry.model_copy(update=fields))
    store.refresh(changed)


def compare_again(store: SqliteClaimStore, notebook: Notebook, entry_ids: Sequence[str]) -> list[str]:
    """Store the frictions of the comparisons of entries whose evidence changed; the ids of the other entries."""
    stored = store.comparisons(entry_ids)
    others = sorted({id for each in stored for id in (each.entry_id, each.other_id)} - set(entry_ids))
    entries = store.read(View(notebook, sees_all=True), [*entry_ids, *others])
    verdicts = store.verdicts(entry_ids)
    for each in stored:
        if each.entry_id in entries and each.other_id in entries:
            friction = pair_friction(entries[each.entry_id], entries[each.other_id], verdicts).value
            if friction != each.friction:
                store.compare(each.entry_id, [each.model_copy(update={"friction": friction})])
    return others


def check_project(library: ClaimLibrary, texts: IndexedTexts, project: str) -> tuple[str, ...]:
    """Check the notebooks of a project after its documents changed; warnings about quotes that stand nowhere now.

    Nothing of it can fail an ingest: what is not checked now is checked when the notebook is read.
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
    now and then and may raise, to end the check; what was found so far is stored.
    """
    after, entries, changed = 0, 0, 0
    statuses: Counter[str] = Counter()
    lost: list[LostQuote] = []
    while page := store.listing(View(notebook, sees_all=True), after, _PAGE):
        on_page()
        checked = [check_entry(entry, index, at) for entry in page]
        differing = [now for now, was in zip(checked, page, strict=True) if now != was]
        store.refresh(differing)
        ids = [entry.id for entry in differing]
        weigh(store, notebook, [*ids, *compare_again(store, notebook, ids)])
        statuses.update(each.status for entry in checked for claim in entry.claims for each in claim.evidence)
        lost += [quote for entry in checked for quote in _lost_quotes(entry)][: _MOST_LOST - len(lost)]
        entries, changed, after = entries + len(page), changed + len(differing), page[-1].sequence
    return CheckReport(entries, changed, dict(statuses), tuple(lost))


def _lost_quotes(entry: Entry) -> Iterator[LostQuote]:
    for claim in entry.claims:
        for each in claim.evidence:
            if each.status in {"drifted", "missing"}:
                yield LostQuote(claim.id, each.status, each.document or each.document_id, each.quote)
