"""The child that runs one script in Monty: it holds the descriptor; the interpreter is a child process of it.

No hostile code runs in this process. Values from the interpreter are copied to plain data and sent in the same
frames, to the same decoder, as those of any child.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NoReturn

import pydantic_monty
from pydantic_monty import ExternalModule, Monty, MontyClassProxy, MontyError, MontySession

from winnow import client_sdk
from winnow.client_sdk.client import list_methods
from winnow.sandbox.protocol import frames, sandbox_outcomes
from winnow.sandbox.protocol.jobs import ScriptJob
from winnow.sandbox.protocol.limits import MIB, Limits
from winnow.sandbox.protocol.outcome import Outcome

from . import monty_sdk, results
from .channel import ChildChannel
from .console import Console, OutputLimitReached

_HEADROOM_BYTES = 64 * MIB  # memory that the allocator maps and the interpreter does not count
_ROUND_TRIPS = 1_000_000  # names and calls that one script may request; the parent counts the calls
_PARAMETER_DEPTH = 16
_CPU_GRAIN_SECONDS = 0.1  # the kernel counts the limit in ticks
# CPython's messages of assert; every line is sent at once, so that a killed script loses no printed text.
_SESSION_OPTIONS: dict[str, Any] = {"assert_message_annotations": False, "print_flush_interval": 0}
_SCRIPT = "<python-input-1>"  # the prelude is fed before it
_MOST_CHARS = 2_000

# The value of the first of these names that has one.
_NAMED = """
try:
    _value = __result__
except NameError:
    _value = None
if _value is None:
    try:
        _value = result
    except NameError:
        _value = None
