"""What went wrong, for the one who wrote the script: where, in its own lines, and what to write instead.

This is trusted code that looks at hostile exceptions: nothing of theirs is called without a net.
"""

from __future__ import annotations

import contextlib
import itertools
import re
import sys
import types
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import client_sdk
from client_sdk import SDKError
from sandbox.child.console import OutputLimitReached
from sandbox.child.results import NotData
from sandbox.language import refusals, trust
from sandbox.language.allow_list import WITHHELD_MEMBERS, WITHHELD_MODULES
from sandbox.language.refusals import Rejected
from sandbox.language.script_source import FILE_NAME, split_lines
from sandbox.modules import asyncio_loop
from sandbox.protocol import verdicts
from sandbox.protocol.limits import Limits
from sandbox.protocol.outcome import Outcome

from . import hints, unawaited
from .unawaited import UnawaitedCall

_MOST_CHARS = 2_000
_MOST_FRAMES = 12
_MOST_LINKS = 8
_MOST_KEYS = 200

_source: list[str] = []


def remember(source: str) -> None:
    """The script's lines, to quote from."""
    _source[:] = split_lines(source)


def _line(number: int | None) -> str | None:
    return _source[number - 1][:500] if number is not None and 0 < number <= len(_source) else None


def _ending(
    status: str,
    type: str,
    message: str,
    line: int | None = None,
    column: int | None = None,
    hint: str | None = None,
) -> dict[str, Any]:
    told = {
        "type": str.__str__(type)[:200],
        "message": str.__str__(message)[:_MOST_CHARS],
        "line": line,
        "column": column,
        "source_line": _line(line),
        "hint": None if hint is None else hint[:_MOST_CHARS],
    }
    return {"status": status, "error": {key: value for key, value in told.items() if value is not None}}


# --- endings that are not an exception of the script's ---------------------------------------------------------


def rejected(error: Rejected) -> dict[str, Any]:
    """The policy does not let it in."""
    return _ending("rejected", error.type, error.message, error.line, error.column, error.hint)


def not_data(error: NotData) -> dict[str, Any]:
    """The result cannot leave as it is."""
    return _ending("error", "ResultNotData", error.message, hint=error.hint)


def _of_verdict(verdict: Outcome) -> dict[str, Any]:
    error = verdict.error
    assert error is not None
    return _ending(verdict.status, error.type, error.message, hint=error.hint)


_WHAT_HAPPENED: Mapping[str, str] = types.MappingProxyType(
    {
        "call": "{} was never awaited, so it did nothing",
        "task": "the task of {} was never awaited: the script ended before its first turn",
        "cut short": "the task of {} was never awaited: the script ended before it did, with nothing to show",
    }
)
_NO_LINE = 1 << 20


def never_awaited(calls: Sequence[UnawaitedCall]) -> dict[str, Any]:
    """Async functions were called, and what they return was dropped."""
    first = min(calls, key=lambda call: call.line or _NO_LINE)
    called = f"{first.function}()" + (f" in line {first.line}" if first.line else "")
    more = f" (and {len(calls) - 1} more like it)" if len(calls) > 1 else ""
    message = _WHAT_HAPPENED[first.kind].format(called) + more
    return _ending("error", "NeverAwaited", message, first.line, _column_of_call(first), _await(first, len(calls)))


def _await(call: UnawaitedCall, several: int) -> str:
    if call.kind != "call":
        return f"keep it and await it: task = asyncio.create_task({call.function}(...)), later: await task"
    if several > 1:
        return f"write: results = await asyncio.gather(*[{call.function}(...) for ...])"
    return f"write: await {call.function}(...)"


def _column_of_call(call: UnawaitedCall) -> int | None:
    name = call.function.rpartition(".")[2]
    found = re.search(rf"\b{re.escape(name)}\s*\(", _line(call.line) or "")
    return found.start() + 1 if found else None


def output_limit(bound: int) -> dict[str, Any]:
    """It printed too much."""
    return _of_verdict(verdicts.output(Limits(stdout_total_bytes=bound)))


def memory_limit(bound: int) -> dict[str, Any]:
    """It ran out of memory."""
    return _of_verdict(verdicts.memory(Limits(memory_bytes=bound)))


def result_too_large(value: Any, size: int, bound: int) -> dict[str, Any]:
    """The result is whole or not at all."""
    return _of_verdict(verdicts.result_too_large(value, size, bound, "bytes"))


# --- exceptions ------------------------------------------------------------------------------------------------


def raised(error: BaseException) -> dict[str, Any]:
    """The script ended with this exception. Its class may be the script's, and so what its attributes do."""
    try:
        return _described(error)
    except (OutputLimitReached, MemoryError):
        raise
    except BaseException:
        return _ending("error", _type_name(error), "the exception cannot be described")


