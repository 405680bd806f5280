r"""Reads quotes and citations from a text in Markdown, each quote with the citation that it belongs to.

Citations are written as pandoc has them: ``[@key, p. 3; @other, pp. 4-5]``, ``[-@key]``, ``@key [p. 3]``, and keys
with other signs as ``@{key, with signs}``. A quote is a block quotation, also within a list or right below a line
of text, or stands between quotation marks of any language, or in the elements of HTML for quotes. Its citation is
the first citation after it, in its sentence or at its end and before another quote; otherwise the last citation
before it. A short text between quotation marks is a word in quotes, not a quote, if it has no citation or if the
marks are single. Code has neither quotes nor citations.

A citation that cannot be read is reported with its line and the reason, and so is a quotation mark that is not
closed, because the text after it was not checked. Takes time in proportion to the length of the text.
"""

from __future__ import annotations

import html
import re
import sys
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from winnow.server.text.markup.possessive import compile_possessive

# Words between quotation marks that are a quote even without a citation.
LEAST_QUOTED_WORDS = 5

_FENCE = compile_possessive(
    r"^[ \t]{0,3}+(?:`{3,}+|~{3,}+)[^\n]*+\n(?:(?![ \t]{0,3}(?:`{3}|~{3}))[^\n]*+\n)*+[^\n]*+", re.MULTILINE
)
# A quote in the style of TeX, `so', is no code.
_CODE = re.compile(r"(?<![`\\])(`{1,3})(?!`|[^\W\d_][^`'\n]{0,80}[\w.,!?]'(?![\w`]))[^`]{1,500}+\1(?!`)")
# Signs in code that would be read as marks, and the private-use characters that replace them. Places stay the
# same.
_SIGNS = "".join(sign for sign in map(chr, range(0x21, 0x7F)) if not sign.isalnum()) + "“”„«»‹›「」『』＂‘’‚"
_UNREAD = "".join(chr(0xF0000 + number) for number in range(len(_SIGNS)))
_HIDDEN, _SHOWN = str.maketrans(_SIGNS, _UNREAD), str.maketrans(_UNREAD, _SIGNS)
_PARAGRAPH = compile_possessive(r"^(?:[^\S\n]*+\S[^\n]*+(?:\n|\Z))++", re.MULTILINE)
_LIST_ITEM = re.compile(r"[ \t]{0,12}(?:[-*+]|\d{1,9}[.)])[ \t]")
_QUOTE_SIGNS = compile_possessive(
    r"^[ \t]{0,12}(?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,4}(?=[^\n]{0,12}>)){0,4}(?:>[ \t]?)++", re.MULTILINE
)
# A line that begins a block quotation within a paragraph or an item of a list.
_QUOTE_BEGINS = compile_possessive(
    r"^(?:[ \t]{0,3}|[ \t]{0,12}(?:(?:[-*+]|\d{1,9}[.)])[ \t]{1,4}){1,4})(?:>[ \t]?)++(?=\S)", re.MULTILINE
)
_QUOTE_WITHIN = compile_possessive(r"^[ \t]{0,12}(?:>[ \t]?)++(?=\S)", re.MULTILINE)
_QUOTE_PAUSE = compile_possessive(r"^[ \t]{0,12}(?:>[ \t]*)++\n", re.MULTILINE)
_CITATION_FOLLOWS = re.compile(r"[> \t\n—–-]{0,100}+\[?-?@")
_ALERT = re.compile(r"\A\[![A-Za-z]{1,20}\][ \t]*\n")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")

