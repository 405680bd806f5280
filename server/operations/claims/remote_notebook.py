"""The tools of claims over notebooks that another server keeps (setting ``notebook_url``).

That server stores entries, embeds, compares and weighs them: status and friction are what it found. Quotes are
looked for here, in the documents of this server, and no word of the other one says that a quote was verified.
Where both are to agree about friction, both need the documents.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from pydantic import BaseModel, ValidationError

from winnow.server.claims.friction import LEAST_CONTESTED
from winnow.server.claims.http_notebook import HttpNotebook
from winnow.server.claims.records import CLAIM_CHARS, NAME_CHARS, Claim, Evidence, claim_id
from winnow.server.claims.verifying import CurrentIndex, check_claim
from winnow.server.contracts.claims import answers
from winnow.server.contracts.claims.arguments import (
    MAX_ENTRIES,
    ClaimSearch,
    EntryClaims,
    FindFriction,
    GivenClaim,
    GivenEvidence,
    ListTopics,
    NotebookStatus,
    ReadEntry,
    RecentChanges,
    RelatedEntries,
    ReviseEntry,
    WriteEntry,
)
from winnow.server.errors import WinnowError
from winnow.server.operations.answers import budget, text_charges
from winnow.server.operations.base import Answer, RequestContext
from winnow.server.operations.claims.foreign_answers import by_entry, is_entry_id, read_rows, read_whole
from winnow.server.operations.claims.notebooks import OpenNotebook, documents_of, open_notebook, require_writes
from winnow.server.operations.claims.reading import CLAIMS_CUT, LATER, choose_claims, leave_out
from winnow.server.operations.claims.rows import read_claim
from winnow.server.operations.claims.search import NO_MODEL, OVERFETCH, answer_rows, fuse
from winnow.server.operations.claims.writing import build_evidence

_OF_KEYS = (
    "notebooks of access keys are kept in the store of their own server: notebook_url is for a server whose "
    "clients have no keys"
)
_APPROVED_THERE = (
    "review_claims is for the server that keeps the notebook: the operator switches it on there, or off here"
)
_NO_MODEL_THERE = NO_MODEL.format(why="the server of notebooks has no model now")
# In words of this server: the other one's would stand outside the marks around foreign text.
_WHY = {
    "probation": "the server that keeps the notebook found no support for it, or did not compare it yet",
    "integrated": f"compared and supported, its friction below {LEAST_CONTESTED}, says the server that keeps it",
    "contested": f"its friction is {LEAST_CONTESTED} or more, says the server that keeps it",
}
_WHY_FRICTION = "by the evidence and the verdicts that the server which keeps the notebook has"
# The id of an entry in records that are made to check its quotes, and are shown without it.
_ANY_ENTRY = "0" * 12


@dataclass(frozen=True, slots=True)
class FarNotebook:
    """A notebook on another server, as the caller of this request sees it."""

    book: OpenNotebook
    server: HttpNotebook

    @property
    def context(self) -> RequestContext:
        """The context of the request."""
        return self.book.context

    @property
    def project(self) -> str:
        """The name of the project, which is the id of the notebook."""
        return self.book.view.notebook.project

    def get(self, below: str, **query: Any) -> dict[str, Any]:
        """The answer of a route below the notebook's."""
        return self.server.ask("GET", self.project, below, query)

    def send(self, method: str, below: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """The answer to a body."""
        return self.server.ask(method, self.project, below, body=body)

    def path_of(self, entry_id: str) -> str:
        """The path of an entry. Raises ``WinnowError("NOT_FOUND")`` for a text that is no id of one."""
        if not is_entry_id(entry_id):
            raise WinnowError(
                "NOT_FOUND", "there is no such entry in this notebook; ids come from wild_search and its like"
            )
        return f"/entries/{quote(entry_id, safe='')}"


def reach_notebook(context: RequestContext, project: str | None) -> FarNotebook:
    """The notebook that a call is about. Raises as ``open_notebook`` does, and for a caller with an access key."""
    book = open_notebook(context, project)
    if book.view.notebook.owner:
        raise WinnowError("SCOPE_VIOLATION", _OF_KEYS)
    return FarNotebook(book, context.index.claims.remote_notebook)


def _list_rows(model: type[BaseModel], answer: Mapping[str, Any], name: str, most: int) -> list[dict[str, Any]]:
    """Rows without the numbers of verified quotes, which only a server with the documents may state."""
    rows = read_rows(model, answer, name, most)
    for row in rows:
        for claim in row.get("claims", ()):
            claim.pop("verified", None)
            claim.pop("refuted", None)
    return rows


def search_claims(context: RequestContext, request: ClaimSearch) -> Answer:
    """Ask for the entries by meaning, by words or both, and merge them by reciprocal rank fusion."""
    far = reach_notebook(context, request.project)
    mode, warnings = request.mode, []
    asked = {
        "query": request.query,
        "top_k": min(request.top_k * OVERFETCH, MAX_ENTRIES),
        "max_claims": request.max_claims,
        **({"topic_prefix": request.topic_prefix} if request.topic_prefix else {}),
        **({"integration_status": request.integration_status} if request.integration_status else {}),
    }
    legs: list[list[dict[str, Any]]] = []
    if mode != "lexical":
        body = {**asked, "mode": "semantic", "min_similarity": request.min_similarity}
        answer = far.send("POST", "/semantic-search", body)
        if answer.get("mode", "semantic") == "semantic":
            legs.append(_list_rows(answers.FoundEntry, answer, "results", MAX_ENTRIES))
        else:
            warnings.append(_NO_MODEL_THERE)
            mode = "lexical"
    if mode != "semantic":
        legs.append(_list_rows(answers.FoundEntry, far.get("/search", **asked), "results", MAX_ENTRIES))
    # A server may not know these filters.
    fitting = [[row for row in leg if _fits(row, request)] for leg in legs]
    known = by_entry([row for leg in fitting for row in leg])
    ranked = fuse([[row["entry_id"] for row in leg] for leg in fitting])[: request.top_k]
    return answer_rows(context, [known[id] for id in ranked], {"mode": mode}, warnings)


def _fits(row: Mapping[str, Any], request: ClaimSearch) -> bool:
    prefix, topic = (request.topic_prefix or "").strip("/"), row["topic"]
    is_below = not prefix or topic == prefix or topic.startswith(f"{prefix}/")
    return is_below and request.integration_status in (None, row["integration_status"])


def entry_claims(context: RequestContext, request: EntryClaims) -> Answer:
    """Ask for the claims of entries, in one request, and answer in the order that was asked for."""
    far = reach_notebook(context, request.project)
    asked = list(dict.fromkeys(request.entry_ids))
    known = [id for id in asked if is_entry_id(id)]
    answer = far.send("POST", "/claims/batch", {"entry_ids": known}) if known else {"entries": []}
    found = by_entry(_list_rows(answers.ClaimsEntry, answer, "entries", MAX_ENTRIES))
    shown = answer_rows(context, [found[id] for id in asked if id in found], name="entries")
    entries = shown.payload["entries"]
    payload = {"entries": entries, "missing_ids": [id for id in asked if id not in found]}
    return Answer(payload, "metadata", len(entries), shown.tokens, shown.warnings)


def related_entries(context: RequestContext, request: RelatedEntries) -> Answer:
    """Ask for what relates to an entry."""
    far = reach_notebook(context, request.project)
    below = f"{far.path_of(request.entry_id)}/related"
    answer = far.get(below, direction=request.direction, max_results=request.max_results)
    return answer_rows(context, _list_rows(answers.RelatedEntry, answer, "results", request.max_results))


def read_entry(context: RequestContext, request: ReadEntry) -> Answer:
    """Ask for a whole entry, and look for its quotes in the documents here."""
    far = reach_notebook(context, request.project)
    answer = far.get(far.path_of(request.entry_id), start_char=request.start_char or None)
    found = read_whole(answers.ReadEntryAnswer, {"next_start_char": None, **answer})
    if (next_start := found.setdefault("next_start_char", None)) is not None and next_start <= request.start_char:
        found["next_start_char"] = None  # it would be read without end
    if request.claims:
        found |= leave_out(found["content"])
        found["claims"] = choose_claims(found["entry_id"], found["claims"], request.claims)
    size = context.caller.budget.of("full")
    claims = budget.fit_rows(check_claims(far, found["claims"]), size.tokens // 2, size.bytes // 2)
    cut = len(claims.rows) < len(found["claims"])
    payload = {**found, "claims": list(claims.rows), "status_why": _WHY[found["integration_status"]]}
    warnings = (CLAIMS_CUT.format(shown=len(claims.rows), found=len(found["claims"])),) if cut else ()
    pieces = (found["content"], budget.dumps(payload["claims"]))
    charged_text = text_charges.total([text_charges.piece(found["entry_id"], text) for text in pieces])
    return Answer(payload, "full", 1, claims.tokens, warnings, charged_text=charged_text)


def check_claims(far: FarNotebook, claims: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of claims with the status of their quotes in the documents of this server, and its warnings."""
    index = documents_of(far.context, far.project) if any(claim["evidence"] for claim in claims) else None
    return [_check_claim(index, claim) for claim in claims]


def _check_claim(index: CurrentIndex | None, row: Mapping[str, Any]) -> dict[str, Any]:
    try:
        evidence = tuple(_evidence(each) for each in row["evidence"])
        claim = Claim(
            id=claim_id(_ANY_ENTRY, row["n"]),
            text=row["text"][:CLAIM_CHARS],
            confidence=row["confidence"],
            evidence=evidence,
            author=row["author"][:NAME_CHARS] if "author" in row else None,
        )
    except ValidationError:
        raise WinnowError(
            "SOURCE_UNAVAILABLE", "the server of notebooks sends a claim that cannot be read; check notebook_url"
        ) from None
    if index is not None and evidence:
        claim = check_claim(claim, index, time.time())
    if not (friction := row.get("friction")):
        return read_claim(claim)
    return {**read_claim(claim), "friction": friction, "friction_why": f"{friction:.2f}: {_WHY_FRICTION}"}


def _evidence(row: Mapping[str, Any]) -> Evidence:
    return Evidence(
        passage_id=row.get("section_id", "")[:NAME_CHARS],
        document=row.get("document", ""),
        quote=row["quote"],
        stance=row["stance"],
        by=row.get("by", "")[:NAME_CHARS],
    )


def list_topics(context: RequestContext, request: ListTopics) -> Answer:
    """Ask for the topics."""
    far = reach_notebook(context, request.project)
    answer = far.get("/browse", topic_prefix=request.prefix or None, min_entries=request.min_entries)
    rows = _list_rows(answers.TopicRow, answer, "topics", answers.MAX_TOPICS)
    return answer_rows(context, rows, name="topics")


def find_friction(context: RequestContext, request: FindFriction) -> Answer:
    """Ask for the entries that are contradicted most."""
    far = reach_notebook(context, request.project)
    answer = far.get(
        "/browse",
        has_friction_above=request.min_friction,
        topic_prefix=request.topic_prefix or None,
        integration_status=request.integration_status,
        limit=request.limit,
    )
    return answer_rows(context, _list_rows(answers.FrictionRow, answer, "results", request.limit))


def recent_changes(context: RequestContext, request: RecentChanges) -> Answer:
    """Ask for the changes after a sequence."""
    far = reach_notebook(context, request.project)
    answer = far.get("/observe", since_sequence=request.since_sequence, limit=request.limit)
    rows = _list_rows(answers.ChangeRow, answer, "changes", request.limit)
    shown = answer_rows(context, rows, name="changes")
    changes = shown.payload["changes"]
    told = answer.get("next_sequence")
    last = max([request.since_sequence, *(change["sequence"] for change in changes)])
    is_late = not changes and type(told) is int and 0 <= told < last
    last = told if is_late else last
    late = (LATER.format(last=last),) if is_late else ()
    payload = {**shown.payload, "next_sequence": last}
    return Answer(payload, "metadata", len(changes), shown.tokens, (*shown.warnings, *late))


def notebook_status(context: RequestContext, request: NotebookStatus) -> Answer:
    """Ask for the counts of the notebook."""
    far = reach_notebook(context, request.project)
    found = read_whole(answers.NotebookStatusAnswer, far.get("/status"))
    writes = bool(found["writes"] and context.settings.enable_writes)
    return Answer({**found, "project": far.project, "writes": writes}, "metadata", 1, 0)


def write_entry(context: RequestContext, request: WriteEntry) -> Answer:
    """Send an entry; its passages are named by their lasting ids."""
    far = _writable(context, request.project)
    if not request.claims and not request.content.strip():
        raise WinnowError("INVALID_REQUEST", "give claims, or a content to take them from")
    body = request.model_dump(exclude={"project", "claims"}, exclude_defaults=True)
    body |= {"topic": request.topic, "claims": [_given(far, claim) for claim in request.claims]}
    return _written(far, far.send("POST", "/entries", body))


def revise_entry(context: RequestContext, request: ReviseEntry) -> Answer:
    """Send what changes of an entry: fields, claims, evidence, verdicts."""
    far = _writable(context, request.project)
    below = far.path_of(request.entry_id)
    body = request.model_dump(exclude={"project", "entry_id", "claims", "evidence"}, exclude_defaults=True)
    if request.claims:
        body["claims"] = [_given(far, claim) for claim in request.claims]
    if request.evidence:
        body["evidence"] = [{**_quote(far, each), "claim": each.claim} for each in request.evidence]
    return _written(far, far.send("PATCH", below, body))


def _writable(context: RequestContext, project: str | None) -> FarNotebook:
    require_writes(context)
    if context.settings.review_claims:
        raise WinnowError("SCOPE_VIOLATION", _APPROVED_THERE)
    return reach_notebook(context, project)


def _given(far: FarNotebook, claim: GivenClaim) -> dict[str, Any]:
    quotes = [_quote(far, each) for each in claim.evidence]
    return {"text": claim.text, "confidence": claim.confidence, "evidence": quotes}


def _quote(far: FarNotebook, given: GivenEvidence) -> dict[str, Any]:
    """Evidence as it is sent: without a status, which each server finds out itself."""
    evidence = build_evidence(far.book, given, "")
    return {"section_id": evidence.passage_id, "quote": evidence.quote, "stance": evidence.stance}


def _written(far: FarNotebook, answer: Mapping[str, Any]) -> Answer:
    found = read_whole(answers.WriteAnswer, answer)
    checked = {"claims": check_claims(far, found["claims"]), "status_why": _WHY[found["integration_status"]]}
    return Answer({**found, **checked}, "full", 1, 0)
