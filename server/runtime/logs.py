"""Logs: JSON lines on stderr. Retrieved text is never logged, queries only as hash and length.

What libraries say and what exceptions say may quote either, so of both the place and the length are logged.
"""

from __future__ import annotations

import json
import logging
import sys
import time
import traceback
from hashlib import sha256
from typing import Any

from server.text.printable import visible_json

LOGGER = logging.getLogger("winnow")
_SECRET_TAIL = 4
_OURS = ("winnow", "sandbox")
_MOST_CAUSES = 8


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage() if record.name.startswith(_OURS) else _of_a_library(record),
            **getattr(record, "fields", {}),
        }
        if record.exc_info and record.exc_info[1] is not None:
            line["exception"] = _described(record.exc_info[1])
        return visible_json(json.dumps(line, ensure_ascii=False, default=str))


def _described(error: BaseException) -> str:
    """A traceback without the words of the exceptions in it: they may quote a document, a query or a script.

    Errors of the system keep theirs, which name files and reasons.
    """
    parts: list[str] = []
    current: BaseException | None = error
    while current is not None and len(parts) < _MOST_CAUSES:
        frames = "".join(traceback.format_tb(current.__traceback__))
        kind = type(current)
        said = f": {current}" if isinstance(current, OSError) else _withheld(str(current))
        parts.append(f"{frames}{kind.__module__}.{kind.__qualname__}{said}")
        current = current.__cause__ or (None if current.__suppress_context__ else current.__context__)
    return "\n--- raised from or while handling this ---\n".join(parts)


def _of_a_library(record: logging.LogRecord) -> str:
    """Where a library said something, and how long it is: a library says what it was given."""
    return f"{record.module}.{record.funcName}, line {record.lineno}{_withheld(record.getMessage())}"


def _withheld(said: str) -> str:
    return f" ({len(said)} characters withheld: they may quote a document)" if said else ""


def set_up_logs(level: int = logging.INFO, handler: logging.Handler | None = None) -> None:
    """Send everything that is logged in this process to ``handler`` (default: stderr) as JSON lines."""
    handler = handler or logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    LOGGER.setLevel(level)


def log(message: str, *, level: int = logging.INFO, exc_info: bool = False, **fields: Any) -> None:
    """One line with fields: ``log("call", tool="semantic_search", duration_ms=12.5)``."""
    LOGGER.log(level, message, exc_info=exc_info, extra={"fields": fields})


def redact_text(text: str, *, plain: bool) -> str:
    """A query or script as the log may hold it: hash and length, or itself with ``--log-queries``."""
    if plain:
        return text[:1000]
    return f"sha256:{sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]} ({len(text)} characters)"


def mask_secret(secret: str) -> str:
    """A secret as it may be shown: its last four characters."""
    return "*" * 8 + secret[-_SECRET_TAIL:] if len(secret) > 2 * _SECRET_TAIL else "*" * 8
