"""Modules that print or redirect output: sys, contextlib, warnings, traceback, pprint.

A script has one console; its streams in `OutputStreams` write to it, or to the target of a redirection.
"""

from __future__ import annotations

import contextlib
import operator
import platform
import pprint
import re
import sys
import types
from collections.abc import Callable
from typing import Any

from winnow.sandbox.child.console import Console
from winnow.sandbox.child.diagnosis import tracebacks
from winnow.sandbox.child.guards import script_builtins

# Three times CPython's default. Calls through C code take the stack of the child, which is 8 MiB: at twice this
# depth a comparison that sorts overflows it.
DEEPEST = 3_000


class Stream:
    """The script's sys.stdout or sys.stderr."""

    __slots__ = ("_targets",)
    encoding, errors, closed = "utf-8", "strict", False

    def __init__(self, console: Console | None) -> None:
        self._targets: list[Any] = [console]

    def write(self, text: str) -> int:
        """Print text unchanged."""
        return target_of(self).write(text)  # type: ignore[no-any-return]

    def writelines(self, lines: Any) -> None:
        """Print several texts."""
        for line in lines:
            self.write(line)

    def flush(self) -> None:
        """Do nothing: the console decides when text is sent."""

    def isatty(self) -> bool:
        """False: the output is not a terminal."""
        return False

    def writable(self) -> bool:
        """True."""
        return True


def target_of(stream: Stream) -> Any:
    """The current target of a stream. Not an attribute: scripts must not reach the console behind it."""
    return stream._targets[-1]


class OutputStreams:
    """The two streams of one script."""

    def __init__(self, console: Console | None) -> None:
        self.out = Stream(console)
        self.err = Stream(console)


# --- sys -------------------------------------------------------------------------------------------------------


def _set_recursion_limit(limit: int, /) -> None:
    """sys.setrecursionlimit, up to the depth that the stack of a child can hold.

    The number is read once: an object of the script could compare as one number and count as another.
    """
    sys.setrecursionlimit(min(int.__add__(operator.index(limit), 0), DEEPEST))


def sys_module(streams: OutputStreams) -> dict[str, Any]:
    """``sys`` without anything that describes this machine or leads further."""
    return {
        "stdout": streams.out,
        "stderr": streams.err,
        "argv": [""],
        "version": platform.python_version(),
        "exit": script_builtins.exit_script,
        "setrecursionlimit": _set_recursion_limit,
    }


# --- contextlib ------------------------------------------------------------------------------------------------


def contextlib_module(streams: OutputStreams) -> dict[str, Any]:
    """``redirect_stdout`` and ``redirect_stderr``."""

    def redirection(stream: Stream) -> Callable[[Any], Any]:
        @contextlib.contextmanager
        def redirect(target: Any) -> Any:
            stream._targets.append(target)
            try:
                yield target
            finally:
                stream._targets.pop()

        return redirect

    return {"redirect_stdout": redirection(streams.out), "redirect_stderr": redirection(streams.err)}


# --- warnings --------------------------------------------------------------------------------------------------


class _Filters:
    """The filters of warnings: which are printed, raised or recorded."""

    def __init__(self) -> None:
        self.rules: list[tuple[str, re.Pattern[str], type[Warning]]] = []
        self.record: list[Any] | None = None
        self.printed: set[tuple[type, str]] = set()

    def action(self, text: str, kind: type[Warning]) -> str:
        rules = (
            action
            for action, pattern, category in self.rules
            if issubclass(kind, category) and pattern.match(text)
        )
        return next(rules, "default")

    def emit(self, warning: Warning, streams: OutputStreams) -> None:
        """Raise, drop, record or print a warning, as the filters decide."""
        text, kind = str(warning), type(warning)
        action = self.action(text, kind)
        if action == "error":
            raise warning
        if action == "ignore" or (action in ("default", "once", "module") and (kind, text) in self.printed):
            return
        self.printed.add((kind, text))
        if self.record is not None:
            self.record.append(types.SimpleNamespace(message=warning, category=kind))
        else:
            streams.err.write(f"{kind.__name__}: {text}\n")


