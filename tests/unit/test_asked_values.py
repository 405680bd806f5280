"""The value that a question asks for, and the values that a text has: many forms, in doubt too many, any text."""

from __future__ import annotations

from datetime import date
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.text.asked_values import AskedValue, Unit, ValueKind, find_asked_value, find_values, names_value


def values(text: str, asked: AskedValue, question: str = "", above: str = "") -> list[str]:
    return sorted(text[start:end] for start, end in find_values(text, asked, question, above))


# --- questions -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("Which port does the gateway listen on?", AskedValue("port")),
        ("On what TCP port is it?", AskedValue("port")),
        ("Can you tell me which port it uses? On which port is it?", AskedValue("port")),
        ("If none is given, which port is used?", AskedValue("port")),
        ("Which version of the broker is needed?", AskedValue("version")),
        ("Since which broker version are there leases?", AskedValue("version")),
        ("What is the release date of version 4?", AskedValue("date")),
        ("What is the release date?", AskedValue("date")),
        ("When was it released?", AskedValue("date")),
        ("In which year did it begin?", AskedValue("date")),
        ("On which date is the audit?", AskedValue("date")),
        ("How many retries are there?", AskedValue("number", "count")),
        ("How many of the retries are logged?", AskedValue("number", "count")),
        ("How many seconds is the wait?", AskedValue("number", "time")),
        ("How large is the file?", AskedValue("number", "size")),
        ("How much memory does it take?", AskedValue("number", "size")),
        ("What share of the memory may it take?", AskedValue("number", "share")),
        ("How long is the wait?", AskedValue("number", "span")),
        ("How often is the cache read?", AskedValue("number", "rate")),
        ("What is the default timeout of a lease?", AskedValue("number")),
        ("What is the maximum number of ports?", AskedValue("number")),
        ("The queue is full. How long is the wait?", AskedValue("number", "span")),
        ("Who wrote the broker?", AskedValue("name")),
        ("Who is the original author of the broker?", AskedValue("name")),
        ("Who now maintains the broker?", AskedValue("name")),
        ("Which company sponsored the broker?", AskedValue("name")),
        ("Which environment variable sets the proxy?", AskedValue("variable")),
        ("Which command-line option keeps the log?", AskedValue("flag")),
        ("What flag of the broker turns leases off?", AskedValue("flag")),
        ("Which configuration file holds the leases?", AskedValue("path")),
        ("In which directory are they?", AskedValue("path")),
    ],
)
def test_the_words_that_a_question_begins_with_say_the_value(question: str, expected: AskedValue) -> None:
    assert find_asked_value(question) == expected


@pytest.mark.parametrize(
    "question",
    [
        "Why does it depend on how many retries there are?",
        "Who may read the file?",
        "Who owns the file?",
        "Which company is it?",
        "Which file system is mounted?",
        "What file format holds the leases?",
        "What is an environment variable?",
        "Is there a port for metrics?",
        "What is a port?",
        "What port type is there?",
        "What does the version field mean?",
        "What version control system is used?",
        "What priority has a version from the archive?",
        "Which date format is read?",
        "Which column has the date of birth in it, and who reads it?",
        "When does a lease expire?",
        "When will a pod be evicted?",
        "What month names are there?",
        "Which key names the socket?",
        "Which field, class, argument, method or option is it?",
        "Which release is it?",
        "Which version of Debian is supported?",
        "How many-to-many works in the broker?",
        "How long-running jobs behave",
        "How long strings are stored",
        "How large language models are served",
        "How big of a problem is fragmentation?",
        "What are the version constraints of the package?",
        "What is the version field?",
        "What is new in this version?",
        "What is the difference between the versions?",
        "Which version is faster, the threaded or the async?",
        "Which date should I use, created or modified?",
        "What is the maximum number of retries for?",
        "What sets the maximum number of retries?",
        "What happens at the deadline of the audit?",
        "What is the number of the ticket?",
        "Which USB port does the scanner need?",
        "Which port is the cable plugged into?",
        "Which command restores it?",
        "What is a timeout?",
        "What is the grace period?",
        "Who reads it?",
        "Wie viele Versuche gibt es?",
        "backups of the catalogue",
        "",
    ],
)
def test_in_doubt_a_question_asks_for_no_value(question: str) -> None:
    assert find_asked_value(question) is None


@given(
    st.sampled_from(["Which port is it?", "How many rows are there?", "When was it?"]), st.sampled_from("\n\t ")
)
def test_white_space_and_case_do_not_change_the_value(question: str, space: str) -> None:
    asked = find_asked_value(question)
    assert asked is not None
    assert find_asked_value(space.join(["", *question.upper().split(), ""])) == asked