_value
"""


def _hints_of_objects() -> Iterator[tuple[str, str]]:
    """The hint for each object of the SDK: its methods."""
    for name, note in {"kb": "", "graph": "", "claims": "; scripts do not write them"}.items():
        kind = type(getattr(client_sdk, name))
        yield f"{kind.__name__!r} object has no attribute", f"{name} has {', '.join(list_methods(kind))}{note}"


# (text in the message, what to write instead); the first match is used.
_HINTS = (
    ("class inheritance", "write classes without bases, or functions over dicts"),
    ("yield", "build a list and return it"),
    ("match statement", "use if and elif"),
    ("can't be awaited", "call it without await: SDK calls answer at once here"),
    ("Permission denied", "scripts have no files: read documents with kb.search(...) and fetch(...)"),
    *_hints_of_objects(),
    ("'Row' object has no attribute", "row.keys() lists what a row has; row.get('x') is None where it has none"),
    ("No module named 'skills'", "skills need whole Python: here, write the function into the script"),
    ("No module named", "this is the smaller Python of Monty; winnow doctor lists what is missing"),
    ("does not yet support", "this is the smaller Python of Monty: write it with functions, lists and dicts"),
)  # fmt: skip


def main(descriptor: int, limits: Mapping[str, Any], binary: str, trial: bool = False) -> NoReturn:
    """Apply the walls, start the interpreter, run one script, and wait to be killed."""
    end = socket.socket(fileno=descriptor)
    end.set_inheritable(False)  # the interpreter must not inherit it
    channel = ChildChannel(end, _kill_group)
    bounds = Limits(**limits)
    tried: dict[str, list[Any]] = {}
    program, prelude = _open_binary(binary), monty_sdk.prelude()
    raised = _apply_walls(bounds, tried, trial=trial)
    with Monty(binary_path=program, min_processes=1, max_processes=1) as pool:
        modules: dict[str, ExternalModule] = {}
        wanted: Any = {"max_memory": bounds.memory_bytes, "max_suspensions": _ROUND_TRIPS}
        with pool.checkout(limits=wanted, external_modules=modules, **_SESSION_OPTIONS) as session:
            sdk = dict(zip(monty_sdk.NAMES, session.feed_run(prelude), strict=True))
            modules.update({"winnow": ExternalModule(sdk), "client_sdk": ExternalModule(sdk)})
            worker = session.worker_pid
            assert worker is not None
            raised += _limit_interpreter(worker, bounds, tried)
            if trial:
                tried.update(_try_language(session, bounds))
            channel.send({"ready": {"raised": raised, "workers": [worker], "found": tried}})
            _watch_parent(end)
            job = ScriptJob.decode(channel.receive())
            channel.send_body(_ScriptRun(session, channel, job, bounds).run())
            channel.receive()  # nothing comes: the parent measures this process and kills it
    os._exit(0)


def _watch_parent(end: socket.socket) -> None:
    """Exit when the parent closes its end, even while the script computes in the interpreter."""
    if hasattr(select, "poll"):
        threading.Thread(target=_wait_for_parent, args=(end,), daemon=True).start()


def _wait_for_parent(end: socket.socket) -> None:
    poll = select.poll()
    poll.register(end, 0)  # a hang-up is always reported
    poll.poll()
    _kill_group()


def _kill_group() -> NoReturn:
    """Kill this process and its children, which are a process group of their own."""
    if sys.platform != "win32":
        os.killpg(0, signal.SIGKILL)
    os._exit(0)


# --- walls around the interpreter ------------------------------------------------------------------------------


def _apply_walls(limits: Limits, tried: dict[str, list[Any]], *, trial: bool) -> list[str]:
    """On Linux, apply the kernel walls that the interpreter inherits and can run behind; return their names."""
    if sys.platform != "linux":
        return []
    from winnow.sandbox.walls import wall_table
    from winnow.sandbox.walls.wall_resources import WallResources

    names = {name: os.readlink(f"/proc/self/ns/{name}") for name in ("user", "ipc", "uts")}
    resources = WallResources(limits, host_namespaces=names)
    wanted = (*wall_table.FORK_SERVER_WALLS, *(w for w in wall_table.CHILD_WALLS if w.name in _INHERITED))
    raised = []
    for wall in wanted:
        try:
            wall.apply(resources)
            held = not (trial and wall.is_breached(resources))
            tried[wall.name] = [held, "what it forbids was tried" if held else "what it forbids still works"]
        except OSError as error:
            tried[wall.name] = [False, str(error)]
        if tried[wall.name][0]:
            raised.append(wall.name)
    return raised


_INHERITED = ("capabilities", "no_new_privileges")


def _open_binary(binary: str) -> str:
    """A path to the interpreter that another user can execute, even where its folder is private."""
    if sys.platform != "linux":
        return binary
    descriptor = os.open(binary, os.O_RDONLY)
    os.set_inheritable(descriptor, True)
    return f"/proc/self/fd/{descriptor}"


def _limit_interpreter(worker: int, limits: Limits, tried: dict[str, list[Any]]) -> list[str]:
    """Lower the running interpreter's limits and read them back; return the names of those that hold."""
    if sys.platform != "linux":
        return []
    import resource

    with open(f"/proc/{worker}/statm") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    bounds = {
        "memory_limit": (resource.RLIMIT_AS, mapped + limits.memory_bytes + _HEADROOM_BYTES),
        "cpu_limit": (resource.RLIMIT_CPU, limits.cpu_seconds),
        "file_limits": (resource.RLIMIT_FSIZE, 0),
        "process_limit": (resource.RLIMIT_NPROC, 0),
        "descriptor_limit": (resource.RLIMIT_NOFILE, 3),
    }
    for name, (kind, value) in bounds.items():
        resource.prlimit(worker, kind, (value, value))
        held = resource.prlimit(worker, kind) == (value, value) and (name != "process_limit" or os.getuid() != 0)
        tried[name] = [held, f"{value:,}, as read back" if held else "the kernel does not count processes of root"]
    return [name for name in bounds if tried[name][0]]


_ATTEMPTS: Mapping[str, tuple[str, ...]] = {
    "interpreter_files": ("open('/').read()", "open('x', 'w')", "import os\nos.listdir('/')"),
    "interpreter_network": ("import socket", "import ssl", "import urllib.request", "import http.client"),
    "interpreter_processes": ("import subprocess", "import os\nos.fork()", "import os\nos.system('true')",
                              "import ctypes", "import threading"),
}  # fmt: skip


