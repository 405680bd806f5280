"""``kb.read_excerpt`` and ``kb.expand_excerpt``: a bounded piece of a passage, or of the document around it.

Positions count characters from the start of the passage, in its printable text. An excerpt ends at the passage's
end; positions beyond it are in the document after the passage. No state is kept between calls, so that repeated
calls cannot extend an excerpt beyond its caps.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from winnow.server.bibliographies.locators import address_of, cite_place, cited_fields, locator_fields, work_fields
from winnow.server.contracts import ExcerptAnswer
from winnow.server.contracts.excerpts import MAX_EXCERPT_BYTES, MAX_EXCERPT_TOKENS, ExpandExcerpt, ReadExcerpt
from winnow.server.errors import WinnowError
from winnow.server.operations.answers import text_charges
from winnow.server.operations.answers.budget import cut_to_bytes
from winnow.server.operations.base import DIRECT, Answer, RequestContext
from winnow.server.operations.corpus.sheet_rows import narrow_passage
from winnow.server.operations.declaration import Operation, Script, ToolSpec, has_kb_tools, omit_without_scripts
from winnow.server.operations.kb import place_for_scripts, title_of
from winnow.server.operations.ranking.passages import require_passage
from winnow.server.runtime.sessions.passage_store import StoredPassage
from winnow.server.text.framing import frame_text
from winnow.server.text.printable import beginning, ending, one_line, printable, raw_offset
from winnow.server.text.words.spans import split_spans
from winnow.server.text.words.tokens import count_tokens, first_tokens, last_tokens

_CHANGED = "the document changed since this passage was found; what stands around it is no longer known"
# A cut moves back to the last white space, at most this far.
_WORD_CHARS = 40
_BULLET = "- "
_OWN_MARK = re.compile(r"\A\s*(?:[-*+\u2022]\s+|#{1,6}\s+)")  # of a list item or a heading
_FENCES = ("```", "~~~")
# Of a long document, no more is made printable than an excerpt can contain.
_WINDOW_CHARS = 2 * MAX_EXCERPT_BYTES
_LAST_WORD = re.compile(r"\s\S*\Z")


@dataclass(frozen=True)
class _PassageInDocument:
    """A passage and its document, as printable text."""

    context: RequestContext
    stored: StoredPassage

    @cached_property
    def text(self) -> str:
        return printable(self.stored.passage.chunk.text)

    @cached_property
    def _document(self) -> str | None:
        """The text of the document; None if it changed since the passage was stored."""
        chunk, catalogue = self.stored.passage.chunk, self.context.index.catalogue
        current = catalogue.passages([chunk.id], self.stored.project).get(chunk.id)
        document = catalogue.text(chunk.document_id, self.stored.project)
        is_same = current is not None and document is not None and document[chunk.start : chunk.end] == chunk.text
        return document if is_same and current is not None and current.chunk.start == chunk.start else None

    @property
    def is_known(self) -> bool:
        return self._document is not None

    @property
    def before(self) -> str:
        """The text before the passage: at least as much as an excerpt can contain."""
        return ending((self._document or "")[: self.stored.passage.chunk.start], _WINDOW_CHARS)

    def after(self, skipped: int) -> tuple[str, bool]:
        """The text after the passage, and whether that is the rest of the document.

        At least as much as an excerpt can contain, after the first ``skipped`` characters.
        """
        limit = skipped + _WINDOW_CHARS
        text = beginning((self._document or "")[self.stored.passage.chunk.end :], limit)
        return text, len(text) < limit

    def locate(self, start: int, end: int) -> dict[str, Any]:
        """The fields of an excerpt that say where it is in its file.

        ``start`` and ``end`` count characters from the start of the passage, as an excerpt's positions do.
        """
        passage = self.stored.passage
        chunk, document = passage.chunk, self._document
        if document is None or (start >= 0 and end <= len(self.text)):
            first, last = (raw_offset(chunk.text, max(at, 0)) for at in (start, end))
            return cited_fields(narrow_passage(passage, first, last), first, last)
        first, last = (self._offset(document, at) for at in (start, end))
        places = self.context.index.catalogue.places_within(chunk.document_id, first, last)
        located = locator_fields(places, first, last, address_of(passage.document))
        return {**located, **work_fields(passage.document.metadata)}

    def _offset(self, document: str, at: int) -> int:
        """The offset in the document of a position that counts from the start of the passage."""
        chunk = self.stored.passage.chunk
        if at < 0:
            before = document[max(chunk.start - 2 * _WINDOW_CHARS, 0) : chunk.start]
            return chunk.start - len(before) + raw_offset(before, max(len(printable(before)) + at, 0))
        if at <= len(self.text):
            return chunk.start + raw_offset(chunk.text, at)
        after = document[chunk.end : chunk.end + 2 * (at - len(self.text)) + _WINDOW_CHARS]
        return chunk.end + raw_offset(after, at - len(self.text))


def read_excerpt(context: RequestContext, request: ReadExcerpt) -> Answer:
    """Answer with a bounded excerpt of a passage, from ``start_char`` on."""
    passage = _PassageInDocument(context, require_passage(context, request.passage_id, request.scope))
    text, start, is_whole = _locate_start(passage, request.start_char)
    if request.options.format == "bullets":
        excerpt, length = _build_bullets(text[start:], request.max_tokens)
    else:
        excerpt = cut_end(text[start:], request.max_tokens)
        length = len(excerpt)
    is_cut = not is_whole or bool(text[start + length :].strip())
    payload = _build_payload(
        passage.stored, excerpt, request.start_char, request.start_char + length if is_cut else None
    )
    if request.options.include_citation:
        payload["citation"] = _build_citation(passage.stored)
    chunk = passage.stored.passage.chunk
    is_within = request.start_char < len(passage.text)
    charged_text = text_charges.piece(chunk.id if is_within else chunk.document_id, excerpt)
    payload |= passage.locate(request.start_char, request.start_char + length)
    return _build_answer(payload | place_for_scripts(context, passage.stored.passage), charged_text)


def expand_excerpt(context: RequestContext, request: ExpandExcerpt) -> Answer:
    """Answer with a passage and the text before and after it, within the caps of an excerpt."""
    passage = _PassageInDocument(context, require_passage(context, request.passage_id, request.scope))
    own = cut_end(passage.text, MAX_EXCERPT_TOKENS)
    following, is_whole = passage.after(0)
    if len(own) < len(passage.text):
        before = after = ""
    else:
        before, after = _fit_around(passage.before, own, following, request)
    excerpt = before + own + after
    end = len(own) + len(after)
    is_cut = not is_whole or bool((passage.text + following)[end:].strip())
    payload = _build_payload(passage.stored, excerpt, -len(before), end if is_cut else None)
    payload["citation"] = _build_citation(passage.stored)
    payload |= passage.locate(-len(before), end)
    described = payload | place_for_scripts(context, passage.stored.passage)
    warnings = () if passage.is_known else (_CHANGED,)
    return _build_answer(described, _charged_text_of(passage, own, before + after), warnings)


def _charged_text_of(passage: _PassageInDocument, own: str, around: str) -> text_charges.ChargedText:
    """The charged text of an expanded excerpt: the passage or its beginning, and the text around it."""
    chunk = passage.stored.passage.chunk
    measure = text_charges.whole if own == passage.text else text_charges.piece
    return {**measure(chunk.id, own), **(text_charges.piece(chunk.document_id, around) if around else {})}


def _locate_start(here: _PassageInDocument, start: int) -> tuple[str, int, bool]:
    """The text that position ``start`` is in (the passage or what follows), the index in it, and if it is all."""
    if start < len(here.text) or (start == 0 and not here.text):
        return here.text, start, True
    beyond = start - len(here.text)
    after, is_whole = here.after(beyond)
    if beyond >= len(after):
        whole = len(here.text) + len(after)
        raise WinnowError(
            "INVALID_REQUEST",
            f"start_char: {start:,} is beyond the text; the passage has {len(here.text):,} characters, and its "
            f"document ends at {whole:,}",
        )
    return after, beyond, is_whole


def _fit_around(before: str, own: str, after: str, request: ExpandExcerpt) -> tuple[str, str]:
    """The context that fits on both sides, in the proportion that was asked for."""
    before_tokens, after_tokens = request.before_tokens, request.after_tokens
    room, asked = MAX_EXCERPT_TOKENS - count_tokens(own), before_tokens + after_tokens
    if asked > room:
        before_tokens = room * before_tokens // asked
        after_tokens = room - before_tokens
    before, after = _cut_beginning(before, before_tokens), cut_end(after, after_tokens)
    # The tokens of the joined text may differ from the sum of the parts; bytes have a cap of their own.
    while _is_too_large(before + own + after) and (before or after):
        before, after = before[len(before) // 8 + 1 :], after[: -(len(after) // 8 + 1)]
    return before, after


def _is_too_large(text: str) -> bool:
    return len(text.encode("utf-8", "replace")) > MAX_EXCERPT_BYTES or count_tokens(text) > MAX_EXCERPT_TOKENS


def cut_end(text: str, tokens: int, max_bytes: int = MAX_EXCERPT_BYTES) -> str:
    """The beginning of a text within both caps; a cut is between words."""
    return _end_at_word(_truncate(text, tokens, max_bytes), text)


def _truncate(text: str, tokens: int, max_bytes: int = MAX_EXCERPT_BYTES) -> str:
    return cut_to_bytes(first_tokens(text, tokens), max_bytes)


def _end_at_word(cut: str, text: str) -> str:
    """Remove an incomplete last word from ``cut``, a prefix of ``text``."""
    if len(cut) == len(text) or text[len(cut)].isspace():
        return cut
    word = _LAST_WORD.search(cut[-_WORD_CHARS:])
    return cut if word is None else cut[: -len(word.group())] or cut


def _cut_beginning(text: str, tokens: int) -> str:
    cut = last_tokens(text, tokens)
    if len(cut) < len(text) and (space := re.search(r"\s", cut[:_WORD_CHARS])):
        cut = cut[space.end() :]
    return cut


def _build_bullets(text: str, max_tokens: int) -> tuple[str, int]:
    """As many spans as fit, one per line, and the number of characters of the text that they cover."""
    lines: list[str] = []
    length = 0
    for span in split_spans(text):
        line = _as_bullet(text[span.start : span.end])
        if _exceeds("\n".join([*lines, line]), max_tokens):
            break
        lines.append(line)
        length = span.end
    if lines:
        return "\n".join(lines), length
    start = len(text) - len(text.lstrip())
    body = _truncate(f"{_BULLET}{text[start:]}", max_tokens)[len(_BULLET) :]
    body = _end_at_word(body, text[start:])
    return f"{_BULLET}{body}".rstrip(), start + len(body)


def _as_bullet(span: str) -> str:
    """A span as an item of a list: once, whatever mark it has of its own; a block of code as it is."""
    return span if span.lstrip().startswith(_FENCES) else f"{_BULLET}{_OWN_MARK.sub('', span, count=1)}"


def _exceeds(text: str, max_tokens: int) -> bool:
    return count_tokens(text) > max_tokens or len(text.encode("utf-8", "replace")) > MAX_EXCERPT_BYTES


def _build_payload(stored: StoredPassage, excerpt: str, start: int, following: int | None) -> dict[str, Any]:
    return {
        "passage_id": stored.passage_id,
        "excerpt": excerpt,
        "start_char": start,
        "truncated": following is not None,
        "next_start_char": following,
    }


def _build_citation(stored: StoredPassage) -> dict[str, str]:
    return {
        "section_id": stored.passage.chunk.id,
        "doc_tag": one_line(stored.passage.document.doc_tag, 200),
        "title": title_of(stored.passage),
        "uri": stored.uri,
    }


def _build_answer(
    payload: dict[str, Any], charged_text: text_charges.ChargedText, warnings: tuple[str, ...] = ()
) -> Answer:
    noted = {"excerpts": 1, "excerpts_truncated": int(payload["truncated"])}
    return Answer(
        payload, "excerpt", 1, count_tokens(payload["excerpt"]), warnings, noted=noted, charged_text=charged_text
    )


def render_excerpt(payload: dict[str, Any]) -> list[str]:
    """An excerpt with its source and where to continue."""
    more = f", goes on at start_char {payload['next_start_char']}" if payload["truncated"] else ""
    lines = [f"[{payload['passage_id']}] from character {payload['start_char']}{more}"]
    if "citation" in payload:
        source = payload["citation"]
        section = f"section {source['section_id']}"
        parts = (source["title"], cite_place(payload), source["doc_tag"], section, source["uri"])
        lines.append(" | ".join(filter(None, parts)))
    return [*lines, *frame_text(payload["excerpt"])]


_KB_READ_EXCERPT_DESCRIPTION = """\
Read a part of one passage, with its citation.
Use when: quotes are not enough.
Do not use when: you have no ids yet, or read many passages (execute_code).
Returns at most: max_tokens tokens.
If you need more, call: this with next_start_char as start_char.
Defaults: max_tokens 300. Max: 800."""
_KB_READ_EXCERPT_DOC = """\
Up to `max_tokens` of a passage, from its beginning or from `start_char`.

    part = kb.read_excerpt(kb.search("retry policy")[0])
    print(part.excerpt, part.title)
    while part.truncated:
        part = kb.read_excerpt(part, start_char=part.next_start_char)
        print(part.excerpt)

