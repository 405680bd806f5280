"""Coroutines that nobody awaited, so that what they were to do was never done.

CPython prints a warning and goes on without the answer; for a script that is an error like any other. Two eyes
see them: the interpreter tells of each that it throws away unstarted, and those that are still held when the
script ends are found among all objects. Tasks that never had a turn are reported by their loop.
"""

from __future__ import annotations

import gc
import sys
import types
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

_DEPTH = 4  # frames to look back through for the script's own; a façade may stand in between
# Of our own library: nothing is lost when one of these is not awaited.
_HARMLESS = frozenset({"sleep", "_await_value"})


@dataclass(frozen=True, slots=True)
class UnawaitedCall:
    """A call of an async function that did not do its work. ``line`` is where it was called."""

    function: str
    line: int | None
    kind: Literal["call", "task", "cut short"] = "call"


class _Watch:
    """What was seen since the script began."""

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
    vars(warnings)["_warn_unawaited_coroutine"] = _thrown_away  # the interpreter looks it up under this name


def end() -> None:
    """Watch no more."""
    _watch.on = False
    sys.set_coroutine_origin_tracking_depth(0)


def _thrown_away(coroutine: Any) -> None:
    _watch.seen.extend(_told(coroutine))


def left_by_loop(coroutine: Any, *, started: bool) -> None:
    """A loop ended before this task of it did."""
    if started:
        _watch.unfinished.extend(_told(coroutine, "cut short"))
    else:
        _watch.seen.extend(_told(coroutine, "task"))


def failed_unseen(error: BaseException) -> None:
    """A task raised, and nobody ever asked it for its result."""
    _watch.failed.append(error)


def unseen_failures() -> list[BaseException]:
    """What tasks raised that nobody asked for their results."""
    return list(_watch.failed)


def forgotten(*, nothing_to_show: bool = False) -> list[UnawaitedCall]:
    """Every call that was never awaited; where the script has nothing to show, tasks cut short as well."""
    if not _watch.on:
        return []
    held = [thing for thing in gc.get_objects() if type(thing) is types.CoroutineType]
    unstarted = [told for thing in held if _is_unstarted(thing) for told in _told(thing)]
    return [*_watch.seen, *unstarted, *(_watch.unfinished if nothing_to_show else ())]


def _is_unstarted(coroutine: Any) -> bool:
    return coroutine.cr_frame is not None and not coroutine.cr_running and not coroutine.cr_suspended


def _told(coroutine: Any, kind: Literal["call", "task", "cut short"] = "call") -> Iterator[UnawaitedCall]:
    code = coroutine.cr_code
    if code.co_filename in _watch.files and code.co_name not in _HARMLESS:
        yield UnawaitedCall(code.co_qualname.rpartition("<locals>.")[2], _line(coroutine), kind)


def _line(coroutine: Any) -> int | None:
    origin = coroutine.cr_origin or ()
    return next((line for file, line, _ in origin if file == _watch.script), None)