def _try_language(session: MontySession, limits: Limits) -> Iterator[tuple[str, list[Any]]]:
    """Try what the language must refuse."""
    attempts = {**_ATTEMPTS, "interpreter_memory": (f"len('a' * {limits.memory_bytes + MIB})",)}
    for name, codes in attempts.items():
        successes = [code for code in codes if _works(session, code)]
        yield (
            name,
            [not successes, f"runs: {successes[0]!r}" if successes else "what it forbids was tried and refused"],
        )


def _works(session: MontySession, code: str) -> bool:
    try:
        session.feed_run(code)
    except MontyError:
        return False
    return True


# --- one script ------------------------------------------------------------------------------------------------


class _ScriptRun:
    """One run of a script, from the job to its last frame."""

    def __init__(self, session: MontySession, channel: ChildChannel, job: ScriptJob, limits: Limits) -> None:
        self._session = session
        self._channel = channel
        self._job = job
        self._cpu_seconds = limits.cpu_seconds
        self._console = Console(channel, job.stdout_bytes)
        self._flooded = False
        self._refusal: dict[str, Any] = {}  # the last refusal of the host, with the text that the script saw

    def run(self) -> bytes:
        """Run the script and return its last frame; nothing that the script does raises here."""
        try:
            value = self._feed(self._job.code)
            if value is None:
                value = self._feed(_NAMED)
            return self._flush(self._encode_result(value))
        except pydantic_monty.MontyCrashedError:
            _exit_after_crash(self._cpu_seconds)
        except MontyError as error:
            return self._flush(self._encode_failure(self._report_error(error)))
        except results.NotData as error:
            return self._flush(
                frames.dump(_build_report("error", "ResultNotData", error.message, hint=error.hint))
            )
        except OutputLimitReached:
            report = _report_of_verdict(sandbox_outcomes.output(Limits(stdout_total_bytes=self._job.stdout_bytes)))
            return self._encode_failure(report)

    def _feed(self, code: str) -> Any:
        return self._session.feed_run(code, external_lookup={"_ask": self._ask}, print_callback=self._print)

    def _flush(self, body: bytes) -> bytes:
        with contextlib.suppress(OutputLimitReached):
            self._console.flush()
        return body

    def _print(self, stream: str, text: str) -> None:
        try:
            self._console.write(text)
        except OutputLimitReached:
            self._flooded = True
            raise

    def _ask(self, method: str, params: dict[str, Any]) -> Any:
        """Send an SDK call of the script and return its answer."""
        given = {name: _data(value, _PARAMETER_DEPTH) for name, value in params.items() if value is not None}
        try:
            body = frames.dump({"call": method, "params": results.copy_as_data(given, _PARAMETER_DEPTH)})
        except results.NotData as error:
            raise ValueError(f"{error.message.replace('result', 'the call', 1)}; {error.hint}") from None
        if len(body) > self._job.request_bytes:
            raise ValueError(f"the call is {len(body):,} bytes long; the limit is {self._job.request_bytes:,}")
        self._channel.send_body(body)
        reply = self._channel.receive()
        if "error" not in reply:
            return reply["ok"]
        refusal = reply["error"]
        text = f"{refusal['type']}: {refusal['message']}" + (f" ({refusal['hint']})" if refusal["hint"] else "")
        self._refusal = {"text": text, **refusal}
        raise RuntimeError(text)

    def _encode_result(self, value: Any) -> bytes:
        if value is None:
            return frames.dump({"done": True})
        data = results.copy_as_data(_data(value, self._job.nesting), self._job.nesting)
        body = frames.dump({"result": data})
        size = len(body) - len(b'{"result":}')
        if size > self._job.whole_bytes:
            bound = self._job.result_bytes
            return frames.dump(_report_of_verdict(sandbox_outcomes.result_too_large(data, size, bound, "bytes")))
        return body

    def _encode_failure(self, report: dict[str, Any]) -> bytes:
        """The last frame of a script that failed; with its result, if a limit of calls or output ended it."""
        if report["status"] != "limit":  # after it ran out of memory, the interpreter's result is not reliable
            return frames.dump(report)
        with contextlib.suppress(MontyError, results.NotData, OutputLimitReached):
            data = results.copy_as_data(_data(self._feed(_NAMED), self._job.nesting), self._job.nesting)
            if data is not None and len(frames.dump(data)) <= self._job.whole_bytes:
                return frames.dump({**report, "partial": data})
        return frames.dump(report)

    def _report_error(self, error: MontyError) -> dict[str, Any]:
        """The error report for the author of the script."""
        if self._flooded:
            return _report_of_verdict(sandbox_outcomes.output(Limits(stdout_total_bytes=self._job.stdout_bytes)))
        cause = error.exception()
        if isinstance(cause, MemoryError):
            return _report_of_verdict(sandbox_outcomes.memory(Limits(memory_bytes=self._job.memory_bytes)))
        place = _place(error, self._job.code)
        message = str(cause)
        if self._refusal and self._refusal["text"] == message:
            refused = self._refusal
            status = "limit" if refused["limit"] else "error"
            return _build_report(status, refused["type"], refused["message"], hint=refused["hint"], **place)
        status, kind = _kind(cause)
        hint = next((hint for found, hint in _HINTS if found in message), None)
        return _build_report(status, kind, message, hint=hint, **place)