def _described(error: BaseException) -> dict[str, Any]:
    line, column = _place(error)
    if isinstance(error, refusals.Refused):
        return _ending("rejected", "CodeRejected", _message(error), line, column, _optional(error.hint))
    if isinstance(error, SDKError) and error.limit is True:
        return _ending("limit", str(error.type), str(error.message), line, column, _optional(error.hint))
    if isinstance(error, asyncio_loop.NotRunning):
        return _ending("error", "NeverAwaited", _NO_LOOP, line, column, _AWAIT_HERE)
    return _ending("error", _type_name(error), _message(error), line, column, _hint(error))


_NO_LOOP = "this needs await: nothing runs what is called without it"
_AWAIT_HERE = "await works at the top of a script: results = await asyncio.gather(...), or await task"


def _optional(value: Any) -> str | None:
    return str.__str__(value) if isinstance(value, str) else None


def _number(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < _NO_LINE else None


def _type_name(error: BaseException) -> str:
    return str(type.__getattribute__(type(error), "__name__"))


def _message(error: BaseException) -> str:
    # str() of a script's exception is the script's code: it may raise anything, or give no text.
    text = _type_name(error)
    with contextlib.suppress(Exception):
        text = str.__str__(str(error))
    if type(error) is KeyError:
        text = f"no key {text}"
    return text


def _frames(error: BaseException) -> Iterable[tuple[types.FrameType, int, int]]:
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE_NAME:
            yield trace.tb_frame, trace.tb_lasti, trace.tb_lineno
        trace = trace.tb_next


def _place(error: BaseException) -> tuple[int | None, int | None]:
    """Line and column of the innermost frame that is the script's."""
    if isinstance(error, SyntaxError) and error.filename == FILE_NAME:
        return _number(error.lineno), _number(error.offset)
    frames = list(_frames(error))
    if not frames:
        return None, None
    frame, last, line = frames[-1]
    column = None
    for index, position in enumerate(frame.f_code.co_positions()):
        if index == last // 2 and position[2] is not None and position[0] == line:
            source = _line(line) or ""
            column = len(source.encode()[: position[2]].decode(errors="ignore")) + 1
            break
    return line, column


def last_line(error: Any) -> str:
    """``Type: message``, as at the end of a traceback."""
    if not isinstance(error, BaseException):
        return f"{type(error).__name__}\n"
    name = _full_name(type(error))
    with contextlib.suppress(Exception):
        text = str.__str__(str(error))
        return f"{name}: {text}\n" if text else f"{name}\n"
    return f"{name}\n"


def _full_name(cls: type) -> str:
    """``decimal.InvalidOperation``; the script's own and ours go without a module."""
    module, name = (type.__getattribute__(cls, key) for key in ("__module__", "__qualname__"))
    if (
        type(module) is not str
        or module in ("builtins", "__main__")
        or module.startswith(("sandbox.", "client_sdk"))
    ):
        return str(name)
    return f"{module}.{name}"


def traceback_text(error: Any) -> str:
    """The traceback with the script's own frames, and those of the errors it came from."""
    if not isinstance(error, BaseException):
        return "NoneType: None\n"
    text = ""
    for link, joint in reversed(_chain(error)):
        text += _one_traceback(link) + joint
    return text


def _one_traceback(error: BaseException) -> str:
    lines = ["Traceback (most recent call last):\n"]
    for frame, _, number in list(_frames(error))[-_MOST_FRAMES:]:
        lines.append(f'  File "{FILE_NAME}", line {number}, in {frame.f_code.co_name}\n')
        lines.append(f"    {(_line(number) or '').strip()}\n")
    return "".join([*lines, last_line(error), *notes(error)])


def notes(error: Any) -> list[str]:
    """What was added to it with add_note."""
    with contextlib.suppress(Exception):
        return [f"{note}\n" for note in list(getattr(error, "__notes__", ())) if type(note) is str]
    return []


# Read past whatever the script's class says.
_cause = BaseException.__dict__["__cause__"].__get__
_context = BaseException.__dict__["__context__"].__get__
_is_cut = BaseException.__dict__["__suppress_context__"].__get__
_CAUSED = "\nThe above exception was the direct cause of the following exception:\n\n"
_MEANWHILE = "\nDuring handling of the above exception, another exception occurred:\n\n"


def _chain(error: BaseException) -> list[tuple[BaseException, str]]:
    """The error, what it came from, what that came from; each with the words between it and the one before."""
    found: list[tuple[BaseException, str]] = []
    joint = ""
    current: Any = error
    while current is not None and len(found) < _MOST_LINKS and all(current is not link for link, _ in found):
        found.append((current, joint))
        cause = _cause(current)
        joint = _MEANWHILE if cause is None else _CAUSED
        # Nothing here asks an error for its truth: that would be the script's code.
        current = _context(current) if cause is None and not _is_cut(current) else cause
    return found


# --- hints -----------------------------------------------------------------------------------------------------


def _hint(error: BaseException) -> str | None:
    with contextlib.suppress(Exception):
        if isinstance(error, SDKError):
            return _optional(error.hint)
        if isinstance(error, NameError):
            return _name_hint(error)
        if isinstance(error, (AttributeError, TypeError)) and "'coroutine'" in str(error):
            return _coroutine_hint()
        if isinstance(error, (AttributeError, TypeError)) and (found := _PROMISED.search(str(error))):
            return f"{_PROMISES[found[1]]} was called without await"
        if isinstance(error, AttributeError):
            return _attribute_hint(error)
        if isinstance(error, ImportError):
            return _optional(getattr(error, "hint", None))
        if type(error) is KeyError:
            return _key_hint(error)
        if isinstance(error, TypeError):
            return _type_hint(str(error))
        if isinstance(error, RecursionError):
            return f"calls may be {sys.getrecursionlimit():,} deep: use a loop, with a list as its stack"
    return None


def _name_hint(error: NameError) -> str | None:
    name = error.name
    if not isinstance(name, str):
        return None
    builtin_names = trust.script_globals.get("__builtins__", {})
    return hints.for_name(name, [*trust.script_globals, *builtin_names, *_locals_of(error)])


def _locals_of(error: BaseException) -> Iterable[str]:
    frames = list(_frames(error))
    return [] if not frames else [*frames[-1][0].f_code.co_varnames, *frames[-1][0].f_code.co_freevars]


def _attribute_hint(error: AttributeError) -> str | None:
    name, obj = error.name, error.obj
    if not isinstance(name, str) or isinstance(error, client_sdk.MissingField):
        return None
    if obj is None:
        return "the value is None: test it with 'is not None' before"
    if isinstance(obj, dict):
        return f"a dict has items: [{name!r}] or .get({name!r})"
    return hints.close(name, (word for word in dir(obj) if not word.startswith("_")))


def _key_hint(error: KeyError) -> str | None:
    key = error.args[0] if error.args else None
    if type(key) is not str:
        return None
    known = [name for mapping in _dicts_near(error) for name in itertools.islice(mapping, _MOST_KEYS)]
    guess = hints.close(key, sorted({name for name in known if type(name) is str}), 0.75)
    return guess or f".get({key!r}) gives None where there is no such key"


def _dicts_near(error: BaseException) -> Iterable[dict[Any, Any]]:
    """Dicts, and the first of lists of dicts, that the failing line could name."""
    frames = list(_frames(error))
    local = frames[-1][0].f_locals.values() if frames else ()
    values = itertools.islice(itertools.chain(local, trust.script_globals.values()), _MOST_KEYS)
    firsts = (value[0] if type(value) is list and value else value for value in values)
    return [value for value in firsts if type(value) is dict]


_UNEXPECTED = re.compile(r"([\w.]+)\(\) got an unexpected keyword argument '(\w+)'")


def _type_hint(message: str) -> str | None:
    found = _UNEXPECTED.search(message)
    if found:
        return _keyword_hint(found[1], found[2])
    return None


# What stands for a value that is not there yet -> what made it.
_PROMISES = {"_GatheringFuture": "asyncio.gather()", "Task": "asyncio.create_task()", "Future": "a future"}
_PROMISED = re.compile(f"'({'|'.join(_PROMISES)})' object")


def _coroutine_hint() -> str:
    names = sorted({call.function for call in unawaited.forgotten()})
    called = " and ".join(f"{name}()" for name in names) or "an async function"
    return f"{called} was called without await"


def _keyword_hint(function: str, given: str) -> str | None:
    signature = hints.SIGNATURES.get(function)
    known = tuple(signature.parameters) if signature is not None else _script_keywords(function)
    return hints.for_keyword(given, known) if known else None


def _code_keywords(code: types.CodeType) -> tuple[str, ...]:
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def _script_keywords(name: str) -> tuple[str, ...]:
    found = trust.script_globals.get(name)
    return _code_keywords(found.__code__) if isinstance(found, types.FunctionType) else ()


# --- imports ---------------------------------------------------------------------------------------------------


class _HintedImportError(ModuleNotFoundError):
    """An import that fails while the script runs, with a hint."""

    hint: str | None = None


# To the script it is what CPython raises.
_HintedImportError.__name__ = _HintedImportError.__qualname__ = "ModuleNotFoundError"
_HintedImportError.__module__ = "builtins"


def unknown_module(name: str) -> ImportError:
    """The module is not on the menu."""
    error = _HintedImportError(f"No module named {name!r} in a script", name=name)
    error.hint = WITHHELD_MODULES.get(name.partition(".")[0])
    return error


def unknown_member(module: str, name: str, offered: Iterable[str]) -> AttributeError:
    """The module's façade does not have it."""
    known = sorted(offered)
    guess = (
        WITHHELD_MEMBERS.get(f"{module}.{name}") or hints.close(name, known) or f"it offers: {', '.join(known)}"
    )
    return AttributeError(f"the module {module!r} offers no {name!r} to a script; {guess}")


def unknown_import(module: str, name: str, offered: Iterable[str]) -> ImportError:
    """As CPython has it where a name is imported: a script that knows another way catches it."""
    return ImportError(str(unknown_member(module, name, offered)), name=module)
