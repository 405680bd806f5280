"""Calls of tool packs behind their walls: every kind answers, every kind of misbehaviour ends and is counted."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from winnow.sandbox.runners import programs
from winnow.sandbox.runners.programs import ProgramCall, run_program, try_program_walls
from winnow.server.commands.packs.tools import app
from winnow.server.errors import WinnowError
from winnow.server.tools.operator_packs.contract_violations import ContractViolations
from winnow.server.tools.operator_packs.offering import ToolRegistry
from winnow.server.tools.operator_packs.records import ToolPack
from winnow.server.tools.operator_packs.running import PackRunner

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the walls are Linux's")

EXAMPLES = Path(__file__).parents[2] / "docs/examples/tool-packs"
TEXT_INPUT = {"type": "object", "properties": {"q": {"type": "string"}}, "additionalProperties": False}
PYTHON = """\
import json, os, sys
given = json.loads(sys.stdin.readline())["input"]
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A store's folder, and in it packs that the walls' user can read, too."""
    made = Path(tempfile.mkdtemp(prefix="winnow-packs-"))
    made.chmod(0o755)
    (made / "packs").mkdir(mode=0o755)
    yield made
    shutil.rmtree(made)


def write(folder: Path, script: str = "", **changes: Any) -> None:
    """A Python pack that runs this script, or one with these fields changed."""
    (folder / "packs" / "tool.py").write_text(PYTHON + script)
    pack = {
        "id": "my.tool",
        "version": "1.0.0",
        "description": "For a test.",
        "inputSchema": TEXT_INPUT,
        "outputSchema": {"type": "object", "required": ["answer"]},
        "timeoutMs": 20_000,
        "execution": {"kind": "python", "script": "./tool.py"},
    }
    (folder / "packs" / "my.tool.yaml").write_text(json.dumps(pack | changes))


def call(folder: Path, given: Mapping[str, Any], times: int = 1) -> list[Any]:
    """The answers of these calls, or the reasons of their errors with the messages."""
    contract_violations = ContractViolations(folder)
    registry = ToolRegistry([folder / "packs"], (), contract_violations)
    registry.refresh()
    assert registry.left_out == []
    return asyncio.run(_call(PackRunner(contract_violations), registry, given, times))


async def _call(runner: PackRunner, registry: ToolRegistry, given: Mapping[str, Any], times: int) -> list[Any]:
    answers: list[Any] = []
    for _ in range(times):
        try:
            answers.append((await runner.call(registry.packs[0], given, "me")).data)
        except WinnowError as error:
            answers.append((error.reason, error.message))
    return answers


def test_every_wall_of_a_program_stands_and_was_tried() -> None:
    for is_online in (False, True):
        assert [wall.name for wall in try_program_walls(is_online=is_online) if not wall.stands] == []


def test_each_kind_of_program_answers(folder: Path) -> None:
    write(folder, 'print(json.dumps({"answer": given["q"].upper(), "cwd": os.getcwd()}))')
    assert call(folder, {"q": "héllo"}) == [{"answer": "HÉLLO", "cwd": "/dev/shm"}]
    (folder / "packs" / "words.py").write_text(
        "def count(given):\n    print('noise')\n    return {'answer': len(given['q'])}\n"
    )
    write(folder, execution={"kind": "python", "module": "words:count"})
    assert call(folder, {"q": "four"}) == [{"answer": 4}]
    write(folder, execution={"kind": "cli", "cmd": ["echo", '{"answer": {{ input.q | tojson }}}']})
    assert call(folder, {"q": "$(id); `id` && x"}) == [{"answer": "$(id); `id` && x"}]
    count = {"kind": "cli", "cmd": ["wc", "-w"], "stdin": "{{ input.q }}"}
    write(folder, execution=count, outputSchema={"type": "integer"})
    assert call(folder, {"q": "one two\nthree $(id)"}) == [4]


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no node here")
def test_a_script_for_node_answers(folder: Path) -> None:
    (folder / "packs" / "tool.js").write_text(
        "const given = JSON.parse(require('fs').readFileSync(0)).input;\n"
        "console.log(JSON.stringify({ok: true, data: {answer: given.q.length}}));\n"
    )
    write(folder, execution={"kind": "node", "node": "./tool.js"})
    assert call(folder, {"q": "four"}) == [{"answer": 4}]


@pytest.mark.parametrize(
    ("script", "changes", "reason", "why"),
    [
        ("print('no json')", {}, "SOURCE_UNAVAILABLE", "it printed no single JSON value"),
        ("print('{}')", {}, "SOURCE_UNAVAILABLE", "outputSchema: answer: required"),
        ("print('{} {}')", {}, "SOURCE_UNAVAILABLE", "it printed no single JSON value"),
        ("print('{\"n\": 1e999}')", {}, "SOURCE_UNAVAILABLE", "it printed no single JSON value"),
        ("print('[' * 30000)", {}, "SOURCE_UNAVAILABLE", "broke its contract"),
        ("print('[' * 800 + ']' * 800)", {}, "SOURCE_UNAVAILABLE", "broke its contract: it is nested too deeply"),
        ("sys.exit(3)", {}, "SOURCE_UNAVAILABLE", "its program ended with status 3"),
        ("os.kill(os.getpid(), 9)", {}, "SOURCE_UNAVAILABLE", "its program was ended by signal 9"),
        ("while True: print('x' * 1000)", {}, "OUTPUT_BYTES", "answered with more than its 32,768 bytes"),
        ("import time; time.sleep(60)", {"timeoutMs": 1500}, "TIMEOUT", "did not answer within its 1.5 s"),
    ],
)
def test_a_program_that_breaks_its_contract_is_taken_off_the_list_at_the_third_time(
    folder: Path, script: str, changes: dict[str, Any], reason: str, why: str
) -> None:
    write(folder, script, **changes)
    (answer,) = call(folder, {"q": "x"})
    assert (answer[0], why in answer[1]) == (reason, True)
    contract_violations = ContractViolations(folder)
    registry = ToolRegistry([folder / "packs"], (), contract_violations)
    registry.refresh()
    (pack,) = registry.packs
    contract_violations.add(pack, "again")
    assert contract_violations.add(pack, "and again").count == 3
    assert [len(registry.packs), "3 times" in registry.left_out[0].why] == [0, True]
    write(folder, "print(json.dumps({'answer': 1}))")
    registry.refresh()
    assert len(registry.packs) == 1


def test_an_operator_puts_a_tool_back(folder: Path) -> None:
    write(folder, "sys.exit(1)")
    call(folder, {"q": "x"}, times=3)
    contract_violations = ContractViolations(folder)
    registry = ToolRegistry([folder / "packs"], (), contract_violations)
    registry.refresh()
    assert registry.packs == []
    assert ContractViolations(folder).clear("my.tool")
    assert len(registry.packs) == 1


def test_a_failure_that_the_program_reports_itself_is_no_break(folder: Path) -> None:
    write(folder, "print(json.dumps({'ok': False, 'errors': [{'message': 'no such word'}]}))")
    assert call(folder, {"q": "x"}) == [("SOURCE_UNAVAILABLE", "my.tool failed: no such word")]
    assert not (folder / "tool-packs.json").exists()


def test_an_input_is_checked_before_anything_runs(folder: Path) -> None:
    write(folder, "sys.exit(1)", limits={"maxInputBytes": 100})
    assert call(folder, {"q": 1}) == [("INVALID_REQUEST", "my.tool: q: is not of the type 'string'")]
    assert "takes at most 100 bytes" in call(folder, {"q": "x" * 200})[0][1]
    assert "z: is not a known field" in call(folder, {"z": 1})[0][1]


def test_an_input_that_json_cannot_carry_is_refused_and_no_break(folder: Path) -> None:
    write(folder, "print(json.dumps({'answer': 1}))", inputSchema={"type": "object"})
    deep: Any = "x"
    for _ in range(5_000):
        deep = [deep]
    for value in ("\ud800", float("nan"), 10**5_000, deep):
        ((reason, _),) = call(folder, {"q": value})
        assert reason == "INVALID_REQUEST"
    assert not (folder / "tool-packs.json").exists()


def test_commands_check_run_count_and_mend(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(folder, "print(json.dumps({'answer': given['q']}) if given['q'] else 'broken')")
    monkeypatch.setenv("WINNOW_STORE", str(folder))
    monkeypatch.setenv("WINNOW_TOOL_PACKS", str(folder / "packs"))

    def run(*arguments: str) -> tuple[int, str]:
        done = CliRunner().invoke(app, arguments)
        return done.exit_code, done.output

    assert run("check", str(folder / "packs"))[0] == 0
    code, output = run("run", "my.tool", "--input", '{"q": "x"}', "--json")
    assert (code, json.loads(output)["data"]) == (0, {"answer": "x"})
    codes = [run("run", "my.tool", "--input", '{"q": ""}')[0] for _ in range(3)]
    assert 0 not in codes
    (row,) = json.loads(run("list", "--json")[1])["tools"]
    assert (row["breaks"], row["offered"], "mend its files" in row["why_not"]) == (3, False, True)
    assert run("check", str(folder / "packs"))[0] == 1
    assert run("mend", "my.tool") == (0, "my.tool is offered again\n")
    assert "my.tool" in run("list")[1]
    monkeypatch.delenv("WINNOW_TOOL_PACKS")
    assert "name a folder" in run("list")[1]
    assert "my.tool" in run("list", "--folder", str(folder / "packs"), "--store", str(folder))[1]


def test_an_input_does_not_become_an_option(folder: Path) -> None:
    write(folder, execution={"kind": "cli", "cmd": ["ls", "{{ input.q }}"]})
    ((reason, message),) = call(folder, {"q": "--help"})
    assert (reason, "would be read as an option" in message) == ("INVALID_REQUEST", True)


def test_a_program_sees_its_own_files_and_variables_alone(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIVEN", "token")
    monkeypatch.setenv("SECRET", "hidden")
    (tmp_path / "private").write_text("secret")
    script = f"""
