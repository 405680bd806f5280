"""Quotes of a manual page are compared with what is printed, not with its source."""

from __future__ import annotations

import pytest

from server.quotes.finding import find_quote
from server.quotes.sources import SourceText

SOURCE = r"""
.\" Nobody sees that quotes are never printed.
.TH KEEP 1
.SH "EXIT STATUS"
Run \fBkeep all\fR to keep
the \f[I]files\f[] of \(lqtoday\(rq\.
.PP
Use
.BR grep (1)
or
.B "the tool"
with \-f \(em always.
.IP "KEEP_WAIT (95)" 4
Nothing was kept.
.IP \(bu 2
The second point is
.Em not
kept.
"""
SEEN = (
    "Run keep all to keep the files of “today”. Use grep(1) or the tool with -f — always.",
    "EXIT STATUS Run keep all",
    "KEEP_WAIT (95) Nothing was kept",
    "Run \\fBkeep all\\fR to keep",
)
UNSEEN = (
    "that quotes are never printed. EXIT STATUS",
    "The second point is kept",
    "Use grep (1)",
    "KEEP_WAIT (95) 4 Nothing",
)


@pytest.mark.parametrize("quote", SEEN)
def test_a_quote_of_the_printed_page_stands_in_its_source(quote: str) -> None:
    assert len(find_quote(quote, SourceText(SOURCE))) == 1


@pytest.mark.parametrize("quote", UNSEEN)
def test_what_is_not_printed_so_is_no_quote(quote: str) -> None:
    assert find_quote(quote, SourceText(SOURCE)) == []


def test_a_text_that_is_no_source_keeps_its_lines() -> None:
    assert len(find_quote(".B is a request", SourceText("It says:\n.B is a request of roff."))) == 1
