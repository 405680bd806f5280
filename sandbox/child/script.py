"""One script in the locked child: run it, and report in one frame how it ended."""

from __future__ import annotations

import builtins
import functools
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from winnow import client_sdk
from winnow.client_sdk import transport
from winnow.client_sdk.awaitable import Nothing
from winnow.sandbox.child.diagnosis import error_reports, help_text, precheck, tracebacks, unawaited
from winnow.sandbox.child.guards import (
    byte_arrays,
    decoding_errors,
    generic_aliases,
    methods,
    operands,
    script_builtins,
    trust,
)
from winnow.sandbox.child.guards.stand_ins import OFFERED
from winnow.sandbox.child.language import compiler, policy, refusals, script_source
from winnow.sandbox.child.modules import (
    asyncio_loop,
    asyncio_module,
    copy_module,
    facades,
    library_changes,
    skills,
)
from winnow.sandbox.child.modules.printing_modules import OutputStreams, Stream, target_of
from winnow.sandbox.protocol import frames
from winnow.sandbox.protocol.jobs import ScriptJob
from winnow.sandbox.protocol.limits import MIB, Limits

from . import results
from .alarm import TimeIsUp, alarm
from .channel import ChildChannel
from .console import Console, OutputLimitReached

_WARM_SCRIPT = """
import json, re
from dataclasses import dataclass
@dataclass
class Row:
    id: str
    score: float = 0.0
async def main():
    return [row.id for row in sorted([Row("a", 1.0)], key=lambda row: -row.score)]
print(json.dumps({"ids": await main()}), f"{len(re.findall('a', 'banana')):>4}")
return {"value": (1, 2.5, None, "ü")}
"""

_WARM_LIMITS = Limits(result_bytes=1024, kept_bytes=1024, stdout_total_bytes=1024, nesting=8)


class _SilentChannel:
    """A channel that drops its frames, for warming up."""

    def send(self, frame: dict[str, Any]) -> None:
        """Encode the frame and drop it."""
        frames.dump(frame)


def warm_up() -> None:
    """Build the façades, fix the trusted classes, and run a varied script once. Runs in the fork server."""
    facades.build()
    trust.trust_existing_classes()
    library_changes.make()
    generic_aliases.guard_aliases()
    library_changes.freeze_data(OFFERED)
    operands.guard_operands(facades.offered_functions())
    methods.bind_methods()
    byte_arrays.guard_byte_arrays()
    decoding_errors.guard_decoding_errors()
    trust.freeze_trusted_classes()
    copy_module.install()
    job = ScriptJob.build(_WARM_SCRIPT, _WARM_LIMITS)
    _run_to_end(job, Console(_SilentChannel(), job.stdout_bytes), _run_fenced)
    _clear_state()


# A reserve that is released when memory has run out, because the report on the script needs some. Until then its
# pages are not touched, so that it takes address space only.
_RESERVE_BYTES = 4 * MIB


def prefault() -> None:
    """Run a small script in a waiting child, so that the memory pages every script writes to are its own."""
    job = ScriptJob.build("1", _WARM_LIMITS)
    _run_to_end(job, Console(_SilentChannel(), job.stdout_bytes), _run_fenced)
    _clear_state()


def _clear_state() -> None:
    """Remove the state that a script left."""
    trust.script_globals.clear()
    tracebacks.remember_source("")
    unawaited.end()


def run(job: ScriptJob, channel: ChildChannel, *, fence: bool) -> bytes:
    """Run one script and return its last frame; nothing that the script does raises here."""
    console = Console(channel, job.stdout_bytes)
    reserve = bytes(_RESERVE_BYTES)
    transport.connect(_Transport(channel, job.request_bytes))
    try:
        ending = _run_to_end(job, console, _run_fenced if fence else _run_raw)
        console.flush()
        return ending
    except OutputLimitReached:
        return _encode_failure(job, error_reports.report_output_limit(job.stdout_bytes))
    except MemoryError:
        pass  # nothing more here: while the error is handled, its traceback keeps what filled the memory
    del reserve
    held = _held_result()
    trust.script_globals.clear()
    return _encode_failure(job, error_reports.report_memory_limit(job.memory_bytes), held)