_KEY = r"(?:\{(?P<braced>[^{}\n]{1,200})\}|(?P<key>\w(?:[\w:.#$%&+?<>~/-]{0,199}\w)?))"
_CITED = re.compile(rf"(?<![\w\\])-?@{_KEY}")
_BRACKETS = compile_possessive(r"(?<![!\\])\[(?P<inside>(?:[^\[\]\n\\]|\\.|\n(?![ \t]*\n)){1,1000}+)\](?![(\[:])")
_UNCLOSED = re.compile(r"(?<!\\)\[-?@[^\[\]\n]{0,200}+(?:\n|\Z)")
_WITHOUT_SIGN = re.compile(r"[\w:.-]{2,100}\d{2,4}[a-z]?,\s*(?:pp?\.|pages?)\s*\d")
_PAGES = re.compile(r"\s*(?P<first>[\w.]{1,20}?)(?:\s*(?:-{1,3}|–|—)\s*(?P<last>[\w.]{1,20}?))?(?=[,;\s]|\Z)")
_PAGES_IN_TEXT = re.compile(r"\s?\[([^\[\]\n]{1,100})\]")
_PAGE_WORD = re.compile(r"(?:pp?\.|pages?\b|slides?\b|sheets?\b)", re.IGNORECASE)
_NEXT_SENTENCE = re.compile(r"[.!?][\"”’)\]]*+\s++(?=\w)")
# Quotation marks: the sign that begins a quote, and those that may end it.
_MARKS = (
    *(
        ("“", '”"'),
        ("„", '“”"'),
        ("”", "”"),
        ("«", "»"),
        ("»", "«"),
        ("‹", "›"),
        ("›", "‹"),
        ("「", "」"),
        ("『", "』"),
    ),
    *(("＂", "＂"), ('"', '"”')),
)
# Single marks are apostrophes as well, which stand between letters.
_SINGLE_MARKS = (("‘", "’"), ("‚", "‘’"), ("'", "'"))
_UNCLOSED_MARK = "its quotation mark is not closed in its paragraph, so what it quotes was not checked"
_SHOWN_MARK_CHARS = 60
# A quote does not contain its own marks, except one nested pair and apostrophes, so no character is tried twice.
_NESTED = {"“": '|“[^“”"]{0,2000}+”', "«": "|«[^«»]{0,2000}+»"}


def _between(start: str, ends: str, name: str, *, is_single: bool) -> str:
    inside = f"[^{start}{ends}]"
    within = f"|(?<=[^\\W_])[{ends}](?=[^\\W_])" if is_single else _NESTED.get(start, "")
    # A straight mark begins a quote directly before a word and ends it directly after one: the mark in 5" begins
    # none.
    first, last = ("(?=\\S)", "(?<=\\S)") if start in "\"'" else ("", "")
    after = "(?![^\\W_])" if is_single else ""
    return f"{start}{first}(?P<{name}>(?:{inside}{within}){{1,60000}}+){last}[{ends}]{after}"


_MARKED = compile_possessive(
    r"(?<![^\W_])(?<!\\)(?:"
    + "|".join(
        _between(start, ends, f"{'s' if is_single else 'm'}{number}", is_single=is_single)
        for is_single, marks in ((False, _MARKS), (True, _SINGLE_MARKS))
        for number, (start, ends) in enumerate(marks)
    )
    # Two straight marks with blanks inside enclose a quote only if it is long: they may belong to other quotes.
    + f'|"(?P<blank>\\s++(?:[^\\s"]++\\s++){{{LEAST_QUOTED_WORDS},30000}}+)"'
    + ")"
)
_OPENING = re.compile(r'(?<![^\W_])(?<!\\)(?:[“„«]|"(?=[^\W_]))')
# Marks that Markdown or HTML writes otherwise, and the signs that a reader sees.
_WRITTEN_MARK = re.compile(
    r"&(?:quot|[lr]dquo|bdquo|[lr]squo|sbquo|[lr]aquo|[lr]saquo|#0{0,4}34|#x0{0,4}22|#8(?:21[6-9]|22[0-3]));"
    r"|\\(?=[\"'“”„«»‘’])|</?(?:q|blockquote)(?:\s[^<>]{0,400})?>",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class CitedSource:
    """A citekey, the first and last page as the citation names them, "" if it names none, and its line, from 1."""

    key: str
    first: str
    last: str
    line: int


@dataclass(frozen=True, slots=True)
class WrittenQuote:
    """A quote as its author meant it, its line, from 1, and the source that is cited for it."""

    text: str
    line: int
    source: CitedSource | None


@dataclass(frozen=True, slots=True)
class MalformedCitation:
    """A text that was meant as a citation, and the reason why it cannot be read."""

    text: str
    line: int
    problem: str


@dataclass(frozen=True, slots=True)
class CitedText:
    """The quotes, the citations and the malformed citations of a text, each in the order of the text."""

    quotes: tuple[WrittenQuote, ...]
    citations: tuple[CitedSource, ...]
    malformed: tuple[MalformedCitation, ...]


@dataclass(frozen=True, slots=True)
class _Cluster:
    """The citations in a pair of brackets, or a single citation in the text, and their place."""

    start: int
    end: int
    sources: tuple[CitedSource, ...]


@dataclass(frozen=True, slots=True)
class _Marked:
    """A quoted text and its place; ``is_single``: whether it stands between single marks."""

    start: int
    end: int
    text: str
    is_block: bool
    is_single: bool = False


def read_citations(markdown: str) -> CitedText:
    """The quotes and citations of a text.

    >>> read_citations('He writes: "kept for ninety days" [@ohm27, p. 3].').quotes[0].source
    CitedSource(key='ohm27', first='3', last='3', line=1)
    """
    text = _WRITTEN_MARK.sub(_seen_mark, _without_code(markdown))
    quotes: list[WrittenQuote] = []
    citations: list[CitedSource] = []
    malformed: list[MalformedCitation] = []
    for paragraph in _PARAGRAPH.finditer(text):
        clusters, flaws = _clusters(text, *paragraph.span())
        citations += (source for cluster in clusters for source in cluster.sources)
        malformed += flaws
        marked = [*_marked(text, *paragraph.span(), clusters)]
        quotes += _quotes(text, marked, clusters)
        malformed += _unclosed_marks(text, *paragraph.span(), [(each.start, each.end) for each in marked])
    return CitedText(tuple(quotes), tuple(citations), tuple(malformed))


def _without_code(markdown: str) -> str:
    """The text with blanks in place of fenced code, and without meaningful signs in other code.

    A quote may contain code, whose words belong to the quote (``_plain``). Places stay the same.
    """
    markdown = _FENCE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), markdown)
    return _CODE.sub(lambda found: found[0].translate(_HIDDEN), markdown)


