"""Values that scripts save for the next scripts of their session: the store, and the SDK over it."""

from __future__ import annotations

import asyncio
import json
import math
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.client_sdk import SDKError, load, save, saved, transport
from winnow.server.engine.client import EngineKnowledge
from winnow.server.errors import WinnowError
from winnow.server.operations.knowledge import DIRECT, OPERATIONS, SCRIPT
from winnow.server.operations.state import IN_SESSION
from winnow.server.runtime.sessions import saved_values
from winnow.server.runtime.sessions.identities import proven_name, unproven_name
from winnow.server.runtime.sessions.saved_values import SESSION_BYTES, SESSION_NAMES, SavedValues
from winnow.server.settings.settings import Settings

MIB = 1024 * 1024
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=20,
)


class Server:
    """A server without an index: scripts reach its saved values as they do beside an engine."""

    def __init__(self) -> None:
        self.knowledge = EngineKnowledge(Settings(store=Path("nowhere")), waits_for_model=False)
        self.calls = 0

    def connect(self, connection: str, run: str = "run") -> None:
        caller = self.knowledge.caller(connection, SCRIPT, run)

        def send(method: str, params: Mapping[str, Any], each: Sequence[Mapping[str, Any]] = ()) -> Any:
            self.calls += 1
            try:
                return {"ok": asyncio.run(self.knowledge.call(method, params, caller)).payload}
            except WinnowError as error:
                return {"error": {"type": error.reason, "message": error.message, "hint": None, "limit": False}}

        transport.connect(send)


@pytest.fixture
def server() -> Iterator[Server]:
    before = list(transport._transport)
    yield Server()
    transport._transport[:] = before


def _store(values: SavedValues, connection: str, name: str, text: str, run: str = "run") -> None:
    values.save(connection, run, name, text, 0, len(text.encode()))


def _text_of(values: SavedValues, connection: str, name: str) -> str | None:
    portion = values.load(connection, name, 0)
    return None if portion is None else portion.text


# --- the SDK -----------------------------------------------------------------------------------------------------


@given(value=JSON.filter(lambda value: value is not None))
def test_a_saved_value_comes_back_as_it_was(value: Any) -> None:
    before = list(transport._transport)
    try:
        Server().connect("one")
        save("value", value)
        assert load("value") == json.loads(json.dumps(value).encode("utf-8", "replace"))
        assert list(saved()) == ["value"]
    finally:
        transport._transport[:] = before


