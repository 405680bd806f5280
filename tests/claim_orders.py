"""Every order of changes to a notebook and its documents, each state held against a computation from nothing.

The computation knows neither what was stored of a status nor in which order it came about: it looks for every
quote anew, takes the friction of each pair of entries from all verdicts, and embeds the claims again.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.ingesting import ingest_paths
from tests.notebooks import Kept
from tests.tiny_models import write_model
from winnow.server.backends.opening import open_backends
from winnow.server.claims.friction import compare_entries, integration_status, pair_friction
from winnow.server.claims.life_cycle import check_notebook, comparisons_of
from winnow.server.claims.records import ClaimVerdict, Comparison, Entry
from winnow.server.claims.sqlite_store import SqliteClaimStore
from winnow.server.claims.store import Notebook, View
from winnow.server.claims.verifying import CurrentIndex, check_entry
from winnow.server.jobs.target import target_of
from winnow.server.models import Filters
from winnow.server.operations.knowledge import DIRECT, Caller, KnowledgeBase
from winnow.server.runtime.sessions.identities import key_name
from winnow.server.settings.loading import load_settings

# Sentences of documents, each with what it says when its document was changed.
SENTENCES = (
    ("The proxy stands before the gateway of the yard.", "The proxy stands behind the gateway of the yard."),
    ("The gateway is closed every night at ten.", "The gateway is closed every night at eleven."),
    ("Backups of the gateway are kept for ninety days.", "Backups of the gateway are deleted after ninety days."),
    ("The policy of the proxy never allows a backup.", "The policy of the proxy allows one backup."),
)
CLAIMS = (
    "The proxy stands before the gateway.",
    "The gateway is closed every night.",
    "Backups of the gateway are kept.",
    "The proxy allows no backup.",
    "The proxy and the gateway are closed.",
)
_STANCES = st.sampled_from(("supports", "refutes", "mentions"))
_JUDGEMENTS = st.sampled_from(("contradicts", "agrees", "unrelated"))
_DOCUMENTS = st.integers(0, len(SENTENCES) - 1)
_CLAIM_TEXTS = st.lists(st.sampled_from(CLAIMS), min_size=1, max_size=3)
_DIGITS = 5
# More entries than are compared with one another by their vectors alone.
MOST_ENTRIES = 8


class SharedStore:
    """A store whose documents change, and a server over it; each run has a notebook of its own in it."""

    def __init__(self, folder: Path) -> None:
        model = write_model(folder / "model")
        fixed: dict[str, Any] = {"tools": "claims", "enable_writes": True, "graph": "off", "daemon": "off"}
        self.settings = load_settings(
            store=folder / "store", embedder=f"onnx:{model}", project="yard", projects=("yard",), **fixed
        )
        self._documents = folder / "documents"
        self._documents.mkdir()
        # How often a document was renamed, and edited while it was.
        self._names: dict[int, tuple[int, int]] = {}
        self._backends = open_backends(self.settings, wait_for_model=True)
        self._kb = KnowledgeBase(lambda: Kept(self._backends, {}), self.settings)
        self._runner = asyncio.Runner()
        self._numbers = itertools.count(1)

    @property
    def claims(self) -> SqliteClaimStore:
        """The store of entries."""
        return self._backends.claims.store

    def new_key(self) -> str:
        """The id of an access key without a notebook."""
        return f"run{next(self._numbers)}"

    def call(self, key: str, operation: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a client with this key."""
        caller = Caller(key_name(key, [], is_read_only=False, calls_per_minute=None), DIRECT)
        return self._runner.run(self._kb.call(f"claims.{operation}", arguments, caller)).payload

    def write_documents(self, changes: Mapping[int, int | None]) -> None:
        """Give documents one of their two texts, or delete them (None), and ingest the folder."""
        for number, text in changes.items():
            path = self._path(number)
            if text is None:
                path.unlink(missing_ok=True)
            else:
                path.write_text(f"# {self._heading(number)}\n\n{SENTENCES[number][text]}\n", "utf-8")
        self._ingest()

    def rename_document(self, number: int, *, is_edited: bool) -> None:
        """Give a document another name, and with ``is_edited`` another heading at once; ingest the folder."""
        path = self._path(number)
        renamed, edited = self._names.get(number, (0, 0))
        before = self._heading(number)
        self._names[number] = renamed + 1, edited + is_edited
        if path.exists():
            text = path.read_text("utf-8").replace(before, self._heading(number))
            path.unlink()
            self._path(number).write_text(text, "utf-8")
        self._ingest()

    def name_of(self, number: int) -> str:
        """The uri that a document has now."""
        return self._path(number).name

    def _path(self, number: int) -> Path:
        return self._documents / f"{number}-{self._names.get(number, (0, 0))[0]}.md"

    def _heading(self, number: int) -> str:
        return f"Part {number}, edition {self._names.get(number, (0, 0))[1] + 100}"

    def _ingest(self) -> None:
        ingest_paths(target_of(self.settings, self._backends, None), [self._documents])

    def index(self) -> CurrentIndex:
        """The documents as they are now."""
        return CurrentIndex(self._backends.catalogue, Filters(self.settings.project))

    def evidence(self, document: int, stance: str) -> dict[str, str]:
        """A quote of what a document says at first, in the passage that it has now, if it has one."""
        catalogue = self._backends.catalogue
        passages = catalogue.passages(catalogue.chunk_ids(self.settings.project), self.settings.project)
        place = next(
            (id for id, each in passages.items() if each.document.uri == self.name_of(document)), "0" * 12
        )
        return {"section_id": place, "quote": SENTENCES[document][0], "stance": stance}

    def entries(self, notebook: Notebook) -> dict[str, Entry]:
        """The entries of a notebook, by id."""
        found = self.claims.listing(View(notebook, sees_all=True), 0, 1_000)
        return {entry.id: entry for entry in found}

    def stored(self, notebook: Notebook) -> dict[str, Any]:
        """What is stored and answered of each entry: its quotes, friction, status, and each of its pairs."""
        return {
            id: (
                _statuses(entry),
                entry.friction,
                entry.integration_status,
                {each.other_id: _rounded(each) for each in comparisons_of(self.claims, entry)},
            )
            for id, entry in self.entries(notebook).items()
        }

    def computed(self, notebook: Notebook) -> dict[str, Any]:
        """The same, from the texts of entries, the documents and the verdicts alone."""
        entries = {id: self._checked_anew(entry) for id, entry in self.entries(notebook).items()}
        verdicts = self.claims.verdicts(list(entries))
        pairs = self._pairs(entries, verdicts)
        found = {}
        for id, entry in entries.items():
            own = [each for (first, _), each in pairs.items() if first == id]
            stands = integration_status(entry, own, is_compared=True)
            found[id] = (
                _statuses(entry),
                stands.friction,
                stands.status,
                {each.other_id: _rounded(each) for each in own},
            )
        return found

    def _checked_anew(self, entry: Entry) -> Entry:
        nowhere = {"status": "unchecked", "start": None, "end": None}
        claims = tuple(
            claim.model_copy(
                update={"evidence": tuple(each.model_copy(update=nowhere) for each in claim.evidence)}
            )
            for claim in entry.claims
        )
        return check_entry(entry.model_copy(update={"claims": claims}), self.index(), 9.0)

    def _pairs(
        self, entries: Mapping[str, Entry], verdicts: Sequence[ClaimVerdict]
    ) -> dict[tuple[str, str], Comparison]:
        model = self._backends.embedder.ready()
        assert model is not None
        vectors = {
            id: np.asarray(model.embed([claim.text for claim in entry.claims]), np.float32)
            for id, entry in entries.items()
        }
        return {
            (first, second): compare_entries(
                entries[first], vectors[first], entries[second], vectors[second], model.background
            ).model_copy(update={"friction": pair_friction(entries[first], entries[second], verdicts).value})
            for first, second in itertools.permutations(entries, 2)
        }

    def close(self) -> None:
        """Close everything."""
        self._runner.close()
        self._backends.close()


