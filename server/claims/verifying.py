"""Verifies evidence against the index as it is now: whether the quote stands in the document, and where.

    status     when verified   the quote is there word for word; its offsets, page and passage are those of its
    present place elided     the quote is there but leaves text out, which may change its meaning; the complete
    text is stored, too weak       the quote is there but proves nothing: it has fewer than four words, or no word
    of content of the claim drifted    the quote is not there, but a similar text is: the document or the quote was
    altered missing    the document is gone, or has nothing like the quote

Only ``verified`` evidence counts for a claim. A document is found by its id, by the named passage, or by its uri.
A document that was moved is found by its digest, because its id changes with the uri. If a document was moved and
changed, the only document with the same suffix and about the same length that has the quote takes its place; a
note says so. If a quote stands in several places, the place in the named passage counts, otherwise the place
nearest to the former one. A quote outside the named passage is verified, and a note names its place.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from pathlib import PurePosixPath
from typing import Protocol

from winnow.server.bibliographies.locators import Locator, address_of, locate, work_fields
from winnow.server.claims.language.wording import check_wording, shares_words
from winnow.server.claims.records import FULL_CHARS, MAX_WARNINGS, NOTE_CHARS, Claim, Entry, Evidence
from winnow.server.ids import is_chunk_id
from winnow.server.models import Chunk, ChunkSpan, Document, DocumentReading, Filters, Passage, Place
from winnow.server.storage.base import IndexedDocument, admits
from winnow.server.text.printable import one_line, shorten
from winnow.server.text.quotes.finding import QuoteMatch, closest, find_quote
from winnow.server.text.quotes.sources import SourceText

# Texts of documents that are held, folded, while entries are verified one after the other.
_MOST_HELD = 8
# Places of a quote that are considered: more means that it is too short to be found again.
_MOST_PLACES = 100
# The edition of the rules that decide whether a quote stands in a text and counts for a claim. A change of the
# rules raises it, so that quotes which an earlier version of winnow verified are looked for again.
_RULES = "4"
_LEAST_WORDS = 4
# From this character on, scripts have no spaces between words: each character counts as a word.
_FIRST_UNSPACED = "\u0e00"
_WORD = re.compile(r"\w+")
_CLOSEST_CHARS = 160
# The largest relative change of the length of a document that was renamed and changed at once, and the largest
# number of documents of such a length that are searched: if there are more, none is.
_LENGTH_SHARE, _MOST_SUCCESSORS = 0.25, 200


class IndexedTexts(Protocol):
    """The reads of the index; a part of ``DocumentStore``."""

    def generation(self, project: str) -> int: ...

    def indexed_documents(self, project: str) -> list[IndexedDocument]: ...

    def find_documents(self, filters: Filters, name: str) -> list[Document]: ...

    def text(self, document_id: str, project: str) -> str | None: ...

    def passages(self, chunk_ids: Sequence[str], project: str) -> dict[str, Passage]: ...

    def spans(self, document_id: str) -> list[ChunkSpan]: ...

    def places(self, document_id: str) -> tuple[Place, ...]: ...

    def readings_within(self, filters: Filters) -> Iterator[DocumentReading]: ...


@dataclass(frozen=True, slots=True)
class CheckedEvidence:
    """Evidence with its status, and a note about it, or ""."""

    evidence: Evidence
    note: str = ""


class CurrentIndex:
    """The documents that these filters admit, as they are now. Each is read when it is needed."""

    def __init__(self, texts: IndexedTexts, filters: Filters) -> None:
        self._texts, self._filters = texts, filters
        self._documents: dict[str, Document | None] = {}
        self._held: OrderedDict[str, SourceText] = OrderedDict()
        self._successors: dict[tuple[str, str, str], Document | None] = {}

    @cached_property
    def content_hashes(self) -> Mapping[str, str]:
        """The hash of the content of each document of the project, by id: one query for all."""
        known = self._texts.indexed_documents(self._filters.project)
        return {each.id: each.content_hash for each in known}

    @cached_property
    def _by_length(self) -> Mapping[int, Sequence[str]]:
        """The uris of the documents by the number of their characters."""
        found: dict[int, list[str]] = {}
        for each in self._texts.readings_within(self._filters):
            found.setdefault(each.characters, []).append(each.uri)
        return found

    def document_of(self, evidence: Evidence, passage: Passage | None) -> Document | None:
        """The document of the evidence, None if it is gone; ``passage`` is the passage that the evidence names."""
        if document := self.document(evidence.document_id):
            return document
        if passage:
            return passage.document
        return self._moved(evidence.digest) or self.document(evidence.document) or self._successor_of(evidence)

    def _moved(self, digest: str) -> Document | None:
        """A document with the text that had this digest: its file was renamed or moved."""
        text_hash = _text_hash_of(digest)
        named = self._by_length.get(_length_of(digest), ())
        documents = (document for uri in named if (document := self.document(uri)))
        return next((each for each in documents if _text_hash(self.text(each).text) == text_hash), None)

    def _successor_of(self, evidence: Evidence) -> Document | None:
        """The only document with the quote of a missing document, the same suffix and about the same length."""
        length = _length_of(evidence.digest)
        if not length or _is_brief(evidence.quote):
            return None
        key = evidence.document, evidence.digest, evidence.quote
        if key not in self._successors:
            self._successors[key] = self._find_successor(evidence, length)
        return self._successors[key]

    def _find_successor(self, evidence: Evidence, length: int) -> Document | None:
        suffix, margin = PurePosixPath(evidence.document).suffix, length * _LENGTH_SHARE
        uris = [
            uri
            for characters, named in self._by_length.items()
            if abs(characters - length) <= margin
            for uri in named
            if PurePosixPath(uri).suffix == suffix
        ]
        if len(uris) > _MOST_SUCCESSORS:
            return None
        documents = (document for uri in uris if (document := self.document(uri)))
        having = [each for each in documents if _has_whole(self.text(each), evidence.quote)]
        return having[0] if len(having) == 1 else None

    def digest(self, document: Document) -> str:
        """The digest of a document: the hash of its content, length and hash of its text, and the rules' edition.

        The first part shows whether anything changed, without a reading of the text. The second and the third find
        the text under another uri.
        """
        text = self.text(document).text
        return f"{document.content_hash}.{len(text)}.{_text_hash(text)}.{_RULES}"

    def document(self, name: str) -> Document | None:
        """The document with this id or uri."""
        if name not in self._documents:
            found = self._texts.find_documents(self._filters, name) if name else []
            self._documents[name] = next((each for each in found if name in (each.id, each.uri)), None)
        return self._documents[name]

    def passage(self, id: str) -> Passage | None:
        """The passage with this id."""
        found = self._texts.passages([id], self._filters.project).get(id) if is_chunk_id(id) else None
        return found if found and admits(self._filters, found.document) else None

    def text(self, document: Document) -> SourceText:
        """The text of a document, folded once."""
        if document.id not in self._held:
            self._held[document.id] = SourceText(self._texts.text(document.id, document.project) or "")
        self._held.move_to_end(document.id)
        while len(self._held) > _MOST_HELD:
            self._held.popitem(last=False)
        return self._held[document.id]

    def places(self, document: Document) -> tuple[Place, ...]:
        """The pages of a document."""
        return self._texts.places(document.id)

    def passage_at(self, document: Document, start: int) -> str:
        """The id of the passage of a document that holds this character; "" if none does."""
        spans = self._texts.spans(document.id)
        return next((span.id for span in spans if span.start <= start < span.end), "")


def check_entry(entry: Entry, index: CurrentIndex, at: float) -> Entry:
    """The entry with the status of its evidence and the warnings of its claims; ``at`` in seconds since 1970.

    Claims whose evidence was all verified in documents that have not changed since stay as they are.
    """
    claims = tuple(
        claim if all(is_settled(each, index) for each in claim.evidence) else check_claim(claim, index, at)
        for claim in entry.claims
    )
    return entry if claims == entry.claims else entry.model_copy(update={"claims": claims})


def check_claim(claim: Claim, index: CurrentIndex, at: float) -> Claim:
    """The claim with the status of its evidence, and its warnings: about its quotes, then about its words."""
    checked = [
        _keep_time(evidence, _judge_weight(claim, check_evidence(evidence, index, at), index))
        for evidence in claim.evidence
    ]
    supporting = [each.evidence for each in checked if each.evidence.stance == "supports"]
    languages = (document.language for each in supporting if (document := index.document(each.document_id)))
    wording = check_wording(claim.text, [each.quote for each in supporting], next(languages, ""))
    notes = [*(each.note for each in checked), *(each.message for each in wording)]
    warnings = tuple(one_line(note, NOTE_CHARS) for note in dict.fromkeys(notes) if note)
    return claim.model_copy(
        update={"evidence": tuple(each.evidence for each in checked), "warnings": warnings[:MAX_WARNINGS]}
    )


def _keep_time(was: Evidence, now: CheckedEvidence) -> CheckedEvidence:
    """The new evidence, with the time of the former check if nothing else has changed."""
    same_time = now.evidence.model_copy(update={"checked_at": was.checked_at})
    return CheckedEvidence(was, now.note) if same_time == was else now


def _judge_weight(claim: Claim, checked: CheckedEvidence, index: CurrentIndex) -> CheckedEvidence:
    """Evidence as it was checked, or ``weak`` if its quote is in the document but proves nothing of the claim."""
    evidence = checked.evidence
    if evidence.status != "verified":
        return checked
    document = index.document(evidence.document_id)
    if _is_brief(evidence.quote):
        why = f"has fewer than {_LEAST_WORDS} words"
    elif not shares_words(claim.text, evidence.quote, document.language if document else ""):
        why = "has no word of the claim"
    else:
        return checked
    shown = shorten(one_line(evidence.quote), 60)
    note = f'the quote "{shown}" {why}, so it does not count; quote the sentence that says it'
    return CheckedEvidence(evidence.model_copy(update={"status": "weak"}), note)


def _is_brief(quote: str) -> bool:
    words = _WORD.findall(quote)
    return sum(len(word) if word[0] >= _FIRST_UNSPACED else 1 for word in words) < _LEAST_WORDS


def is_settled(evidence: Evidence, index: CurrentIndex) -> bool:
    """Whether evidence was verified in its document as the document is now, by the present rules."""
    # This test comes before the hashes are read, because new evidence does not need them.
    if evidence.status != "verified" or not evidence.digest.endswith(f".{_RULES}"):
        return False
    return index.content_hashes.get(evidence.document_id) == evidence.digest.partition(".")[0]


def check_evidence(evidence: Evidence, index: CurrentIndex, at: float) -> CheckedEvidence:
    """The evidence with its status and where its quote stands now."""
    passage = index.passage(evidence.passage_id)
    document = index.document_of(evidence, passage)
    if document is None:
        gone = evidence.document or evidence.document_id or evidence.passage_id or "which is not named"
        return _failed(evidence, "missing", f"its document is not in the index: {gone}", at)
    source = index.text(document)
    matches = find_quote(evidence.quote, source, _MOST_PLACES)
    if not matches:
        return _describe_closest(evidence, source, document, at)
    named = passage.chunk if passage and passage.document.id == document.id else None
    match = _choose(matches, evidence, named)
    locator = locate(index.places(document), match.start, match.end, address_of(document))
    found = _verified(evidence, index, document, match, locator, at)
    pages = locator.page_span if locator else None
    return CheckedEvidence(found, _note(evidence, found, match, named, pages))


def _choose(matches: Sequence[QuoteMatch], evidence: Evidence, passage: Chunk | None) -> QuoteMatch:
    """The place in the named passage, otherwise the place nearest to where the quote stood before."""
    if passage:
        within = (match for match in matches if _overlaps(match, passage))
        if (first := next(within, None)) is not None:
            return first
    stood = evidence.start if evidence.start is not None else passage.start if passage else 0
    return min(matches, key=lambda match: abs(match.start - stood))


def _overlaps(match: QuoteMatch, passage: Chunk) -> bool:
    return match.start < passage.end and passage.start < match.end


def _verified(
    evidence: Evidence,
    index: CurrentIndex,
    document: Document,
    match: QuoteMatch,
    locator: Locator | None,
    at: float,
) -> Evidence:
    return evidence.model_copy(
        update={
            "passage_id": index.passage_at(document, match.start),
            "document": one_line(document.uri, 2_000),
            "document_id": document.id,
            "start": match.start,
            "end": match.end,
            "page": locator.page_span[0] if locator and locator.page_span else 0,
            "locator": shorten(locator.text, 200) if locator else "",
            "citekey": work_fields(document.metadata).get("citekey", ""),
            "digest": index.digest(document),
            "in_full": _in_full(index.text(document), match),
            "status": "elided" if match.omitted else "verified",
            "checked_at": at,
        }
    )


def _in_full(source: SourceText, match: QuoteMatch) -> str:
    """The complete text if a quote leaves a part of it out, otherwise ""."""
    return one_line(source.text[match.start : match.end], FULL_CHARS) if match.omitted else ""


def _note(
    evidence: Evidence, found: Evidence, match: QuoteMatch, passage: Chunk | None, pages: tuple[int, int] | None
) -> str:
    """A note about a quote that stands in its document, or "". ``pages``: the first and last page of the quote."""
    shown = shorten(one_line(evidence.quote), 60)
    if _is_succeeded(evidence, found):
        return (
            f'{evidence.document} is gone: the quote "{shown}" stands in {found.document}, which is taken for it'
        )
    if match.omitted:
        return (
            f'the quote "{shown}" leaves out text, so it does not count; quote it whole, or its parts one by one: '
            f"{shorten(found.in_full, _CLOSEST_CHARS)}"
        )
    where = found.locator or f"characters {match.start}-{match.end}"
    if evidence.page and pages and not pages[0] <= evidence.page <= pages[1]:
        was = evidence.locator or f"file page {evidence.page}"
        return f'the quote "{shown}" is not in {was}: it stands in {where}'
    if passage is not None and not _overlaps(match, passage):
        return f'the quote "{shown}" is not in the named passage: it stands in {where}'
    return ""


def _describe_closest(evidence: Evidence, source: SourceText, document: Document, at: float) -> CheckedEvidence:
    """Evidence whose quote does not stand in its document: drifted if a text there is close to it."""
    near = closest(evidence.quote, source)
    known = evidence.model_copy(update={"document": one_line(document.uri, 2_000), "document_id": document.id})
    shown = shorten(one_line(evidence.quote), 60)
    lacks = f'the quote "{shown}" is not in the text read from {document.uri}'
    if near is None or not near.is_altered_quote:
        return _failed(known, "missing", lacks, at)
    text = shorten(one_line(source.text[near.start : near.end]), _CLOSEST_CHARS)
    return _failed(known, "drifted", f"{lacks}, which says: {text}", at)


def _failed(evidence: Evidence, status: str, note: str, at: float) -> CheckedEvidence:
    place = {"start": None, "end": None, "page": 0, "locator": "", "in_full": ""}
    return CheckedEvidence(evidence.model_copy(update={**place, "status": status, "checked_at": at}), note)


def _is_succeeded(was: Evidence, now: Evidence) -> bool:
    """Whether a quote was verified in a document with another name and another text."""
    is_other = bool(was.digest) and was.document_id != now.document_id
    return is_other and _text_hash_of(was.digest) != _text_hash_of(now.digest)


def _has_whole(source: SourceText, quote: str) -> bool:
    return any(not match.omitted for match in find_quote(quote, source, 1))


def _length_of(digest: str) -> int:
    """The number of characters of the text that had this digest; 0 where it is not known."""
    length = (*digest.split("."), "", "")[1]
    return int(length) if length.isascii() and length.isdecimal() else 0


def _text_hash_of(digest: str) -> str:
    return (*digest.split("."), "", "")[2]


def _text_hash(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
