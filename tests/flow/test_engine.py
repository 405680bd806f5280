"""The shared engine of a store: real engines, real servers, real kills."""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import typer
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from typer.testing import CliRunner, Result

from tests.flow.test_ingest_resume import write_pages
from tests.plain_store import copy_store
from tests.tiny_models import TABLE, write_model
from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.app import open_application
from winnow.server.commands.entry.knowledge import make_knowledge_base, open_knowledge
from winnow.server.engine import endpoint
from winnow.server.engine.client import EngineKnowledge, _Link, query_engine
from winnow.server.engine.compatibility import build_id, describe_settings
from winnow.server.errors import WinnowError
from winnow.server.ingest.selection.request import IngestRequest
from winnow.server.operations.answers.budget import dumps
from winnow.server.operations.knowledge import SCRIPT, Knowledge
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.storage.files.lock import ENGINE, find_holder
from winnow.server.text.words.tokens import count_tokens
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

ROOT = Path(__file__).parents[2]
WINNOW = [sys.executable, "-c", "import winnow.server.commands.entry.cli; winnow.server.commands.entry.cli.main()"]
NOBODY = 65_534
PAGES = 120
KEPT = "0123456789abcdef"
SEARCH = {"query": "how are backups encrypted"}

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(not endpoint.is_supported(), reason="engines are not shared on this system"),
]


def settings_of(store: Path, **others: Any) -> Settings:
    return load_settings(store=store, **{"project": "handbook", "daemon": "on", "embedding": "off", **others})


@asynccontextmanager
async def client(store: Path, **others: Any) -> AsyncIterator[EngineKnowledge]:
    """A client of the store's engine; it starts one if none runs."""
    kb = open_knowledge(settings_of(store, **others), wait_for_model=False, starts_engine=True)
    assert isinstance(kb, EngineKnowledge)
    try:
        yield kb
    finally:
        await kb.aclose()


async def search(kb: Knowledge, connection: str = "x", **others: Any) -> dict[str, Any]:
    return (await kb.call("kb.search", {**SEARCH, **others}, kb.caller(connection))).payload


async def status(store: Path) -> dict[str, Any]:
    return dict(await query_engine(store, "status") or {})


async def wait_until_gone(store: Path) -> None:
    """Return once no process is this store's engine."""
    while find_holder(store, ENGINE) is not None:
        await asyncio.sleep(0.02)


def environment() -> dict[str, str]:
    return {**os.environ, "WINNOW_DAEMON": "on", "WINNOW_EMBEDDING": "off"}


async def winnow(name: str, *arguments: object, **variables: str) -> Result:
    """Run a command in this process, since starting an interpreter takes longer than the command."""
    app: typer.Typer = importlib.import_module(f"winnow.server.commands.{name}").app
    return await asyncio.to_thread(CliRunner().invoke, app, [*map(str, arguments)], env=environment() | variables)


@contextmanager
def with_engine_ended(store: Path) -> Iterator[Path]:
    """The store; its engine is killed at the end."""
    try:
        yield store
    finally:
        # A killed engine is replaced until the third kill within a minute.
        while (there := find_holder(store, ENGINE)) is not None:
            if there.pid:
                with suppress(ProcessLookupError):
                    os.kill(there.pid, signal.SIGKILL)
            time.sleep(0.01)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory, store: Path) -> Iterator[Path]:
    """A store of the corpus below a path that is longer than the address of a socket may be."""
    folder = tmp_path_factory.mktemp("shared") / ("long-" * 24)
    copy_store(store, folder)
    with with_engine_ended(folder) as opened:
        yield opened


@pytest.fixture
def own(tmp_path: Path, store: Path) -> Iterator[Path]:
    """A store of the corpus for one test."""
    with with_engine_ended(copy_store(store, tmp_path / "store")) as opened:
        yield opened


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Path]:
    with with_engine_ended(tmp_path / "store") as opened:
        yield opened


def parameters(store: Path) -> StdioServerParameters:
    arguments = ["serve", "--store", str(store), "--project", "handbook", "--no-execute-code"]
    return StdioServerParameters(command=WINNOW[0], args=[*WINNOW[1:], *arguments], env=environment(), cwd=ROOT)