def _make_warning(message: Any, category: Any) -> Warning:
    """The warning itself. Anything else would be recorded with its class, and the class of a class is ``type``."""
    if not issubclass(type(message), Warning):
        if not (isinstance(category, type) and issubclass(category, Warning)):
            name = type(category).__name__
            raise TypeError(f"category must be a Warning subclass, not '{name}'")
        message = category(message)
    if not issubclass(type(message), Warning):
        raise TypeError(f"category must make a Warning, not '{type(message).__name__}'")
    return message  # type: ignore[no-any-return]


def warnings_module(streams: OutputStreams) -> dict[str, Any]:
    """``warnings``: each is printed once, unless a filter decides otherwise."""
    filters = _Filters()

    def warn(message: Any, category: Any = None, *rest: Any, **options: Any) -> None:
        filters.emit(_make_warning(message, category or UserWarning), streams)

    def filterwarnings(
        action: str,
        message: str = "",
        category: type[Warning] = Warning,
        *rest: Any,
        append: bool = False,
        **options: Any,
    ) -> None:
        rule = (action, re.compile(message, re.IGNORECASE), category)
        filters.rules.insert(len(filters.rules) if append else 0, rule)
        filters.printed.clear()

    def simplefilter(action: str, category: type[Warning] = Warning, *rest: Any, append: bool = False) -> None:
        filterwarnings(action, category=category, append=append)

    def resetwarnings() -> None:
        filters.rules.clear()

    @contextlib.contextmanager
    def catch_warnings(*, record: bool = False, action: str | None = None, **options: Any) -> Any:
        before = filters.rules[:], filters.record, filters.printed
        filters.record, filters.printed = ([] if record else None), set()
        if action is not None:
            simplefilter(action)
        try:
            yield filters.record
        finally:
            filters.rules, filters.record, filters.printed = before

    return {
        "warn": warn,
        "filterwarnings": filterwarnings,
        "simplefilter": simplefilter,
        "resetwarnings": resetwarnings,
        "catch_warnings": catch_warnings,
    }


# --- traceback and pprint --------------------------------------------------------------------------------------


def traceback_module(streams: OutputStreams) -> dict[str, Any]:
    """``traceback``, with the script's own frames."""

    def format_exc(limit: Any = None, chain: bool = True) -> str:
        return tracebacks.format_traceback(sys.exception())

    def print_exc(limit: Any = None, file: Any = None, chain: bool = True) -> None:
        (file or streams.err).write(format_exc())

    def format_exception_only(error: Any, *rest: Any, **options: Any) -> list[str]:
        value = rest[0] if rest else error
        return [tracebacks.format_last_line(value), *tracebacks.read_notes(value)]

    def format_exception(error: Any, *rest: Any, **options: Any) -> list[str]:
        return tracebacks.format_traceback(rest[0] if rest else error).splitlines(keepends=True)

    def print_exception(error: Any, *rest: Any, file: Any = None, **options: Any) -> None:
        (file or streams.err).write("".join(format_exception(error, *rest)))

    return {
        "format_exc": format_exc,
        "print_exc": print_exc,
        "format_exception_only": format_exception_only,
        "format_exception": format_exception,
        "print_exception": print_exception,
    }


def pprint_module(streams: OutputStreams) -> dict[str, Any]:
    """``pprint``."""

    def show(value: Any, stream: Any = None, *arguments: Any, **options: Any) -> None:
        (stream or streams.out).write(pprint.pformat(value, *arguments, **options) + "\n")

    def show_in_order(value: Any, *arguments: Any, sort_dicts: bool = False, **options: Any) -> None:
        show(value, *arguments, sort_dicts=sort_dicts, **options)

    return {"pprint": show, "pp": show_in_order, "pformat": pprint.pformat}
