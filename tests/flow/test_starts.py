"""A fork of a template is what a start of an interpreter is: its circumstances, its output and its end."""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.patience import LIMIT, until
from tests.starts import forking
from tests.starts.client import ServerKind, Starter, find_program, warm_starts
from tests.starts.shells import folder_of_commands
from winnow.sandbox import Layers, Sandbox
from winnow.sandbox.protocol.limits import Limits
from winnow.sandbox.runners.launch import ForkServerProgram
from winnow.sandbox.runners.locked_children import ChildRequest, LockedChildren
from winnow.sandbox.walls.profiles import READER
from winnow.security import surface
from winnow.server.engine import launch

pytestmark = [
    pytest.mark.real_starts,  # but for those that this file asks for
    pytest.mark.skipif(not forking.IS_POSSIBLE, reason="templates are made on Linux"),
]
ROOT = Path(__file__).parents[2]
CIRCUMSTANCES = """
import json, locale, os, resource, signal, sys, tempfile, threading, time
def describe(stream):
    return [stream.encoding, stream.errors, stream.line_buffering, stream.newlines, stream.mode, stream.fileno(),
            stream.isatty(), stream.name]
signals = {each: str(signal.getsignal(each)) for each in signal.valid_signals()}
names = "Umask", "Uid", "Gid", "Groups", "Sig", "Shd", "Cap", "NoNewPrivs", "Seccomp"
status = [line for line in open("/proc/self/status") if line.startswith(names) and not line.startswith("SigQ")]
said = {
    "main": sorted(globals().keys() - {"describe", "signals", "names", "status", "said"}),
    "name": __name__, "argv": sys.argv, "original": sys.orig_argv, "path": sys.path, "flags": str(sys.flags),
    "environment": dict(os.environ), "bytecode": sys.dont_write_bytecode, "folder": os.getcwd(),
    "leads session": os.getsid(0) == os.getpid(), "leads group": os.getpgid(0) == os.getpid(),
    "parent": os.getppid(), "open": sorted(os.listdir("/proc/self/fd")), "signals": signals, "status": status,
    "streams": [describe(each) for each in (sys.stdin, sys.stdout, sys.stderr)],
    "threads": [threading.active_count(), len(os.listdir("/proc/self/task"))], "temporary": tempfile.gettempdir(),
    "zone": time.tzname, "locale": locale.setlocale(locale.LC_CTYPE),
    "limits": [resource.getrlimit(n) for n in range(16)],
    "given": sys.stdin.read(), "hooks": sys.excepthook is sys.__excepthook__, "executable": sys.executable,
    "thread is known": threading.get_native_id() == os.getpid(),
}
print(json.dumps(said))
print("errors", file=sys.stderr)
"""
IS_FORK = "import sys; print('winnow.server.commands.entry.app' in sys.modules)"
ENDS = {
    "code": "import sys; print('said'); sys.exit(3)",
    "message": "import sys; sys.exit('a message')",
    "exception": "print('said', end=''); raise ValueError('why')",
    "signal": "import os, signal; os.kill(os.getpid(), signal.SIGTERM)",
    "abort": "import os; os.abort()",
    "interrupted": "import os, signal; os.kill(os.getpid(), signal.SIGINT)",
    "at exit": "import atexit; atexit.register(print, 'at exit'); print('before')",
    "thread": "import threading, time\nthreading.Thread(target=lambda: [time.sleep(0.1), print('late')]).start()",
    "finalized": "class A:\n    def __del__(self): print('freed')\na = A()",
    "broken pipe": "import sys\nsys.stdout.close()\nprint('lost')",
}


@pytest.fixture(scope="module")
def forks() -> Iterator[Starter]:
    with warm_starts() as starter:
        starter.is_on = False
        starter.sources = {CIRCUMSTANCES, IS_FORK, *ENDS.values()}
        yield starter


def _run_twice(starter: Starter, run: Callable[[], Any]) -> tuple[Any, Any]:
    """The results of an interpreter and of a fork."""
    started = run()
    starter.is_on = True
    try:
        return started, run()
    finally:
        starter.is_on = False


def _ask(*arguments: str, source: str = CIRCUMSTANCES, options: Sequence[str] = (), **more: Any) -> Any:
    command = [sys.executable, *options, "-c", source, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False, **more)


@pytest.mark.parametrize("options", [(), ("-I", "-B")])
@pytest.mark.parametrize(
    "more",
    [
        {"input": "words"},
        {"stdin": subprocess.DEVNULL, "start_new_session": True},
        {"process_group": 0, "env": {"PATH": "/bin", "TZ": "Asia/Tokyo", "TMPDIR": "/var/tmp"}},
        {"cwd": "/usr", "env": {"PYTHONDONTWRITEBYTECODE": "1", "LANG": "C.UTF-8", "HOME": "/nowhere"}},
    ],
)
def test_a_fork_has_the_circumstances_of_a_start(
    forks: Starter, options: Sequence[str], more: Mapping[str, Any]
) -> None:
    usual = {"input": None, "env": dict(os.environ)}  # libraries of pytest set variables behind Python's back
    started, forked = _run_twice(forks, lambda: _ask("one", "--two", options=options, **{**usual, **more}))
    assert (started.returncode, started.stderr) == (0, "errors\n")
    found, wanted = _read(forked.stdout), _read(started.stdout)
    assert {name: (found[name], value) for name, value in wanted.items() if found[name] != value} == {}
    assert found.keys() == wanted.keys()
    assert (forked.returncode, forked.stderr) == (0, "errors\n")