def _statuses(entry: Entry) -> list[tuple[str, list[str]]]:
    return [(claim.id, [each.status for each in claim.evidence]) for claim in entry.claims]


def _rounded(comparison: Comparison) -> tuple[float, float, list[tuple[str, str]]]:
    near = sorted((pair.claim_id, pair.other_id) for pair in comparison.pairs)
    return round(comparison.entropy, _DIGITS), comparison.friction, near


class NotebookOrders(RuleBasedStateMachine):
    """A notebook of its own for each run, over a store that all runs share."""

    shared: SharedStore

    def __init__(self) -> None:
        super().__init__()
        self._store = self.shared
        self._key = self._store.new_key()
        self._entries: list[str] = []

    @initialize(has_quotes=st.tuples(st.booleans(), st.booleans()))
    def begin(self, has_quotes: tuple[bool, bool]) -> None:
        """All documents say what they say at first, and there are two entries, with or without a quote."""
        self._store.write_documents(dict.fromkeys(range(len(SENTENCES)), 0))
        for number, has_quote in enumerate(has_quotes):
            self.write([CLAIMS[number]], number, "supports", has_quote)

    @precondition(lambda self: len(self._entries) < MOST_ENTRIES)
    @rule(texts=_CLAIM_TEXTS, document=_DOCUMENTS, stance=_STANCES, has_quote=st.booleans())
    def write(self, texts: list[str], document: int, stance: str, has_quote: bool) -> None:
        """Write an entry."""
        evidence = [self._store.evidence(document, stance)] if has_quote else []
        claims = [{"text": text, "evidence": evidence} for text in texts]
        self._entries.append(self._call("write", topic="yard", claims=claims)["entry_id"])

    @precondition(lambda self: len(self._entries) > 1)
    @rule(data=st.data(), judgement=_JUDGEMENTS)
    def judge(self, data: st.DataObject, judgement: str) -> None:
        """Record a verdict about claims of two entries."""
        first, second = data.draw(st.permutations(self._entries))[:2]
        own, other = (data.draw(st.sampled_from(self._claims(id))) for id in (first, second))
        verdict = {"claim": own, "other": f"{second}.{other}", "judgement": judgement}
        self._call("revise", entry_id=first, verdicts=[verdict])

    @precondition(lambda self: self._entries)
    @rule(data=st.data(), document=_DOCUMENTS, stance=_STANCES)
    def add_evidence(self, data: st.DataObject, document: int, stance: str) -> None:
        """Add a quote to a claim."""
        entry = data.draw(st.sampled_from(self._entries))
        given = {
            "claim": data.draw(st.sampled_from(self._claims(entry))),
            **self._store.evidence(document, stance),
        }
        self._call("revise", entry_id=entry, evidence=[given])

    @precondition(lambda self: self._entries)
    @rule(data=st.data(), texts=_CLAIM_TEXTS, document=_DOCUMENTS)
    def replace_claims(self, data: st.DataObject, texts: list[str], document: int) -> None:
        """Replace the claims of an entry."""
        claims = [{"text": text, "evidence": [self._store.evidence(document, "supports")]} for text in texts]
        self._call("revise", entry_id=data.draw(st.sampled_from(self._entries)), claims=claims)

    @rule(document=_DOCUMENTS, change=st.sampled_from((0, 1, None)))
    def ingest(self, document: int, change: int | None) -> None:
        """A document is changed, changed back or deleted, and the folder ingested."""
        self._store.write_documents({document: change})

    @rule(document=_DOCUMENTS, is_edited=st.booleans())
    def rename(self, document: int, is_edited: bool) -> None:
        """A document gets another name, with or without an edit, and no quote that it has is lost."""
        name = self._store.name_of(document)
        before = self._verified_in(name)
        self._store.rename_document(document, is_edited=is_edited)
        assert (self._verified_in(name), self._verified_in(self._store.name_of(document))) == (0, before)

    def _verified_in(self, uri: str) -> int:
        """The quotes of this document that are verified."""
        entries = self._store.entries(self._notebook).values()
        found = (each for entry in entries for claim in entry.claims for each in claim.evidence)
        return sum(each.status == "verified" and each.document == uri for each in found)

    @invariant()
    def stored_is_what_follows(self) -> None:
        """Quotes, frictions, statuses and novelties are those of a computation from nothing, on both sides."""
        assert self._store.stored(self._notebook) == self._store.computed(self._notebook)
        again = check_notebook(self._store.claims, self._notebook, self._store.index(), 9.0)
        assert (again.changed, again.changes) == (0, ())

    @property
    def _notebook(self) -> Notebook:
        return Notebook(self._store.settings.project, self._key)

    def _call(self, operation: str, **arguments: Any) -> dict[str, Any]:
        return self._store.call(self._key, operation, arguments)

    def _claims(self, entry_id: str) -> list[int]:
        entry = self._store.entries(self._notebook)[entry_id]
        return [int(claim.id.partition(".")[2]) for claim in entry.claims]
