"""``logging`` as scripts see it: loggers, levels and formats that print; no files, no records."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from winnow.sandbox.child.diagnosis import tracebacks
from winnow.sandbox.child.guards import attributes
from winnow.sandbox.child.language.script_source import FILE_NAME

from .printing_modules import OutputStreams

_LEVELS: Mapping[str, int] = MappingProxyType(
    {"NOTSET": 0, "DEBUG": 10, "INFO": 20, "WARNING": 30, "ERROR": 40, "CRITICAL": 50}
)
_NAMES = {number: name for name, number in _LEVELS.items()}
_BASIC_FORMAT = "%(levelname)s:%(name)s:%(message)s"


def _level(level: Any) -> int:
    if isinstance(level, str):
        if level not in _LEVELS:
            raise ValueError(f"Unknown level: {level!r}")
        return _LEVELS[level]
    return int(level)


def _fields(name: str, level: int, message: str) -> dict[str, Any]:
    """The fields that a format may use."""
    now = time.time()
    frame: Any = sys._getframe()
    while frame is not None and frame.f_code.co_filename != FILE_NAME:
        frame = frame.f_back
    return {
        "name": name,
        "levelname": _NAMES.get(level, f"Level {level}"),
        "levelno": level,
        "message": message,
        "created": now,
        "msecs": now % 1 * 1000,
        "lineno": frame.f_lineno if frame is not None else 0,
        "funcName": frame.f_code.co_name if frame is not None else "<module>",
        "filename": FILE_NAME,
        "pathname": FILE_NAME,
        "module": "script",
        "process": 1,
        "processName": "MainProcess",
        "thread": 1,
        "threadName": "MainThread",
    }


class Formatter:
    """The format of a line, in %-style or {-style."""

    def __init__(
        self, fmt: str | None = None, datefmt: str | None = None, style: str = "%", **options: Any
    ) -> None:
        self._format = fmt if fmt is not None else "%(message)s"
        self._date_format = datefmt
        self._style = style

    def line(self, fields: dict[str, Any]) -> str:
        """Format one line."""
        day = time.strftime(self._date_format or "%Y-%m-%d %H:%M:%S", time.localtime(fields["created"]))
        fields["asctime"] = day if self._date_format else f"{day},{fields['msecs']:03.0f}"
        if self._style == "{":
            return str(attributes.read_attribute(self._format, "format_map")(fields))
        return self._format % fields


class Handler:
    """A handler that prints lines to a stream."""

    def __init__(self, stream: Any) -> None:
        self.level = 0
        self._stream = stream
        self._formatter = Formatter()

    def setFormatter(self, formatter: Formatter) -> None:
        """Format lines with this from now on."""
        self._formatter = formatter

    def setLevel(self, level: Any) -> None:
        """Print nothing below this level."""
        self.level = _level(level)

    def flush(self) -> None:
        """Do nothing: lines are printed at once."""

    def handle(self, fields: dict[str, Any], trace: str) -> None:
        """Print one message."""
        if fields["levelno"] >= self.level:
            self._stream.write(self._formatter.line(fields) + "\n" + trace)


class Logger:
    """A logger that prints through its handlers, or its parent's."""

    def __init__(self, name: str, logs: Loggers, parent: Logger | None = None) -> None:
        self.name = name
        self.level = 30 if parent is None else 0
        self.parent = parent
        self.handlers: list[Handler] = []
        self.propagate = True
        self.disabled = False
        self._logs = logs

    def setLevel(self, level: Any) -> None:
        """Print nothing below this level."""
        self.level = _level(level)

    def getEffectiveLevel(self) -> int:
        """Its own level, or the nearest parent's."""
        return self.level or (self.parent.getEffectiveLevel() if self.parent else 0)

    def isEnabledFor(self, level: int) -> bool:
        """Whether a message of this level is printed."""
        return not self.disabled and level >= max(self.getEffectiveLevel(), self._logs.disabled + 1)

    def addHandler(self, handler: Handler) -> None:
        """Print through this handler, too."""
        if handler not in self.handlers:
            self.handlers.append(handler)

    def removeHandler(self, handler: Handler) -> None:
        """Stop printing through this handler."""
        if handler in self.handlers:
            self.handlers.remove(handler)

    def hasHandlers(self) -> bool:
        """Whether it or a parent has one."""
        return bool(self._handlers())

    def getChild(self, suffix: str) -> Logger:
        """A logger below this one."""
        return self._logs.get(suffix if self.parent is None else f"{self.name}.{suffix}")

    def _handlers(self) -> list[Handler]:
        above = self.parent._handlers() if self.parent and self.propagate else []
        return [*self.handlers, *above]

    def log(
        self, level: int, message: Any, *arguments: Any, exc_info: Any = None, extra: Any = None, **options: Any
    ) -> None:
        """Print a message, with its %-arguments filled in."""
        if not self.isEnabledFor(level):
            return
        values = (
            arguments[0]
            if len(arguments) == 1 and isinstance(arguments[0], Mapping) and arguments[0]
            else arguments
        )
        fields = _fields(self.name, level, str(message) % values if arguments else str(message))
        fields.update(extra or {})
        error = exc_info if isinstance(exc_info, BaseException) else sys.exception()
        trace = tracebacks.format_traceback(error) if exc_info and error else ""
        for handler in self._handlers() or self._logs.last_resort(level):
            handler.handle(dict(fields), trace)

    def debug(self, message: Any, *arguments: Any, **options: Any) -> None:
        """Log at level DEBUG."""
        self.log(10, message, *arguments, **options)

    def info(self, message: Any, *arguments: Any, **options: Any) -> None:
        """Log at level INFO."""
        self.log(20, message, *arguments, **options)

    def warning(self, message: Any, *arguments: Any, **options: Any) -> None:
        """Log at level WARNING."""
        self.log(30, message, *arguments, **options)

    def error(self, message: Any, *arguments: Any, **options: Any) -> None:
        """Log at level ERROR."""
        self.log(40, message, *arguments, **options)

    def critical(self, message: Any, *arguments: Any, **options: Any) -> None:
        """Log at level CRITICAL."""
        self.log(50, message, *arguments, **options)

    def exception(self, message: Any, *arguments: Any, **options: Any) -> None:
        """Log at level ERROR, with the traceback."""
        self.log(40, message, *arguments, exc_info=True, **options)

    def __repr__(self) -> str:
        return f"<Logger {self.name} ({_NAMES.get(self.getEffectiveLevel(), '?')})>"


class Loggers:
    """All loggers of one script."""

    def __init__(self, streams: OutputStreams) -> None:
        self.disabled = -1
        self._streams = streams
        self._last_resort = Handler(streams.err)
        self.root = Logger("root", self)
        self._loggers: dict[str, Logger] = {}

    def get(self, name: Any = None) -> Logger:
        """logging.getLogger(name)."""
        if not name or name == "root":
            return self.root
        name = str(name)
        if name not in self._loggers:
            parent = self.get(name.rpartition(".")[0])
            self._loggers[name] = Logger(name, self, parent)
        return self._loggers[name]

    def last_resort(self, level: int) -> list[Handler]:
        """The handler for warnings where no handler was set up."""
        return [self._last_resort] if level >= 30 else []

    def configure(
        self, *, level: Any = None, format: str | None = None, datefmt: str | None = None, style: str = "%",
        stream: Any = None, handlers: Any = None, force: bool = False, **options: Any,
    ) -> None:  # fmt: skip
        """logging.basicConfig."""
        if force:
            self.root.handlers.clear()
        if not self.root.handlers:
            for handler in handlers or [Handler(stream if stream is not None else self._streams.err)]:
                if handlers is None or format is not None:
                    handler.setFormatter(Formatter(format or _BASIC_FORMAT, datefmt, style))
                self.root.addHandler(handler)
            if level is not None:
                self.root.setLevel(level)

    def disable(self, level: Any = 50) -> None:
        """logging.disable."""
        self.disabled = _level(level)

    def at_root(self, name: str) -> Callable[..., None]:
        """Make logging.warning() and the like, which configure the root logger first if it has no handler."""

        def log(*arguments: Any, **options: Any) -> None:
            if not self.root.handlers:
                self.configure()
            getattr(self.root, name)(*arguments, **options)

        return log


def logging_module(streams: OutputStreams) -> dict[str, Any]:
    """The members of ``logging`` for one script."""
    logs = Loggers(streams)
    methods = ("debug", "info", "warning", "error", "critical", "exception", "log")
    return {
        **{name: logs.at_root(name) for name in methods},
        **_LEVELS,
        "getLogger": logs.get,
        "basicConfig": logs.configure,
        "disable": logs.disable,
        "getLevelName": lambda level: _NAMES.get(level, f"Level {level}"),
        "Formatter": Formatter,
        "StreamHandler": lambda stream=None: Handler(streams.err if stream is None else stream),
        "NullHandler": lambda: Handler(_Nothing()),
    }


class _Nothing:
    """A stream that drops its text."""

    __slots__ = ()

    def write(self, text: str) -> int:
        """Drop it."""
        return len(text)