def _seen_mark(found: re.Match[str]) -> str:
    if found[0].startswith(("&", "\\")):
        return html.unescape(found[0]).removeprefix("\\")
    return "”" if found[0].startswith("</") else "“"


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


# --- citations


def _clusters(text: str, start: int, end: int) -> tuple[list[_Cluster], list[MalformedCitation]]:
    found: list[_Cluster] = []
    flaws: list[MalformedCitation] = []
    within: list[tuple[int, int]] = []
    for brackets in _BRACKETS.finditer(text, start, end):
        if not _CITED.search(brackets["inside"]):
            flaws += _flaw_without_key(text, brackets)
            continue
        within.append(brackets.span())
        sources, problems = _sources(brackets["inside"], _line(text, brackets.start()))
        flaws += (MalformedCitation(brackets[0], _line(text, brackets.start()), problem) for problem in problems)
        found.append(_Cluster(*brackets.span(), tuple(sources)))
    unclosed = [each for each in _UNCLOSED.finditer(text, start, end) if not _is_within(each.start(), within)]
    flaws += (
        MalformedCitation(each[0].strip(), _line(text, each.start()), "its bracket is not closed")
        for each in unclosed
    )
    within = sorted([*within, *(each.span() for each in unclosed)])
    found += _in_text(text, start, end, within)
    return sorted(found, key=lambda cluster: cluster.start), flaws