def tried(path, mode="r"):
    try:
        with open(path, mode) as file:
            return file.read() if mode == "r" else "written"
    except OSError as error:
        return type(error).__name__
print(json.dumps({{"answer": [tried({str(tmp_path / "private")!r}), tried("/etc/passwd"), tried(__file__, "a"),
    tried("/var/tmp/x", "w"), tried("own", "w")], "env": sorted(os.environ)}}))
"""
    write(folder, script, env={"passthrough": ["GIVEN"]})
    (answer,) = call(folder, {"q": "x"})
    # "OSError": the file system is read-only there, which is not asked of a file that another user owns.
    own = "PermissionError" if os.geteuid() == 0 else "OSError"
    assert answer["answer"] == ["PermissionError", "PermissionError", own, "OSError", "written"]
    assert answer["env"] == ["GIVEN", "HOME", "LANG", "PATH", "TMPDIR", "TZ"]


def test_a_program_makes_no_call_that_is_newer_than_its_filter(folder: Path) -> None:
    """A list of refused calls says nothing of later ones: these are answered as by a kernel without them."""
    tried = """
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
request = ctypes.create_string_buffer(__import__("struct").pack("<IIQQ", 24, 0, 2**64 - 1, 0), 24)
mounts = (ctypes.c_uint64 * 64)()
found = libc.syscall(ctypes.c_long(458), request, mounts, ctypes.c_long(64), ctypes.c_long(0))  # listmount
error = errno.errorcode.get(ctypes.get_errno(), "")
"""
    here: dict[str, Any] = {}
    exec(tried, here)  # a test of its own text
    if here["error"] == "ENOSYS":
        pytest.skip("this kernel does not have the call")
    assert here["found"] > 0
    write(folder, f'{tried}\nprint(json.dumps({{"answer": [found, error], "env": []}}))')
    (answer,) = call(folder, {"q": "x"})
    assert answer["answer"] == [-1, "ENOSYS"]


def test_a_program_reads_no_attributes_of_files_by_their_paths(folder: Path, tmp_path: Path) -> None:
    noted = tmp_path / "noted"
    noted.touch()
    try:
        os.setxattr(noted, "user.note", b"secret")
    except OSError:
        pytest.skip("this file system has no attributes")
    script = f"""