def _read(said: str) -> Any:
    """Two flags tell of the start of the template; what follows from them is compared apart."""
    return json.loads(re.sub(r"(utf8_mode|dont_write_bytecode)=[01]", r"\1=_", said))


def test_a_fork_has_the_descriptors_that_it_is_given_and_no_others(forks: Starter) -> None:
    given, other = os.pipe()
    with os.fdopen(given), os.fdopen(other, "w"):
        started, forked = _run_twice(forks, lambda: json.loads(_ask(input="", pass_fds=[given]).stdout)["open"])
    assert forked == started


@pytest.mark.parametrize("name", ENDS)
def test_a_fork_ends_as_a_start_does(forks: Starter, name: str) -> None:
    started, forked = _run_twice(forks, lambda: _ask(source=ENDS[name], input=""))
    assert (forked.returncode, forked.stdout) == (started.returncode, started.stdout)
    assert forked.stderr.splitlines()[-1:] == started.stderr.splitlines()[-1:]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_a_server_that_is_a_fork_ends_by_a_signal_as_one_that_was_started(
    forks: Starter, number: signal.Signals, tmp_path: Path
) -> None:
    def run() -> tuple[int, bytes]:
        command = [Path(sys.executable).with_name("winnow"), "serve", "--store", tmp_path / "store"]
        hello = {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
        line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}).encode() + b"\n"
        pipe = subprocess.PIPE
        with subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL) as server:
            assert server.stdin
            assert server.stdout
            server.stdin.write(line)
            server.stdin.flush()
            answer = server.stdout.readline()
            server.send_signal(number)
            return server.wait(LIMIT), answer

    started, forked = _run_twice(forks, run)
    assert forked == started


def _is_fork(**more: Any) -> bool:
    said = _ask(source=IS_FORK, **more).stdout.strip()
    assert said in ("True", "False")
    return bool(said == "True")


@pytest.mark.parametrize(
    ("more", "is_fork"),
    [
        ({}, True),
        ({"options": ("-I", "-B")}, True),
        ({"options": ("-B",)}, False),
        ({"env": {**os.environ, "PYTHONPATH": "/nowhere"}}, False),
        ({"env": {**os.environ, "PYTHONPATH": "/nowhere"}, "options": ("-I", "-B")}, True),
        ({"env": {**os.environ, "LC_ALL": "C"}}, False),
        ({"env": {**os.environ, "TYPER_USE_RICH": "0"}}, False),
        ({"preexec_fn": lambda: None}, False),
        ({"umask": 0o077}, False),
        ({"close_fds": False}, False),
    ],
)
def test_what_a_fork_could_not_have_is_started(forks: Starter, more: Mapping[str, Any], is_fork: bool) -> None:
    forks.is_on = True
    try:
        assert _is_fork(**more) is is_fork
    finally:
        forks.is_on = False


def test_a_process_with_another_limit_than_the_template_starts_interpreters(forks: Starter) -> None:
    forks.is_on = True
    soft, hard = resource.getrlimit(resource.RLIMIT_CORE)
    other = 0 if soft else 4096
    try:
        assert _is_fork()
        resource.setrlimit(resource.RLIMIT_CORE, (other, hard))
        assert not _is_fork()
    finally:
        resource.setrlimit(resource.RLIMIT_CORE, (soft, hard))
        forks.is_on = False


def test_a_line_of_a_shell_runs_forks_with_its_pipes_environment_and_exit_codes(
    forks: Starter, tmp_path: Path
) -> None:
    line = "echo words | winnow one --two; echo $?; cd /usr; WINNOW_STORE=here winnow 2>&1 | sort; exec winnow"
    forks.is_on = True
    try:
        with folder_of_commands(tmp_path) as folder:
            path = f"{folder}:{os.environ['PATH']}"
            done = subprocess.run(
                ["sh", "-c", line], env={**os.environ, "PATH": path}, capture_output=True, text=True, timeout=LIMIT
            )
    finally:
        forks.is_on = False
    started = [
        subprocess.run([Path(sys.executable).with_name("winnow"), *each], capture_output=True, text=True)
        for each in (["one", "--two"], [])
    ]
    first, second = started
    shown = sorted((second.stdout + second.stderr).splitlines())
    assert done.stdout.splitlines() == [
        *first.stdout.splitlines(),
        str(first.returncode),
        *shown,
        *second.stdout.splitlines(),
    ]
    assert (done.returncode, done.stderr) == (second.returncode, first.stderr + second.stderr)