def _is_within(at: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a place is in one of these parts, which are in order and do not overlap."""
    number = bisect_right(spans, (at, sys.maxsize))
    return number > 0 and at < spans[number - 1][1]


def _flaw_without_key(text: str, brackets: re.Match[str]) -> Iterator[MalformedCitation]:
    inside = brackets["inside"].strip()
    if inside.lstrip("-").startswith("@"):
        yield MalformedCitation(brackets[0], _line(text, brackets.start()), "no citekey follows the @")
    elif _WITHOUT_SIGN.match(inside):
        yield MalformedCitation(brackets[0], _line(text, brackets.start()), "the citekey has no @ before it")


def _sources(inside: str, line: int) -> tuple[list[CitedSource], list[str]]:
    """The sources between brackets, and what is wrong with their pages."""
    sources, problems = [], []
    for part in inside.split(";"):
        key = _CITED.search(part)
        if key is None:
            problems.append("a part between semicolons has no citekey")
            continue
        first, last, problem = read_pages(part[key.end() :])
        problems += [problem] if problem else []
        sources.append(CitedSource(key["braced"] or key["key"], first, last, line))
    return sources, problems


def read_pages(rest: str) -> tuple[str, str, str]:
    """The first and last page that a text names, "" for none; and what is wrong with them, "" for nothing.

    >>> read_pages(", pp. 4-5"), read_pages("33"), read_pages("chapter 3")
    (('4', '5', ''), ('33', '33', ''), ('', '', ''))
    """
    words = _ESCAPE.sub(r"\1", rest).strip().removeprefix(",").strip()
    noun = _PAGE_WORD.match(words)
    pages = _PAGES.match(words, noun.end() if noun else 0)
    if pages is None or not (noun or pages["first"].isdecimal()):
        return "", "", "no page follows" if noun else ""
    first, last = pages["first"], pages["last"] or pages["first"]
    is_reversed = first.isdecimal() and last.isdecimal() and int(first) > int(last)
    return first, last, "its last page comes before the first" if is_reversed else ""


def _in_text(text: str, start: int, end: int, within: Sequence[tuple[int, int]]) -> Iterator[_Cluster]:
    """Citations such as "@key [p. 3]" outside brackets."""
    for key in _CITED.finditer(text, start, end):
        if _is_within(key.start(), within):
            continue
        rest = _PAGES_IN_TEXT.match(text, key.end(), end)
        first, last, _ = read_pages(rest[1]) if rest else ("", "", "")
        source = CitedSource(key["braced"] or key["key"], first, last, _line(text, key.start()))
        yield _Cluster(key.start(), rest.end() if rest and first else key.end(), (source,))


# --- quotes


def _marked(text: str, start: int, end: int, clusters: Sequence[_Cluster]) -> Iterator[_Marked]:
    block = _QUOTE_BEGINS.search(text, start, end)
    if block is None and text[start : start + 1] in (" ", "\t"):  # the next paragraph of an item
        block = _QUOTE_WITHIN.match(text, start, end)
    if block is None and (begin := _LIST_ITEM.match(text, start, end)):
        block = _QUOTE_WITHIN.search(text, begin.end(), end)
    for found in _MARKED.finditer(text, start, block.start() if block else end):
        name = found.lastgroup or ""
        is_single = name.startswith("s")
        yield _Marked(found.start(), found.end(), _plain(found[name]), is_block=False, is_single=is_single)
    if block is not None:
        yield from _blocks(text, block.start(), end, clusters)


def _blocks(text: str, start: int, end: int, clusters: Sequence[_Cluster]) -> Iterator[_Marked]:
    """The block quotations of a part. A line without words ends a quotation that has its citation."""
    starts = [each.start for each in clusters]
    for pause in _QUOTE_PAUSE.finditer(text, start, end):
        cited = clusters[bisect_left(starts, start) : bisect_left(starts, pause.start())]
        if cited and not _CITATION_FOLLOWS.match(text, pause.end(), end):
            yield _block(text, start, pause.start(), cited)
            start = pause.end()
    yield _block(text, start, end, clusters[bisect_left(starts, start) : bisect_left(starts, end)])


def _unclosed_marks(
    text: str, start: int, end: int, marked: Sequence[tuple[int, int]]
) -> Iterator[MalformedCitation]:
    for found in _OPENING.finditer(text, start, end):
        if not _is_within(found.start(), marked):
            shown = text[found.start() : min(found.start() + _SHOWN_MARK_CHARS, end)].strip()
            yield MalformedCitation(shown, _line(text, found.start()), _UNCLOSED_MARK)
            return  # an unclosed mark makes those after it in the paragraph look unclosed


def _block(text: str, start: int, end: int, clusters: Sequence[_Cluster]) -> _Marked:
    """A block quotation without the signs of its lines and its citations."""
    body, at = "", start
    for cluster in clusters:
        body += text[at : cluster.start]
        at = cluster.end
    body = _ALERT.sub("", _QUOTE_SIGNS.sub("", body + text[at:end]).strip())
    body = body.removesuffix(body[-1]).rstrip() if body.endswith((".", ",", ";")) else body
    if body.endswith("--"):
        body = body.rstrip("-")
    return _Marked(start, end, _plain(body.removesuffix("—").removesuffix("–")), is_block=True)


def _plain(text: str) -> str:
    """The text that its Markdown stands for: without escapes and character references, except in code."""
    return html.unescape(_ESCAPE.sub(r"\1", text)).translate(_SHOWN).strip()


def _quotes(text: str, marked: Sequence[_Marked], clusters: Sequence[_Cluster]) -> Iterator[WrittenQuote]:
    starts = [each.start for each in clusters]
    for number, quote in enumerate(marked):
        before = marked[number - 1].end if number else 0
        after = marked[number + 1].start if number + 1 < len(marked) else len(text)
        nearby = clusters[bisect_left(starts, before) : bisect_left(starts, after)]
        source = _source_of(text, quote, nearby)
        is_long = len(quote.text.split()) >= LEAST_QUOTED_WORDS
        is_quote = quote.is_block or is_long or (source is not None and not quote.is_single)
        if is_quote and quote.text:
            yield WrittenQuote(quote.text, _line(text, quote.start), source)


def _source_of(text: str, quote: _Marked, clusters: Sequence[_Cluster]) -> CitedSource | None:
    """The source of a quote: that of the first citation in or after it, otherwise of the last one before it."""
    following = next((each for each in clusters if quote.start <= each.start), None)
    preceding = next((each for each in reversed(clusters) if each.start < quote.start), None)
    # A sentence that ends before the nearest citation ends before the others, too.
    if following and not _NEXT_SENTENCE.search(text, quote.end, following.start):
        nearest = following
    elif preceding and not _NEXT_SENTENCE.search(text, preceding.end, quote.start):
        nearest = preceding
    else:
        return None
    return nearest.sources[0] if nearest.sources else None
