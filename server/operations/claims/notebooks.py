"""The notebook of a call: that of a project and, where clients have access keys, of one key.

Which one it is comes from the connection and the settings, never from an argument but the project's name. Entries
that wait for approval are seen by the session that wrote them.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from winnow.server.claims.friction import compare_entries
from winnow.server.claims.life_cycle import (
    DerivedState,
    check_notebook,
    comparisons_of,
    derive_state,
    update_friction,
)
from winnow.server.claims.records import Comparison, Entry, IntegrationStatus
from winnow.server.claims.store import Notebook, View
from winnow.server.claims.verifying import CurrentIndex
from winnow.server.contracts.base import Scope
from winnow.server.errors import WinnowError
from winnow.server.models import Filters
from winnow.server.operations.base import RequestContext
from winnow.server.operations.claims.model_contradictions import MAX_ASKED, ClaimCandidate, find_contradictions
from winnow.server.operations.ranking.scope import choose_project, filters_of
from winnow.server.runtime.deadlines import check_deadline
from winnow.server.runtime.sessions.identities import identity_of

if TYPE_CHECKING:  # they bring numerical libraries with them, which a handshake does not wait for
    from winnow.server.claims.sqlite_store import SqliteClaimStore
    from winnow.server.claims.vectors import ClaimVectors
    from winnow.server.storage.base import Embedder

_WRITES_OFF = "this server does not take claims: the operator starts it with --enable-writes"
_NO_PACK = (
    "this server shows scripts no notebook of claims: the operator starts it with --tools all,claims "
    "(setting tools; for winnow exec: WINNOW_TOOLS=all,claims)"
)
# Entries that a call compares beside its own: those that were written while there was no model.
_CAUGHT_UP = 20
_NEIGHBOURS = 8


@dataclass(frozen=True, slots=True)
class OpenNotebook:
    """A notebook as the caller of this request sees it."""

    context: RequestContext
    view: View

    @property
    def store(self) -> SqliteClaimStore:
        """The store of entries."""
        return self.context.index.claims.store

    @property
    def vectors(self) -> ClaimVectors:
        """The vectors of claims."""
        return self.context.index.claims.vectors

    @property
    def model(self) -> Embedder | None:
        """The model, if it is loaded now."""
        return self.context.index.embedder.ready()

    @property
    def everything(self) -> View:
        """The view without its filters."""
        return replace(self.view, topic_prefix="", integration_status="")

    def require(self, entry_id: str) -> Entry:
        """The entry with this id. Raises ``WinnowError("NOT_FOUND")``, also for one of another notebook."""
        found = self.store.read(self.everything, [entry_id]).get(entry_id)
        if found is None:
            raise WinnowError(
                "NOT_FOUND",
                f"there is no entry {entry_id} in this notebook; ids come from wild_search and its like",
            )
        return found

    def bring_up_to_date(self) -> None:
        """Check the quotes if documents changed, and compare entries that were written without a model."""
        self._check_evidence()
        if (model := self.model) is None:
            return
        notebook, compared = self.view.notebook, self.context.index.claims.compared
        last = self.store.last_sequence(notebook)
        if compared.get((notebook, model.fingerprint)) == last:
            return
        missing = self.store.without_vectors(notebook, model.fingerprint, _CAUGHT_UP)
        if not missing:
            compared[notebook, model.fingerprint] = last
        self.vectors.embed(model, missing)
        self.judge_candidates([(entry, self.compare(entry)) for entry in missing])

    def _check_evidence(self) -> None:
        """Look for the quotes again where the project's index has changed since this process did."""
        notebook, catalogue = self.view.notebook, self.context.index.catalogue
        checked, generation = self.context.index.claims.checked, catalogue.generation(notebook.project)
        if checked.get(notebook) == generation or not self.store.last_sequence(notebook):
            return
        index = CurrentIndex(catalogue, Filters(notebook.project))
        check_notebook(self.store, notebook, index, time.time(), check_deadline)
        checked[notebook] = generation

    def compare(self, entry: Entry) -> DerivedState:
        """Compare an entry with its neighbours, and store what follows for all of them; its own state now."""
        if (model := self.model) is not None:
            self.store.compare(entry.id, self._compare_with_neighbours(model, entry))
        states = update_friction(self.store, [entry.id]).states
        # Not there if another process removed it meanwhile.
        return states.get(entry.id) or derive_state(self.store, entry)

    def judge_candidates(self, compared: Sequence[tuple[Entry, DerivedState]]) -> Mapping[str, DerivedState]:
        """Ask the operator's model about the nearest candidates of entries, and store what follows from it.

        Returns the states of entries that follow then, by id; none where no verdict was found.
        """
        if self.context.settings.nli_model is None:
            return {}
        nearest = (
            each for entry, state in compared for each in self.candidates(entry, state.comparisons)[:MAX_ASKED]
        )
        asked = {frozenset((each.pair.claim_id, each.pair.other_id)): each for each in nearest}
        verdicts = find_contradictions(self.context, list(asked.values())) if asked else []
        if not verdicts:
            return {}
        self.store.judge(self.view.notebook, verdicts)
        return update_friction(self.store, [entry.id for entry, _ in compared]).states

    def candidates(self, entry: Entry, comparisons: Sequence[Comparison]) -> list[ClaimCandidate]:
        """The pairs of claims of this entry and others that have no verdict, the nearest first."""
        others = self.store.read(self.everything, [each.other_id for each in comparisons])
        texts = {claim.id: claim.text for each in (entry, *others.values()) for claim in each.claims}
        known = {frozenset((each.claim_id, each.other_id)) for each in self.store.verdicts([entry.id])}
        pairs = sorted((pair for each in comparisons for pair in each.pairs), key=lambda pair: -pair.similarity)
        return [
            ClaimCandidate(pair, texts[pair.claim_id], texts[pair.other_id])
            for pair in pairs
            if {pair.claim_id, pair.other_id} <= texts.keys()
            and frozenset((pair.claim_id, pair.other_id)) not in known
        ]

    def _compare_with_neighbours(self, model: Embedder, entry: Entry) -> list[Comparison]:
        seen = View(self.view.notebook, entry.session)
        own, *others = self.vectors.neighbours(model, seen, entry, _NEIGHBOURS)
        entries = self.store.read(seen, [each.entry_id for each in others])
        return [
            compare_entries(entry, own.vectors, entries[each.entry_id], each.vectors, model.background)
            for each in others
            if each.claim_ids == _claim_ids(entries.get(each.entry_id))
        ]

    def comparisons_of(self, entry: Entry) -> list[Comparison]:
        """See ``life_cycle.comparisons_of``."""
        return comparisons_of(self.store, entry)