async def test_two_servers_share_an_engine_and_no_passage(shared: Path) -> None:
    async with Client(parameters(shared)) as one:
        mine = (await one.call_tool("kb_search", SEARCH)).structured_content
        assert mine is not None
        (first,) = (each["pid"] for each in (await status(shared))["clients"])
        async with Client(parameters(shared)) as other:
            theirs = (await other.call_tool("kb_search", SEARCH)).structured_content
            assert theirs is not None
            ids = [[row["section_id"] for row in answer["results"]] for answer in (mine, theirs)]
            assert ids[0] == ids[1]
            found = await status(shared)
            assert (len(found["clients"]), len({each["pid"] for each in found["clients"]})) == (2, 2)
            assert found["pid"] == getattr(find_holder(shared), "pid", None)
            uri = mine["results"][0]["scratch_uri"]
            assert (await one.read_resource(uri)).contents
            with pytest.raises(MCPError) as caught:
                await other.read_resource(uri)
            assert caught.value.error.data["details"]["reason"] == "SCOPE_VIOLATION"

            os.kill(first, signal.SIGKILL)
            assert (await other.call_tool("kb_search", SEARCH)).structured_content
            assert (await status(shared))["pid"] == found["pid"]


async def test_answers_and_errors_are_those_of_one_process(shared: Path, store: Path) -> None:
    alone = make_knowledge_base(settings_of(store), wait_for_model=False)
    asked: list[tuple[str, dict[str, Any]]] = [
        ("semantic_search", {**SEARCH, "response_mode": "full"}),
        ("semantic_search", {**SEARCH, "response_mode": "preview", "top_k": 100}),
        ("kb.search", {**SEARCH, "options": {"include_debug": True, "include_scores": True}}),
        ("kb.retrieve_evidence", {"question": "how long are backups kept"}),
        ("search_sections", SEARCH),
        ("fetch", {"ids": ["nothing"]}),
        ("semantic_search", {"query": "x" * 5000}),
        ("semantic_search", {**SEARCH, "scope": {"project_id": "other"}}),
        ("no such thing", {}),
        ("read_result", {"execution_id": KEPT, "start_char": 1, "max_tokens": 50}),
        ("read_result", {"execution_id": KEPT, "start_char": 10_000}),
        ("read_result", {"execution_id": KEPT[::-1]}),
        ("read_result", {"execution_id": "none"}),
    ]

    async def call(kb: Knowledge, operation: str, arguments: dict[str, Any], budget: Any) -> Any:
        try:
            answer = await kb.call(operation, arguments, kb.caller("x", budget))
        except WinnowError as error:
            return error.envelope()
        rest = answer.tier, answer.rows, answer.warnings, len(answer.links), dict(answer.noted)
        return _without_session(answer.payload), rest

    try:
        async with client(shared) as kb:
            for each in (alone, kb):
                assert each.results.put("x", KEPT, json.dumps(list(range(200))))
            direct = kb.caller("x").budget
            for budget in (direct, SCRIPT):
                for operation, arguments in asked:
                    expected = await call(alone, operation, arguments, budget)
                    assert await call(kb, operation, arguments, budget) == expected
    finally:
        await alone.aclose()


def _without_session(payload: dict[str, Any]) -> Any:
    """Remove random ids and times; everything else must be equal."""
    text = re.sub(r"winnow://scratch/\w+/\w+", "*", json.dumps(payload, sort_keys=True))
    text = re.sub(r"(\"stages_ms\": )\{[^}]*\}", r"\1{}", text)
    for random in re.findall(r'"(?:session_id|passage_id)": "([^"]+)"', text):
        text = text.replace(random, "*")
    return json.loads(text)


async def test_what_one_client_was_shown_another_cannot_name(shared: Path) -> None:
    async with client(shared) as one, client(shared) as other:
        (row, *_) = (await search(one, "same name"))["results"]
        session, kept = await one.passage("same name", row["passage_id"])
        assert kept is not None
        assert (kept.session_id, kept.uri) == (session, row["scratch_uri"])
        assert (await one.passage_ids("same name", "", 100))[1]
        foreign, nothing = await other.passage("same name", row["passage_id"])
        assert (nothing, foreign != session) == (None, True)
        assert (await other.passage_ids("same name", "", 100))[1] == []
        with pytest.raises(WinnowError, match="passage ids are kept"):
            await other.call("kb.read_excerpt", {"passage_id": row["passage_id"]}, other.caller("same name"))
        assert one.results.put("same name", KEPT, "[]")
        for kb, connection in ((other, "same name"), (one, "another name")):
            with pytest.raises(WinnowError, match="unknown or no longer held"):
                await kb.call("read_result", {"execution_id": KEPT}, kb.caller(connection))
        assert ((await one.counters()).scratch.entries > 0, (await other.counters()).scratch.entries) == (True, 0)


async def test_each_client_is_confined_by_its_own_settings(shared: Path) -> None:
    async with client(shared) as wide, client(shared, doc_tags="no such tag") as narrow:
        assert (await search(wide))["results"]
        assert (await search(narrow))["results"] == []