def test_words_for_the_value_are_no_subject() -> None:
    words = ["Port", "seconds", "version", "maximum", "gateway", "portable", "secondary"]
    assert [names_value(word, "port") for word in words] == [True, True, True, True, False, False, False]
    makers = ["wrote", "author", "broker"]
    assert [names_value(word, "name") for word in makers] == [True, True, False]
    assert [names_value(word, "port") for word in makers] == [False, False, False]


# --- texts ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "text", "expected"),
    [
        # a unit makes a number a value wherever it stands; without one, years and names of things are none
        (AskedValue("number"), "It waits 30s, at most 1,000 times.", ["1,000 times", "30s"]),
        (AskedValue("number"), "Gone in 30 seconds, kept since 5 days.", ["30 seconds", "5 days"]),
        (AskedValue("number"), "30 rows are read.", ["30"]),
        (AskedValue("number"), "The limit is\n30. It is fixed.", ["30"]),
        (AskedValue("number"), "2021 rows\n2022 rows", ["2021", "2022"]),
        (AskedValue("number"), "Begun in 2019 (2021).", []),
        (AskedValue("number"), "1. See version 3, section 4, and open(2) in UTF-8.", []),
        (AskedValue("number"), "Version 3 days", ["3 days"]),
        # tables, definition lists, URLs and code
        (AskedValue("number"), "| retries | 30 |", ["30"]),
        (AskedValue("number"), "retries\n:   30", ["30"]),
        (AskedValue("number"), 'retries=30 "depth": 7 `--width=50`', ["30", "50", "7"]),
        (AskedValue("number"), "wait(512) 0x1F 1e6", ["0x1F", "1e6", "512"]),
        (AskedValue("number"), "https://host/?retries=30", ["30"]),
        (AskedValue("number"), "10Gbps or the 2nd", ["10Gbps"]),
        # words
        (AskedValue("number", "time"), "For ninety days, a week, forever", ["a week", "forever", "ninety days"]),
        (AskedValue("number", "count"), "Half of them, a dozen, or only one.", ["Half", "dozen", "one"]),
        (AskedValue("number", "count"), "There is none; it is unlimited.", ["none", "unlimited"]),
        (AskedValue("number", "count"), "No one reads this one or one of those.", []),
        (AskedValue("number", "rate"), "Run daily, twice, once a month.", ["a month", "daily", "once", "twice"]),
        (AskedValue("number", "rate"), "Once the row is read, a row is sent.", []),
        # other units
        (AskedValue("number", "time"), "It has 512 MiB and 3 rows.", ["3"]),
        (AskedValue("number", "count"), "It waits 30 seconds for 80%.", []),
        (AskedValue("number", "span"), "It waits 30 seconds for 12 bytes.", ["12 bytes", "30 seconds"]),
        (AskedValue("date"), "2021-05-03T10:00 2021/05/03 3.5.2021", ["2021-05-03", "2021/05/03", "3.5.2021"]),
        (AskedValue("date"), "3 May 2021, May 2021, May 3rd, 2021", ["3 May 2021", "May 2021", "May 3rd, 2021"]),
        (AskedValue("date"), "Q3 2021, spring 2021, late 2021", ["Q3 2021", "late 2021", "spring 2021"]),
        (AskedValue("date"), "Mon, 20 Nov 1995 19:12:08 -0500", ["20 Nov 1995"]),
        (AskedValue("date"), "in 1998, the 1990s, in October", ["1990s", "1998", "in October"]),
        (AskedValue("date"), "in the 19th century", ["19th century"]),
        (AskedValue("date"), "in 0.55 seconds, two years ago", ["years ago"]),
        (AskedValue("date"), "It holds 2048 bytes and may wait.", []),
        (AskedValue("version"), "v1.2, 1.2, 1.x, 3.11+, 2.0.0rc1", ["1.2", "1.x", "2.0.0rc1", "3.11+", "v1.2"]),
        (AskedValue("version"), "r5 and 2021a and version 4", ["2021a", "r5", "version 4"]),
        (AskedValue("version"), "Broker 7 needs kernel 6.", ["Broker 7", "kernel 6"]),
        (AskedValue("version"), "Any version does.", ["Any version"]),
        (AskedValue("version"), "It waits 0.55 seconds, see Table 3.", []),
        (AskedValue("port"), "It listens on 8443 and :8080, 53/udp.", ["53", "8080", "8443"]),
        (AskedValue("port"), "https://host:8443/", ["8443"]),
        (AskedValue("port"), "Any free port is taken.", ["Any free port"]),
        (AskedValue("port"), "It supports 8443 names.", []),
        (AskedValue("port"), "containerPort = 8443", ["8443"]),
        (AskedValue("port"), "The port is open for 30 seconds.", []),
        (AskedValue("name"), "Written by Jane, not Joe", ["Written by Jane"]),
        (AskedValue("name"), "Written mainly by:\n\n      Jane Doe", ["Written mainly by:\n\n      Jane"]),
        (AskedValue("name"), "Jane Doe maintains it.", ["Jane Doe maintains"]),
        (AskedValue("name"), "Copyright Broker Inc", ["Copyright Broker"]),
        (AskedValue("name"), "The gateway was written to be read. Jane", []),
        (AskedValue("variable"), "Set BROKER_PROXY or $proxy.", ["$proxy", "BROKER_PROXY"]),
        (AskedValue("flag"), "Use --keep-log, -k or `keep_log`.", ["--keep-log", "-k", "`keep_log`"]),
        (AskedValue("flag"), "If *keep_log* is true", ["*keep_log*"]),
        (AskedValue("flag"), "It is kept.", []),
        (AskedValue("path"), "In ~/.config/broker or broker.toml", ["broker.toml", "~/.config/broker"]),
        (AskedValue("path"), "It is a file. It is kept.", []),
    ],
)  # fmt: skip
def test_the_values_of_a_kind_are_found(asked: AskedValue, text: str, expected: list[str]) -> None:
    assert values(text, asked) == expected


