"""Frames of the engine: messages round-trip, and everything else is a protocol error."""

from __future__ import annotations

import json
import os
import shutil
import struct
import subprocess
from dataclasses import asdict, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import SecretStr

from tests.tiny_models import TABLE, write_model
from winnow.server.engine import endpoint
from winnow.server.engine.compatibility import (
    ENGINE_SETTINGS,
    OWN_SETTINGS,
    SECRET_SETTINGS,
    describe_settings,
    find_conflicts,
    settings_to_json,
)
from winnow.server.engine.messages import (
    answer_from_json,
    answer_to_json,
    error_from_json,
    error_to_json,
    stored_passage_from_json,
)
from winnow.server.engine.wire import REPLIES, REQUESTS, Frames, MessageSplitter, WireError, pack
from winnow.server.errors import WinnowError
from winnow.server.models import Chunk, Document, Passage, Place
from winnow.server.operations.base import Answer
from winnow.server.runtime.sessions.passage_store import PassageStore
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

LONGEST = 4096
WAYS = st.sampled_from([REQUESTS, REPLIES])
TEXTS = st.text(max_size=40) | st.just("\ud800 alone")
VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**80), 2**80)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=8,
)
MESSAGES = st.dictionaries(TEXTS, VALUES, max_size=4).map(lambda rest: {**rest, "id": 7})


@given(WAYS, st.lists(MESSAGES, max_size=4), st.lists(st.integers(0, 400), max_size=8))
def test_messages_arrive_whole_and_in_order_however_the_stream_is_cut(
    way: Frames, messages: list[dict[str, Any]], cuts: list[int]
) -> None:
    stream = b"".join(pack(message, way) for message in messages)
    places = sorted({0, len(stream), *(cut for cut in cuts if cut < len(stream))})
    splitter = MessageSplitter(way)
    parts = [stream[start:end] for start, end in pairwise(places)]
    assert [message for part in parts for message in splitter.feed(part)] == messages


@given(WAYS, st.binary(max_size=200) | MESSAGES.map(lambda message: pack(message, REQUESTS)[4:]))
def test_a_body_is_an_object_with_a_number_or_a_protocol_error(way: Frames, body: bytes) -> None:
    try:
        (message,) = MessageSplitter(way).feed(struct.pack(">I", len(body)) + body)
    except WireError:
        return
    assert (message, type(message["id"])) == (json.loads(body), int)


def test_what_is_longer_than_agreed_is_neither_sent_nor_awaited() -> None:
    short = replace(REPLIES, longest=LONGEST)
    with pytest.raises(WinnowError, match="ask for less"):
        pack({"id": 1, "text": "x" * LONGEST}, short)
    with pytest.raises(WireError):
        MessageSplitter(short).feed(struct.pack(">I", LONGEST + 1))


def test_a_question_with_a_number_that_is_none_is_not_sent() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        pack({"id": 1, "top_k": float("nan")}, REQUESTS)


def test_errors_and_answers_are_the_same_at_both_ends() -> None:
    error = WinnowError("QUEUE_FULL", "wait", retryable=True, retry_after_s=2.5, details={"pid": 3})
    assert error_from_json(_over_the_wire(error_to_json(error))).envelope() == error.envelope()
    assert "secret" not in json.dumps(error_to_json(ValueError("secret")))

    document = Document("d", "p", "d.md", "notes", "D", "markdown", "", tags=("a",), metadata={"n": [1, "x"]})
    places = Place(0, "page", 1, "i"), Place(3, "sheet", 2, "Q1", (2, 21))
    passage = Passage(Chunk("c", "d", 0, ("D", "E"), "text \ud800", 0, 6, 2), document, places)
    kept = PassageStore(10**6, 60).session("a").keep(passage, "p")
    assert stored_passage_from_json(_over_the_wire({"kept": asdict(kept)})["kept"]) == kept
    answer = Answer({"a": [1]}, "preview", 1, 2, ("careful",), True, {"cursors": 1}, (kept.link,))
    assert answer_from_json(_over_the_wire(answer_to_json(answer))) == answer


def _over_the_wire(message: dict[str, Any]) -> dict[str, Any]:
    (received,) = MessageSplitter(REPLIES).feed(pack({**message, "id": 1}, REPLIES))
    del received["id"]
    return received


# Settings that decide which store is opened, and with which model.
_SHARED = {
    *("embedding", "embedder", "reranker", "entities", "graph"),
    *("qdrant_url", "neo4j_url", "neo4j_user", "nli_model", "notebook_url"),
}


