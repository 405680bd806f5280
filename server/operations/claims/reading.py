"""Reading a notebook: entries and their claims, what relates to them, topics, friction, changes, status."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from winnow.server.claims.friction import contradictions
from winnow.server.claims.life_cycle import derive_state
from winnow.server.claims.records import Claim, ClaimVerdict, Comparison, Entry, entry_of
from winnow.server.contracts.claims.answers import MAX_TOPICS, PART_CHARS
from winnow.server.contracts.claims.arguments import (
    EntryClaims,
    FindFriction,
    ListTopics,
    NotebookStatus,
    ReadEntry,
    RecentChanges,
    RelatedEntries,
)
from winnow.server.errors import WinnowError
from winnow.server.operations.answers import budget, text_charges
from winnow.server.operations.base import Answer, RequestContext
from winnow.server.operations.claims.notebooks import OpenNotebook, open_notebook
from winnow.server.operations.claims.rows import change_row, contradiction_rows, entry_row, read_claim, share
from winnow.server.operations.claims.search import answer_rows
from winnow.server.text.printable import one_line, printable

_COMPARISONS, _REVISIONS, _CONTRADICTIONS, _TOP_TOPICS = 10, 20, 20, 5
# Two entries are similar from this largest similarity of their claims on (the candidates of a comparison).
SIMILAR_ENTROPY = 0.4
# Of a related entry, and of one that changed.
_CLAIMS_BESIDE, _CLAIMS_SHOWN = 3, 5
LATER = "the last change is {last}, before since_sequence: go on from next_sequence, or from 0 for all"
CLAIMS_CUT = "{shown} of {found} claims are shown with their evidence; wild_claims has them all without"


def entry_claims(context: RequestContext, request: EntryClaims) -> Answer:
    """Answer with the claims of entries, in the order that was asked for. One query reads them all."""
    book = open_notebook(context, request.project)
    book.bring_up_to_date()
    found = book.store.read(book.view, request.entry_ids)
    asked = list(dict.fromkeys(request.entry_ids))
    rows: list[budget.Row] = [
        entry_row(found[id]) | {"confidence_avg": _mean(found[id].claims)} for id in asked if id in found
    ]
    answer = answer_rows(context, rows, name="entries")
    missing = [id for id in asked if id not in found]
    entries = answer.payload["entries"]
    payload = {"entries": entries, "missing_ids": missing}
    return Answer(payload, "metadata", len(entries), answer.tokens, answer.warnings)


def _mean(claims: tuple[Claim, ...]) -> float:
    return share(sum(claim.confidence for claim in claims) / len(claims))


def related_entries(context: RequestContext, request: RelatedEntries) -> Answer:
    """Answer with the entries that an entry was compared with, those that contradict it first."""
    book = open_notebook(context, request.project)
    book.bring_up_to_date()
    entry = book.require(request.entry_id)
    verdicts = book.store.verdicts([entry.id])
    compared = {each.other_id: each for each in book.comparisons_of(entry)}
    judged = {id.partition(".")[0] for pair in contradictions(verdicts) for id in pair} - {entry.id}
    others = book.store.read(book.view, [*compared, *judged])
    rows = [
        _related_row(entry, other, compared.get(other.id), contradiction_rows(entry, verdicts, {other.id: other}))
        for other in others.values()
    ]
    wanted = [row for row in rows if _is_wanted(row, request.direction)]
    wanted.sort(key=lambda row: (-len(row["contradictions"]), row["entropy"], row["entry_id"]))
    return answer_rows(context, wanted[: request.max_results])


def _related_row(
    entry: Entry, other: Entry, comparison: Comparison | None, opposed: list[dict[str, Any]]
) -> dict[str, Any]:
    nearest = comparison.pairs[0].other_id if comparison and comparison.pairs else ""
    return {
        **entry_row(other, _CLAIMS_BESIDE, nearest),
        "entropy": share(comparison.entropy) if comparison else 1.0,
        "friction": share(comparison.friction) if comparison else 0.0,
        "contradictions": opposed[:_CONTRADICTIONS],
    }


def _is_wanted(row: dict[str, Any], direction: str) -> bool:
    is_similar, is_opposed = bool(row["entropy"] <= SIMILAR_ENTROPY), bool(row["contradictions"])
    return {"similar": is_similar, "contradicts": is_opposed, "all": is_similar or is_opposed}[direction]


def read_entry(context: RequestContext, request: ReadEntry) -> Answer:
    """Answer with an entry: its status, its claims with evidence, and what else it has unless claims are named."""
    book = open_notebook(context, request.project)
    book.bring_up_to_date()
    entry = book.require(request.entry_id)
    state = derive_state(book.store, entry)
    size = context.caller.budget.of("full")
    asked = choose_claims(entry.id, read_claims(book, entry), request.claims)
    claims = budget.fit_rows(asked, size.tokens // 2, size.bytes // 2)
    rest = (
        leave_out(entry.content)
        if request.claims
        else _rest_of_entry(book, entry, state.comparisons, request.start_char)
    )
    payload = {
        "entry_id": entry.id,
        "topic": one_line(entry.topic),
        "title": one_line(entry.title),
        "source": one_line(entry.source),
        "author": one_line(entry.author),
        **({"revised_by": one_line(entry.revised_by)} if entry.revised_by is not None else {}),
        "claims": list(claims.rows),
        "claims_total": len(entry.claims),
        "claims_status": entry.claims_status,
        "integration_status": entry.integration_status,
        "status_why": one_line(state.status.why),
        "max_friction": share(entry.friction),
        **rest,
        "revision": entry.revision,
        "needs_review": entry.needs_review,
    }
    is_cut = len(claims.rows) < len(asked)
    warnings = (CLAIMS_CUT.format(shown=len(claims.rows), found=len(asked)),) if is_cut else ()
    pieces = [text_charges.piece(entry.id, text) for text in (payload["content"], budget.dumps(payload["claims"]))]
    return Answer(payload, "full", 1, claims.tokens, warnings, charged_text=text_charges.total(pieces))


def choose_claims(entry_id: str, rows: Sequence[dict[str, Any]], numbers: Sequence[int]) -> list[dict[str, Any]]:
    """The claims with these numbers, all without any. Raises for a number that the entry does not have."""
    if missing := sorted({*numbers} - {row["n"] for row in rows}):
        raise WinnowError(
            "NOT_FOUND", f"there is no claim {entry_id}.{missing[0]}; wild_claims lists those of an entry by n"
        )
    return [row for row in rows if not numbers or row["n"] in numbers]


def leave_out(content: str) -> dict[str, Any]:
    """The fields of an answer beside claims that were named, all of them empty."""
    more = 0 if content else None
    return {"content": "", "next_start_char": more, "comparisons": [], "references": [], "revisions": []}


def _rest_of_entry(
    book: OpenNotebook, entry: Entry, comparisons: Sequence[Comparison], start_char: int
) -> dict[str, Any]:
    """A part of the content, and what relates to the entry."""
    content = printable(entry.content)
    if start_char > len(content):
        raise WinnowError("INVALID_REQUEST", f"start_char: the content has {len(content):,} characters")
    part = content[start_char : start_char + PART_CHARS]
    end = start_char + len(part)
    return {
        "content": part,
        "next_start_char": end if end < len(content) else None,
        "comparisons": _comparison_rows(book, list(filter(_is_near, comparisons))[:_COMPARISONS]),
        "references": list(entry.references),
        "revisions": [
            change_row(change) for change in book.store.history(book.view.notebook, entry.id)[-_REVISIONS:]
        ],
    }


def _is_near(comparison: Comparison) -> bool:
    """Whether a comparison says something of the entry: the other is similar, or contradicted by it."""
    return comparison.entropy <= SIMILAR_ENTROPY or comparison.friction > 0


def read_claims(book: OpenNotebook, entry: Entry) -> list[dict[str, Any]]:
    """The claims of an entry with their evidence and what contradicts them."""
    verdicts = book.store.verdicts([entry.id])
    judges = {frozenset((each.claim_id, each.other_id)): each.by for each in verdicts}
    pairs = contradictions(verdicts)
    others = book.store.read(book.everything, [other.partition(".")[0] for _, other in pairs])
    known = {claim.id: claim for other in others.values() for claim in other.claims}
    rows = []
    for claim in entry.claims:
        opposed = [known[other] for own, other in pairs if own == claim.id and other in known]
        names = {judges[frozenset((claim.id, each.id))] for each in opposed} - {""}
        rows.append(read_claim(claim, opposed, sorted(names)))
    return rows


def _comparison_rows(book: OpenNotebook, comparisons: Sequence[Comparison]) -> list[dict[str, Any]]:
    others = book.store.read(book.everything, [each.other_id for each in comparisons])
    texts = {claim.id: claim.text for other in others.values() for claim in other.claims}
    return [
        {
            "entry_id": each.other_id,
            "entropy": share(each.entropy),
            "friction": share(each.friction),
            **(
                {"nearest_claim": pair.other_id, "nearest_text": one_line(texts[pair.other_id])}
                if (pair := next(iter(each.pairs), None)) and pair.other_id in texts
                else {}
            ),
        }
        for each in comparisons
        if each.other_id in others
    ]


def list_topics(context: RequestContext, request: ListTopics) -> Answer:
    """Answer with the topics by name."""
    book = open_notebook(context, request.project, request.prefix)
    rows: list[budget.Row] = [
        {
            "topic": one_line(each.topic),
            "entry_count": each.entries,
            "avg_friction": share(each.friction),
            "claims_status_breakdown": {
                status: each.statuses.get(status, 0) for status in ("extracted", "distilled")
            },
        }
        for each in book.store.topics(book.view)
        if each.entries >= request.min_entries
    ]
    warnings = [f"{MAX_TOPICS} of {len(rows)} topics are listed; narrow them with prefix"][
        : len(rows) > MAX_TOPICS
    ]
    return answer_rows(context, rows[:MAX_TOPICS], warnings=warnings, name="topics")


def find_friction(context: RequestContext, request: FindFriction) -> Answer:
    """Answer with the entries that are contradicted most; recorded contradictions count at any friction."""
    book = open_notebook(context, request.project, request.topic_prefix, request.integration_status)
    book.bring_up_to_date()
    verdicts, others = _recorded_contradictions(book)
    contested = book.store.most_contested(book.view, request.min_friction, request.limit)
    found = {entry.id: entry for entry in contested} | book.store.read(book.view, sorted(others))
    opposed_in = {entry.id: contradiction_rows(entry, _about(entry, verdicts), others) for entry in found.values()}
    rows: list[budget.Row] = []
    ordered = sorted(found.values(), key=lambda entry: (-entry.friction, not opposed_in[entry.id], entry.id))
    for entry in ordered[: request.limit]:
        opposed = opposed_in[entry.id]
        rows.append(
            {
                "entry_id": entry.id,
                "topic": one_line(entry.topic),
                "max_friction": share(entry.friction),
                "integration_status": entry.integration_status,
                "contradiction_count": len(opposed),
                **({"top_contradiction": opposed[0]} if opposed else {}),
            }
        )
    return answer_rows(context, rows)


def _recorded_contradictions(book: OpenNotebook) -> tuple[list[ClaimVerdict], dict[str, Entry]]:
    """The contradictions between claims of entries that the reader sees, as they are now, and these entries."""
    recorded = [each for each in book.store.verdicts_in(book.view.notebook) if each.judgement == "contradicts"]
    ids = {entry_of(id) for each in recorded for id in (each.claim_id, each.other_id)}
    entries = book.store.read(book.everything, sorted(ids))
    claims = {claim.id for entry in entries.values() for claim in entry.claims}
    verdicts = [each for each in recorded if {each.claim_id, each.other_id} <= claims]
    joined = {entry_of(id) for each in verdicts for id in (each.claim_id, each.other_id)}
    return verdicts, {id: entry for id, entry in entries.items() if id in joined}


def _about(entry: Entry, verdicts: Sequence[ClaimVerdict]) -> list[ClaimVerdict]:
    return [each for each in verdicts if entry.id in (entry_of(each.claim_id), entry_of(each.other_id))]


def recent_changes(context: RequestContext, request: RecentChanges) -> Answer:
    """Answer with the entries that changed after a sequence, the oldest change first."""
    book = open_notebook(context, request.project)
    book.bring_up_to_date()
    changes = book.store.recent(book.view, request.since_sequence, request.limit)
    rows: list[budget.Row] = [
        {**entry_row(entry, _CLAIMS_SHOWN), **change_row(change)} for change, entry in changes
    ]
    answer = answer_rows(context, rows, name="changes")
    shown = answer.payload["changes"]
    newest = book.store.counts(book.view).sequence
    last = shown[-1]["sequence"] if shown else min(request.since_sequence, newest)
    late = (LATER.format(last=last),) if request.since_sequence > last else ()
    warnings = (*answer.warnings, *late)
    return Answer({**answer.payload, "next_sequence": last}, "metadata", len(shown), answer.tokens, warnings)


def notebook_status(context: RequestContext, request: NotebookStatus) -> Answer:
    """Answer with the counts of the notebook."""
    book = open_notebook(context, request.project)
    book.bring_up_to_date()
    counts, model = book.store.counts(book.view), book.model
    topics = sorted(book.store.topics(book.view), key=lambda each: (-each.friction, each.topic))
    waiting = book.store.count_without_vectors(book.view.notebook, model.fingerprint) if model else 0
    payload = {
        "project": book.view.notebook.project,
        "total_entries": counts.entries,
        "total_claims": counts.claims,
        "contradictions": len(_recorded_contradictions(book)[0]),
        "percent_distilled": round(100 * counts.by_claims.get("distilled", 0) / max(counts.entries, 1), 1),
        "queue_depth": waiting,
        "awaiting_review": counts.awaiting_review,
        "integration": {
            status: counts.by_integration.get(status, 0) for status in ("probation", "integrated", "contested")
        },
        "top_friction": [
            {"topic": one_line(each.topic), "avg_friction": share(each.friction)}
            for each in topics[:_TOP_TOPICS]
            if each.friction
        ],
        "last_sequence": counts.sequence,
        "semantic": model is not None,
        "writes": context.settings.enable_writes,
    }
    return Answer(payload, "metadata", 1, 0)