def test_other_programs_are_started() -> None:
    winnow = str(Path(sys.executable).with_name("winnow"))
    assert find_program([winnow, "search", "x"], {}) is not None
    assert find_program([sys.executable, "-I", "-B", surface.__file__, "surface"], {}) is not None
    assert find_program([sys.executable, "-m", launch._PROGRAM], {}) is not None
    others = [["winnow"], ["/bin/true"], [sys.executable], [sys.executable, "-c", "import server"]]
    assert [find_program(each, {}) for each in others] == [None] * len(others)


def test_an_attack_that_is_a_fork_starts_forks(forks: Starter, tmp_path: Path) -> None:
    """They are its own children, and know nothing of it."""
    attack = b"""
import os, subprocess, sys
from winnow.security.surface import winnow
def surface():
    sys.modules["winnow.server.commands.entry.app"].changed = True
    done = winnow("--version")
    children = open(f"/proc/self/task/{os.getpid()}/children").read().split()
    print(type(subprocess._fork_exec).__name__, done.stdout.decode().split()[0], done.returncode, len(children))
"""
    command = [sys.executable, "-I", "-B", surface.__file__, "surface"]
    forks.is_on = True
    try:
        done = subprocess.run(
            command, input=attack, capture_output=True, cwd=tmp_path, start_new_session=True, timeout=LIMIT
        )
    finally:
        forks.is_on = False
    assert (done.stdout.decode().splitlines(), done.stderr) == (["Starter winnow 0 1", "HELD"], b"")
    assert done.returncode == -signal.SIGKILL  # of its group, with its template


READS = b"""
import os
from pathlib import Path
from winnow.server.ingest.children.reader_pool import start_walled_children
from winnow.server.readers.formats.parsed_file import ReadOptions
def surface():
    started = start_walled_children(ReadOptions(), {"parse"})
    process = started.children._children._process
    parent = int(Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()[1])
    request = {"do": "parse", "kind": "html", "text": "<p>words", "uri": "a.html"}
    facts, text = started.children.ask(request, 10.0, None)
    is_running = process.poll() is None and started.is_idle
    print(parent == os.getpid(), is_running, text.decode().strip(), started.tier, started.missing, sep="|")
    HOW_IT_ENDS
    print(process.pid)
"""


@pytest.mark.walls
@pytest.mark.parametrize("end", [b"started.close()", b"pass"], ids=["closed", "left behind"])
def test_a_fork_server_of_a_fork_is_a_fork_and_ends_with_it(forks: Starter, tmp_path: Path, end: bytes) -> None:
    """It is a child of another process, since only one that has warmed up could fork it."""
    command = [sys.executable, "-I", "-B", surface.__file__, "surface"]
    program = READS.replace(b"HOW_IT_ENDS", end)

    def run() -> tuple[Any, ...]:
        done = subprocess.run(
            command, input=program, capture_output=True, cwd=tmp_path, start_new_session=True, timeout=LIMIT
        )
        said, number, _ = done.stdout.decode().splitlines()
        until(lambda: not Path(f"/proc/{number}").exists())
        is_child, *rest = said.split("|")
        return is_child, rest, done.stderr

    (started, *wanted), (forked, *found) = _run_twice(forks, run)
    assert (started, forked, found) == ("True", "False", wanted)


@pytest.mark.walls
@pytest.mark.parametrize("is_walled", [True, False])
def test_children_of_a_fork_server_that_is_a_fork_see_what_those_of_a_start_see(
    forks: Starter, is_walled: bool
) -> None:
    program = ForkServerProgram("tests.starts.seen", READER, is_walled=is_walled)

    def run() -> tuple[Any, ...]:
        with LockedChildren(program, Limits()) as children:
            answered = children.run(ChildRequest(b"?", -1, Limits(), (1 << 20,)))
        return json.loads(answered.parts[0]), children.walls, children.breaches

    (wanted, *started), (found, *forked) = _run_twice(forks, run)
    assert {name: (found[name], value) for name, value in wanted.items() if found[name] != value} == {}
    assert forked == started
    assert [kind.program for kind in forks.templates if isinstance(kind, ServerKind)] == ["tests.starts.seen"]


@pytest.mark.walls
@pytest.mark.parametrize(
    "layers", [Layers(), Layers(walls=False), Layers(fence=False)], ids=["both", "fence", "walls"]
)
def test_a_script_finds_in_a_fork_what_it_finds_in_a_start(forks: Starter, layers: Layers) -> None:
    async def run() -> tuple[Any, ...]:
        async with Sandbox(layers=layers) as sandbox:
            outcome = await sandbox.run("import re\nreturn [sorted(dir(re)), str(set('words')), dir()]")
            return outcome.status, outcome.error, outcome.result, outcome.walls

    started, forked = _run_twice(forks, lambda: asyncio.run(run()))
    assert forked == started
