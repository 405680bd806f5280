"""Runs one script inside the locked child, and says in one frame how it ended."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import client_sdk.transport
from client_sdk.awaitable import Nothing
from sandbox.diagnosis import error_reports, help_text, precheck, tracebacks, unawaited
from sandbox.language import compiler, methods, policy, refusals, script_builtins, script_source, trust
from sandbox.modules import asyncio_loop, asyncio_module, copy_module, facades, skills
from sandbox.modules.output import OutputStreams, Stream, target_of
from sandbox.protocol import frames

from . import results
from .console import Console, OutputLimitReached

if TYPE_CHECKING:
    from .process import ChildChannel

Job = Mapping[str, Any]

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


class _Silence:
    """A channel to nowhere, for warming up."""

    def send(self, frame: dict[str, Any]) -> None:
        """Encode it, and let it go."""
        frames.dump(frame)


def warm_up() -> None:
    """In the fork server: make the façades, run a script of many parts once, and draw the line of trust."""
    facades.build()
    trust.trust_existing_classes()
    methods.bind_methods()
    trust.freeze_trusted_classes()
    copy_module.install()
    job = {"code": _WARM_SCRIPT, "result_bytes": 1024, "whole_bytes": 1024, "nesting": 8}
    _ending(job, Console(_Silence(), 1024), _fenced)
    _forget()


def rehearse() -> None:
    """In a child that waits for its script: touch what every script touches, so that the pages are its own."""
    job = {"code": "1", "result_bytes": 1024, "whole_bytes": 1024, "nesting": 8}
    _ending(job, Console(_Silence(), 1024), _fenced)
    _forget()


def _forget() -> None:
    """No trace of the script that warmed us up."""
    trust.script_globals.clear()
    tracebacks.remember_source("")
    unawaited.end()


def run(job: Job, channel: ChildChannel, *, fence: bool) -> bytes:
    """The last frame of one script. Whatever the script does ends here."""
    console = Console(channel, job["stdout_bytes"])
    client_sdk.transport.connect(_Transport(channel, job["request_bytes"]))
    try:
        ending = _ending(job, console, _fenced if fence else _raw)
        console.flush()
        return ending
    except OutputLimitReached:
        return frames.dump(error_reports.report_output_limit(job["stdout_bytes"]))
    except MemoryError:
        pass  # not a word here: as long as the error is handled, its traceback holds on to what filled the memory
    trust.script_globals.clear()
    return frames.dump(error_reports.report_memory_limit(job["memory_bytes"]))


def _ending(job: Job, console: Console, execute: Callable[[Job, Console], Any]) -> bytes:
    tracebacks.remember_source(job["code"])
    try:
        return _success(job, console, execute)
    except (OutputLimitReached, MemoryError):
        raise
    except refusals.Rejected as error:
        return frames.dump(error_reports.report_rejection(error))
    except results.NotData as error:
        return frames.dump(error_reports.report_not_data(error))
    except BaseException as error:
        return frames.dump(error_reports.report_exception(error))


def _success(job: Job, console: Console, execute: Callable[[Job, Console], Any]) -> bytes:
    try:
        value = execute(job, console)
    except SystemExit as error:
        if error.code:
            raise
        return _result(job, _chosen(script_builtins.ENDED), implicit=True, console=console)
    result = _chosen(value)
    calls = unawaited.never_awaited_calls(nothing_to_show=result is None and not console.used)
    if calls:
        return frames.dump(error_reports.report_never_awaited(calls))
    return _result(job, result, implicit=isinstance(value, script_builtins.Last), console=console)


def _chosen(returned: Any) -> Any:
    """A script's result: what it returned, `__result__`, `result`, or the value of its last expression."""
    last = None
    if isinstance(returned, script_builtins.Last):
        last = None if type(returned.value) is Nothing else returned.value
    elif returned is not script_builtins.ENDED and returned is not None:
        return returned
    named = (trust.script_globals.get(name) for name in ("__result__", "result"))
    return next((value for value in named if value is not None), last)


def _result(job: Job, value: Any, *, implicit: bool, console: Console) -> bytes:
    if value is None:
        return frames.dump({"done": True})
    try:
        data = results.plain(value, job["nesting"])
    except results.NotData:
        # The last expression was not meant as a result when the script printed one.
        if implicit and console.used:
            return frames.dump({"done": True})
        raise
    body = frames.dump({"result": data})
    size = len(body) - len(b'{"result":}')
    if size > job["whole_bytes"]:
        return frames.dump(error_reports.report_large_result(data, size, job["result_bytes"]))
    return body


