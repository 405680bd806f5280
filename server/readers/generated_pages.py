"""Markup of generators of pages that write titles, rows and boxes without the elements that HTML has for them.

Each rule is for one generator: it adds attributes to the elements that its selector matches, in pages that name
the generator. The attributes state the ARIA role of an element, or what only this package reads (see below).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

# The attributes of an element whose children are cells, with the number of cells in a row; of an element whose
# children are lines of code; and of a table that displays one line of text.
COLUMNS, CODE_LINES, ONE_LINE = "winnow-columns", "winnow-code", "winnow-line"
# A page names its generator in its head, in a comment or in the name of its style sheet, or else at its end.
_HEAD_CHARS, _END_CHARS = 32 * 1024, 4 * 1024


@dataclass(frozen=True, slots=True)
class Rule:
    """Elements of the pages of a generator, and the attributes to add to them."""

    selector: str
    stated: tuple[tuple[str, str], ...]


def _heading(selector: str, level: int) -> Rule:
    return Rule(selector, (("role", "heading"), ("aria-level", str(level))))


def _layout(selector: str) -> Rule:
    return Rule(selector, (("role", "presentation"),))


def _control(selector: str) -> Rule:
    return Rule(selector, (("hidden", ""),))


def _grid(selector: str, columns: int) -> Rule:
    return Rule(selector, ((COLUMNS, str(columns)),))


# For each generator, words of which all its pages have one, and its rules. Distributions remove the comment of
# Javadoc, which has the time.
_GENERATORS: tuple[tuple[str, tuple[str, ...], tuple[Rule, ...]], ...] = (
    (
        "Doxygen",
        ("oxygen",),
        (
            _heading("div.headertitle > div.title", 1),
            _heading("td > div.groupHeader", 3),
            _heading("tr.inherit_header > td[colspan]", 3),
            Rule("div.memproto > table", ((ONE_LINE, ""),)),
            Rule("div.fragment:has(> div.line)", ((CODE_LINES, ""),)),
            _control("h2.memtitle > span.permalink"),
        ),
    ),
    (
        "Javadoc 1.2 to 6",
        ("parent.document.title",),
        (
            _control("td.NavBarCell1, td.NavBarCell2, td.NavBarCell3"),
            _heading('tr.TableHeadingColor font[size="+2"]', 2),
            _heading("tr.TableSubHeadingColor > th", 3),
        ),
    ),
    (
        "Javadoc 7 to 15",
        ("javadoc", "JavaScript is disabled"),
        (
            _layout("ul.blockList > li, ul.blockListLast > li"),
            _heading("table.deprecatedSummary > caption, table.typeSummary > caption", 2),
            _heading("table.overviewSummary > caption", 2),
            _control("caption > span.activeTableTab, caption > span.tableTab"),
        ),
    ),
    (
        "Javadoc 16 and later",
        ("javadoc",),
        (
            _layout("ul.block-list > li, ul.summary-list > li, ul.details-list > li, ul.member-list > li"),
            _heading("div > div.caption:has(+ div.summary-table)", 2),
            _grid("div.two-column-summary, div.two-column-release-summary", 2),
            _grid("div.three-column-summary, div.three-column-release-summary", 3),
            _grid("div.four-column-summary", 4),
        ),
    ),
    (
        "DSSSL stylesheets for DocBook",
        ("Modular DocBook",),
        (
            _heading("div.TOC > dl > dt > b", 2),
            _control("div.NAVHEADER > table, div.NAVFOOTER > table"),
        ),
    ),
    ("Epydoc", ("pydoc",), (_heading("td.table-header span.table-header", 2),)),
    ("Natural Docs", ("Natural Docs",), (_heading("div.STitle", 2),)),
    ("phpDocumentor", ("phpDocumentor",), (_heading("div.info-box > div.info-box-title", 2),)),
    ("RDoc", ("rdoc",), (_heading("div.sectiontitle", 2),)),
    (
        "Haddock 0.6 to 2.6",
        ("haddock",),
        (
            _heading("td.section1", 2),
            _heading("td.section2", 3),
            _heading("td.section3", 4),
            _heading("td.section4", 5),
        ),
    ),
    ("AsciiDoc", ("toctitle",), (_heading("div#toctitle", 2),)),
    ("Microsoft Word", ("MsoTitle",), (_heading("p.MsoTitle", 1),)),
)

# Classes of blocks that are headings below the last heading if they stand alone above a text: Haddock, Sphinx,
# Docutils.
BOLD_CLASSES = frozenset({"caption", "rubric", "topic-title", "sidebar-title"})


def rules_for(source: str) -> Iterator[Rule]:
    """The rules of the generators that a page names."""
    named = f"{source[:_HEAD_CHARS]}\n{source[-_END_CHARS:]}"
    for _, words, rules in _GENERATORS:
        if any(word in named for word in words):
            yield from rules
