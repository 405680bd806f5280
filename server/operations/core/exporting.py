"""``exports.render.markdown``: structured content as Markdown in which no text is more than text.

Every quote is checked as by ``citations.audit.check`` first, so that it is cited with the page on which it stands.
A quote that is not verified is printed with these words, and listed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from winnow.server.contracts.citing import Cite, CitedRow
from winnow.server.contracts.core.citations import GivenQuote
from winnow.server.contracts.core.exporting import (
    MAX_EXPORTED_CHARS,
    ExportSection,
    RenderedMarkdown,
    RenderMarkdown,
)
from winnow.server.errors import WinnowError
from winnow.server.operations.answers.budget import measure
from winnow.server.operations.base import DIRECT, Answer, RequestContext
from winnow.server.operations.citing import cite_rows
from winnow.server.operations.core.auditing import Audit, claim_of
from winnow.server.operations.declaration import Operation, ToolSpec
from winnow.server.operations.ranking.scope import filters_of
from winnow.server.text.framing import frame_text
from winnow.server.text.markup.markdown_escaping import escape_line
from winnow.server.text.sizes import count_of

# Citations in paragraphs, as pandoc has them, which are no text to escape; unless what follows makes them a link.
_KEY = r"-?@\w(?:[\w:.#$%&+?<>~/-]{0,199}\w)?"
_PAGES = r"(?:,\s(?:pp?\.\s)?[\w.]{1,20}(?:[-–][\w.]{1,20})?(?:\s\(file pages?\s[\d-]{1,21}\))?)?"
_CITATION = re.compile(rf"(?<![!\\\]])\[{_KEY}{_PAGES}(?:;\s{_KEY}{_PAGES}){{0,20}}\](?![(\[:{{])")
_CLAUSE = "not verified"
_TOO_LONG = (
    "the arguments have {chars:,} characters of text, more than {most:,}; render the sections in several calls"
)
_TOO_LARGE = "the document has {tokens:,} tokens, an answer at most {most:,}; render the sections in several calls"
_MANY_QUOTES = "the sections have {found} quotes, more than {most}; render them in several calls"
_MOST_QUOTES = 100


@dataclass(frozen=True, slots=True)
class _Checked:
    """A quote, the row of its check, and its citation; "" for a document without a citekey."""

    quote: GivenQuote
    row: Mapping[str, Any]
    citation: str = ""

    @property
    def is_verified(self) -> bool:
        return bool(self.row["status"] == "verified")

    @property
    def is_placed(self) -> bool:
        """Whether the quote stands where it is said to stand, whole or with text left out."""
        return self.row["status"] in ("verified", "elided")


def render_markdown(context: RequestContext, request: RenderMarkdown) -> Answer:
    """Answer with a document in Markdown.

    Raises:
        WinnowError: INVALID_REQUEST for more text or quotes than one call may have, OUTPUT_BYTES for a document
            that is too large for an answer.
    """
    _check_size(request)
    filters = filters_of(context, request.scope)
    audit = Audit(context, request.scope, filters)
    quotes = [quote for section in request.sections for quote in section.quotes]
    rows = [audit.check(number, claim_of(quote)) for number, quote in enumerate(quotes, start=1)]
    citations, cited = _cite(context, request, rows)
    checked = [_Checked(*each) for each in zip(quotes, rows, citations, strict=True)]
    entries = cited["entries"] if request.bibliography else []
    markdown = "\n\n".join(_blocks(request, checked, entries)) + "\n"
    payload = {
        "markdown": markdown,
        "citekeys": cited["citekeys"],
        "quotes": len(quotes),
        "unverified": [
            {"number": each.row["number"], "status": each.row["status"]}
            for each in checked
            if not each.is_verified
        ],
    }
    _check_answer(context, payload)
    return Answer(payload, "full", 1, 0)


def _check_size(request: RenderMarkdown) -> None:
    texts = [text for section in request.sections for text in (section.heading, *section.paragraphs)]
    quotes = [quote for section in request.sections for quote in section.quotes]
    chars = sum(map(len, (request.title, *texts))) + sum(len(quote.quote) + len(quote.source) for quote in quotes)
    if chars > MAX_EXPORTED_CHARS:
        message = _TOO_LONG.format(chars=chars, most=MAX_EXPORTED_CHARS)
        raise WinnowError("INVALID_REQUEST", message, details={"size": chars, "max": MAX_EXPORTED_CHARS})
    if len(quotes) > _MOST_QUOTES:
        raise WinnowError("INVALID_REQUEST", _MANY_QUOTES.format(found=len(quotes), most=_MOST_QUOTES))


def _check_answer(context: RequestContext, payload: Mapping[str, Any]) -> None:
    size, allowed = measure(payload), context.caller.budget.of("full")
    if size.is_above(allowed):
        message = _TOO_LARGE.format(tokens=size.tokens, most=allowed.tokens)
        raise WinnowError("OUTPUT_BYTES", message, details=size.details(allowed))


def _cite(
    context: RequestContext, request: RenderMarkdown, rows: Sequence[Mapping[str, Any]]
) -> tuple[list[str], Mapping[str, Any]]:
    """The citation of each quote, "" where it has none, and the answer of ``kb.cite``."""
    found = {number: row for number, row in enumerate(rows) if "document_id" in row}
    cited = [
        CitedRow(id=row.get("section_id", row["document_id"]), page_span=row.get("page_span"))
        for row in found.values()
    ]
    if not cited:
        return [""] * len(rows), {"entries": [], "citekeys": []}
    payload = cite_rows(context, Cite(rows=cited, style=request.style, scope=request.scope)).payload
    by_number = dict(zip(found, payload["citations"], strict=True))
    return [by_number.get(number, "") for number in range(len(rows))], payload


def _blocks(request: RenderMarkdown, checked: Sequence[_Checked], entries: Sequence[str]) -> Iterator[str]:
    yield f"# {_escape_heading(request.title)}"
    rest = iter(checked)
    for section in request.sections:
        yield from _section(section, [next(rest) for _ in section.quotes])
    if entries:
        yield "## References"
        # The entries of apa are plain text; those of markdown are items of a list.
        yield "\n".join(entries) if request.style == "markdown" else "\n\n".join(map(escape_line, entries))


def _section(section: ExportSection, quotes: Sequence[_Checked]) -> Iterator[str]:
    yield f"{'#' * section.level} {_escape_heading(section.heading)}"
    yield from filter(None, map(_paragraph, section.paragraphs))
    for quote in quotes:
        yield f"> {escape_line(quote.quote.quote)}\n>\n> — {_attribution(quote)}"


def _escape_heading(text: str) -> str:
    """A text after the signs of a heading, which "#" at its end would close."""
    return re.sub(r"(?<!\\)#", r"\\#", escape_line(text)) or "—"


def _paragraph(text: str) -> str:
    """A paragraph of plain text; its citations stay citations."""
    line = " ".join(text.split())
    parts, at = [], 0
    for citation in _CITATION.finditer(line):
        parts += [_escape_part(line[at : citation.start()], is_first=at == 0), citation[0]]
        at = citation.end()
    parts.append(_escape_part(line[at:], is_first=at == 0))
    return "".join(parts)


def _escape_part(text: str, *, is_first: bool) -> str:
    """A part of a line with the blanks at its ends; only the first part can begin a block."""
    escaped = escape_line(text if is_first else f"x{text}")
    escaped = escaped if is_first else escaped[1:]
    return f"{escaped} " if text.endswith(" ") else escaped


def _attribution(checked: _Checked) -> str:
    row = checked.row
    place = (row.get("title"), row.get("file"), row.get("locator")) if checked.is_placed else (row["named"],)
    words = escape_line(", ".join(filter(None, place)))
    words = checked.citation if checked.citation and checked.is_placed else words
    return words if checked.is_verified else f"{words} ({_CLAUSE}: {row['status'].replace('_', ' ')})".strip()


def render_export(payload: dict[str, Any]) -> list[str]:
    """Quotes that are not verified, the citekeys, then the Markdown."""
    unverified = ", ".join(f"{each['number']} {each['status']}" for each in payload["unverified"])
    return [
        f"{count_of(payload['quotes'], 'quote')}; not verified: {unverified or 'none'}",
        f"citekeys: {', '.join(payload['citekeys']) or 'none'}",
        *frame_text(payload["markdown"]),
    ]


_EXPORTS_RENDER_MARKDOWN_DESCRIPTION = """\
Render a title, sections and quotes as Markdown, with citations and a list of the cited works.
Use when: a report is written; each quote is checked, and cited with the page where it stands.
Do not use when: a text is Markdown already (citations_audit_check checks it).
Returns at most: one document, 20,000 tokens.
If you need more, call: this for other sections.
Defaults: style pandoc, bibliography true. Max: 60,000 characters, 100 quotes.
Paragraphs are plain text and are escaped."""
EXPORTS_RENDER_MARKDOWN = Operation(
    "exports.render.markdown",
    RenderMarkdown,
    render_markdown,
    in_scripts=False,
    tool=ToolSpec(
        title="Render Markdown",
        description=_EXPORTS_RENDER_MARKDOWN_DESCRIPTION,
        answer=RenderedMarkdown,
        render=render_export,
        max_size=DIRECT.of("full"),
        is_repeatable=True,
        pack="core",
    ),
)
