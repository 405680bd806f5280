"""Logs: JSON lines on stderr. Retrieved text is never logged, queries only as hash and length.

Messages of libraries and of exceptions may quote either, so only their place and length are logged.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from collections.abc import Callable
from hashlib import sha256
from typing import Any

from winnow.server.text.printable import visible_json

LOGGER = logging.getLogger("winnow")
_SECRET_TAIL = 4
_OURS = ("winnow", "sandbox")
_MOST_CAUSES = 8


# Fields of our own words, which may name commands; the others are names, numbers and what callers sent.
_WORDS = ("why", "advice")


class _JsonFormatter(logging.Formatter):
    """``reword`` is applied to our own messages and reasons."""

    def __init__(self, reword: Callable[[str], str]) -> None:
        super().__init__()
        self._reword = reword

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": self._describe(record),
            **getattr(record, "fields", {}),
        }
        line |= {name: self._reword(line[name]) for name in _WORDS if isinstance(line.get(name), str)}
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = _describe_exception(record.exc_info[1])
        return visible_json(json.dumps(line, ensure_ascii=False, default=str))

    def _describe(self, record: logging.LogRecord) -> str:
        if record.name.startswith(_OURS):
            return self._reword(record.getMessage())
        return _describe_library_message(record)


def _describe_exception(error: BaseException) -> str:
    """A traceback without exception messages, which may quote a document, a query or a script.

    Messages of ``OSError`` are kept: they name files and reasons.
    """
    parts: list[str] = []
    current: BaseException | None = error
    while current is not None and len(parts) < _MOST_CAUSES:
        frames = "".join(traceback.format_tb(current.__traceback__))
        kind = type(current)
        message = f": {current}" if isinstance(current, OSError) else _withhold(str(current))
        parts.append(f"{frames}{kind.__module__}.{kind.__qualname__}{message}")
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return "\n--- raised from or while handling this ---\n".join(parts)


def _describe_library_message(record: logging.LogRecord) -> str:
    """The place and length of a library's message, which may quote its input."""
    return f"{record.module}.{record.funcName}, line {record.lineno}{_withhold(record.getMessage())}"


def _withhold(message: str) -> str:
    return f" ({len(message)} characters withheld: they may quote a document)" if message else ""


def set_up_logs(
    level: int = logging.INFO,
    handler: logging.Handler | None = None,
    reword: Callable[[str], str] = lambda text: text,
) -> None:
    """Send all log records of this process to ``handler`` (default: stderr) as JSON lines.

    ``reword`` is applied to the words of this project, such as to complete the commands in them.
    """
    handler = handler or logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonFormatter(reword))
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    LOGGER.setLevel(level)


def log(message: str, *, level: int = logging.INFO, exc_info: bool = False, **fields: Any) -> None:
    """Log one line with fields: ``log("call", tool="semantic_search", duration_ms=12.5)``."""
    LOGGER.log(level, message, exc_info=exc_info, extra={"fields": fields})


def redact_text(text: str, *, plain: bool) -> str:
    """A query or script for the log: hash and length, or the text itself if ``plain``."""
    if plain:
        return text[:1000]
    return f"sha256:{sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]} ({len(text)} characters)"


def mask_secret(secret: str) -> str:
    """A secret for display: only its last four characters."""
    return "*" * 8 + secret[-_SECRET_TAIL:] if len(secret) > 2 * _SECRET_TAIL else "*" * 8
