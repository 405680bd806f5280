"""Writing to a notebook: entries, their revisions, evidence and verdicts.

What an agent says is stored as what an agent said. What the server says about it (the status of each quote, the
warnings, friction and the status of the entry) is found out here and nowhere taken from an argument.
"""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from winnow.server.claims.language.distilling import EXTRACTED_CONFIDENCE, distil
from winnow.server.claims.records import (
    CLAIM_CHARS,
    CONTENT_CHARS,
    MODEL_PREFIX,
    NAME_CHARS,
    NOTE_CHARS,
    SOURCE_CHARS,
    TITLE_CHARS,
    TOPIC,
    TOPIC_CHARS,
    Claim,
    ClaimVerdict,
    Entry,
    Evidence,
    claim_id,
    entry_of,
    new_entry_id,
)
from winnow.server.claims.verifying import check_entry
from winnow.server.contracts.base import Scope
from winnow.server.contracts.claims.arguments import (
    GivenClaim,
    GivenEvidence,
    GivenVerdict,
    ReviseEntry,
    WriteEntry,
)
from winnow.server.errors import WinnowError
from winnow.server.operations.base import Answer, RequestContext
from winnow.server.operations.claims.notebooks import OpenNotebook, documents_of, open_notebook, require_writes
from winnow.server.operations.claims.reading import read_claims
from winnow.server.operations.claims.rows import share
from winnow.server.operations.ranking.passages import find_passage
from winnow.server.runtime.sessions.passage_store import StoredPassage
from winnow.server.text.printable import one_line, printable

_CANDIDATES = 10
_TOPIC = re.compile(TOPIC)
_SEVERAL_CLAIMS = 20


@dataclass(slots=True)
class _Draft:
    """An entry in the making: the numbers of its next claims, who writes, and the notebook.

    ``signed`` is what its claims have as their author: None where that is the entry's own.
    """

    book: OpenNotebook
    entry_id: str
    author: str
    next_claim: int = 1
    signed: str | None = None
    claims: list[Claim] = field(default_factory=list)

    def add(self, text: str, confidence: float, evidence: Sequence[GivenEvidence] = ()) -> None:
        """Add a claim with the next number."""
        found = tuple(build_evidence(self.book, each, self.author) for each in evidence)
        id = claim_id(self.entry_id, self.next_claim)
        text = one_line(text, CLAIM_CHARS)
        if not _has_words(text):
            raise WinnowError("INVALID_REQUEST", "claims: a claim is a sentence; one of these has no words")
        self.claims.append(Claim(id=id, text=text, confidence=confidence, evidence=found, author=self.signed))
        self.next_claim += 1


def build_evidence(book: OpenNotebook, given: GivenEvidence, author: str) -> Evidence:
    """Evidence as it was given, with the lasting id of its passage; what of it is true is checked later."""
    if bool(given.passage_id) == bool(given.section_id):
        raise WinnowError(
            "INVALID_REQUEST", "evidence: name its passage by passage_id or by section_id, one of them"
        )
    quote = printable(given.quote)
    if not quote.strip():
        raise WinnowError("INVALID_REQUEST", "evidence: a quote is text of a document; one of these is blank")
    passage = _find_passage(book, given.place)
    if passage is None:
        return Evidence(passage_id=given.place, quote=quote, stance=given.stance, by=author)
    chunk, document = passage.passage.chunk, passage.passage.document
    return Evidence(
        passage_id=chunk.id,
        document=document.uri,
        document_id=document.id,
        quote=quote,
        stance=given.stance,
        by=author,
    )


def _has_words(text: str) -> bool:
    """Whether a text has a letter or a digit, of any writing system."""
    return any(character.isalnum() for character in text)


def _find_passage(book: OpenNotebook, name: str) -> StoredPassage | None:
    try:
        return find_passage(book.context, name, Scope(project_id=book.view.notebook.project))
    except WinnowError as error:
        if error.reason != "INVALID_PROJECT":
            raise
        return None  # the project has no documents: its notebook is kept here for others


