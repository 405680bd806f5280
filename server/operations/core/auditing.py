"""``citations.audit.check``: every quote of a text is looked for in the source that is cited for it.

    status           when
    verified         the quote stands in the named source, on the named pages if there are any
    elided           it stands there and leaves text out, which may turn its meaning: the row has the whole text
    elsewhere        it stands on another page, in another passage, or in another document that a search finds; or
                     no source is named, and a search finds a document that has it
    altered          it does not, but a part of the named source is close to it
    missing          nothing in the named source is close to it, and a search finds it nowhere
    unknown_source   no document in scope is named, and a search finds the quote nowhere

``text/quotes`` decides what "stands" and "close" mean. A page is a printed number, or that of the file: then
a reason names the printed one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, get_args

from winnow.server.bibliographies.facts import CITEKEY
from winnow.server.bibliographies.locators import address_of, cite_place, locate, locator_fields, work_fields
from winnow.server.contracts.base import Scope
from winnow.server.contracts.core.citations import (
    MAX_CHECKS,
    MAX_MALFORMED,
    MAX_REFERENCES,
    MAX_SHOWN_CHARS,
    AuditAnswer,
    AuditCitations,
    GivenQuote,
    QuoteStatus,
)
from winnow.server.errors import WinnowError
from winnow.server.ids import is_chunk_id
from winnow.server.models import Chunk, Document, Filters
from winnow.server.operations.answers.paging import Cursor, build_page, fingerprint, resume
from winnow.server.operations.answers.rendering import partial_note
from winnow.server.operations.base import DIRECT, Answer, RequestContext
from winnow.server.operations.declaration import Operation, ToolSpec
from winnow.server.operations.ranking.candidates import BY_ID, generation_of, rank_distinct
from winnow.server.operations.ranking.passages import find_passage
from winnow.server.operations.ranking.scope import filters_of
from winnow.server.runtime.deadlines import check_deadline, current_deadline
from winnow.server.text.framing import frame_text
from winnow.server.text.matching import fold_label
from winnow.server.text.printable import PrintableText, one_line, printable, printable_text, shorten
from winnow.server.text.quotes.finding import ClosestText, QuoteMatch, closest, find_quote, has_words
from winnow.server.text.quotes.markdown_quotes import CitedText, read_citations, read_pages
from winnow.server.text.quotes.sources import SourceText

_Span = tuple[int, int]
_NAMESAKES = "{count} documents are named so, and it stands in {file}"
_NAMED_CHARS, _SHOWN_KEY_CHARS = 300, 100
# Documents with one citekey or title that are looked through.
_MOST_DOCUMENTS = 10
# A quote that its source lacks is looked for in the documents of so many best passages, with so much time left.
_SEARCHED, _LEAST_SECONDS = 8, 3.0
_QUERY_CHARS = 400
_TOO_MANY = "the text has {found} quotes; the first {most} are checked: check the rest as a text of its own"
_NO_TIME = "time was short: quotes that their sources lack were not all looked for in other documents"
_NO_PAGE = "quotes: page {page!r}: {problem}; give a page or a range such as 12-14"
_UNNAMED = "no source is named"
_STANDS_HERE = f"{_UNNAMED} for it; it stands in the document of this row"
_UNKNOWN = "no document in scope has this id, path, title or citekey"
_NOTHING = "give text, quotes, or both"
_ELIDED = (
    "it leaves out {omitted:,} characters, which may have turned its meaning: quote the whole text, or its parts"
)


@dataclass(frozen=True, slots=True)
class QuoteClaim:
    """A quote to check: what it is said to be from, and its pages, "" for none."""

    quote: str
    source: str
    first: str = ""
    last: str = ""
    line: int = 0

    @property
    def named(self) -> str:
        pages = f"{self.first}-{self.last}" if self.last != self.first else self.first
        return shorten(one_line(f"{self.source}, p. {pages}" if pages else self.source), _NAMED_CHARS)


@dataclass(frozen=True)
class _Text:
    """A document with its text, read and folded once for all quotes of a call."""

    context: RequestContext
    document: Document

    @cached_property
    def raw(self) -> str:
        return self.context.index.catalogue.text(self.document.id, self.document.project) or ""

    @cached_property
    def printable(self) -> PrintableText:
        return printable_text(self.raw)

    @cached_property
    def source(self) -> SourceText:
        return SourceText(self.printable.text)

    @cached_property
    def chunks(self) -> Sequence[Chunk]:
        return self.context.index.catalogue.chunks(self.document.id, self.document.project)

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Characters of the printable text as those of the document."""
        return self.printable.raw_offset(start), self.printable.raw_offset(end)

    def fields(self, start: int, end: int) -> dict[str, Any]:
        """The fields of a row for characters of the printable text."""
        first, last = self.span(start, end)
        places = self.context.index.catalogue.places_within(self.document.id, first, last)
        chunk = next((each for each in self.chunks if each.start <= first < each.end), None)
        section = {"section_id": chunk.id} if chunk else {}
        return {
            **section,
            "document_id": self.document.id,
            "file": one_line(self.document.uri, 1_000),
            "title": one_line(self.document.title or self.document.uri, 500),
            **locator_fields(places, first, last, address_of(self.document)),
            **work_fields(self.document.metadata),
        }


