"""The parts of the façade that need no server: codes of errors, kept results, frames of LSP."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.errors import REASONS, WinnowError
from winnow.server.operations.base import Image
from winnow.server.runtime.sessions.identities import key_name, unproven_name
from winnow.server.tools.table import TOOLS, Tool
from winnow.server.transports.call_results import CallResult
from winnow.server.transports.facade.envelope import envelope_of
from winnow.server.transports.facade.lsp_frames import (
    MAX_BODY_BYTES,
    MAX_HEADER_BYTES,
    BrokenStream,
    FrameDecoder,
    UnreadableBody,
    encode_frame,
    parse_request,
)
from winnow.server.transports.facade.problems import PROBLEMS, Code, Refusal, problem_of_error
from winnow.server.transports.facade.replays import Replays, check_key, fingerprint_of

(HELP,) = (tool for tool in TOOLS if tool.name == "help")
ONE = key_name("1f0c9a2b", ["a"], is_read_only=False, calls_per_minute=None)
OTHER = key_name("2f0c9a2b", ["a"], is_read_only=False, calls_per_minute=None)
NARROWED = key_name("1f0c9a2b", ["b"], is_read_only=False, calls_per_minute=None)


def result_of(text: str = "", error: WinnowError | None = None, tool: Tool = HELP, size: int = 100) -> CallResult:
    payload = {"error": error.envelope()} if error else {"text": text}
    usage = {"tokens": 1, "bytes": size, "tokenizer": "t"}
    return CallResult(tool, payload, text, text, "trace", 1.0, (), False, (), error is not None, usage)


# --- errors ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reason", sorted(REASONS))
def test_every_reason_has_one_of_eight_codes_and_a_status_that_goes_with_it(reason: str) -> None:
    problem = problem_of_error(WinnowError(reason, "do this", retry_after_s=1.2, details={"size": 7}))
    assert (problem.code, problem.status) == PROBLEMS[reason]
    assert problem.details["reason"] == reason
    assert problem.retry_after == (2 if problem.status in (429, 503) else None)
    is_waiting = problem.code in (Code.TIMEOUT, Code.UNAVAILABLE) or reason == "INTERNAL"
    assert (problem.status >= 500) is is_waiting
    assert problem.details["size"] == 7


def test_one_of_the_eight_codes_is_reserved_and_the_others_have_reasons() -> None:
    assert {*Code} - {code for code, _ in PROBLEMS.values()} == {Code.NONDETERMINISTIC}


def test_an_error_has_no_data_and_a_failed_script_has() -> None:
    (script,) = (tool for tool in TOOLS if tool.name == "execute_code")
    failed = result_of(error=WinnowError("USER_CODE_ERROR", "line 1"), tool=script)
    assert envelope_of(failed).as_json()["data"] == {}
    with_output = CallResult(
        script, {**failed.payload, "stdout": "seen"}, "", "", "trace", 1.0, (), False, (), True, failed.usage
    )
    envelope = envelope_of(with_output)
    assert (envelope.as_json()["ok"], envelope.data, envelope.status) == (False, {"stdout": "seen"}, 422)


# --- replays -----------------------------------------------------------------------------------------------------


class Calls:
    """Counts the calls that were made; each has another result."""

    def __init__(self, error: WinnowError | None = None) -> None:
        self.made = 0
        self._error = error

    async def __call__(self) -> CallResult:
        self.made += 1
        number = self.made
        await asyncio.sleep(0)
        return result_of(f"result {number}", self._error)


def test_a_key_gives_the_first_result_again_and_never_to_another_access_key() -> None:
    async def scenario() -> None:
        replays, calls = Replays(), Calls()
        first, is_replay = await replays.by_key(ONE, "k", "content", calls)
        assert (first.text, is_replay) == ("result 1", False)
        assert await replays.by_key(ONE, "k", "content", calls) == (first, True)
        for client in (OTHER, NARROWED, unproven_name("1f0c9a2b")):
            assert (await replays.by_key(client, "k", "content", calls))[1] is False
        with pytest.raises(Refusal, match="another tool or other input"):
            await replays.by_key(ONE, "k", "other content", calls)

    asyncio.run(scenario())


def test_two_requests_with_one_key_at_the_same_time_are_one_call() -> None:
    async def scenario() -> None:
        replays, calls = Replays(), Calls()
        answers = await asyncio.gather(*(replays.by_key(ONE, "k", "content", calls) for _ in range(5)))
        assert (calls.made, {result.text for result, _ in answers}) == (1, {"result 1"})

    asyncio.run(scenario())


def test_an_error_that_may_pass_is_not_kept_and_another_is() -> None:
    async def scenario() -> None:
        passing = Calls(WinnowError("QUEUE_FULL", "later", retryable=True))
        lasting = Calls(WinnowError("INVALID_REQUEST", "never"))
        for calls, made in ((passing, 2), (lasting, 1)):
            replays = Replays()
            for _ in range(2):
                await replays.by_key(ONE, "k", "content", calls)
            assert calls.made == made

    asyncio.run(scenario())


def test_a_cancelled_call_leaves_its_key_to_the_next_request() -> None:
    async def scenario() -> None:
        replays, never = Replays(), asyncio.Event()

        async def hang() -> CallResult:
            await never.wait()
            return result_of()

        hanging = asyncio.ensure_future(replays.by_key(ONE, "k", "content", hang))
        await asyncio.sleep(0)
        hanging.cancel()
        assert (await replays.by_key(ONE, "k", "content", Calls()))[0].text == "result 1"

    asyncio.run(scenario())


def test_by_content_only_answers_are_kept_apart_by_client_and_bounded_in_bytes() -> None:
    replays = Replays(max_bytes=1_000)
    replays.keep(ONE, "content", result_of("mine"))
    kept = replays.by_content(ONE, "content")
    assert kept is not None
    assert kept.text == "mine"
    assert replays.by_content(OTHER, "content") is None
    replays.keep(ONE, "failed", result_of(error=WinnowError("NOT_FOUND", "no")))
    assert replays.by_content(ONE, "failed") is None
    replays.keep(ONE, "too large", result_of(size=10_000))
    assert replays.by_content(ONE, "too large") is None
    replays.keep(ONE, "a picture", replace(result_of(), images=(Image(bytes(1_000), "image/png"),)))
    assert replays.by_content(ONE, "a picture") is None
    for number in range(20):
        replays.keep(ONE, f"more {number}", result_of())
    assert replays.by_content(ONE, "content") is None


def test_a_client_with_many_results_pushes_out_none_of_one_with_few() -> None:
    replays = Replays(max_bytes=1_000)
    replays.keep(OTHER, "few", result_of("theirs"))
    for number in range(50):
        replays.keep(ONE, f"many {number}", result_of())
    assert [replays.by_content(ONE, f"many {number}") is None for number in (0, 49)] == [True, False]
    kept = replays.by_content(OTHER, "few")
    assert kept is not None
    assert kept.text == "theirs"


def test_requests_without_a_key_share_their_results() -> None:
    replays = Replays()
    replays.keep(unproven_name("a"), "content", result_of("public"))
    assert replays.by_content(unproven_name("b"), "content") is not None


def test_the_order_of_names_does_not_matter_and_every_value_does() -> None:
    same = [
        fingerprint_of("t", {"a": 1, "b": {"c": 2, "d": 3}}),
        fingerprint_of("t", {"b": {"d": 3, "c": 2}, "a": 1}),
    ]
    others = [
        fingerprint_of("t", {"a": 1}),
        fingerprint_of("u", {"a": 1}),
        fingerprint_of("t", {"a": True}),
        fingerprint_of("t", {"a": "\ud800"}),
        fingerprint_of("t", {"a": 1}, state="moved"),
    ]
    assert same[0] == same[1]
    assert len({*same, *others}) == 6


@pytest.mark.parametrize("keys", [["a", "a"], [""], ["x" * 256], ["a\tb"], ["é"]])
def test_other_keys_are_refused(keys: list[str]) -> None:
    with pytest.raises(WinnowError, match="Idempotency-Key takes one text"):
        check_key(keys)


# --- frames ------------------------------------------------------------------------------------------------------

MESSAGE = {"jsonrpc": "2.0", "id": 1, "method": "mcp.discover", "params": {"text": "é\u2028\r\n\r\n"}}


@given(st.lists(st.integers(1, 60), max_size=20))
def test_frames_are_read_however_their_bytes_arrive(cuts: list[int]) -> None:
    data, decoder, bodies = encode_frame(MESSAGE) * 3, FrameDecoder(), []
    for cut in cuts:
        bodies += decoder.feed(data[:cut])
        data = data[cut:]
    bodies += decoder.feed(data)
    decoder.end()
    assert [json.loads(body) for body in bodies] == [MESSAGE] * 3


BROKEN = (
    b"Content-Length: 999999999999\r\n\r\n",
    b"Content-Length: %d\r\n\r\n" % (MAX_BODY_BYTES + 1),
    b"Content-Length: -1\r\n\r\n",
    b"Content-Length: 0x10\r\n\r\n",
    b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    b"Content-Length: 2\r\nContent-Type: text/html\r\n\r\n{}",
    b"Content-Length: 2\r\nX-Tool: kb.search\r\n\r\n{}",
    b"Content-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n{}",
    b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b'{"jsonrpc": "2.0", "id": 1, "method": "mcp.discover"}\r\n\r\n',
    b"x" * (MAX_HEADER_BYTES + 1),
    b"Content-Length: 2\n\n{}" + b" " * MAX_HEADER_BYTES,
    "Content-Length: ٢\r\n\r\n{}".encode(),
)


@pytest.mark.parametrize("data", BROKEN)
def test_a_header_that_is_not_one_breaks_the_stream(data: bytes) -> None:
    with pytest.raises(BrokenStream):
        FrameDecoder().feed(data)


@pytest.mark.parametrize("data", [encode_frame(MESSAGE)[:-1], json.dumps(MESSAGE).encode() + b"\n"])
def test_a_stream_that_ends_within_a_frame_is_broken_and_told_its_form(data: bytes) -> None:
    decoder = FrameDecoder()
    assert decoder.feed(data) == []
    with pytest.raises(BrokenStream, match="send Content-Length: N, an empty line, and N bytes of JSON"):
        decoder.end()


@given(st.binary(max_size=300))
def test_any_bytes_are_frames_or_a_broken_stream(data: bytes) -> None:
    decoder = FrameDecoder()
    try:
        bodies = decoder.feed(data)
        assert all(len(body) <= MAX_BODY_BYTES for body in bodies)
    except BrokenStream:
        return


@pytest.mark.parametrize(
    ("body", "code", "id"),
    [
        (b"{", -32700, None),
        (b"\xff", -32700, None),
        (b"NaN", -32700, None),
        (b"[" * 100_000, -32700, None),
        (b"[]", -32600, None),
        (b'{"id": 1.5, "jsonrpc": "2.0", "method": "m"}', -32600, None),
        (b'{"id": true, "jsonrpc": "2.0", "method": "m"}', -32600, None),
        (b'{"id": null, "jsonrpc": "2.0", "method": "m"}', -32600, None),
        (b'{"id": 7, "method": "m"}', -32600, 7),
        (b'{"id": 7, "jsonrpc": "2.0", "method": 7}', -32600, 7),
        (b'{"id": "a", "jsonrpc": "2.0", "method": "m", "params": []}', -32602, "a"),
    ],
)
def test_a_body_that_is_not_a_request_is_named_with_its_id(body: bytes, code: int, id: Any) -> None:
    with pytest.raises(UnreadableBody) as caught:
        parse_request(body)
    assert (caught.value.code, caught.value.id) == (code, id)


def test_an_answer_that_was_not_asked_for_is_no_request() -> None:
    assert parse_request(b'{"jsonrpc": "2.0", "id": 1, "result": {}}') is None