def write_entry(context: RequestContext, request: WriteEntry) -> Answer:
    """Write an entry, check its quotes, compare it with others, and answer with what came of it."""
    require_writes(context)
    book = open_notebook(context, request.project)
    if not request.claims and not request.content.strip():
        raise WinnowError("INVALID_REQUEST", "give claims, or a content to take them from")
    _check_topic(request.topic)
    _check_references(book, request.references)
    entry_id, now = new_entry_id(), time.time()
    author = _author(request.author)
    draft = _Draft(book, entry_id, author)
    _add_claims(draft, request.claims, request.content)
    entry = Entry(
        id=entry_id,
        project=book.view.notebook.project,
        owner=book.view.notebook.owner,
        title=one_line(request.title, TITLE_CHARS),
        topic=request.topic,
        content=printable(request.content)[:CONTENT_CHARS],
        claims=tuple(draft.claims),
        source=one_line(request.source, SOURCE_CHARS),
        author=author,
        session=context.session.id,
        claims_status="distilled" if request.claims else "extracted",
        needs_review=context.settings.review_claims,
        references=tuple(dict.fromkeys(request.references)),
        created_at=now,
        revised_at=now,
        next_claim=draft.next_claim,
    )
    written = book.store.add(book.view.notebook, _checked(context, entry, now))
    return _finish_write(book, written)


def revise_entry(context: RequestContext, request: ReviseEntry) -> Answer:
    """Revise an entry: its fields, its claims, their evidence, and verdicts about them."""
    require_writes(context)
    book = open_notebook(context, request.project)
    entry = book.require(request.entry_id)
    _check_revisable(context, entry, request.revision)
    if request.topic is not None:
        _check_topic(request.topic)
    verdicts = [_verdict(book, entry, given, request.author) for given in request.verdicts]
    revised = _revised(book, entry, request)
    if revised is not None:
        entry = book.store.revise(book.view.notebook, _checked(context, revised, time.time()))
    if verdicts:
        book.store.judge(book.view.notebook, verdicts)
    return _finish_write(book, entry, shows_claims=revised is not None or not verdicts)


def _revised(book: OpenNotebook, entry: Entry, request: ReviseEntry) -> Entry | None:
    """The entry as the request has it; None where it stays as it is."""
    most = {"topic": TOPIC_CHARS, "title": TITLE_CHARS, "source": SOURCE_CHARS}
    given = {name: getattr(request, name) for name in most}
    fields: dict[str, Any] = {
        name: one_line(value, most[name]) for name, value in given.items() if value is not None
    }
    if request.content is not None:
        fields["content"] = printable(request.content)[:CONTENT_CHARS]
    author = _author(request.author)
    signed = None if author == entry.author else author
    draft = _Draft(book, entry.id, author, entry.next_claim, signed)
    if request.claims:
        _add_claims(draft, request.claims, "")
        fields |= {"claims": tuple(draft.claims), "next_claim": draft.next_claim, "claims_status": "distilled"}
    elif request.content is not None and entry.claims_status == "extracted":
        _add_claims(draft, [], request.content)
        fields |= {"claims": tuple(draft.claims), "next_claim": draft.next_claim}
    if request.evidence:
        fields["claims"] = _with_evidence(book, fields.get("claims", entry.claims), request)
    if not fields:
        return None
    return entry.model_copy(update={**fields, "revised_by": signed, "revised_at": time.time()})


def _with_evidence(book: OpenNotebook, claims: tuple[Claim, ...], request: ReviseEntry) -> tuple[Claim, ...]:
    """The claims with the added evidence. Raises for a claim that the entry does not have, and for too much."""
    by_id = {claim.id: claim for claim in claims}
    for given in request.evidence:
        id = claim_id(request.entry_id, given.claim)
        if id not in by_id:
            raise _no_claim(id)
        found = (*by_id[id].evidence, build_evidence(book, given, _author(request.author)))
        if len(found) > _SEVERAL_CLAIMS:
            raise WinnowError("INVALID_REQUEST", f"claim {id} would have more than {_SEVERAL_CLAIMS} quotes")
        by_id[id] = by_id[id].model_copy(update={"evidence": found})
    return tuple(by_id.values())