async def test_clients_that_start_at_once_meet_at_one_engine(own: Path) -> None:
    async def first_answer(kb: EngineKnowledge) -> dict[str, Any]:
        return await search(kb)

    async with client(own) as a, client(own) as b, client(own) as c:
        answers = await asyncio.gather(*map(first_answer, (a, b, c)))
        assert [len(answer["results"]) for answer in answers] == [5, 5, 5]
        assert len((await status(own))["clients"]) == 3
    log = (own / "engine.log").read_text("utf-8")
    assert log.count("engine started") == 1


async def test_calls_under_way_are_answered_although_the_engine_is_killed(own: Path) -> None:
    async with client(own) as kb:
        await search(kb)
        before = (await status(own))["pid"]
        calls = [asyncio.create_task(search(kb, query=f"rule {number} of backups")) for number in range(8)]
        await asyncio.sleep(0)
        os.kill(before, signal.SIGKILL)
        assert [len(answer["results"]) for answer in await asyncio.gather(*calls)] == [5] * 8
        assert (await status(own))["pid"] != before


async def test_an_engine_that_is_killed_has_a_successor_before_anybody_asks(own: Path) -> None:
    async with client(own) as kb:
        await search(kb)
        first = (await status(own))["pid"]
        supervisor = _identity(Path("/proc", str(first)))[1]
        for _ in range(2):
            second = await _kill_engine(own)
            assert _identity(Path("/proc", str(second)))[1] == supervisor
        assert (await search(kb))["results"]
        assert len((await status(own))["clients"]) == 1
        await query_engine(own, "stop")
        await wait_until_gone(own)
        while Path("/proc", str(supervisor)).exists():
            await asyncio.sleep(0.02)
    assert (own / "engine.log").read_text("utf-8").count("engine started") == 3


async def _kill_engine(store: Path) -> int:
    """Kill the engine and return the process id of its successor."""
    former = (await status(store))["pid"]
    os.kill(former, signal.SIGKILL)
    while (there := find_holder(store, ENGINE)) is None or there.pid in (0, former):
        await asyncio.sleep(0.01)
    return there.pid


async def test_an_engine_that_dies_again_and_again_is_left_to_the_next_call(own: Path) -> None:
    async with client(own) as kb:
        await search(kb)
        supervisor = _identity(Path("/proc", str((await status(own))["pid"])))[1]
        await _kill_engine(own)
        await _kill_engine(own)
        os.kill((await status(own))["pid"], signal.SIGKILL)
        await wait_until_gone(own)
        assert endpoint.connect(own) is None
        assert (await search(kb))["results"]
        assert _identity(Path("/proc", str((await status(own))["pid"])))[1] != supervisor


async def test_an_engine_whose_keeper_is_killed_goes_on_and_is_replaced_by_the_next_call(own: Path) -> None:
    async with client(own) as kb:
        await search(kb)
        first = (await status(own))["pid"]
        os.kill(_identity(Path("/proc", str(first)))[1], signal.SIGKILL)
        assert (await search(kb, query="a rule that nobody asked for"))["results"]
        os.kill(first, signal.SIGKILL)
        assert (await search(kb))["results"]
        assert (await status(own))["pid"] != first


async def test_an_engine_takes_vectors_that_were_made_anew_with_its_model(
    empty: Path, corpus: Path, tmp_path: Path
) -> None:
    model = f"onnx:{write_model(tmp_path / 'model')}"
    asked = {"query": "backup policy", "top_k": 3}
    async with client(empty, embedding="auto", embedder=model) as kb:
        await kb.ingest(IngestRequest(paths=(corpus,)), lambda progress: None)
        before = (await kb.call("semantic_search", asked, kb.caller("x"))).payload
        assert before["search_mode"] == "hybrid"
        former = _vectors(empty)
        for _ in range(2):
            made = await winnow(
                "reindex", "--store", empty, "--embedder", model, "--json", WINNOW_EMBEDDING="auto"
            )
            assert made.exit_code == 0
            assert len(_vectors(empty)) == 2
            after = (await kb.call("semantic_search", asked, kb.caller("x"))).payload
            assert (after["search_mode"], after["results"]) == ("hybrid", before["results"])
            assert _vectors(empty) != former
            former = _vectors(empty)
            assert len(former) == 1
        again = await kb.ingest(IngestRequest(paths=(corpus,)), lambda progress: None)
        assert again["documents"] == 0

        other = f"onnx:{write_model(tmp_path / 'other', -TABLE)}"
        made = await winnow("reindex", "--store", empty, "--embedder", other, "--json", WINNOW_EMBEDDING="auto")
        assert made.exit_code == 0
        after = (await kb.call("semantic_search", asked, kb.caller("y"))).payload
        assert (after["search_mode"], after["results"]) == ("hybrid", before["results"])
        assert _vectors(empty) > former
        with pytest.raises(WinnowError, match=r"re-embedded with another model.*winnow engine stop"):
            await kb.ingest(IngestRequest(paths=(corpus,)), lambda progress: None)
        assert (await status(empty))["waits"]["vectors"]["reads"] > 0