@pytest.mark.parametrize("character", ["a", '"', "\\", "é", "日", "\N{GRINNING FACE}", "\n"])
def test_a_large_value_goes_and_comes_in_pieces_of_a_frame(server: Server, character: str) -> None:
    server.connect("one")
    size = len(json.dumps(character, ensure_ascii=False).encode()) - 2
    text = character * ((SESSION_BYTES - 100) // size)
    save("large", text)
    assert server.calls < 60
    assert load("large") == text
    assert saved() == {"large": len(text) * size + 2}


def test_what_json_cannot_hold_is_refused_with_its_place_and_what_to_write(server: Server) -> None:
    endless: list[Any] = []
    endless.append(endless)
    refused = {
        "value['a'][1] is nan": {"a": [1, math.nan]},
        "value['tags'] is of type 'set'": {"tags": {1, 2}},
        "save(name, sorted(value))": {1, 2},
        "nested deeper than 64 levels, or contains itself": endless,
        "a key of type 'tuple'": {(1, 2): 3},
        "two keys that are the same": {1: "a", "1": "b"},
        "value[0] is an integer of 16,610 bits; save(name, hex(value))": [10**5_000],
    }
    server.connect("one")
    for message, value in refused.items():
        with pytest.raises((TypeError, ValueError)) as caught:
            save("value", value)
        assert message in str(caught.value)
    assert (saved(), server.calls) == ({}, 1)


@pytest.mark.parametrize(
    "name", ["", "a" * 101, "two\nlines", "a\u202eb", "../../etc\0", "{name}", "<b>", 7, None, ["a"], "a\ud800"]
)
def test_hostile_names_are_refused(server: Server, name: Any) -> None:
    server.connect("one")
    for call in (lambda: save(name, 1), lambda: load(name)):
        with pytest.raises(SDKError, match="INVALID_REQUEST"):
            call()
    assert saved() == {}


def test_a_name_that_is_not_there_gives_the_default_and_none_removes_one(server: Server) -> None:
    server.connect("one")
    save("count", 3)
    assert (load("count"), load("other"), load("other", 7)) == (3, None, 7)
    save("count", None)
    save("never", None)
    assert (load("count", "gone"), saved()) == ("gone", {})


def test_a_full_session_says_what_is_left_and_how_to_make_room(server: Server) -> None:
    server.connect("one")
    save("first", "x" * 800_000)
    with pytest.raises(SDKError) as caught:
        save("second", "x" * 400_000)
    assert caught.value.type == "STATE_FULL"
    for part in ("1 MiB", "0.24 MiB are left", "0.38 MiB", "save(name, None)"):
        assert part in caught.value.message
    save("first", None)
    save("second", "x" * 400_000)
    assert list(saved()) == ["second"]


def test_a_session_keeps_a_hundred_names(server: Server) -> None:
    server.connect("one")
    for number in range(SESSION_NAMES):
        save(f"name {number}", number)
    with pytest.raises(SDKError, match="keeps 100 names"):
        save("one more", True)
    save("name 5", "replaced")
    save("name 7", None)
    save("one more", 1)
    assert (len(saved()), load("name 5"), load("one more")) == (SESSION_NAMES, "replaced", 1)


def test_a_value_that_changes_while_it_is_read_is_read_from_the_beginning(server: Server) -> None:
    server.connect("one")
    old, new = ["a" * 1_000] * 500, ["b" * 1_000] * 300
    save("rows", old)
    inner, calls = transport._transport[0], []

    def change_between(method: str, params: Mapping[str, Any], each: Sequence[Mapping[str, Any]] = ()) -> Any:
        if method == "load":
            calls.append(params["start"])
            if len(calls) == 2:
                transport.connect(inner)
                save("rows", new)
                transport.connect(change_between)
        return inner(method, params)

    transport.connect(change_between)
    assert load("rows") == new
    assert calls == [0, 200_000, 0, 200_000]


# --- the store ---------------------------------------------------------------------------------------------------


def test_a_session_is_the_connection_s_and_no_name_leads_to_another(server: Server) -> None:
    for connection in ("one", "two", unproven_name("three")):
        server.connect(connection)
        save("secret", connection)
    server.connect("four")
    assert (load("secret"), saved()) == (None, {})
    for name in ("one", "one/secret", "unproven:three", "three"):
        assert load(name) is None
    server.connect(unproven_name("four"))
    assert (load("secret"), saved()) == (None, {})
    server.connect(proven_name("three"))
    assert load("secret") == unproven_name("three")
    server.connect("three")  # the name of a pipe is not the key of a token
    assert load("secret") is None


@pytest.mark.parametrize("operation", ["save", "load", "saved"])
def test_a_direct_caller_reads_no_saved_value(operation: str) -> None:
    knowledge = Server().knowledge
    arguments = {"name": "secret", "text": "1", "start": 0, "bytes": 1}
    fields = IN_SESSION[operation][0].model_fields
    given_arguments = {name: value for name, value in arguments.items() if name in fields}
    with pytest.raises(WinnowError, match="saved values are for scripts"):
        asyncio.run(knowledge.call(operation, given_arguments, knowledge.caller("one", DIRECT)))
    assert operation in OPERATIONS


def test_a_request_without_a_session_is_told_what_to_return(server: Server) -> None:
    caller = server.knowledge.caller(unproven_name("a"), SCRIPT, "run")
    piece = {"name": "a", "text": "1", "start": 0, "bytes": 1}
    assert "winnow/session" in asyncio.run(server.knowledge.call("save", piece, caller)).warnings[0]
    proven = server.knowledge.caller(proven_name("a"), SCRIPT, "run")
    assert asyncio.run(server.knowledge.call("save", piece, proven)).warnings == ()


def test_values_leave_with_their_session_when_it_was_not_used_for_its_time() -> None:
    now = [0.0]
    values = SavedValues(100.0, now=lambda: now[0])
    _store(values, "one", "a", "1")
    now[0] = 90.0
    assert _text_of(values, "one", "a") == "1"  # used: its time begins again
    now[0] = 180.0
    assert values.sizes("one") == {"a": 1}
    now[0] = 191.0
    assert (_text_of(values, "one", "a"), values.sizes("one")) == (None, {})


def test_all_sessions_share_a_bound_and_the_least_recently_used_leaves_first() -> None:
    values = SavedValues(100.0, max_bytes=3 * MIB + 4096)
    for connection in ("one", "two", "three"):
        _store(values, connection, "a", "x" * (MIB - 10))
    assert _text_of(values, "one", "a") is not None
    _store(values, "four", "a", "x" * (MIB - 10))
    kept = [name for name in ("one", "two", "three", "four") if values.sizes(name)]
    assert kept == ["one", "three", "four"]


def test_many_small_sessions_stay_within_the_bound() -> None:
    values = SavedValues(100.0, max_bytes=2 * MIB)
    for number in range(5_000):
        _store(values, f"session {number}", "a", "1")
    kept = sum(bool(values.sizes(f"session {number}")) for number in range(5_000))
    assert 1_000 < kept < 2 * MIB // 1024


def test_values_whose_last_piece_never_comes_are_bounded_and_seen_by_nobody() -> None:
    values = SavedValues(100.0)
    for number in range(400):
        values.save("one", f"run {number}", "a", "x" * 60_000, 0, MIB - 100)
    assert values.sizes("one") == {}
    assert values._pending.currsize <= saved_values._PENDING_BYTES
    with pytest.raises(WinnowError, match="do not fit together"):
        values.save("one", "run 0", "a", "x" * 60_000, 60_000, MIB - 100)


@pytest.mark.parametrize(
    "pieces",
    [
        [("a", "xx", 1, 3)],  # begins in the middle
        [("a", "xx", 0, 4), ("b", "xx", 2, 4)],  # another name
        [("a", "xx", 0, 4), ("a", "xx", 1, 4)],  # overlaps
        [("a", "xx", 0, 4), ("a", "xxx", 2, 4)],  # longer than announced
        [("a", "xx", 0, 1)],
        [("a", "xx", 0, 2 * MIB)],  # more than a session keeps
        [("a", "é", 0, 1)],  # characters are not bytes
    ],
)
def test_pieces_that_do_not_fit_store_nothing(pieces: list[tuple[str, str, int, int]]) -> None:
    values = SavedValues(100.0)
    *before, last = pieces
    for name, text, start, size in before:
        values.save("one", "run", name, text, start, size)
    with pytest.raises(WinnowError):
        values.save("one", "run", *last)
    assert values.sizes("one") == {}


def test_scripts_of_one_session_may_save_at_the_same_time() -> None:
    values = SavedValues(100.0)
    texts = {run: run * 50_000 for run in "abcdefgh"}

    def write(run: str) -> None:
        for _ in range(10):
            for start in range(0, 50_000, 10_000):
                values.save("one", run, "shared", texts[run][start : start + 10_000], start, 50_000)
            _store(values, "one", f"own {run}", "1", run)

    threads = [threading.Thread(target=write, args=(run,)) for run in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert _text_of(values, "one", "shared") in texts.values()
    assert set(values.sizes("one")) == {"shared", *(f"own {run}" for run in texts)}
