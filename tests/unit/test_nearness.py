"""How near its subject a passage has a value: words of the question around it, at several places, and above it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.retrieval.lexical import find_content_words
from winnow.server.retrieval.nearness import is_stated_near
from winnow.server.text.asked_values import AskedValue, find_asked_value

PORT = "Which port does the gateway of the printer listen on?"
FAR = "It is open to all. " * 20


def is_near(question: str, *passages: tuple[str, str]) -> bool:
    asked, forms = find_asked_value(question), find_content_words(question)
    assert asked is not None
    return is_stated_near(asked, question, dict.fromkeys(forms, 1.0), forms, passages)


@pytest.mark.parametrize(
    ("headings", "text", "expected"),
    [
        ("", "The gateway of the printer listens on port 8443.", True),
        ("", "The gateway listens to a port. It is 8443.", True),
        ("Gateway > Printer", "It listens on 8443.", True),
        ("", "| printer | gateway |\n| --- | --- |\n| tcp | 8443 |", True),
        ("", "printer gateway\n:   `listen = 8443`", True),
        ("", "The gateway of the printer listens on a port of its own.", False),
        ("", f"The gateway of the printer listens. {FAR} The port of the mirror is 8443.", False),
        ("", "The port of the mirror is 8443.", False),
        ("", "", False),
    ],
)
def test_a_value_answers_where_enough_of_the_subject_is_near(headings: str, text: str, expected: bool) -> None:
    assert is_near(PORT, (headings, text)) == expected


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("How many replicas does the gateway run?", "The gateway runs as one replica."),
        ("How many replicas does the gateway run?", "The gateway runs a pair of replicas."),
        ("How many replicas does the gateway run?", "One replica of the gateway runs on each node."),
        ("How often is the certificate renewed?", "The certificate is renewed on the first of each month."),
        ("How often is the certificate renewed?", "The certificate renews itself whenever it is about to expire."),
        ("How often is the certificate renewed?", "Renewal of the certificate: @monthly"),
        ("How long are logs kept?", "Logs are kept for a fortnight."),
        ("How long are logs kept?", "Logs are kept until the disk is full."),
        ("How long are logs kept?", "Logs are kept overnight."),
        ("How long are logs kept?", "log_retention: 7d"),
        ("How long are logs kept?", "| logs kept | P7D |"),
        ("How much memory does the worker need?", "The worker needs roughly two gigs of memory."),
        ("How much memory does the worker need?", "worker memory: 512Mi"),
        ("What is the default timeout of the client?", "client timeout (default: off)"),
        ("What is the default timeout of the client?", "The client waits half a minute by default."),
        ("What is the maximum number of retries?", "Retries: max. 5"),
        ("What is the maximum number of retries?", "There is no upper bound on retries."),
        ("What percentage of requests is sampled?", "One in ten requests is sampled."),
        ("What percentage of requests is sampled?", "Sampled requests: 0.1"),
        ("When was the library first released?", "The library was first released in the summer of 2014."),
        ("When was the library first released?", "The library: first release 14.03.09"),
        ("When was the library first released?", "first released library 2014-W11"),
        ("When was the library first released?", "The library was first released ten years ago."),
        ("When was the library first released?", "The library was first released last week."),
        ("Since when is the option deprecated?", "The option is deprecated since 1.19."),
        ("When was the option removed?", "The option was removed in version 2.0."),
        ("In which month does the licence end?", "The licence ends in June."),
        ("In which year did the project move to git?", "The project moved to git in '09."),
        ("Which version of the protocol does the broker speak?", "The broker speaks protocol version three."),
        (
            "Which version of the protocol does the broker speak?",
            "The broker speaks the second version of the protocol.",
        ),
        ("Which version of the protocol does the broker speak?", "broker protocol = V5"),
        ("Which version of Debian is supported?", "Debian bookworm is supported."),
        ("Which version of Debian is supported?", "Supported: Debian 12 (bookworm)"),
        ("Which version of macOS is supported?", "macOS Ventura is supported."),
        ("Which port does the web server use?", "The web server uses the standard HTTPS port."),
        ("Which port does the web server use?", "The web server uses port 0, so that the system chooses."),
        ("Which port does the web server use?", "server web: listen 0.0.0.0:9"),
        ("Which port does the web server use?", "EXPOSE 8080 # web server"),
        ("Which port does the web server use?", "http://web-server:8080"),
        ("Which port does the web server use?", "The web server uses port eighty."),
        # no number at all: none, not set, a constant, a part, an occasion
        ("How many retries does the uploader make?", "The uploader makes no retries."),
        ("How many retries does the uploader make?", "The uploader makes a handful of retries."),
        ("How many retries does the uploader make?", "uploader.retries = ∞"),
        ("How many rows does a page hold?", "A page holds 10k rows."),
        ("How many rows does a page hold?", "A page holds 1.000.000 rows."),
        ("How many rows does a page hold?", "A page holds 10⁶ rows."),
        ("How many seconds does the probe wait?", "probe:\n  wait: 1m30s"),
        ("How many seconds does the probe wait?", "The probe waits ½ second."),
        ("How long is an invoice kept?", "An invoice is kept for a decade."),
        ("How long is an invoice kept?", "An invoice is kept for the lifetime of the account."),
        ("How often is the index rebuilt?", "The index is rebuilt when a document changes."),
        ("How often is the index rebuilt?", "The index is rebuilt on Sundays."),
        ("How much memory does the daemon take?", "The daemon takes 5 % of the memory."),
        ("What percentage of the traffic goes to the canary?", "All of the traffic goes to the canary."),
        ("What is the default timeout of the proxy?", "By default the proxy has no timeout."),
        ("What is the default timeout of the proxy?", "The timeout of the proxy is DEFAULT_TIMEOUT."),
        # years of other calendars, times of day, terms, releases
        ("When was the library founded?", "The library was founded in FY2019."),
        ("When was the library founded?", "The library was founded in 1066."),
        ("When was the library founded?", "The library was founded on Monday."),
        ("When was the server restarted?", "The server was restarted at 14:05."),
        ("When was the option added?", ".. versionadded:: 3.9 the option"),
        ("When was the option added?", "The option was added (v1.14)."),
        ("When was the option added?", "## 1.14\n\n* The option was added."),
        ("Since when is TLS required?", "TLS is required since the beginning."),
        ("What is the deadline for the audit?", "The deadline for the audit is 30 days after the notice."),
        ("What is the deadline for the audit?", "The deadline for the audit is the 15th of each month."),
        ("What is the release date of the printer?", "The printer's release: 03/2021"),
        # versions that are glued to a name, end a sentence, or have a name
        ("Which version of TLS does the agent need?", "The agent needs TLSv1.2."),
        ("Which version of HTTP does the agent speak?", "The agent speaks HTTP/2."),
        ("Which version of C++ does the agent need?", "The agent is in C++17."),
        ("Which version of Python does the agent need?", "The agent needs python3."),
        ("Which version of the image is deployed?", "The image is deployed as Bookworm."),
        ("Which version of the image is deployed?", "image: nginx:27-alpine deployed"),
        ("Which version of the image is deployed?", "The previous version of the image is deployed."),
        ("Which version of the schema does the agent read?", "The agent reads apiVersion: v1beta1 of the schema."),
        ("Which port does the broker use?", "broker -p 1883"),
        ("Which port does the broker use?", "[::1]:80 is the broker's."),
        ("Which port does the broker use?", "The broker uses a Unix socket."),
        ("Which port does the broker use?", "The broker uses port 0x75B."),
        ("Which port does the broker use?", "The broker uses port $PORT."),
        ("Who wrote the broker?", "broker (C) 2004 Jane Doe <jane@example.org>"),
        ("Who wrote the broker?", "The author of the broker is Jane Doe."),
        ("Who wrote the broker?", "The broker was originally written by J. Doe."),
        ("Which company maintains the broker?", "The broker is maintained by Example Inc."),
        ("Which option keeps the log?", "keep_log=True keeps the log."),
        ("Which environment variable sets the proxy?", "The proxy is set by HTTP_PROXY."),
        ("Which file holds the leases?", "Leases are held in /var/lib/leases."),
    ],
)
def test_an_answer_in_any_words_is_none_of_the_lacking_ones(question: str, text: str) -> None:
    assert find_asked_value(question) is None or is_near(question, ("", text))


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Who wrote the broker?", "The broker was written to be small. It reads what clients write."),
        ("Who wrote the broker?", f"The broker holds leases. {FAR} The gateway was written by Jane Doe."),
        ("Which flag keeps the log of the broker?", "The broker keeps a log on request."),
        ("Which environment variable sets the proxy?", "The proxy is set in the configuration."),
        ("Which file holds the leases?", "Leases are held by the broker."),
    ],
)
def test_a_text_about_the_subject_alone_states_no_value(question: str, text: str) -> None:
    assert not is_near(question, ("", text))


def test_one_of_several_passages_is_enough() -> None:
    other, answer = ("", "The mirror is open."), ("", "The printer's gateway listens on 8443.")
    assert [is_near(PORT, other), is_near(PORT, other, answer)] == [False, True]


def test_a_word_counts_at_each_of_its_places_and_of_many_values_the_nearest() -> None:
    away = f"The printer's gateway listens. {FAR}" + " ".join(
        f"Port {number} is closed." for number in range(100, 160)
    )
    assert not is_near(PORT, ("", away))
    assert is_near(PORT, ("", f"{away} {FAR} The printer's gateway listens on 8443."))


def test_two_words_of_one_stem_both_count() -> None:
    """Of "print" and "printer" neither hides the other."""
    assert is_near("How many prints does the printer print?", ("", "The printer prints 30 pages."))


@pytest.mark.parametrize(
    ("question", "text", "expected"),
    [
        ("When was broker 3.2.0 released?", "Broker 3.2.0 was released in May 2021.", True),
        ("When was broker 3.2.0 released?", "Broker 3.1.0 was released in May 2021.", False),
        ("When was broker v3.2 released?", "Broker 3.2 was released in May 2021.", True),
        ("When was broker 3.2 released?", "Broker v3.2 was released in May 2021.", True),
        ("When was broker 3.2.0 released?", "| 3.2.0 | stable | May 2021 |", True),
        ("How many addresses does an IPv6 lease have?", "A lease of IPv6 has 3 addresses.", True),
        ("How many addresses does an IPv6 lease have?", "A lease of IPv4 has 3 addresses.", False),
    ],
)
def test_a_name_with_digits_has_to_stand_near_the_value(question: str, text: str, expected: bool) -> None:
    assert is_near(question, ("", text)) == expected


def test_the_rarest_word_has_to_stand_near_a_version() -> None:
    question, asked = "Which broker version needs the gateway?", AskedValue("version")
    forms = find_content_words(question)
    weights = {**dict.fromkeys(forms, 1.0), "broker": 5.0}
    texts = ("The broker 3.1 needs the gateway.", "The gateway needs the mirror 3.1, and its version.")
    assert [is_stated_near(asked, question, weights, forms, [("", text)]) for text in texts] == [True, False]


def test_a_stem_is_found_in_other_forms() -> None:
    assert is_near("How many policies are there?", ("", "A policy is one of 7."))


def test_a_question_of_words_for_the_value_alone_has_these_as_its_subject() -> None:
    assert is_near("How many ports?", ("", "It has 30 ports."))
    assert not is_near("How many ports?", ("", "It has 30 rows."))


@given(st.lists(st.tuples(st.text(max_size=40), st.text(max_size=200)), max_size=4))
def test_more_passages_never_take_a_value_away(passages: list[tuple[str, str]]) -> None:
    found = [is_near(PORT, *passages[:count]) for count in range(len(passages) + 1)]
    assert found == sorted(found)
