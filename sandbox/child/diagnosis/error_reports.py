"""Error reports for the author of a script: where it failed, in its own lines, and what to write instead.

This is trusted code that reads exceptions of a hostile script: what it calls on them may be the script's code, so
every such call is guarded.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import sys
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from winnow import client_sdk
from winnow.client_sdk import SDKError
from winnow.sandbox.child.console import OutputLimitReached
from winnow.sandbox.child.guards import trust
from winnow.sandbox.child.language import refusals
from winnow.sandbox.child.language.refusals import Rejected
from winnow.sandbox.child.language.script_source import FILE_NAME
from winnow.sandbox.child.modules import asyncio_loop
from winnow.sandbox.child.results import NotData
from winnow.sandbox.protocol import sandbox_outcomes
from winnow.sandbox.protocol.limits import Limits
from winnow.sandbox.protocol.outcome import Outcome

from . import hints, unawaited
from .tracebacks import has_call, script_frames, source_line
from .unawaited import UnawaitedCall

_MOST_CHARS = 2_000
_MOST_KEYS = 200


def _build_report(
    status: str,
    type: str,
    message: str,
    line: int | None = None,
    column: int | None = None,
    hint: str | None = None,
) -> dict[str, Any]:
    error = {
        "type": str.__str__(type)[:200],
        "message": str.__str__(message)[:_MOST_CHARS],
        "line": line,
        "column": column,
        "source_line": source_line(line),
        "hint": None if hint is None else hint[:_MOST_CHARS],
    }
    return {"status": status, "error": {key: value for key, value in error.items() if value is not None}}


def report_rejection(error: Rejected) -> dict[str, Any]:
    """The report of a script that the policy refused."""
    return _build_report("rejected", error.type, error.message, error.line, error.column, error.hint)


def report_not_data(error: NotData) -> dict[str, Any]:
    """The report of a result that is not plain data."""
    return _build_report("error", "ResultNotData", error.message, hint=error.hint)


def _report_of_verdict(verdict: Outcome) -> dict[str, Any]:
    error = verdict.error
    assert error is not None
    report = _build_report(verdict.status, error.type, error.message, hint=error.hint)
    report["error"] |= sandbox_outcomes.sizes_of(error)
    return report


_WHAT_HAPPENED: Mapping[str, str] = types.MappingProxyType(
    {
        "call": "{} was never awaited, so it did nothing",
        "task": "the task of {} was never awaited: the script ended before its first turn",
        "cut short": "the task of {} was never awaited: the script ended before it did, with nothing to show",
    }
)
_NO_LINE = 1 << 20


def report_never_awaited(calls: Sequence[UnawaitedCall]) -> dict[str, Any]:
    """The report of calls of async functions that were never awaited."""
    first = min(calls, key=lambda call: call.line or _NO_LINE)
    called = f"{first.function}()" + (f" in line {first.line}" if first.line else "")
    more = f" (and {len(calls) - 1} more like it)" if len(calls) > 1 else ""
    message = _WHAT_HAPPENED[first.kind].format(called) + more
    return _build_report(
        "error", "NeverAwaited", message, first.line, _column_of_call(first), _await_hint(first, len(calls))
    )


def _await_hint(call: UnawaitedCall, several: int) -> str:
    if call.kind != "call":
        return f"keep it and await it: task = asyncio.create_task({call.function}(...)), later: await task"
    if several > 1:
        return f"write: results = await asyncio.gather(*[{call.function}(...) for ...])"
    return f"write: await {call.function}(...)"


def _column_of_call(call: UnawaitedCall) -> int | None:
    name = call.function.rpartition(".")[2]
    found = re.search(rf"\b{re.escape(name)}\s*\(", source_line(call.line) or "")
    return found.start() + 1 if found else None


def report_output_limit(bound: int) -> dict[str, Any]:
    """The report of a script that printed too much."""
    return _report_of_verdict(sandbox_outcomes.output(Limits(stdout_total_bytes=bound)))


def report_time_limit(error: BaseException) -> dict[str, Any]:
    """The report of a script whose time was nearly up; the parent, which keeps the time, words the message."""
    line, column = _find_place(error)
    return _build_report("limit", "Timeout", "time is up", line, column)


def report_memory_limit(bound: int) -> dict[str, Any]:
    """The report of a script that ran out of memory."""
    return _report_of_verdict(sandbox_outcomes.memory(Limits(memory_bytes=bound)))


def report_large_result(value: Any, size: int, bound: int) -> dict[str, Any]:
    """The report of a result that is too large: results are never cut."""
    return _report_of_verdict(sandbox_outcomes.result_too_large(value, size, bound, "bytes"))


def report_exception(error: BaseException) -> dict[str, Any]:
    """The report of an exception. Its class may be the script's, and its attributes may run the script's code."""
    try:
        return _describe_exception(error)
    except (OutputLimitReached, MemoryError):
        raise
    except BaseException:
        return _build_report("error", _type_name(error), "the exception cannot be described")


def _describe_exception(error: BaseException) -> dict[str, Any]:
    line, column = _find_place(error)
    if isinstance(error, refusals.Refused):
        return _build_report("rejected", "CodeRejected", _message(error), line, column, _text_or_none(error.hint))
    if isinstance(error, SDKError) and error.limit is True:
        return _build_report("limit", str(error.type), str(error.message), line, column, _text_or_none(error.hint))
    if isinstance(error, asyncio_loop.NotRunning):
        return _build_report("error", "NeverAwaited", _NO_LOOP, line, column, _AWAIT_HERE)
    return _build_report("error", _type_name(error), _message(error), line, column, _find_hint(error))


_NO_LOOP = "this needs await: nothing runs what is called without it"
_AWAIT_HERE = "await works at the top of a script: results = await asyncio.gather(...), or await task"


def _text_or_none(value: Any) -> str | None:
    return str.__str__(value) if isinstance(value, str) else None


def _line_or_none(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < _NO_LINE else None


def _type_name(error: BaseException) -> str:
    return str(type.__getattribute__(type(error), "__name__"))


def _message(error: BaseException) -> str:
    # str() of a script's exception runs the script's code: it may raise anything, or return no string.
    text = _type_name(error)
    with contextlib.suppress(Exception):
        text = str.__str__(str(error))
    if type(error) is KeyError:
        text = f"no key {text}"
    return text


def _find_place(error: BaseException) -> tuple[int | None, int | None]:
    """Line and column in the innermost frame of the script."""
    if isinstance(error, SyntaxError) and error.filename == FILE_NAME:
        return _line_or_none(error.lineno), _line_or_none(error.offset)
    frames = list(script_frames(error))
    if not frames:
        return None, None
    frame, last, line = frames[-1]
    column = None
    for index, position in enumerate(frame.f_code.co_positions()):
        if index == last // 2 and position[2] is not None and position[0] == line:
            source = source_line(line) or ""
            column = len(source.encode()[: position[2]].decode(errors="ignore")) + 1
            break
    return line, column


def _find_hint(error: BaseException) -> str | None:
    with contextlib.suppress(Exception):
        if isinstance(error, SDKError):
            return _text_or_none(error.hint)
        if isinstance(error, NameError):
            return _name_hint(error)
        if isinstance(error, (AttributeError, TypeError)) and "'coroutine'" in str(error):
            return _coroutine_hint()
        if isinstance(error, (AttributeError, TypeError)) and (found := _USED_UNAWAITED.search(str(error))):
            return f"{_AWAITABLES[found[1]]} was called without await"
        if isinstance(error, AttributeError):
            return _attribute_hint(error)
        if isinstance(error, ImportError):
            return _text_or_none(getattr(error, "hint", None))
        if type(error) is KeyError:
            return _key_hint(error)
        if isinstance(error, TypeError):
            return _hidden_hint(error) or _type_hint(str(error))
        if isinstance(error, RecursionError):
            return f"calls may be {sys.getrecursionlimit():,} deep: use a loop, with a list as its stack"
    return None


def _name_hint(error: NameError) -> str | None:
    if (unset := _UNSET_LOCAL.search(str(error))) and unset[1] in _OF_KB:
        return _HIDDEN.format(name=unset[1])
    name = error.name
    if not isinstance(name, str):
        return None
    builtin_names = trust.script_globals.get("__builtins__", {})
    return hints.suggest_name(name, [*trust.script_globals, *builtin_names, *_local_names(error)])


def _local_names(error: BaseException) -> Iterable[str]:
    frames = list(script_frames(error))
    return [] if not frames else [*frames[-1][0].f_code.co_varnames, *frames[-1][0].f_code.co_freevars]


def _attribute_hint(error: AttributeError) -> str | None:
    name, obj = error.name, error.obj
    if not isinstance(name, str) or isinstance(error, client_sdk.MissingField):
        return None
    if obj is None:
        return _none_hint()
    if (function := next((each for each, value in hints.SDK.items() if value is obj), None)) is not None:
        return f"{function} is a function of the SDK here: no variable of this name is set"
    if isinstance(obj, dict):
        return f"a dict has items: [{name!r}] or .get({name!r})"
    return hints.suggest_public(name, (word for word in dir(obj) if not word.startswith("_")))


def _key_hint(error: KeyError) -> str | None:
    key = error.args[0] if error.args else None
    if type(key) is not str:
        return None
    known = [name for mapping in _nearby_dicts(error) for name in itertools.islice(mapping, _MOST_KEYS)]
    guess = hints.suggest_public(key, sorted({name for name in known if type(name) is str}), 0.75)
    return guess or f".get({key!r}) gives None where there is no such key"


def _nearby_dicts(error: BaseException) -> Iterable[dict[Any, Any]]:
    """The dicts, and the first items of lists of dicts, among the variables visible at the failing line."""
    frames = list(script_frames(error))
    local = frames[-1][0].f_locals.values() if frames else ()
    values = itertools.islice(itertools.chain(local, trust.script_globals.values()), _MOST_KEYS)
    firsts = (value[0] if type(value) is list and value else value for value in values)
    return [value for value in firsts if type(value) is dict]


_OF_KB = frozenset(client_sdk.client.list_methods(client_sdk.KnowledgeBase))
_HIDDEN = "{name} is a variable of this script here: kb.{name}(...) is the function"
_UNSET_LOCAL = re.compile(r"local variable '([a-z_]++)'")
_CALLED = re.compile(r"(?<![\w.])([a-z_]++)\(")


def _hidden_hint(error: TypeError) -> str | None:
    """The hint for a function of the SDK that a variable of the script hides."""
    if "is not callable" not in str(error):
        return None
    line, _ = _find_place(error)
    called = _CALLED.findall(source_line(line) or "") if line else []
    hidden = next((name for name in called if name in _OF_KB and not _is_callable(error, name)), None)
    return _HIDDEN.format(name=hidden) if hidden else None


def _is_callable(error: BaseException, name: str) -> bool:
    """Whether the value of a name at the failing line can be called."""
    frames = list(script_frames(error))
    local = frames[-1][0].f_locals if frames else {}
    return callable(local.get(name, trust.script_globals.get(name)))


_UNEXPECTED_KEYWORD = re.compile(r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'")


def _type_hint(message: str) -> str | None:
    found = _UNEXPECTED_KEYWORD.search(message)
    if found:
        return _keyword_hint(found[1], found[2])
    return _none_hint() if "'NoneType'" in message else None


def _none_hint() -> str:
    unsaved = "; load(name) is None for a name that was not saved, saved() lists them" if has_call("load") else ""
    return f"the value is None: test it with 'is not None' before{unsaved}"


# Class name of an awaitable in an error message -> the call that returned it.
_AWAITABLES = {"_GatheringFuture": "asyncio.gather()", "Task": "asyncio.create_task()", "Future": "a future"}
_USED_UNAWAITED = re.compile(f"'({'|'.join(_AWAITABLES)})' object")


def _coroutine_hint() -> str:
    names = sorted({call.function for call in unawaited.never_awaited_calls()})
    called = " and ".join(f"{name}()" for name in names) or "an async function"
    return f"{called} was called without await"


def _keyword_hint(function: str, given: str) -> str | None:
    signature = hints.SIGNATURES.get(function)
    known = tuple(signature.parameters) if signature is not None else _script_parameters(function)
    return hints.suggest_keyword(given, known) if known else None


def _parameter_names(code: types.CodeType) -> tuple[str, ...]:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _script_parameters(name: str) -> tuple[str, ...]:
    found = trust.script_globals.get(name)
    return _parameter_names(found.__code__) if isinstance(found, types.FunctionType) else ()