def _verdict(book: OpenNotebook, entry: Entry, given: GivenVerdict, author: str) -> ClaimVerdict:
    own = claim_id(entry.id, given.claim)
    if own not in {claim.id for claim in entry.claims}:
        raise _no_claim(own)
    other = book.require(entry_of(given.other))
    if other.id == entry.id:
        raise WinnowError(
            "INVALID_REQUEST", "a verdict is about claims of two entries; other names a claim of this"
        )
    if given.other not in {claim.id for claim in other.claims}:
        raise _no_claim(given.other)
    return ClaimVerdict(
        claim_id=own,
        other_id=given.other,
        judgement=given.judgement,
        by=_author(author),
        note=one_line(given.note, NOTE_CHARS),
        created_at=time.time(),
    )


def _no_claim(id: str) -> WinnowError:
    return WinnowError("NOT_FOUND", f"there is no claim {id}; wild_claims lists those of an entry by n")


def _add_claims(draft: _Draft, given: Sequence[GivenClaim], content: str) -> None:
    """Add the claims that were given or, without any, sentences of the content."""
    for claim in given:
        draft.add(claim.text, claim.confidence, claim.evidence)
    if given:
        return
    model = draft.book.model
    for sentence in distil(content, embed=model.embed if model else None).sentences:
        draft.add(sentence.text, EXTRACTED_CONFIDENCE)
    if not draft.claims:
        raise WinnowError(
            "INVALID_REQUEST", "content: it has no sentence that a claim can be taken from; give claims"
        )


def _author(name: str) -> str:
    """The name that an agent gives itself. Raises for one that a model of the operator signs with."""
    author = one_line(name, NAME_CHARS)
    if author.casefold().startswith(MODEL_PREFIX):
        raise WinnowError(
            "INVALID_REQUEST",
            f'author: names with "{MODEL_PREFIX}" are for models of the operator; give your own',
        )
    return author


def _check_topic(topic: str) -> None:
    if not _TOPIC.fullmatch(topic) or one_line(topic) != topic or not _has_words(topic):
        raise WinnowError(
            "INVALID_REQUEST",
            'topic: levels separated by single slashes, none empty or with white space around it: "memory/paging"',
        )


def _check_references(book: OpenNotebook, references: Sequence[str]) -> None:
    found = book.store.read(book.everything, references)
    if missing := [id for id in references if id not in found]:
        raise WinnowError("NOT_FOUND", f"references: there is no entry {missing[0]} in this notebook")


def _check_revisable(context: RequestContext, entry: Entry, revision: int | None) -> None:
    """Raise where the entry was revised since it was read, or others have approved what it says."""
    if revision is not None and revision != entry.revision:
        raise WinnowError(
            "INVALID_REQUEST",
            f"entry {entry.id} has revision {entry.revision} by now, not {revision}: read it again first",
        )
    if context.settings.review_claims and not entry.needs_review:
        raise WinnowError(
            "SCOPE_VIOLATION",
            "this entry was approved, and what agents write here has to be (review_claims): write an entry "
            "that refers to it",
        )


def _checked(context: RequestContext, entry: Entry, now: float) -> Entry:
    """The entry with the status of its evidence and the warnings of its claims."""
    if not any(claim.evidence for claim in entry.claims):
        return entry
    return check_entry(entry, documents_of(context, entry.project), now)


def _finish_write(book: OpenNotebook, entry: Entry, *, shows_claims: bool = True) -> Answer:
    """Compare a written entry, weigh it and those that verdicts join to it, and answer.

    Who only judged claims has read them: ``shows_claims`` is False.
    """
    if (model := book.model) is not None:
        book.vectors.embed(model, [entry])
    state = book.compare(entry)
    if shows_claims:
        state = book.judge_candidates([(entry, state)]).get(entry.id, state)
    entry = book.require(entry.id)
    candidates = book.candidates(entry, state.comparisons)[:_CANDIDATES] if shows_claims else []
    payload = {
        "entry_id": entry.id,
        "topic": one_line(entry.topic),
        "revision": entry.revision,
        "sequence": entry.sequence,
        "claims": read_claims(book, entry) if shows_claims else [],
        "claims_status": entry.claims_status,
        "integration_status": entry.integration_status,
        "status_why": one_line(state.status.why),
        "max_friction": share(entry.friction),
        "needs_review": entry.needs_review,
        "candidates": [
            {
                "claim": each.pair.claim_id,
                "other": each.pair.other_id,
                "other_text": one_line(each.other_text),
                "similarity": share(each.pair.similarity),
            }
            for each in candidates
        ],
    }
    return Answer(payload, "full", 1, 0)