def _vectors(store: Path) -> set[str]:
    return {path.name for path in store.glob("vectors*")}


@pytest.mark.parametrize("mode", ["ids", "metadata", "preview", "full"])
async def test_a_call_asks_the_engine_once_and_counts_all_that_is_sent(
    shared: Path, monkeypatch: pytest.MonkeyPatch, mode: str
) -> None:
    asked: list[str] = []
    ask = _Link.ask

    async def counted(link: _Link, do: str, *arguments: Any, **fields: Any) -> Any:
        asked.append(do)
        return await ask(link, do, *arguments, **fields)

    monkeypatch.setattr(_Link, "ask", counted)
    async with open_application(settings_of(shared), wait_for_model=False, starts_engine=True) as application:
        server = build_server(Dispatcher(application.context, application.settings), application)
        async with Client(server) as one:
            await one.call_tool("semantic_search", {"query": "backup", "response_mode": mode})
            asked.clear()
            answer = await one.call_tool("semantic_search", {**SEARCH, "response_mode": mode})
    assert [each for each in asked if each != "load"] == ["call"]  # a server that started just now loads meanwhile
    payload = {**(answer.structured_content or {})}
    meta = payload.pop("meta")
    blocks = [block.model_dump(mode="json", by_alias=True, exclude_none=True) for block in answer.content]
    sent = [dumps(payload), dumps({"content": blocks, "meta": meta, "isError": False})]
    tokens, size = sum(map(count_tokens, sent)), sum(len(part.encode()) for part in sent)
    assert abs(meta["usage"]["tokens"] - tokens) <= 12
    assert abs(meta["usage"]["bytes"] - size) <= 12  # of the usage itself


@pytest.mark.real_starts  # a fork shares the memory of all that is imported
async def test_a_server_leaves_vocabularies_and_numbers_to_the_engine(shared: Path) -> None:
    """Measured by memory: a vocabulary takes more than the rest of a server."""
    async with Client(parameters(shared)) as one:
        assert (await one.call_tool("kb_search", SEARCH)).structured_content
        told = (await one.call_tool("help", {})).structured_content
        assert told is not None
        assert told["meta"]["usage"]["tokenizer"] == "o200k_base"
        (server,) = (each["pid"] for each in (await status(shared))["clients"])
        maps = Path("/proc", str(server), "maps").read_text("utf-8", "replace")
        assert [name for name in ("numpy", "onnxruntime", "qdrant_edge") if name in maps] == []
        anonymous = _kilobytes(server, "Anonymous:")
        assert anonymous < 100_000


def _kilobytes(process: int, what: str) -> int:
    lines = Path("/proc", str(process), "smaps_rollup").read_text("ascii").splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith(what)))


async def test_an_engine_without_clients_leaves(own: Path) -> None:
    async with client(own, engine_idle_minutes=0.001) as kb:
        await search(kb)
        assert find_holder(own, ENGINE) is not None
        knocking = endpoint.connect(own)  # a connection without a hello is not a client
        assert knocking is not None
        knocking.sendall(b"\0\0\1\0 half a frame")
    with knocking:
        await wait_until_gone(own)
        assert (find_holder(own), endpoint.connect(own)) == (None, None)
        assert await asyncio.to_thread(_read, knocking) == b""


def test_a_connection_to_a_closed_listener_is_refused(tmp_path: Path) -> None:
    listener = endpoint.open_listener(tmp_path)
    waiting = endpoint.connect(tmp_path)
    assert waiting is not None
    with listener.socket, waiting, socket.socket(fileno=os.dup(listener.socket.fileno())):
        endpoint.close_listener(tmp_path, listener)
        waiting.settimeout(20)
        assert _read(waiting) == b""
        assert endpoint.connect(tmp_path) is None


_ANOTHER_BUILD = (
    r"runs another build of winnow .*; it has 1 client \(process \d+\): restart it, "
    r"or end the engine with: winnow engine stop"
)


async def test_an_engine_of_another_build_gives_way_to_a_client_that_is_alone(own: Path) -> None:
    async with client(own) as kb:
        await search(kb)
        first = (await status(own))["pid"]
        with pytest.raises(WinnowError, match=_ANOTHER_BUILD) as caught:
            await _hello(own, build="0.0.1+other")
        assert caught.value.details == {"pid": first, "leaving": False}
        with pytest.raises(WinnowError, match="under other settings \\(graph\\)"):
            await _hello(own, settings=describe_settings(settings_of(own, graph="off")))
        assert (await search(kb))["results"]
    while (await status(own))["clients"]:
        await asyncio.sleep(0.02)
    async with client(own, graph="off") as kb:
        assert (await search(kb))["results"]
        assert (await status(own))["pid"] != first