@dataclass(frozen=True, slots=True)
class _Verdict:
    status: QuoteStatus
    reason: str = ""
    fields: Mapping[str, Any] | None = None


def audit_citations(context: RequestContext, request: AuditCitations) -> Answer:
    """Answer with the verdict on each quote, the citekeys of the text, and its malformed citations.

    Raises:
        WinnowError: INVALID_REQUEST without a text and without quotes.
    """
    cursor = resume(request.cursor, request)
    filters = filters_of(context, request.scope)
    if not request.text.strip() and not request.quotes:
        raise WinnowError("INVALID_REQUEST", _NOTHING)
    read = read_citations(request.text)
    claims = [*map(claim_of, request.quotes), *_written(read)]
    warnings = [_TOO_MANY.format(found=len(claims), most=MAX_CHECKS)] if len(claims) > MAX_CHECKS else []
    audit = Audit(context, request.scope, filters)
    rows = [audit.check(number, claim) for number, claim in enumerate(claims[:MAX_CHECKS], start=1)]
    counts = Counter(row["status"] for row in rows)
    envelope: dict[str, Any] = {
        "counts": {status: counts[status] for status in get_args(QuoteStatus)},
        "references": [*audit.references(read)],
        "malformed": [
            {
                "line": each.line,
                "text": shorten(one_line(each.text), _NAMED_CHARS),
                "problem": each.problem,
            }
            for each in read.malformed[:MAX_MALFORMED]
        ],
    }
    generation = generation_of(context, filters)
    here = Cursor(cursor.offset, fingerprint(request), generation, BY_ID)
    page = build_page(rows[cursor.offset :], envelope, context.caller.budget.of("full"), here, more=False)
    return Answer(
        {"results": list(page.rows), "next_cursor": page.next_cursor, **page.ending, **envelope},
        "full",
        len(page.rows),
        page.tokens,
        (*warnings, *cursor.moved(generation, BY_ID)),
    )


def claim_of(given: GivenQuote) -> QuoteClaim:
    """The check of a quote that a call gives. Raises ``WinnowError("INVALID_REQUEST")`` for an invalid page."""
    first, last, problem = read_pages(given.page) if given.page else ("", "", "")
    if given.page and not first:  # a printed page may be a word: "xii"
        first, last, problem = read_pages(f"p. {given.page}")
    if problem:
        raise WinnowError("INVALID_REQUEST", _NO_PAGE.format(page=one_line(given.page), problem=problem))
    return QuoteClaim(given.quote, given.source.strip(), first, last)


def _written(read: CitedText) -> Iterator[QuoteClaim]:
    for quote in read.quotes:
        cited = quote.source
        if cited is None:
            yield QuoteClaim(quote.text, "", line=quote.line)
        else:
            yield QuoteClaim(quote.text, f"@{cited.key}", cited.first, cited.last, quote.line)