def tried(read, *arguments):
    try:
        return str(read({str(noted)!r}, *arguments))
    except OSError as error:
        return error.strerror
read = [tried(os.getxattr, "user.note"), tried(os.listxattr)]
import shutil
open("own", "w").close()
print(json.dumps({{"answer": [*read, os.path.basename(shutil.copy2("own", "copy"))]}}))
"""
    write(folder, script)
    (answer,) = call(folder, {"q": "x"})
    assert answer["answer"] == ["Operation not supported"] * 2 + ["copy"]


def test_the_memory_of_a_call_is_that_of_all_its_processes_where_no_group_bounds_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Each process stays below the limit; all together take ten times of it."""
    monkeypatch.setattr(programs.cgroups, "create_around", lambda pid, limit: (None, None))
    holds = "head -c 41943040 /dev/zero | tail -c 41943040 | sleep 60"
    script = f"for each in 1 2 3 4 5 6 7 8 9 10; do ({holds}) & done; wait"
    environment = {"PATH": "/usr/bin:/bin"}
    end = run_program(ProgramCall(("/bin/sh", "-c", script), environment, b"", memory_bytes=64 << 20))
    assert (end.is_out_of_memory, end.is_late) == (True, False)


def test_no_grandchild_outlives_a_call(folder: Path) -> None:
    mark = f"86400.{os.getpid()}"
    end = run_program(
        ProgramCall(("/bin/sh", "-c", f"setsid sleep {mark} & setsid sleep {mark} & echo ok"), {}, b"")
    )
    assert (end.stdout, end.code) == (b"ok\n", 0)
    assert mark not in " ".join(_command_lines())