async def _hello(store: Path, **others: Any) -> None:
    link = await _Link.open(store)
    assert link is not None
    try:
        await link.ask("hello", **{**_describe_client(store), **others})
    finally:
        link.close()


def _describe_client(store: Path) -> dict[str, Any]:
    return {
        "protocol": 1,
        "build": build_id(),
        "settings": describe_settings(settings_of(store)),
        "waits_for_model": False,
    }


async def test_clients_that_leave_before_they_are_admitted_do_not_hold_the_engine(own: Path) -> None:
    """A host may end its server while that says hello."""
    async with client(own, engine_idle_minutes=0.05) as kb:
        await search(kb)
        hello = {"id": 1, "do": "hello", **_describe_client(own)}
        for _ in range(20):
            opened = endpoint.connect(own)
            assert opened is not None
            with opened:
                opened.sendall(frame(json.dumps(hello).encode()))
    await asyncio.wait_for(wait_until_gone(own), 60)


async def test_hosts_with_different_homes_share_an_engine(own: Path, tmp_path: Path) -> None:
    link = own.parent / "by another path"
    link.symlink_to(own)
    one, other = (str(write_model(tmp_path / home / "model")) for home in ("one", "other"))
    async with (
        client(own, models=tmp_path / "one", reranker=one) as kb,
        client(link, models=tmp_path / "other", reranker=other, index_memory_mb=512) as theirs,
    ):
        assert [row["section_id"] for row in (await search(kb))["results"]] == [
            row["section_id"] for row in (await search(theirs))["results"]
        ]
        assert len((await status(own))["clients"]) == 2


async def test_a_process_without_engine_gets_an_error_that_names_the_holder(shared: Path) -> None:
    async with client(shared) as kb:
        await search(kb)
        alone = open_knowledge(settings_of(shared, daemon="off"), wait_for_model=False, starts_engine=True)
        with pytest.raises(WinnowError, match=r"held by process \d+ \(winnow engine\)"):
            await search(alone)
        await alone.aclose()