def _claim_ids(entry: Entry | None) -> tuple[str, ...]:
    return tuple(claim.id for claim in entry.claims) if entry else ()


def open_notebook(
    context: RequestContext,
    project: str | None,
    topic_prefix: str | None = None,
    integration_status: IntegrationStatus | None = None,
) -> OpenNotebook:
    """The notebook that a call is about.

    Raises ``WinnowError``: SCOPE_VIOLATION for a project out of reach, INVALID_PROJECT for a deleted one,
    UNSUPPORTED for a script of a server that does not list the tools of claims.
    """
    if not context.caller.budget.is_direct and "claims" not in context.settings.packs:
        raise WinnowError("UNSUPPORTED", _NO_PACK)
    name = choose_project(context, project, "project")
    if name in context.index.catalogue.hidden_projects():
        raise WinnowError("INVALID_PROJECT", f"project {name!r} was deleted; the operator can restore it")
    notebook = Notebook(name, identity_of(context.caller.connection).access_key)
    view = View(
        notebook,
        context.session.id,
        topic_prefix=(topic_prefix or "").strip("/"),
        integration_status=integration_status or "",
    )
    return OpenNotebook(context, view)


def documents_of(context: RequestContext, project: str) -> CurrentIndex:
    """The documents of a project that the caller may see: none where it keeps a notebook for others alone."""
    try:
        filters = filters_of(context, Scope(project_id=project))
    except WinnowError as error:
        if error.reason != "INVALID_PROJECT":
            raise
        filters = Filters(project)
    return CurrentIndex(context.index.catalogue, filters)


def require_writes(context: RequestContext) -> None:
    """Raise ``WinnowError("SCOPE_VIOLATION")`` unless the operator lets agents write."""
    if not context.settings.enable_writes:
        raise WinnowError("SCOPE_VIOLATION", _WRITES_OFF)