@dataclass(frozen=True)
class Audit:
    """One audit within a scope: documents that were read are kept for the quotes after them."""

    context: RequestContext
    scope: Scope | None
    filters: Filters
    texts: dict[str, _Text] = field(default_factory=dict)

    def check(self, number: int, claim: QuoteClaim) -> dict[str, Any]:
        """The row of a quote."""
        check_deadline()
        verdict = self._judge(claim)
        return {
            "number": number,
            "line": claim.line,
            "status": verdict.status,
            "reason": verdict.reason,
            "quote": shorten(printable(claim.quote), MAX_SHOWN_CHARS),
            "named": claim.named,
            **(verdict.fields or {}),
        }

    def references(self, read: CitedText) -> Iterator[dict[str, Any]]:
        """The citekeys of the text in the order of their first citation."""
        cited = Counter(source.key for source in read.citations)
        for key in list(cited)[:MAX_REFERENCES]:
            yield {
                "key": shorten(one_line(key), _SHOWN_KEY_CHARS),
                "citations": cited[key],
                "known": bool(self._with_citekey(key)),
            }

    def _judge(self, claim: QuoteClaim) -> _Verdict:
        if not has_words(claim.quote):
            return _Verdict("missing", "the quote has no words")
        sources, within = self._sources(claim.source)
        found_in = [(text, matches) for text in sources if (matches := find_quote(claim.quote, text.source))]
        if found_in:
            text, matches = found_in[0]
            verdict = _place(text, claim, matches, within)
            return verdict if len(found_in) == len(sources) else _with_file(verdict, text, len(sources))
        if (found := self._search(claim, {text.document.id for text in sources})) is not None:
            return found
        if not sources:
            reason = _UNKNOWN if claim.source else _UNNAMED
            return _Verdict("unknown_source", f"{reason}, and a search finds the quote nowhere")
        return _closest_of(sources, claim)

    def _sources(self, name: str) -> tuple[list[_Text], _Span | None]:
        """The documents that a source names by id, path, title or citekey; the part that a named passage is."""
        if not name:
            return [], None
        if is_chunk_id(name) or self.context.session.get(name):
            stored = find_passage(self.context, name, self.scope)
            if stored is not None:
                chunk = stored.passage.chunk
                return [self._text(stored.passage.document)], (chunk.start, chunk.end)
        documents = [] if name.startswith("@") else self.context.index.catalogue.find_documents(self.filters, name)
        documents = documents or self._with_citekey(name.removeprefix("@"))
        return [self._text(document) for document in documents[:_MOST_DOCUMENTS]], None

    def _with_citekey(self, key: str) -> list[Document]:
        asked = replace(self.filters, where=(*self.filters.where, (CITEKEY, (fold_label(key),))))
        found = self.context.index.catalogue.documents_within(asked)
        return [document for document in found if work_fields(document.metadata).get(CITEKEY) == key]

    def _text(self, document: Document) -> _Text:
        return self.texts.setdefault(document.id, _Text(self.context, document))

    def _search(self, claim: QuoteClaim, known: set[str]) -> _Verdict | None:
        """The quote in a document that a search for it finds; None if it is in none of the best."""
        if current_deadline().remaining() < _LEAST_SECONDS:
            if _NO_TIME not in self.context.warnings:
                self.context.warnings.append(_NO_TIME)
            return None
        query = one_line(claim.quote, _QUERY_CHARS)
        ranking = rank_distinct(
            self.context, query, self.filters, _SEARCHED, 1, mode="vector_only", syntax="plain"
        )
        for document in (candidate.passage.document for candidate in ranking.candidates):
            if document.id in known:
                continue
            text = self._text(document)
            if matches := find_quote(claim.quote, text.source, most=1):
                reason = "the quote stands in another document" if claim.source else _STANDS_HERE
                return _Verdict("elsewhere", reason, _match_fields(text, matches[0]))
        return None


def _with_file(verdict: _Verdict, text: _Text, count: int) -> _Verdict:
    """The verdict with the file, where only some of the documents with this name have the quote.

    Files of one work share its citekey. A document states its title and citekey itself, too, so one that nobody
    trusts can take those of another.
    """
    named = _NAMESAKES.format(count=count, file=one_line(text.document.uri, _NAMED_CHARS))
    return replace(verdict, reason=f"{verdict.reason}; {named}" if verdict.reason else named)


def _place(text: _Text, claim: QuoteClaim, matches: Sequence[QuoteMatch], within: _Span | None) -> _Verdict:
    """The verdict on a quote that its source has; ``within`` are the characters of the named passage."""
    inside = [match for match in matches if _is_within(text, match, within)]
    for match in inside:
        if (note := _compare_pages(text, claim, match)) is not None:
            return _stands(text, match, note)
    reason = (
        "the quote stands on another page" if inside else "the quote stands in another passage of the document"
    )
    return _Verdict("elsewhere", reason, _match_fields(text, (inside or matches)[0]))


def _stands(text: _Text, match: QuoteMatch, note: str) -> _Verdict:
    """The verdict on a quote that stands where it is said to stand; one that leaves text out proves nothing."""
    if not match.omitted:
        return _Verdict("verified", note, _match_fields(text, match))
    reason = _ELIDED.format(omitted=match.omitted)
    return _Verdict("elided", f"{reason}; {note}" if note else reason, _match_fields(text, match))


def _is_within(text: _Text, match: QuoteMatch, within: _Span | None) -> bool:
    """Whether a match has characters of the named passage; a sentence may end in the next one."""
    if within is None:
        return True
    start, end = text.span(match.start, match.end)
    return start < within[1] and end > within[0]