passage_id: an id or a row. max_tokens: 8 to 800. format: "text", or "bullets" with a line for each sentence.
An excerpt ends where its passage ends; a `start_char` after that continues in the document.
"""
KB_READ_EXCERPT = Operation(
    "kb.read_excerpt",
    ReadExcerpt,
    read_excerpt,
    script=Script(
        "passage_id max_tokens start_char * format scope",
        _KB_READ_EXCERPT_DOC,
        is_row=True,
        types={"format": "str"},
        defaults={"format": "text"},
    ),
    tool=ToolSpec(
        title="Read an excerpt",
        description=_KB_READ_EXCERPT_DESCRIPTION,
        answer=ExcerptAnswer,
        render=render_excerpt,
        max_size=DIRECT.of("excerpt"),
        is_repeatable=True,
        is_offered=has_kb_tools,
        fit_description=omit_without_scripts(", or read many passages (execute_code)"),
    ),
)
_KB_EXPAND_EXCERPT_DESCRIPTION = """\
Show a passage with the text before and after it.
Use when: a quote begins or ends in the middle.
Do not use when: the passage alone will do (kb_read_excerpt).
Returns at most: 800 tokens.
If you need more, call: kb_read_excerpt with next_start_char as start_char.
Defaults: 150, 150. Max: 800."""
_KB_EXPAND_EXCERPT_DOC = """\
A passage with the text before and after it in its document.

    quote = kb.retrieve_evidence("how are retries configured")[0]
    print(kb.expand_excerpt(quote, before_tokens=80, after_tokens=80).excerpt)

passage_id: an id or a row. At most 800 tokens in all; if the document changed since, the passage alone.
"""
KB_EXPAND_EXCERPT = Operation(
    "kb.expand_excerpt",
    ExpandExcerpt,
    expand_excerpt,
    script=Script(
        "passage_id before_tokens after_tokens * scope",
        _KB_EXPAND_EXCERPT_DOC,
        is_row=True,
    ),
    tool=ToolSpec(
        title="Expand an excerpt",
        description=_KB_EXPAND_EXCERPT_DESCRIPTION,
        answer=ExcerptAnswer,
        render=render_excerpt,
        max_size=DIRECT.of("excerpt"),
        is_repeatable=True,
        is_offered=has_kb_tools,
    ),
)