def _run_to_end(job: ScriptJob, console: Console, execute: Callable[[ScriptJob, Console], Any]) -> bytes:
    tracebacks.remember_source(job.code)
    try:
        return _run_and_encode(job, console, execute)
    except (OutputLimitReached, MemoryError):
        raise
    except refusals.Rejected as error:
        return frames.dump(error_reports.report_rejection(error))
    except results.NotData as error:
        return frames.dump(error_reports.report_not_data(error))
    except TimeIsUp as error:
        return _encode_failure(job, error_reports.report_time_limit(error))
    except BaseException as error:
        return _encode_failure(job, error_reports.report_exception(error))


def _run_and_encode(job: ScriptJob, console: Console, execute: Callable[[ScriptJob, Console], Any]) -> bytes:
    try:
        value = _execute_armed(job, console, execute)
    except SystemExit as error:
        if error.code:
            raise
        return _encode_result(job, _choose_result(script_builtins.ENDED), implicit=True, console=console)
    result = _choose_result(value)
    calls = unawaited.never_awaited_calls(nothing_to_show=result is None and not console.used)
    if calls:
        return frames.dump(error_reports.report_never_awaited(calls))
    return _encode_result(job, result, implicit=isinstance(value, script_builtins.Last), console=console)


def _execute_armed(job: ScriptJob, console: Console, execute: Callable[[ScriptJob, Console], Any]) -> Any:
    alarm.is_armed = True
    try:
        return execute(job, console)
    finally:
        alarm.is_armed = False


def _choose_result(returned: Any) -> Any:
    """A script's result: what it returned, `__result__`, `result`, or the value of its last expression."""
    last = None
    if isinstance(returned, script_builtins.Last):
        last = None if type(returned.value) is Nothing else returned.value
    elif returned is not script_builtins.ENDED and returned is not None:
        return returned
    held = _held_result()
    return last if held is None else held


def _held_result() -> Any:
    """The value that the script has assigned to a name for its result; None if there is none."""
    named = (trust.script_globals.get(name) for name in ("__result__", "result"))
    return next((value for value in named if value is not None), None)


def _encode_failure(job: ScriptJob, report: dict[str, Any], held: Any = None) -> bytes:
    """The last frame of a script that failed; with the value of its ``result``, if a limit ended it."""
    if report["status"] not in frames.PARTIAL_STATUSES:
        return frames.dump(report)
    try:
        data = results.copy_as_data(_held_result() if held is None else held, job.nesting)
        size = len(frames.dump(data))
        if data is not None and size <= job.whole_bytes:
            return frames.dump({**report, "partial": data})
    except BaseException:  # the value's own methods may raise anything, and memory may be short
        pass
    return frames.dump(report)


def _encode_result(job: ScriptJob, value: Any, *, implicit: bool, console: Console) -> bytes:
    if value is None:
        return frames.dump({"done": True})
    try:
        data = results.copy_as_data(value, job.nesting)
    except results.NotData:
        # When a script printed something, the value of its last expression is not meant as a result.
        if implicit and console.used:
            return frames.dump({"done": True})
        raise
    body = frames.dump({"result": data})
    size = len(body) - len(b'{"result":}')
    if size > job.whole_bytes:
        return frames.dump(error_reports.report_large_result(data, size, job.result_bytes))
    return body


# --- executing -------------------------------------------------------------------------------------------------