def _compare_pages(text: _Text, claim: QuoteClaim, match: QuoteMatch) -> str | None:
    """A note on a match that is on the named pages, "" for none; None for a match on others."""
    if not claim.first:
        return ""
    start, end = text.span(match.start, match.end)
    places = text.context.index.catalogue.places_within(text.document.id, start, end)
    located = locate(places, start, end, text.document.uri)
    if located is None or located.page_span is None:
        return None if places else "the document has no pages to compare"
    labels = located.page_labels
    if labels and (claim.first in labels or claim.last in labels):
        return ""
    if not (claim.first.isdecimal() and claim.last.isdecimal()):
        return None
    asked = int(claim.first), int(claim.last)
    if labels and all(label.isdecimal() for label in labels) and _meet(asked, (int(labels[0]), int(labels[1]))):
        return ""
    if not _meet(asked, located.page_span):
        return None
    return f"the page named is that of the file; printed is {located.text}" if labels else ""


def _meet(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Whether two ranges of pages have a page in common."""
    return one[0] <= other[1] and other[0] <= one[1]


def _match_fields(text: _Text, match: QuoteMatch) -> dict[str, Any]:
    whole = shorten(text.source.text[match.start : match.end], MAX_SHOWN_CHARS)
    left_out = {"omitted": match.omitted, "text": whole} if match.omitted else {}
    return {**left_out, **text.fields(match.start, match.end)}


def _closest_of(sources: Sequence[_Text], claim: QuoteClaim) -> _Verdict:
    """The verdict on a quote that is nowhere: the text of its source that is closest to it."""
    found = [(near, text) for text in sources if (near := closest(claim.quote, text.source)) is not None]
    near, text = max(found, key=lambda each: each[0].likeness, default=(None, sources[0]))
    if near is None or not near.is_altered_quote:
        return _Verdict("missing", "the source has no text like it, and a search finds the quote nowhere")
    reason = "words differ" if near.differences else "only punctuation differs, or what was left out is not marked"
    return _Verdict("altered", reason, {**_closest_fields(text, near), **text.fields(near.start, near.end)})


def _closest_fields(text: _Text, near: ClosestText) -> dict[str, Any]:
    return {
        "text": shorten(text.source.text[near.start : near.end], MAX_SHOWN_CHARS),
        "likeness": round(near.likeness, 3),
        "differences": [
            {"quoted": shorten(each.quoted, _NAMED_CHARS), "source": shorten(each.source, _NAMED_CHARS)}
            for each in near.differences
        ],
    }


def render_audit(payload: dict[str, Any]) -> list[str]:
    """The counts, each quote with its status, then the citekeys."""
    counts = ", ".join(f"{number} {status}" for status, number in payload["counts"].items() if number)
    lines = [f"{counts or 'no quotes'}{partial_note(payload)}"]
    for row in payload["results"]:
        lines += _render_row(row)
    unknown = [reference["key"] for reference in payload["references"] if not reference["known"]]
    lines.append(f"{len(payload['references'])} citekeys; of no document in scope: {', '.join(unknown) or 'none'}")
    lines += [f"line {each['line']}: {each['problem']}: {each['text']}" for each in payload["malformed"]]
    if payload["next_cursor"]:
        lines.append(f"next_cursor: {payload['next_cursor']}")
    return lines


def _render_row(row: dict[str, Any]) -> Iterator[str]:
    section = f"section {row['section_id']}" if "section_id" in row else ""
    document = f"document {row['document_id']}" if "document_id" in row else ""
    facts = (row["reason"], row["named"], row.get("file"), row.get("title"), cite_place(row), section, document)
    likeness = f" likeness {row['likeness']:.3f}" if "likeness" in row else ""
    yield f"{row['number']}. line {row['line']} {row['status']}{likeness}: {' | '.join(filter(None, facts))}"
    yield from frame_text(row["quote"])
    if "text" in row:
        yield "the source has:"
        yield from frame_text(row["text"])


_CITATIONS_AUDIT_CHECK_DESCRIPTION = """\
Check quotes against the documents: verified, elided, elsewhere, altered, missing or unknown_source; and citekeys.
Use when: a text with quotes and citations such as [@citekey, p. 3] is done.
Do not use when: you look for quotes (kb_retrieve_evidence).
Returns at most: 200 quotes, 20,000 tokens.
If you need more, call: this with cursor, or with the rest of the text.
Defaults: text or quotes. Max: 60,000 characters, 50 quotes.
Word for word, whatever white space, hyphens, quotation marks and ligatures; case counts.
elided: it stands there and leaves text out."""
CITATIONS_AUDIT_CHECK = Operation(
    "citations.audit.check",
    AuditCitations,
    audit_citations,
    in_scripts=False,
    tool=ToolSpec(
        title="Check quotes",
        description=_CITATIONS_AUDIT_CHECK_DESCRIPTION,
        answer=AuditAnswer,
        render=render_audit,
        max_size=DIRECT.of("full"),
        is_repeatable=True,
        pack="core",
    ),
)
