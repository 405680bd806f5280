"""Values that a text states: the right ones of each kind, in the form that is asked for, and in linear time."""

from __future__ import annotations

import time
from datetime import date
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.text.answers.kinds import AskedFor, AskedKind, ValueForm
from winnow.server.text.answers.values import STATED_KINDS, find_values


def values(text: str, asked: AskedFor, question: str = "", above: str = "") -> list[str]:
    return [value.text for value in find_values(text, asked, question, above)]


@pytest.mark.parametrize(
    ("kind", "text", "expected"),
    [
        ("number", "It waits 30 seconds.", ["30"]),
        ("number", "It waits 30s, at most 1,000 times.", ["30s", "1,000"]),
        ("number", "Backups are kept for ninety days.", ["ninety"]),
        ("number", "1. See version 3, section 4, and open(2).", []),
        ("number", "It needs Python 3.11 from 10.0.0.1.", []),
        ("number", "No two of them are alike, and if only one of the rows is set, once a row is read.", []),
        ("number", "It runs once a day.", ["once a day"]),
        ("number", "See man 5 hosts: path[0] is '\\0' in a 2-step run.", []),
        ("number", "There is a 30-second wait.", ["30"]),
        ("date", "It was released on 4 March 2021.", ["4 March 2021"]),
        ("date", "Since 2019-05-01 and in 1998.", ["2019-05-01", "1998"]),
        ("date", "It holds 2048 bytes.", []),
        ("version", "Stable since v1.23, before it 1.22 in beta.", ["v1.23", "1.22"]),
        ("version", "It waits 0.5 seconds.", []),
        ("version", '{{< feature-state for="v1.25" state="stable" >}}', ["v1.25"]),
        ("port", "It listens on port 8443.", ["8443"]),
        ("port", "It holds 8443 rows.", []),
        ("port", "The port is open for 30 seconds.", []),
        ("port", "A portable part of 8443.", []),
        ("command", "Run `winnow doctor` with --audit.", ["winnow doctor", "--audit"]),
        ("command", "It is in /etc/hosts or $HOME.", ["/etc/hosts", "$HOME"]),
        ("command", "It is kept for some time.", []),
        ("command", 'See {{< glossary_tooltip term_id="pod" >}}.', []),
        ("name", "It was written by Ada Lovelace.", ["Ada", "Lovelace"]),
        ("name", "The gateway is open. It listens.", []),
    ],
)
def test_the_values_of_a_kind_are_found(kind: AskedKind, text: str, expected: list[str]) -> None:
    assert values(text, AskedFor(kind)) == expected


def test_headings_may_say_that_a_number_is_a_port() -> None:
    assert values("| gateway | 8443 |", AskedFor("port")) == []
    assert values("| gateway | 8443 |", AskedFor("port"), above="Ports") == ["8443"]


def test_what_the_question_has_itself_is_no_answer() -> None:
    text = "`lru_cache` keeps what `maxsize` allows."
    assert values(text, AskedFor("command"), "Which parameter of lru_cache is it?") == ["maxsize"]


@pytest.mark.parametrize(
    ("asked", "text", "fits"),
    [
        (AskedFor("number", "time"), "It waits 30 seconds", True),
        (AskedFor("number", "time"), "It waits 30s", True),
        (AskedFor("number", "time"), "In seconds, by default 30", True),
        (AskedFor("number", "time"), "It has 30 rows", False),
        (AskedFor("number", "share"), "The default share is 0.55", True),
        (AskedFor("number", "share"), "The threshold is 0.55", True),
        (AskedFor("number", "size"), "It has 91 MB", True),
        (AskedFor("number", "share"), "It has 5%", True),
        (AskedFor("number", "share"), "It has 5 rows", False),
        (AskedFor("number", "counted", "retries"), "There are 7 retries", True),
        (AskedFor("number", "counted", "retries"), "There are 7 rows", False),
        (AskedFor("command", "path"), "It is `/etc/hosts`", True),
        (AskedFor("command", "path"), "It is `--audit`", False),
        (AskedFor("command", "variable"), "It is `WINNOW_QUEUE`", True),
        (AskedFor("command", "flag"), "It is `--audit`", True),
    ],
)
def test_a_value_in_another_form_counts_less(asked: AskedFor, text: str, fits: bool) -> None:
    (value,) = find_values(text, asked)
    assert (value.fit == 1.0) == fits
    assert 0 < value.fit <= 1


# Of each kind the values that every sentence may have.
PLANTED: dict[AskedKind, st.SearchStrategy[str]] = {
    "number": st.integers(2, 10**9).map(str),
    "date": st.dates(min_value=date(1000, 1, 1)).map(date.isoformat),
    "version": st.tuples(st.integers(0, 99), st.integers(0, 99)).map(lambda parts: f"v{parts[0]}.{parts[1]}"),
    "port": st.integers(10, 65_535).map(str),
    "command": st.from_regex(r"--[a-z]{2,12}", fullmatch=True, alphabet="abcdefghijklmnopqrstuvwxyz-"),
    "name": st.from_regex(r"[A-Z][a-z]{1,12}", fullmatch=True),
}
PLAIN = st.lists(
    st.sampled_from(["the", "gateway", "holds", "with", "outer", "rows", "of"]), min_size=1, max_size=8
)


@pytest.mark.parametrize("kind", sorted(STATED_KINDS))
@given(data=st.data(), before=PLAIN, behind=PLAIN)
def test_a_value_of_each_kind_is_found_between_plain_words(
    kind: AskedKind, data: st.DataObject, before: list[str], behind: list[str]
) -> None:
    value = data.draw(PLANTED[kind])
    text = f"The port {' '.join(before)} {value} {' '.join(behind)}."
    assert values(text, AskedFor(kind)) == [value]


@given(st.text(max_size=300), st.sampled_from(get_args(AskedKind)), st.sampled_from(get_args(ValueForm)))
def test_values_lie_in_the_text_in_order(text: str, kind: AskedKind, form: ValueForm) -> None:
    counted = "row" if form == "counted" else ""
    found = list(find_values(text, AskedFor(kind, form, counted)))
    assert not found or kind in STATED_KINDS
    assert [value.start for value in found] == sorted(value.start for value in found)
    assert all(value.text in text[value.start : value.end] for value in found)


@pytest.mark.parametrize("kind", sorted(STATED_KINDS))
@pytest.mark.parametrize(
    "part", ["a", "a.", "a_", "a, ", "1,000", "1", "-", "`", "/a", "v1.", "A", "port 1 ", "{{", "* "]
)
def test_a_long_text_takes_linear_time(kind: AskedKind, part: str) -> None:
    started = time.process_time()
    list(find_values(part * (20_000 // len(part)), AskedFor(kind)))
    assert time.process_time() - started < 1.0