def _exit_after_crash(cpu_seconds: int) -> NoReturn:
    """Exit because the interpreter died; with SIGXCPU if it died of its CPU limit."""
    if sys.platform != "win32":
        import resource

        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        if used.ru_utime + used.ru_stime > cpu_seconds - _CPU_GRAIN_SECONDS:
            os.kill(os.getpid(), signal.SIGXCPU)
    os._exit(1)


def _kind(cause: BaseException) -> tuple[str, str]:
    """The status and type of an error. Use of a feature that the smaller language lacks counts as a refusal."""
    if isinstance(cause, SyntaxError):
        return "rejected", "SyntaxError"
    if isinstance(cause, NotImplementedError) and "monty" in str(cause):
        return "rejected", "CodeRejected"
    return "error", type(cause).__name__


def _place(error: MontyError, code: str) -> dict[str, Any]:
    """Line and column in the innermost frame of the script."""
    traceback: Callable[[], list[pydantic_monty.Frame]] | None = getattr(error, "traceback", None)
    own = [frame for frame in (traceback() if traceback else []) if frame.filename == _SCRIPT]
    lines = code.splitlines()
    if not own or not 0 < own[-1].line <= len(lines):
        return {}
    return {"line": own[-1].line, "column": own[-1].column, "source_line": lines[own[-1].line - 1][:500]}


def _build_report(status: str, kind: str, message: str, **more: Any) -> dict[str, Any]:
    error = {"type": kind[:200], "message": message[:_MOST_CHARS], **more}
    return {"status": status, "error": {name: value for name, value in error.items() if value is not None}}


def _report_of_verdict(verdict: Outcome) -> dict[str, Any]:
    error = verdict.error
    assert error is not None
    more = {"hint": error.hint, **sandbox_outcomes.sizes_of(error)}
    return _build_report(verdict.status, error.type, error.message, **more)


def _data(value: Any, depth: int) -> Any:
    """The value with objects of the script's classes replaced by dicts of their attributes."""
    if depth < 0:
        return value
    kind = type(value)
    if kind is MontyClassProxy:
        fields = value.attributes
        return _data(fields.get("_fields", fields) if value.name == "Row" else fields, depth)
    if kind is dict:
        return {name: _data(item, depth - 1) for name, item in value.items()}
    if kind in (list, tuple):
        return [_data(item, depth - 1) for item in value]
    return value