def test_headings_may_say_that_a_number_is_a_port() -> None:
    assert values("| gateway | 8443 |", AskedValue("port")) == []
    assert values("| gateway | 8443 |", AskedValue("port"), above="Ports") == ["8443"]


def test_a_value_of_the_question_is_no_answer_and_a_part_of_one_is() -> None:
    question = "How many of the 130 rows are read?"
    assert values("Of 130 rows, 30 are read.", AskedValue("number", "count"), question) == ["30"]
    assert values("Since 3.1, not 3.", AskedValue("version"), "Which version follows 3.11?") == ["3.1"]


# Of each kind the values that every sentence may have.
PLANTED: dict[ValueKind, st.SearchStrategy[str]] = {
    "number": st.integers(0, 10**9).map(str),
    "date": st.dates(min_value=date(1500, 1, 1), max_value=date(2099, 12, 31)).map(date.isoformat),
    "version": st.tuples(st.integers(0, 99), st.integers(0, 99)).map(lambda parts: f"v{parts[0]}.{parts[1]}"),
    "port": st.integers(10, 65_535).map(str),
    "name": st.integers(0, 999).map("<jane{}@example.org>".format),
    "variable": st.integers(0, 999).map("GATEWAY_{}".format),
    "flag": st.integers(0, 999).map("--keep-{}".format),
    "path": st.integers(0, 999).map("/etc/gateway-{}.conf".format),
}
PLAIN = st.lists(st.sampled_from(["the", "gateway", "holds", "with", "outer", "rows"]), min_size=1, max_size=8)


@pytest.mark.parametrize("kind", get_args(ValueKind))
@given(data=st.data(), before=PLAIN, behind=PLAIN)
def test_a_value_of_each_kind_is_found_between_plain_words(
    kind: ValueKind, data: st.DataObject, before: list[str], behind: list[str]
) -> None:
    value = data.draw(PLANTED[kind])
    text = f"The port {' '.join(before)} {value}, {' '.join(behind)}."
    assert values(text, AskedValue(kind)) == [value]


@given(st.text(max_size=300), st.sampled_from(get_args(ValueKind)), st.sampled_from(get_args(Unit)))
def test_values_lie_in_any_text(text: str, kind: ValueKind, unit: Unit) -> None:
    assert all(
        0 <= start < end <= len(text) for start, end in find_values(text, AskedValue(kind, unit), text[:50])
    )


HOSTILE = [
    "a",
    "a.",
    "a, ",
    "1,000",
    "1",
    "1.",
    "v1.",
    "1 ",
    "may ",
    "port 1 ",
    "one ",
    "\n",
    " ",
    "of 1 ",
    "0x",
    "1e",
    "-",
    "by ",
    "A ",
    "a_",
    "/",
    "`",
]


@pytest.mark.parametrize("kind", get_args(ValueKind))
@pytest.mark.parametrize("part", HOSTILE)
def test_a_long_text_ends(kind: ValueKind, part: str) -> None:
    """At this size, a search that is not linear exceeds the time limit of a test."""
    text = part * (200_000 // len(part))
    assert all(end - start < len(text) for start, end in find_values(text, AskedValue(kind)))


@pytest.mark.parametrize(
    "part", ["which ", "what is the ", "how many ", ", and in ", "which a-", "x" * 40, "which the x "]
)
def test_a_long_question_ends(part: str) -> None:
    """Of a long question its beginning is read, and of that no character often."""
    question = part * (1_000_000 // len(part))
    assert find_asked_value(question) == find_asked_value(question[:1_000])
