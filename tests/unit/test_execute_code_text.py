"""A failed script as its author reads it."""

from __future__ import annotations

from sandbox import Outcome, ScriptError
from server.tools.execute_code import render, to_payload


def test_an_error_shows_the_line_a_caret_under_it_and_what_to_write_instead() -> None:
    error = ScriptError("NameError", "name 'pritn' is not defined", 3, 2, "\tpritn(日)", "did you mean 'print'?")
    text = render(to_payload(Outcome("rejected", stdout="so far\n", error=error)))
    assert text.splitlines()[1:] == [
        "stdout:",
        "so far",
        "",
        "INVALID_ARGUMENT/CODE_REJECTED: NameError: name 'pritn' is not defined (line 3)",
        "  \tpritn(日)",
        "  \t^",
        "hint: did you mean 'print'?",
    ]


def test_a_column_beyond_the_line_shows_no_caret() -> None:
    error = ScriptError("SyntaxError", "unexpected EOF", 1, 40, "x = (")
    assert "^" not in render(to_payload(Outcome("rejected", error=error)))
