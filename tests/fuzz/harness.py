"""A temporary process that runs programs behind the fence alone and reports what the oracles found.

``python -m tests.fuzz.harness`` reads one request a line (JSON: what to do, and with which program) and writes one
line of findings. A worker serves each request, forked from a process in which everything is imported, as the
children of the sandbox are; a program that takes too long is ended by the kernel's own timer, which no script can
catch, and the next worker goes on. Only the first process answers, once for each request, however a worker ends.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import io
import json
import os
import resource
import select
import signal
import subprocess
import sys
import traceback
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import CodeType, TracebackType
from typing import Any, NoReturn

from tests.patience import LIMIT
from winnow.sandbox.child import script, script_process
from winnow.sandbox.child.guards import script_builtins, trust
from winnow.sandbox.child.language import compiler, policy, refusals, script_source
from winnow.sandbox.protocol import frames
from winnow.sandbox.protocol.jobs import ScriptJob
from winnow.sandbox.protocol.limits import MIB, Limits

from . import oracle

_ROOT = Path(__file__).parents[2]
# Of wall clock for one program. A program that loops is no finding; a compilation that does is one.
_SECONDS = {"judge": 1.0, "probe": 60.0, "compile": 10.0, "compare": 5.0, "control": 60.0}
_MEMORY_BYTES = 1024 * MIB
_PROGRAMS_PER_WORKER = 400

LIMITS = Limits()
_ROW = {
    "id": "guide#1",
    "title": "Retries",
    "score": 0.5,
    "preview": "Retry three times.",
    "metadata": {"tag": "x"},
}
_PAGE = {"mode": "preview", "count": 1, "results": [_ROW]}


class _Parent:
    """The other end of the channel: decodes what a child says as the parent does, answers a call with one row."""

    def __init__(self) -> None:
        self.printed: list[str] = []
        self.broken: list[str] = []

    def send(self, frame: dict[str, Any]) -> None:
        self.send_body(frames.dump(frame))

    def send_body(self, body: bytes) -> None:
        try:
            said = frames.decode(body, LIMITS)
        except frames.ProtocolError as error:
            self.broken.append(f"a child that nobody broke into breaks the protocol: {error}")
        else:
            self.printed += [said.text] if isinstance(said, frames.OutputFrame) else []

    def receive(self) -> Any:
        return {"ok": _PAGE}


def _job(source: str) -> ScriptJob:
    return replace(ScriptJob.build(source, LIMITS), memory_bytes=_MEMORY_BYTES)


class Worker:
    """Serves programs in one process, one after the other."""

    def __init__(self) -> None:
        _instrument()
        script_process.warm_up(fence=True)
        self._keys = oracle.Keys()
        self._listener = oracle.Listener()
        self._fingerprint = oracle.Fingerprint()

    def serve(self, asked: int, told: int) -> None:
        """Read, run, answer, until there is no more to read; ``asked`` and ``told`` are ends of pipes."""
        services = {
            "judge": self.judge,
            "probe": self.judge,
            "compile": self.compile,
            "compare": self.compare,
            "control": self.control,
        }
        for line in _lines(asked):
            request = json.loads(line)
            signal.setitimer(signal.ITIMER_REAL, _SECONDS[request["do"]])
            try:
                answer = services[request["do"]](request["source"])
            except MemoryError:  # what the program filled may still be held
                resource.setrlimit(resource.RLIMIT_AS, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
                answer = {"ending": "memory", "findings": []}
            signal.setitimer(signal.ITIMER_REAL, 0)
            _write(told, answer)

    # --- compiled programs never hold a key ---

    def judge(self, source: str) -> dict[str, Any]:
        """Compile, check the bytecode, run it with a watch, walk the remaining objects."""
        answer, code = _compile(source)
        if code is None:
            return answer
        findings = [f"bytecode: {found}" for found in oracle.forbidden_in(code)]
        findings += [f"line {line} is nowhere in the source" for line in oracle.foreign_lines(code, source)]
        ending, seen = self._watch(source)
        return {"ending": ending, "findings": findings + seen}

    def compile(self, source: str) -> dict[str, Any]:
        """Compile, and nothing more."""
        answer, _ = _compile(source)
        return answer

    def _watch(self, source: str) -> tuple[str, list[str]]:
        watch, parent = oracle.Watch(self._keys), _Parent()
        heard: list[str] = []
        _watching[:], self._listener.heard = [watch], heard
        try:
            ending = frames.decode(script.run(_job(source), parent, fence=True), LIMITS)
            word = ending.status if isinstance(ending, frames.FailureFrame) else "ok"
        except BaseException as error:
            word = "escaped"
            heard.append(f"script.run raised {_describe(error)}")
        finally:
            _watching[:], self._listener.heard = [], None
        watch.walk()
        script._clear_state()
        return word, watch.found + heard + parent.broken + self._fingerprint.changed()

    def control(self, source: str) -> dict[str, Any]:
        """Watch a program without policy and with every builtin: the oracles must report what it holds."""
        watch = oracle.Watch(self._keys)
        heard = self._listener.heard = []
        trust.script_globals.update(__name__="__main__", __builtins__={**vars(builtins), oracle.SEE: watch.see})
        try:
            tree = oracle.Wrapping().visit(ast.parse(source))
            exec(compile(ast.fix_missing_locations(tree), script_source.FILE_NAME, "exec"), trust.script_globals)
        finally:
            self._listener.heard = None
        watch.walk()
        return {"ending": "ok", "findings": watch.found + heard + self._fingerprint.changed()}

    # --- no silent difference ---

    def compare(self, source: str) -> dict[str, Any]:
        """The output and ending of the program behind the fence and on CPython."""
        parent = _Parent()
        ending = frames.decode(script.run(_job(source), parent, fence=True), LIMITS)
        script._clear_state()
        fenced = ["".join(parent.printed), *_error_of(ending)]
        return {"ending": "compared", "fenced": fenced, "plain": _plainly(source), "findings": []}


def _compile(source: str) -> tuple[dict[str, Any], CodeType | None]:
    try:
        return {"ending": "compiled", "findings": []}, compiler.compile_script(source).code
    except refusals.Rejected as refusal:
        return {"ending": "refused", "why": refusal.message, "findings": _unfit(refusal, source)}, None
    except BaseException as error:
        return {"ending": "raised", "findings": [f"compile_script raised {_describe(error)}"]}, None


def _describe(error: BaseException) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__}: {str(error)[:200]} at {Path(last.filename).name}:{last.lineno}"


def _unfit(refusal: refusals.Rejected, source: str) -> list[str]:
    """A refusal points into the source, or nowhere."""
    lines = script_source.split_lines(source)
    line, column = refusal.line, refusal.column
    if refusal.type == "SyntaxError" or line is None:
        return []  # the parser's own places
    if not 1 <= line <= len(lines) or (column is not None and not 1 <= column <= len(lines[line - 1]) + 1):
        return [f"refused at {line}:{column}, which is not in the source"]
    return []


_watching: list[oracle.Watch] = []  # of the program that runs now, if it is watched


def _instrument() -> None:
    """Let the policy's tree be wrapped just before it is compiled, and the builtins of a script have ``@see``.

    Done before the fork server would draw its line of trust, after which no class of ours takes a change.
    """
    entry, offered = policy.Policy.entry, script_builtins.get_builtins

    def watched_entry(self: policy.Policy, tree: ast.Module) -> ast.Module:
        made = entry(self, tree)
        return oracle.Wrapping().visit(made) if _watching else made

    def watched_builtins(*given: Any, **more: Any) -> dict[str, Any]:
        return offered(*given, **more) | ({oracle.SEE: _watching[0].see} if _watching else {})

    policy.Policy.entry = watched_entry
    script_builtins.get_builtins = watched_builtins


def _error_of(ending: frames.Frame) -> list[Any]:
    if not isinstance(ending, frames.FailureFrame):
        return [None, None, None]
    return [ending.error["type"], ending.error["message"], ending.error.get("line")]


def _plainly(source: str) -> list[Any]:
    printed = io.StringIO()
    try:
        with contextlib.redirect_stdout(printed):
            exec(compile(source, script_source.FILE_NAME, "exec", dont_inherit=True), {"__name__": "__main__"})
    except Exception as error:
        text = f"no key {error}" if type(error) is KeyError else str(error)
        return [printed.getvalue(), type(error).__name__, text, _line_of(error.__traceback__)]
    return [printed.getvalue(), None, None, None]


def _line_of(trace: TracebackType | None) -> int | None:
    line = None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == script_source.FILE_NAME:
            line = trace.tb_lineno
        trace = trace.tb_next
    return line


# --- the process -----------------------------------------------------------------------------------------------


def _lines(descriptor: int) -> Iterator[bytes]:
    pending = b""
    while data := os.read(descriptor, 1 << 20):
        pending += data
        if pending.endswith(b"\n"):  # one line at a time is on its way
            yield pending
            pending = b""


def _write(descriptor: int, answer: dict[str, Any]) -> None:
    _write_line(descriptor, json.dumps(answer).encode() + b"\n")


def _write_line(descriptor: int, line: bytes) -> None:
    while line:
        line = line[os.write(descriptor, line) :]


class _Fork:
    """A forked worker, which answers until it is no longer as good as new."""

    def __init__(self, worker: Worker) -> None:
        asked, self._ask = os.pipe()
        self._told, told = os.pipe()
        self._served = 0
        self._process = os.fork()
        if not self._process:
            os.close(self._ask)
            os.close(self._told)
            _serve_and_end(worker, asked, told)
        os.close(asked)
        os.close(told)
        self._answers = _lines(self._told)

    def answer(self, line: bytes) -> dict[str, Any]:
        """What it says of a program. A crash, or the timer, is contained: nothing that a script could hold."""
        self._served += 1
        with contextlib.suppress(BrokenPipeError):  # it ended: there is no answer to read either
            _write_line(self._ask, line)
        told = next(self._answers, None)
        return json.loads(told) if told else {"ending": "signal", "findings": []}

    def is_spent(self, answer: dict[str, Any]) -> bool:
        """Whether the next program needs another one."""
        is_as_new = answer["ending"] not in ("memory", "signal") and not answer["findings"]
        return not is_as_new or self._served >= _PROGRAMS_PER_WORKER

    def is_gone(self) -> bool:
        """Whether it ended while nothing was asked of it."""
        return bool(select.select([self._told], [], [], 0)[0])

    def end(self) -> int:
        """End it; the number of the signal that had ended it, or 0."""
        os.close(self._ask)
        os.close(self._told)
        _, status = os.waitpid(self._process, 0)
        return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def _serve_and_end(worker: Worker, asked: int, told: int) -> NoReturn:
    try:
        worker.serve(asked, told)
    except BaseException as error:
        _write(told, {"ending": "failed", "findings": [f"the harness failed: {_describe(error)}"]})
    os._exit(0)


def main() -> None:
    """Answer each request by a worker, and fork another one where it is spent."""
    warnings.simplefilter("ignore")  # generated programs call integers, and the compiler says so
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_BYTES, resource.RLIM_INFINITY))
    worker = Worker()
    fork = _Fork(worker)
    for line in _lines(0):
        found = []
        if fork.is_gone():
            found, fork = _left_behind(fork.end()), _Fork(worker)
        answer = fork.answer(line)
        answer["findings"] += found
        if fork.is_spent(answer):
            fork.end()
            fork = _Fork(worker)
        _write(1, answer)
    fork.end()


def _left_behind(number: int) -> list[str]:
    """What a worker that ended between two programs says of the first; a kernel short of memory kills, too."""
    return [] if number == signal.SIGKILL else [f"signal {number} ended the worker after an answer"]


# The recursion limit and its message depend on the surrounding interpreter.
_OF_THE_HOST = ("RecursionError", "SyntaxError")
# CPython has no limits on what a program prints and holds: reaching one is no silent difference.
_LIMITS_REACHED = ("OutputLimit", "MemoryLimit")


class Harness:
    """A client of the process."""

    def __init__(self) -> None:
        # Warnings of coroutines that were never awaited are ignored.
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.fuzz.harness"],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )

    def judge(self, source: str) -> dict[str, Any]:
        """The ending of the program, and the forbidden objects that it held."""
        return self._ask("judge", source)

    def probe(self, source: str) -> dict[str, Any]:
        """The same of a program that takes its time."""
        return self._ask("probe", source)

    def compare(self, source: str) -> dict[str, Any]:
        """What the program prints behind the fence and on CPython."""
        return self._ask("compare", source)

    def differs(self, source: str) -> tuple[Any, Any] | None:
        """How the program ends behind the fence and on CPython, where that is not the same."""
        found = self.compare(source)
        if found["ending"] != "compared" or found["fenced"] == found["plain"]:
            return None
        if found["plain"][1] in _OF_THE_HOST or found["fenced"][1] in _LIMITS_REACHED:
            return None
        return found["fenced"], found["plain"]

    def compile(self, source: str) -> dict[str, Any]:
        """Whether the program is refused or compiled."""
        return self._ask("compile", source)

    def control(self, source: str) -> dict[str, Any]:
        """What the oracles see of a program that nothing holds back."""
        return self._ask("control", source)

    def _ask(self, do: str, source: str) -> dict[str, Any]:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps({"do": do, "source": source}).encode() + b"\n")
        stdin.flush()
        answer = stdout.readline()
        assert answer, "the harness is gone"
        found: dict[str, Any] = json.loads(answer)
        return found

    @property
    def process_id(self) -> int:
        """Of the process that forks the workers."""
        return self._process.pid

    def close(self) -> None:
        """End it."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(LIMIT)
        self._process.stdout.close()


if __name__ == "__main__":
    main()