def test_every_setting_is_a_client_s_own_or_shared_or_secret() -> None:
    """A new setting needs a row in one of the tables."""
    assert sorted([*OWN_SETTINGS, *ENGINE_SETTINGS, *SECRET_SETTINGS, *_SHARED]) == sorted(Settings.model_fields)
    assert {
        name for name, field in Settings.model_fields.items() if "Secret" in str(field.annotation)
    } == SECRET_SETTINGS


def test_settings_mean_the_same_at_the_other_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ours = load_settings(
        boost_types="code=0.5", skills="/one,/two", doc_tags="a,b", reranker="second", embedder="onnx:models/small"
    )
    told = _over_the_wire(settings_to_json(ours))
    monkeypatch.chdir("/")
    theirs = Settings(**told)
    assert settings_to_json(theirs) == told
    assert (theirs.embedder.whole, theirs.reranker) == (f"onnx:{tmp_path}/models/small", tmp_path / "second")
    assert (theirs.boost_types, theirs.skills) == ((("code", 0.5),), (Path("/one"), Path("/two")))


def test_clients_agree_on_every_setting_that_is_not_named_as_their_own() -> None:
    ours = describe_settings(load_settings(project="a"))
    assert find_conflicts(ours, describe_settings(load_settings(project="b", limits="strict"))) == []
    assert find_conflicts(ours, describe_settings(load_settings(graph="off", embedding="off"))) == [
        "embedding",
        "graph",
    ]
    assert find_conflicts(ours, {**ours, "set by a later winnow": 1}) == ["set by a later winnow"]
    secrets = {name: SecretStr("sesame") for name in SECRET_SETTINGS}
    assert "sesame" not in json.dumps(settings_to_json(load_settings(**secrets)))


def test_what_no_answer_depends_on_need_not_agree(tmp_path: Path) -> None:
    ours = describe_settings(load_settings(store=tmp_path / "a", models=tmp_path / "one"))
    theirs = load_settings(
        store=tmp_path / "b", models=tmp_path / "two", index_memory_mb=512, qdrant_shards=3, qdrant_on_disk=False
    )
    assert find_conflicts(ours, describe_settings(theirs)) == []


def test_a_model_is_the_same_wherever_its_files_lie(tmp_path: Path) -> None:
    folders = [tmp_path / user / "model" for user in ("one", "two", "three")]
    for folder in folders:
        write_model(folder, -TABLE if "three" in str(folder) else TABLE)
    for setting in ("embedder", "nli_model", "reranker"):
        kind = "onnx:" if setting == "embedder" else ""
        one, two, three = (describe_settings(load_settings(**{setting: f"{kind}{folder}"})) for folder in folders)
        assert (find_conflicts(one, two), find_conflicts(one, three)) == ([], [setting])
    shutil.rmtree(folders[1])
    write_model(folders[1], -TABLE)
    assert describe_settings(load_settings(reranker=folders[1])) == three
    nothing, nowhere = (
        describe_settings(load_settings(reranker=tmp_path / name)) for name in ("nothing", "nowhere")
    )
    assert find_conflicts(nothing, nowhere) == ["reranker"]


def test_arguments_that_are_too_long_are_the_caller_s_mistake_and_answers_are_a_budget() -> None:
    with pytest.raises(WinnowError) as asked:
        pack({"id": 1, "query": "x" * REQUESTS.longest}, REQUESTS)
    assert (asked.value.code, asked.value.details["size"]) == ("INVALID_ARGUMENT", REQUESTS.longest + 19)
    assert "1,048,595 bytes, and 1,048,576 can be sent" in asked.value.message
    with pytest.raises(WinnowError) as answered:
        pack({"id": 1}, replace(REPLIES, longest=5))
    assert answered.value.reason == "OUTPUT_BYTES"


def test_sockets_of_servers_that_were_killed_are_removed_by_the_next_one(tmp_path: Path) -> None:
    """One whose process lives stays, whether it listens or not."""
    ended = subprocess.Popen(["true"])
    ended.wait()
    names = [endpoint.server_socket_name(pid) for pid in (ended.pid, os.getpid())]
    for name in names:
        endpoint.open_listener(tmp_path, name).socket.close()
    endpoint.open_listener(tmp_path).socket.close()
    assert endpoint.list_server_sockets(tmp_path) == [names[1]]
