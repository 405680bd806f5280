"""Clients with an access key read nothing about the host of their server in an error."""

from __future__ import annotations

import json
import logging
from pathlib import Path

import pytest

from winnow.sandbox.protocol.sandbox_outcomes import unavailable
from winnow.server.errors import WinnowError
from winnow.server.runtime.sessions.host_words import error_for, warnings_for
from winnow.server.runtime.sessions.identities import key_name
from winnow.server.storage.files.lock import WRITER, StoreLock
from winnow.server.tools.execute_code import outcome_for, to_payload

pytestmark = pytest.mark.both_users

KEY = key_name("1f0c9a2b", ["a"], is_read_only=True, calls_per_minute=None)
OF_THE_HOST = [
    WinnowError("TIMEOUT", "no answer within 30 s from the engine of /home/ann/kb, process 14816 (winnow serve)"),
    WinnowError("INDEX_UNAVAILABLE", "the engine of /data does not start: see /data/run/engine.log"),
    WinnowError("INDEX_UNAVAILABLE", "the store (/srv/my kb/store) cannot be used: ~/kb/holder is closed"),
    WinnowError("INDEX_HELD", "it has 2 clients (processes 12, 14): restart them", details={"leaving": False}),
    WinnowError("INVALID_REQUEST", "/data/jobs is not used: it must be a folder that only its owner may write"),
    WinnowError("INTERNAL", "a server wrote to pid 8"),
]
OF_THE_CALLER = [
    WinnowError(
        "INVALID_REQUEST", "path_prefix: no document is below '/etc/passwd'; there are notes/a.md, b/c.md"
    ),
    WinnowError("NOT_FOUND", "no document notes/2024/a.md; its source is https://example.org/a/b"),
    WinnowError("NOT_FOUND", "GET /mcp/discover lists the tools, and GET /openapi.json the routes"),
    WinnowError("INVALID_REQUEST", "source: 'ftp://a' is not a path; name a file or a folder below /srv/papers"),
    WinnowError("SCOPE_VIOLATION", "source: 'a' is not below a folder that may be ingested from: /srv/papers"),
    WinnowError("QUEUE_FULL", "50 scripts wait; try again in 3 s", retryable=True, retry_after_s=3.0),
]


@pytest.mark.parametrize("error", OF_THE_HOST)
def test_a_client_with_a_key_reads_what_to_do_and_the_log_has_the_rest(
    error: WinnowError, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "winnow"):
        told = error_for(error, KEY)
    assert (told.reason, "operator" in told.message) == (error.reason, True)
    assert not [mark for mark in ("/", "process", "pid", "1") if mark in told.message]
    assert [record.fields["why"] for record in caplog.records] == [error.message]  # type: ignore[attr-defined]


@pytest.mark.parametrize("client", ["stdio", "unproven:a1"])
@pytest.mark.parametrize("error", OF_THE_HOST)
def test_a_client_without_a_key_works_on_this_host_and_reads_all(error: WinnowError, client: str) -> None:
    assert error_for(error, client) is error


@pytest.mark.parametrize("error", OF_THE_CALLER)
def test_what_the_caller_wrote_or_may_read_stays_in_the_message(error: WinnowError) -> None:
    assert error_for(error, KEY) is error


def test_the_holder_of_a_lock_is_no_detail_of_an_answer(tmp_path: Path) -> None:
    lock = StoreLock(tmp_path, WRITER)
    try:
        with pytest.raises(WinnowError) as caught:
            StoreLock(tmp_path, WRITER)
    finally:
        lock.release()
    assert {"pid", "command"} <= caught.value.details.keys()
    told = error_for(caught.value, KEY).envelope()
    assert told["details"] == {"reason": "INDEX_HELD", "retryable": True, "retry_after_s": 5.0}
    assert str(tmp_path) not in json.dumps(told)


@pytest.mark.parametrize("error", OF_THE_HOST)
def test_a_warning_says_nothing_of_the_host_either(error: WinnowError, caplog: pytest.LogCaptureFixture) -> None:
    other = "scope: no document is in '/notes'; ignored"
    with caplog.at_level(logging.WARNING, "winnow"):
        told = warnings_for([error.message, other], KEY)
    withheld = "a warning about the server itself was left out; its operator's log has it"
    assert told == (withheld, other)
    assert [record.fields["why"] for record in caplog.records] == [error.message]  # type: ignore[attr-defined]
    assert warnings_for([error.message, other], "stdio") == (error.message, other)


def test_why_no_sandbox_runs_says_nothing_of_the_host_to_a_client_with_a_key() -> None:
    outcome = unavailable("no child starts: /opt/python/bin/python is not there")
    sent = to_payload(outcome_for(outcome, KEY))["error"]
    assert ("operator" in sent["message"], "/opt" in str(sent), sent["details"]["reason"]) == (
        True,
        False,
        "SANDBOX_UNAVAILABLE",
    )
    assert outcome_for(outcome, "stdio") == outcome