def test_a_call_that_its_client_withdraws_ends_with_its_program(folder: Path) -> None:
    mark = f"86398.{os.getpid()}"
    write(folder, execution={"kind": "cli", "cmd": ["sleep", mark]})
    contract_violations = ContractViolations(folder)
    registry = ToolRegistry([folder / "packs"], (), contract_violations)
    registry.refresh()

    async def withdraw() -> None:
        calling = asyncio.create_task(PackRunner(contract_violations).call(registry.packs[0], {"q": "x"}, "me"))
        while not _is_running(mark):
            await asyncio.sleep(0.02)
        calling.cancel()
        while _is_running(mark):
            await asyncio.sleep(0.02)
        assert calling.cancelled()

    asyncio.run(withdraw())
    assert contract_violations.of(registry.packs[0]).count == 0


def _is_running(mark: str) -> bool:
    return any(f"sleep {mark}" in line for line in _command_lines())


def _command_lines() -> Iterator[str]:
    for each in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            yield each.read_bytes().replace(b"\0", b" ").decode(errors="replace")
        except OSError:
            continue


def test_the_network_is_reached_on_declared_ports_alone(folder: Path, search_engine: str) -> None:
    port = int(search_engine.rpartition(":")[2])
    script = f"""
import socket
try:
    socket.create_connection(("127.0.0.1", {port}), 5).close()
    said = "connected"
except OSError as error:
    said = type(error).__name__
print(json.dumps({{"answer": said}}))
"""
    answers = []
    for network in ([], [port], ["https"]):
        write(folder, script, caps={"network": network})
        answers += call(folder, {"q": "x"})
    assert [each["answer"] for each in answers] == ["PermissionError", "connected", "PermissionError"]