# --- executing -------------------------------------------------------------------------------------------------


def _fenced(job: Job, console: Console) -> Any:
    """Within the language's fence. The code compiled by the policy is the code that runs."""
    source, told = job["code"], job.get("skills")
    names, stage = trust.script_globals, OutputStreams(console)
    builtin_names = script_builtins.get_builtins(print=_printer(stage.out), help=_helper(stage.out))
    shelf = None if told is None else skills.ImportedSkills(told, builtin_names)
    builtin_names["__import__"] = facades.Importer(stage, shelf)
    compiled = compiler.compile_script(source, precheck.check, skills=None if shelf is None else shelf.names)
    names.update(facades.script_sdk(), __name__="__main__", __builtins__=builtin_names)
    if "async" in source:  # a script without it has no coroutines
        unawaited.begin(script_source.FILE_NAME, asyncio_module.FILES)
    exec(compiled.code, names)
    entry = names.pop(policy.ENTRY)
    value = asyncio_loop.run(entry()) if compiled.is_async else entry()
    for error in unawaited.unseen_failures():
        console.write(f"Task exception was never retrieved\n{tracebacks.format_traceback(error)}")
    return value


def _raw(job: Job, console: Console) -> Any:
    """Without the fence: plain Python, for the tests of the walls."""
    sys.stdout = sys.stderr = console
    names = trust.script_globals
    names["__name__"] = "__main__"
    exec(compile(job["code"], script_source.FILE_NAME, "exec", dont_inherit=True), names)
    return script_builtins.ENDED


def _printer(out: Stream) -> Callable[..., None]:
    def print(
        *values: object, sep: str | None = " ", end: str | None = "\n", file: Any = None, flush: Any = False
    ) -> None:
        builtins.print(*values, sep=sep, end=end, file=target_of(out) if file is None else file)

    print.__qualname__ = "print"
    return print


def _helper(out: Stream) -> Callable[..., None]:
    def help(thing: Any = None) -> None:
        """Print what a function or class says of itself."""
        out.write(f"{help_text.help_on(thing)}\n")

    return help


class _Transport:
    """SDK calls as frames."""

    def __init__(self, channel: ChildChannel, request_bytes: int) -> None:
        self._channel = channel
        self._request_bytes = request_bytes

    def __call__(self, method: str, params: Mapping[str, Any], each: Sequence[Mapping[str, Any]] = ()) -> Any:
        """One call and its reply, or the same call once for each and a list of replies."""
        if not each:
            return self._ask(_encoded(method, params=params))
        replies: list[Mapping[str, Any]] = []
        while len(replies) < len(each):  # the host answers as many at a time as fill a frame
            batch = each[len(replies) : len(replies) + frames.BATCH_CALLS]
            replies += map(frames.decode_from_parent, self._ask(self._batch(method, params, batch)))
        return replies

    def _batch(self, method: str, params: Mapping[str, Any], batch: Sequence[Mapping[str, Any]]) -> bytes:
        """As many of them as fit into a frame."""
        body = _encoded(method, params=params, each=batch)
        if len(body) <= self._request_bytes or len(batch) == 1:
            return body
        return self._batch(method, params, batch[: len(batch) // 2])

    def _ask(self, body: bytes) -> Any:
        if len(body) > self._request_bytes:
            raise client_sdk.SDKError(
                "RequestTooLarge",
                f"the call is {len(body):,} bytes long; the limit is {self._request_bytes:,}",
                "pass fewer ids at a time",
            )
        self._channel.send_body(body)
        return self._channel.receive()


_PARAMETER_DEPTH = 16


def _encoded(method: str, **given: Any) -> bytes:
    try:
        data = {name: results.plain(value, _PARAMETER_DEPTH, "parameters") for name, value in given.items()}
    except results.NotData as error:  # the parent would take it for a forged frame
        raise client_sdk.SDKError("INVALID_REQUEST", error.message, _PASS) from None
    return frames.dump({"call": method, **data})


_PASS = "pass strings, numbers, booleans and None, and lists and dicts of them"