async def test_an_engine_keeps_nothing_of_the_client_that_started_it(
    own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("A_TOKEN_OF_THE_HOST", "sesame")
    async with client(own, neo4j_password="open-sesame") as kb:
        await search(kb)
        engine = Path("/proc", str((await status(own))["pid"]))
        assert b"sesame" not in (engine / "environ").read_bytes() + (engine / "cmdline").read_bytes()
        assert {os.readlink(engine / "fd" / str(number)) for number in range(3)} == {"/dev/null"}
        assert os.readlink(engine / "cwd") == "/"
        pid, parent, group, session = _identity(engine)
        assert parent != os.getpid()
        assert {group, session}.isdisjoint({os.getpgid(0), os.getsid(0)})
        assert pid != session  # it cannot acquire a terminal
    log = own / "engine.log"
    assert "sesame" not in log.read_text("utf-8")
    assert [oct(path.stat().st_mode & 0o777) for path in (log, own / "run", own / "run/engine.sock")] == [
        "0o600",
        "0o700",
        "0o600",
    ]


async def test_engines_that_die_as_they_start_are_an_error_that_names_the_log(tmp_path: Path) -> None:
    def send_away() -> None:
        with suppress(OSError):
            while True:
                listener.socket.accept()[0].close()

    listener = endpoint.open_listener(tmp_path)
    sending = asyncio.create_task(asyncio.to_thread(send_away))
    async with client(tmp_path) as kb:
        with pytest.raises(WinnowError, match="dies as soon as it has started") as refused:
            await search(kb)
    assert (refused.value.reason, "engine.log" in refused.value.message) == ("INDEX_UNAVAILABLE", True)
    endpoint.close_listener(tmp_path, listener)
    await sending
    listener.socket.close()


def _identity(process: Path) -> tuple[int, int, int, int]:
    pid, _, _, parent, group, session, *_ = (process / "stat").read_text().replace("(", " ").split()
    return int(pid), int(parent), int(group), int(session)


def frame(text: bytes) -> bytes:
    return len(text).to_bytes(4, "big") + text


@pytest.mark.parametrize(
    "sent",
    [
        b"\xff\xff\xff\xff",
        b"GET / HTTP/1.1\r\n\r\n",
        frame(b"["),
        frame(b'{"id": 1, "do": "call"}'),
        frame(b'{"id": 1, "do": "__class__"}'),
        frame(b'{"id": true, "do": "status"}'),
        frame(b'{"id": 1, "do": ["status"]}'),
        frame(b'{"id": 1, "do": "hello", "settings": []}'),
        frame(b'{"id": 1, "a": ' + b"[" * 100_000),
    ],
)
async def test_what_is_no_request_ends_its_connection_and_no_other(shared: Path, sent: bytes) -> None:
    async with client(shared) as kb:
        await search(kb)
        opened = endpoint.connect(shared)
        assert opened is not None
        with opened:
            opened.sendall(sent)
            opened.settimeout(20)
            assert await asyncio.to_thread(_read, opened) == b""
        assert (await search(kb))["results"]


def _read(opened: socket.socket) -> bytes:
    try:
        return opened.recv(1)
    except ConnectionResetError:
        return b""


async def test_a_folder_that_others_may_enter_is_not_used(own: Path) -> None:
    (own / "run").mkdir(mode=0o755)
    async with client(own) as kb:
        with pytest.raises(WinnowError, match=r"closed to others \(chmod 700\)"):
            await search(kb)


KNOCK = """
import os, socket, sys
os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
knocking = socket.socket(socket.AF_UNIX)
try:
    knocking.connect(sys.argv[1])
    knocking.sendall(b'\\0\\0\\0\\x19{"id": 1, "do": "status"}')
    print(knocking.recv(1000))
except OSError as error:
    print(type(error).__name__)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
async def test_a_second_user_is_not_answered(tmp_path_factory: pytest.TempPathFactory, store: Path) -> None:
    folder = Path(shutil.copytree(store, f"/tmp/winnow-{os.getpid()}"))
    address = folder / "run/engine.sock"

    def knock() -> str:
        return subprocess.run(
            [sys.executable, "-c", KNOCK, address], capture_output=True, text=True
        ).stdout.strip()

    try:
        with with_engine_ended(folder):
            async with client(folder) as kb:
                await search(kb)
                folder.chmod(0o755)
                assert await asyncio.to_thread(knock) == "PermissionError"
                # Even with all file permissions, the engine checks the peer's user with the kernel.
                (folder / "run").chmod(0o755)
                address.chmod(0o666)
                assert await asyncio.to_thread(knock) in ("b''", "ConnectionResetError", "BrokenPipeError")
                (folder / "run").chmod(0o700)
                assert (await search(kb))["results"]
    finally:
        shutil.rmtree(folder)


async def test_searches_go_on_while_the_engine_ingests_and_find_what_came(
    empty: Path, corpus: Path, tmp_path: Path
) -> None:
    pages = write_pages(tmp_path / "pages")
    place_of = ("--store", empty, "--project", "handbook", "--json")
    async with client(empty) as kb:
        await kb.ingest(IngestRequest(paths=(corpus,)), lambda progress: None)
        before = await search(kb, query="rule 3 of page 7")
        assert [row for row in before["results"] if row["title"].startswith("Page")] == []
        ingest = asyncio.create_task(winnow("ingest", pages, *place_of))
        during = 0
        while not ingest.done():
            assert (await search(kb, query=f"case {during}"))["results"]
            during += 1
        done = await ingest
        report = json.loads(done.stdout)
        assert (done.exit_code, report["documents"], report["failures"]) == (0, 60, [])
        assert during > 1
        after = await search(kb, query="rule 3 of page 7")
        assert [row for row in after["results"] if row["title"].startswith("Page")] != []
        found = await winnow("search", "rule 3 of page 7", *place_of)
        assert json.loads(found.stdout)["count"] == 10
        assert len((await status(empty))["clients"]) == 1


async def test_a_first_ingest_starts_an_engine_that_answers_searches_and_leaves_at_the_end(
    empty: Path, tmp_path: Path
) -> None:
    """Nobody is locked out while documents come into a store that had no engine."""
    place_of = ("--store", empty, "--project", "handbook", "--json")
    ingest = asyncio.create_task(winnow("ingest", many_pages(tmp_path / "pages"), *place_of))
    while not (await status(empty)).get("ingests"):
        assert not ingest.done()
        await asyncio.sleep(0.01)
    during = 0
    async with client(empty) as kb:
        while not ingest.done():
            with suppress(WinnowError):  # before the first batch there is no project
                during += bool((await search(kb, query="rule 3 of page 7"))["results"])
    done = await ingest
    assert (done.exit_code, during > 0) == (0, True)
    async with asyncio.timeout(60):
        await wait_until_gone(empty)
    assert json.loads((await winnow("search", "rule 3 of page 7", *place_of)).stdout)["count"] == 10


async def test_an_engine_that_an_ingest_started_leaves_when_the_command_is_killed(
    empty: Path, tmp_path: Path
) -> None:
    """What was finished is kept, no process stays, and the same command goes on."""
    pages = many_pages(tmp_path / "pages")
    program = (sys.executable, "-c", "from winnow.server.commands.entry.cli import main; main()")
    words = (*program, "ingest", str(pages), "--store", str(empty), "--project", "handbook")
    process = await asyncio.create_subprocess_exec(*words, env=environment(), stderr=asyncio.subprocess.DEVNULL)
    while not (await status(empty)).get("ingests"):
        assert process.returncode is None
        await asyncio.sleep(0.01)
    process.kill()
    await process.wait()
    async with asyncio.timeout(60):
        await wait_until_gone(empty)
    done = await winnow("ingest", pages, "--store", empty, "--project", "handbook", "--json")
    assert (done.exit_code, json.loads(done.stdout)["failures"]) == (0, [])


async def test_an_ingest_repairs_by_itself_what_no_engine_opens(own: Path, corpus: Path) -> None:
    """Vectors that are gone are made by the next ingest, which says that it works alone."""
    for folder in _vectors(own):
        shutil.rmtree(own / folder)
    place = ("--store", own, "--project", "handbook")
    done = await winnow("ingest", corpus, *place, WINNOW_EMBEDDING="auto")  # as the store was indexed
    assert (done.exit_code, "the ingest works alone" in done.stderr) == (0, True)
    found = await winnow("search", "backups", "--store", own, "--project", "handbook")
    assert found.exit_code == 0, found.stderr


async def test_an_ingest_whose_engine_is_killed_says_so_and_goes_on_when_run_again(
    empty: Path, tmp_path: Path
) -> None:
    pages = many_pages(tmp_path / "pages")
    reported = await _broken_off(empty, pages, lambda task, pid: os.kill(pid, signal.SIGKILL))
    assert "the engine went away during the ingest" in reported["error"]
    await _goes_on(empty, pages, reported["documents"])


async def test_an_ingest_that_is_cancelled_ends_cleanly_and_goes_on_when_run_again(
    empty: Path, tmp_path: Path
) -> None:
    pages = many_pages(tmp_path / "pages")
    reported = await _broken_off(empty, pages, lambda task, pid: task.cancel())
    assert reported["error"] == "cancelled"
    assert (await status(empty))["ingests"] == 0
    await _goes_on(empty, pages, reported["documents"])


def many_pages(folder: Path) -> Path:
    folder.mkdir()
    for page in range(PAGES):
        text = "\n\n".join(
            f"## Rule {n}\n\n" + f"Rule {n} of page {page} is case {n * page}. " * 12 for n in range(4)
        )
        (folder / f"page{page:03}.md").write_text(f"# Page {page}\n\n{text}\n", encoding="utf-8")
    return folder


async def _broken_off(
    store: Path, pages: Path, breaks: Callable[[asyncio.Task[Any], int], None]
) -> dict[str, Any]:
    """The output of an ingest that is interrupted at its first report of written documents."""
    reported: dict[str, Any] = {"documents": 0}
    async with client(store, project="p") as kb:
        await kb.load()
        pid = (await status(store))["pid"]

        def on_progress(progress: dict[str, Any]) -> None:
            if progress["documents"] and not reported["documents"]:
                breaks(task, pid)
            reported["documents"] = progress["documents"]

        task = asyncio.create_task(kb.ingest(IngestRequest(paths=(pages,)), on_progress))
        try:
            await task
        except asyncio.CancelledError:
            reported["error"] = "cancelled"
        except WinnowError as error:
            reported["error"] = error.message
    return reported


async def _goes_on(store: Path, pages: Path, reported: int) -> None:
    """The next run ends with the index of an uninterrupted run, and repeats no reported document."""
    async with client(store, project="p") as kb:
        report = await kb.ingest(IngestRequest(paths=(pages,)), lambda progress: None)
        assert report["documents"] + report["unchanged"] == PAGES
        assert report["unchanged"] >= reported > 0
        await query_engine(store, "stop")
    await wait_until_gone(store)
    backends = open_backends(settings_of(store), wait_for_model=False)
    try:
        assert len(backends.catalogue.documents("p")) == PAGES
        assert not backends.catalogue.has_unfinished_write("p")
        assert sorted(backends.store.ids("p")) == backends.catalogue.chunk_ids("p")
    finally:
        backends.close()


async def test_the_engine_command_shows_and_ends_it(own: Path) -> None:
    place_of = ("--store", own, "--json")
    assert json.loads((await winnow("engine", "status", *place_of)).stdout)["running"] is False
    async with client(own) as kb:
        await search(kb)
        shown = json.loads((await winnow("engine", "status", *place_of)).stdout)
        assert (shown["running"], shown["clients"][0]["pid"], shown["pss_mb"] > 0) == (True, os.getpid(), True)
        told = (await winnow("engine", "status", "--store", own)).stdout
        assert re.search(
            rf"process {shown['pid']} .* 1 client, .*\n  process {os.getpid()}: project handbook", told
        )
        assert json.loads((await winnow("engine", "stop", *place_of)).stdout)["pid"] == shown["pid"]
        assert find_holder(own, ENGINE) is None
        assert (await search(kb))["results"]  # a client that needs it starts it again


async def test_commands_that_open_a_store_work_beside_an_engine_or_name_the_way_to_end_it(
    own: Path, tmp_path: Path
) -> None:
    place_of = ("--store", own)
    model = f"onnx:{write_model(tmp_path / 'model')}"
    async with client(own) as kb:
        await search(kb)
        engine = str(find_holder(own, ENGINE))
        counted = json.loads((await winnow("stats", *place_of, "--json")).stdout)
        assert (counted["held_by"], counted["projects"][0]["name"]) == (engine, "handbook")
        assert counted["engine"]["waits"]["vectors"]["reads"] > 0
        assert "  waits at vectors: " in (await winnow("stats", *place_of)).stdout
        drawn = await winnow("graph", "stats", *place_of, "--project", "handbook", "--json")
        assert json.loads(drawn.stdout)["documents"] > 0
        moved = await winnow("migrate", *place_of, "--to", tmp_path / "other")
        assert (moved.exit_code, "winnow engine stop" in moved.stderr) == (4, True)
        measured = await winnow("bench", "search", *place_of, "--project", "handbook")
        assert (measured.exit_code, "winnow engine stop" in measured.stderr) == (4, True)

        reindexed = await winnow("reindex", *place_of, "--embedder", model, "--json", WINNOW_EMBEDDING="auto")
        made = json.loads(reindexed.stdout)
        (warning,) = made["warnings"]
        assert warning.startswith(f"{engine} takes the new vectors with its next search; with another --embedder")
        assert (await search(kb))["results"]
        with pytest.raises(WinnowError, match=r"indexed with onnx/model/.*there is no model now"):
            await kb.ingest(IngestRequest(paths=(tmp_path,)), lambda progress: None)
        await winnow("engine", "stop", *place_of)
        assert (await search(kb))["results"]


@pytest.mark.walls
async def test_scripts_search_through_the_engine_and_their_large_results_stay_where_they_ran(shared: Path) -> None:
    searching = "found = [kb.search('backups')[0].title for _ in range(2)]\nreturn [*found, 'at length ' * 10_000]"
    async with open_application(settings_of(shared), wait_for_model=False, starts_engine=True) as application:
        await application.ready()
        kb, scripts = application.kb, application.scripts
        assert isinstance(kb, EngineKnowledge)
        outcome = await scripts.run(searching, client="mine")
        assert outcome.error is not None
        kept = outcome.error.kept_as
        assert (outcome.usage.sdk_calls, outcome.usage.rows, kept is not None) == (2, 10, True)
        await search(kb, "mine")
        whole = kb.results.get("mine", str(kept))
        assert whole is not None
        title, again, _ = json.loads(whole)
        assert title == again != ""
        there = f"return read_result('{kept}')[0]"
        assert (await scripts.run(there, client="mine")).result == title
        assert (await scripts.run(there, client="theirs")).status == "error"
        health = await application.health()
        assert health["scratch"]["sessions"] == 1
        assert {"rankings", "query_vectors", "views.full"} <= health["caches"].keys()


@pytest.mark.walls
async def test_what_scripts_save_stays_in_their_server_although_the_engine_is_killed(own: Path) -> None:
    save = "rows = kb.search('backups')\nsave('rows', rows)\nsave('large', 'x' * 300_000)\nreturn rows[0].title"
    load = "return load('rows')[0].title, len(load('large')), list(saved())"
    async with (
        open_application(settings_of(own), wait_for_model=False, starts_engine=True) as here,
        open_application(settings_of(own), wait_for_model=False, starts_engine=True) as beside,
    ):
        await asyncio.gather(here.ready(), beside.ready())
        assert isinstance(here.kb, EngineKnowledge)
        title = (await here.scripts.run(save, client="mine")).result
        assert (await here.scripts.run(load, client="mine")).result == [title, 300_000, ["rows", "large"]]
        # Neither another session nor a session of the same name in another server of the engine has it.
        for application, client in ((here, "theirs"), (beside, "mine")):
            outcome = await application.scripts.run("return load('rows', 'nothing'), dict(saved())", client=client)
            assert outcome.result == ["nothing", {}]
        engine = (await status(own))["pid"]
        os.kill(engine, signal.SIGKILL)
        assert (await here.scripts.run(load, client="mine")).result == [title, 300_000, ["rows", "large"]]
        await search(here.kb, "mine")
        assert (await status(own))["pid"] != engine
        assert (await here.scripts.run(load, client="mine")).result == [title, 300_000, ["rows", "large"]]
    async with open_application(settings_of(own), wait_for_model=False, starts_engine=True) as next_server:
        await next_server.ready()
        outcome = await next_server.scripts.run("return dict(saved())", client="mine")
        assert outcome.result == {}