class _SearchEngine(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        if self.path.startswith("/away"):
            self._send(302, b"", location="/search?q=x")
        elif self.path.startswith("/flood"):
            self._send(200, b"[" * 200_000)
        else:
            found = {
                "results": [
                    {"title": self.path, "url": "https://example.org/", "token": self.headers.get("X-Token", "")}
                ]
            }
            self._send(200, json.dumps(found).encode())

    def _send(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in {**headers, "content-length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Log nothing."""


@pytest.fixture(scope="module")
def search_engine() -> Iterator[str]:
    """The origin of a search engine on loopback."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _SearchEngine) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


def write_request(folder: Path, url: str, **changes: Any) -> None:
    execution = {"kind": "http", "method": "GET", "url": url, **changes.pop("execution", {})}
    schema = {"type": "object", "required": ["results"]}
    write(folder, execution=execution, outputSchema=schema, caps={"network": ["any"]}, **changes)


def test_an_address_is_asked_with_the_input_as_one_part_of_the_query(
    folder: Path, search_engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TOKEN", "s3cret")
    headers = {"X-Token": "{{ env.TOKEN }}"}
    write_request(
        folder,
        f"{search_engine}/search?q={{{{ input.q }}}}&n=1",
        execution={"headers": headers},
        env={"passthrough": ["TOKEN"]},
    )
    (answer,) = call(folder, {"q": "a&n=9 #/é"})
    assert answer["results"] == [
        {"title": "/search?q=a%26n%3D9%20%23%2F%C3%A9&n=1", "url": "https://example.org/", "token": "s3cret"}
    ]


@pytest.mark.parametrize(
    ("path", "given", "why"),
    [
        ("/away", "x", "answers with status 302"),
        ("/flood", "x", "answered with more than its 32,768 bytes"),
        ("/{{ input.q }}/x", "..", "a part of the path is '.' or '..'"),
        ("/x?q={{ input.q }}", "é" * 10_920, "the path is longer than 60,000 characters"),
    ],
)
def test_an_address_that_leads_away_or_floods_is_an_error(
    folder: Path, search_engine: str, path: str, given: str, why: str
) -> None:
    write_request(folder, search_engine + path)
    assert why in call(folder, {"q": given})[0][1]


def test_a_header_has_no_line_break_and_a_name_leads_into_no_private_network(
    folder: Path, search_engine: str
) -> None:
    write_request(folder, search_engine, execution={"headers": {"X-Token": "{{ input.q }}"}})
    assert "would have a line break" in call(folder, {"q": "a\r\nX-Forged: 1"})[0][1]
    write_request(folder, search_engine.replace("127.0.0.1", "2130706433"))  # the same address, as a number
    assert "leads to a private address" in call(folder, {"q": "x"})[0][1]


def test_the_examples_of_the_documentation_answer(folder: Path, search_engine: str) -> None:
    for example in sorted(EXAMPLES.iterdir()):
        shutil.copytree(example, folder / "packs" / example.name)
    for path in (folder / "packs").rglob("*"):
        path.chmod(0o755 if path.is_dir() else 0o644)
    search = folder / "packs/search/web_search_query.tool.yaml"
    port = search_engine.rpartition(":")[2]
    search.write_text(search.read_text("utf-8").replace("8888", port), "utf-8")
    contract_violations = ContractViolations(folder)
    registry = ToolRegistry([folder / "packs"], (), contract_violations)
    registry.refresh()
    assert registry.left_out == []

    async def ask(**given: dict[str, Any]) -> dict[str, Any]:
        runner = PackRunner(contract_violations)
        named = {pack.id.replace(".", "_"): pack for pack in registry.packs}
        return {name: (await runner.call(named[name], each, "me")).data for name, each in given.items()}

    answers = asyncio.run(
        ask(
            calendar_day={"day": "2026-11-23"},
            text_words={"text": "to be or not to be", "most": 2},
            web_search_query={"q": "pile foundations"},
        )
    )
    assert answers["calendar_day"] == {"weekday": "Monday", "week": "48", "day_of_year": "327"}
    assert answers["text_words"] == [{"word": "to", "count": 2}, {"word": "be", "count": 2}]
    assert [row["title"] for row in answers["web_search_query"]] == [
        "/search?format=json&q=pile%20foundations&pageno=1"
    ]


def test_answers_of_a_deterministic_tool_are_kept_for_one_caller(folder: Path) -> None:
    write(
        folder,
        "print(json.dumps({'answer': os.urandom(8).hex()}))",
        deterministic=True,
        templating={"engine": "jinja2", "cacheKey": "{{ id }}|{{ version }}|{{ input | tojson }}"},
    )
    contract_violations = ContractViolations(folder)
    registry = ToolRegistry([folder / "packs"], (), contract_violations)
    registry.refresh()
    (pack,) = registry.packs

    async def ask(*callers: str) -> list[str]:
        runner = PackRunner(contract_violations)
        return [(await runner.call(pack, {"q": "x"}, caller)).data["answer"] for caller in callers]

    first, second, other = asyncio.run(ask("a", "a", "b"))
    assert first == second != other


@pytest.mark.parametrize("host", ["a..b", "a" * 70 + ".example"])
def test_a_name_that_cannot_be_one_is_an_address_that_does_not_answer(folder: Path, host: str) -> None:
    write_request(folder, f"http://{host}/")
    assert "is not known" in call(folder, {"q": "x"})[0][1]


def test_an_input_without_what_the_cache_key_names_is_refused(folder: Path) -> None:
    """An agent's mistake, not one of the server or of the pack."""
    write(folder, "sys.exit(3)", deterministic=True, templating={"cacheKey": "{{ input.q }}"})
    ((reason, why),) = call(folder, {})
    assert (reason, "'q'" in why) == ("INVALID_REQUEST", True)
    assert ContractViolations(folder).of(_only_pack(folder)).count == 0


def _only_pack(folder: Path) -> ToolPack:
    registry = ToolRegistry([folder / "packs"], (), ContractViolations(folder))
    registry.refresh()
    return registry.packs[0]
