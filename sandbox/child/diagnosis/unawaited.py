"""Detection of coroutines that were never awaited, so that their work was never done.

CPython prints a warning and continues without the result; for a script this is an error. There are two sources:
the interpreter reports each coroutine that it discards unstarted, and those that still exist when the script ends
are found among all objects. Tasks that never ran are reported by their loop.
"""

from __future__ import annotations

import gc
import sys
import types
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

_DEPTH = 4  # frames to search for one of the script; a frame of a façade may come first
# Coroutines of our own library that do no work when they are not awaited.
_HARMLESS = frozenset({"sleep", "_await_value"})


@dataclass(frozen=True, slots=True)
class UnawaitedCall:
    """A call of an async function that did not do its work. ``line`` is where it was called."""

    function: str
    line: int | None
    kind: Literal["call", "task", "cut short"] = "call"


class _Watch:
    """The coroutines and failures recorded since the script began."""

    def __init__(self) -> None:
        self.on = False
        self.script = ""
        self.files: frozenset[str] = frozenset()
        self.seen: list[UnawaitedCall] = []
        self.unfinished: list[UnawaitedCall] = []
        self.failed: list[BaseException] = []


_watch = _Watch()


def begin(script: str, library: Iterable[str]) -> None:
    """Watch from now on the coroutines of the script's file and of the library's files (our ``asyncio``)."""
    _watch.on = True
    _watch.script = script
    _watch.files = frozenset((script, *library))
    _watch.seen.clear()
    _watch.unfinished.clear()
    _watch.failed.clear()
    sys.set_coroutine_origin_tracking_depth(_DEPTH)
    vars(warnings)["_warn_unawaited_coroutine"] = _record_discarded  # the interpreter looks it up under this name


def end() -> None:
    """Stop watching."""
    _watch.on = False
    sys.set_coroutine_origin_tracking_depth(0)


def _record_discarded(coroutine: Any) -> None:
    _watch.seen.extend(_calls_of(coroutine))


def record_unfinished_task(coroutine: Any, *, started: bool) -> None:
    """Record a task that was not done when its loop ended."""
    if started:
        _watch.unfinished.extend(_calls_of(coroutine, "cut short"))
    else:
        _watch.seen.extend(_calls_of(coroutine, "task"))


def record_unseen_failure(error: BaseException) -> None:
    """Record the exception of a task whose result was never retrieved."""
    _watch.failed.append(error)


def unseen_failures() -> list[BaseException]:
    """The exceptions of tasks whose results were never retrieved."""
    return list(_watch.failed)


def never_awaited_calls(*, nothing_to_show: bool = False) -> list[UnawaitedCall]:
    """Every call that was never awaited; if the script has no result or output, unfinished tasks as well."""
    if not _watch.on:
        return []
    coroutines = [thing for thing in gc.get_objects() if type(thing) is types.CoroutineType]
    unstarted = [call for thing in coroutines if _is_unstarted(thing) for call in _calls_of(thing)]
    return [*_watch.seen, *unstarted, *(_watch.unfinished if nothing_to_show else ())]


def _is_unstarted(coroutine: Any) -> bool:
    return coroutine.cr_frame is not None and not coroutine.cr_running and not coroutine.cr_suspended


def _calls_of(coroutine: Any, kind: Literal["call", "task", "cut short"] = "call") -> Iterator[UnawaitedCall]:
    code = coroutine.cr_code
    if code.co_filename in _watch.files and code.co_name not in _HARMLESS:
        yield UnawaitedCall(code.co_qualname.rpartition("<locals>.")[2], _line(coroutine), kind)


def _line(coroutine: Any) -> int | None:
    origin = coroutine.cr_origin or ()
    return next((line for file, line, _ in origin if file == _watch.script), None)