def _run_fenced(job: ScriptJob, console: Console) -> Any:
    """Run the script within the fence: the code that the policy compiled is the code that runs."""
    source = job.code
    names, streams = trust.script_globals, OutputStreams(console)
    builtin_names = script_builtins.get_builtins(print=_make_print(streams.out), help=_make_help(streams.out))
    imported = None if job.skills is None else skills.ImportedSkills(skills.Skills(**job.skills), builtin_names)
    builtin_names["__import__"] = facades.Importer(streams, imported)
    skill_names = None if imported is None else imported.names
    check = functools.partial(precheck.check, skills=skill_names or frozenset())
    compiled = compiler.compile_script(source, check, skills=skill_names)
    names.update(facades.script_sdk(), __name__="__main__", __builtins__=builtin_names)
    if "async" in source:  # a script without it has no coroutines
        unawaited.begin(script_source.FILE_NAME, asyncio_module.FILES)
    exec(compiled.code, names)
    entry = names.pop(policy.ENTRY)
    value = asyncio_loop.run(entry()) if compiled.is_async else entry()
    for error in unawaited.unseen_failures():
        console.write(f"Task exception was never retrieved\n{tracebacks.format_traceback(error)}")
    return value


def _run_raw(job: ScriptJob, console: Console) -> Any:
    """Run the script without the fence, as plain Python, for the tests of the walls."""
    sys.stdout = sys.stderr = console
    # Scripts import the SDK as `client_sdk`; with the fence, its importer gives them the modules.
    ours = {name: module for name, module in sys.modules.items() if name.startswith("winnow.client_sdk")}
    sys.modules.update({name.removeprefix("winnow."): module for name, module in ours.items()})
    names = trust.script_globals
    names["__name__"] = "__main__"
    exec(compile(job.code, script_source.FILE_NAME, "exec", dont_inherit=True), names)
    return script_builtins.ENDED


def _make_print(out: Stream) -> Callable[..., None]:
    def print(
        *values: object, sep: str | None = " ", end: str | None = "\n", file: Any = None, flush: Any = False
    ) -> None:
        builtins.print(*values, sep=sep, end=end, file=target_of(out) if file is None else file)

    print.__qualname__ = "print"
    return print


def _make_help(out: Stream) -> Callable[..., None]:
    def help(thing: Any = None) -> None:
        """Print the documentation of a function or class."""
        out.write(f"{help_text.help_on(thing)}\n")

    return help


class _Transport:
    """SDK calls as frames to the parent."""

    def __init__(self, channel: ChildChannel, request_bytes: int) -> None:
        self._channel = channel
        self._request_bytes = request_bytes

    def __call__(self, method: str, params: Mapping[str, Any], each: Sequence[Mapping[str, Any]] = ()) -> Any:
        """Make one call and return its reply; with ``each``, make a call for each item and return all replies."""
        if not each:
            return self._send_call(_encode_call(method, params=params))
        replies: list[Mapping[str, Any]] = []
        while len(replies) < len(each):  # the host answers as many as fit into a frame
            batch = each[len(replies) : len(replies) + frames.BATCH_CALLS]
            replies += map(frames.decode_from_parent, self._send_call(self._encode_batch(method, params, batch)))
        return replies

    def _encode_batch(self, method: str, params: Mapping[str, Any], batch: Sequence[Mapping[str, Any]]) -> bytes:
        """Encode as many of the calls as fit into a frame."""
        body = _encode_call(method, params=params, each=batch)
        if len(body) <= self._request_bytes or len(batch) == 1:
            return body
        return self._encode_batch(method, params, batch[: len(batch) // 2])

    def _send_call(self, body: bytes) -> Any:
        if len(body) > self._request_bytes:
            raise client_sdk.SDKError(
                "RequestTooLarge",
                f"the call is {len(body):,} bytes long; the limit is {self._request_bytes:,}",
                "pass fewer ids, or a shorter text",
            )
        self._channel.send_body(body)
        return self._channel.receive()


_PARAMETER_DEPTH = 16


def _encode_call(method: str, **given: Any) -> bytes:
    try:
        data = {name: results.copy_as_data(value, _PARAMETER_DEPTH, "parameters") for name, value in given.items()}
    except results.NotData as error:  # the parent would take such a frame for an attack
        raise client_sdk.SDKError("INVALID_REQUEST", error.message, _PASS) from None
    return frames.dump({"call": method, **data})


_PASS = "pass strings, numbers, booleans and None, and lists and dicts of them"
