"""The text of tracebacks, with the script's own frames and source lines only.

This is trusted code that reads exceptions of a hostile script: what it calls on them may be the script's code.
"""

from __future__ import annotations

import contextlib
import re
import types
from collections.abc import Iterable
from typing import Any

from winnow.sandbox.child.language.script_source import FILE_NAME, split_lines

_MOST_FRAMES = 12
_MOST_LINKS = 8
_source: list[str] = []


def remember_source(source: str) -> None:
    """Keep the script's lines, to quote from."""
    _source[:] = split_lines(source)


def source_line(number: int | None) -> str | None:
    """The text of a line of the script, if there is one."""
    return _source[number - 1][:500] if number is not None and 0 < number <= len(_source) else None


def has_call(function: str) -> bool:
    """Whether a line of the script looks like a call of this function."""
    call = re.compile(rf"(?<![\w.]){function}\(")
    return any(call.search(line) for line in _source)


def script_frames(error: BaseException) -> Iterable[tuple[types.FrameType, int, int]]:
    """The script's own frames in the error's traceback, outermost first: frame, last instruction and line."""
    trace = error.__traceback__
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == FILE_NAME:
            yield trace.tb_frame, trace.tb_lasti, trace.tb_lineno
        trace = trace.tb_next


def format_last_line(error: Any) -> str:
    """``Type: message``, as at the end of a traceback."""
    if not isinstance(error, BaseException):
        return f"{type(error).__name__}\n"
    name = _full_name(type(error))
    with contextlib.suppress(Exception):
        text = str.__str__(str(error))
        return f"{name}: {text}\n" if text else f"{name}\n"
    return f"{name}\n"


def _full_name(cls: type) -> str:
    """``decimal.InvalidOperation``; without a module for the script's classes and for ours."""
    module, name = (type.__getattribute__(cls, key) for key in ("__module__", "__qualname__"))
    if (
        type(module) is not str
        or module in ("builtins", "__main__")
        or module.startswith(("winnow.sandbox.", "winnow.client_sdk"))
    ):
        return str(name)
    return f"{module}.{name}"


def format_traceback(error: Any) -> str:
    """The traceback of an error and of the errors it came from, with the script's own frames."""
    if not isinstance(error, BaseException):
        return "NoneType: None\n"
    text = ""
    for link, separator in reversed(_linked_errors(error)):
        text += _format_one(link) + separator
    return text


def _format_one(error: BaseException) -> str:
    lines = ["Traceback (most recent call last):\n"]
    for frame, _, number in list(script_frames(error))[-_MOST_FRAMES:]:
        lines.append(f'  File "{FILE_NAME}", line {number}, in {frame.f_code.co_name}\n')
        lines.append(f"    {(source_line(number) or '').strip()}\n")
    return "".join([*lines, format_last_line(error), *read_notes(error)])


def read_notes(error: Any) -> list[str]:
    """The notes that were added with add_note."""
    with contextlib.suppress(Exception):
        return [f"{note}\n" for note in list(getattr(error, "__notes__", ())) if type(note) is str]
    return []


# Read without asking the exception's class, which may be the script's.
_cause = BaseException.__dict__["__cause__"].__get__
_context = BaseException.__dict__["__context__"].__get__
_is_context_suppressed = BaseException.__dict__["__suppress_context__"].__get__
_CAUSED = "\nThe above exception was the direct cause of the following exception:\n\n"
_DURING_HANDLING = "\nDuring handling of the above exception, another exception occurred:\n\n"


def _linked_errors(error: BaseException) -> list[tuple[BaseException, str]]:
    """The error, its cause or context, and so on; each with the text between it and the previous one."""
    links: list[tuple[BaseException, str]] = []
    separator = ""
    current: Any = error
    while current is not None and len(links) < _MOST_LINKS and all(current is not link for link, _ in links):
        links.append((current, separator))
        cause = _cause(current)
        separator = _DURING_HANDLING if cause is None else _CAUSED
        # An error is never tested for truth: that would call the script's code.
        current = _context(current) if cause is None and not _is_context_suppressed(current) else cause
    return links
