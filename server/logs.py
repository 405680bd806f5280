"""Logs: JSON lines on stderr. Retrieved text is never logged, queries only as hash and length."""

from __future__ import annotations

import json
import logging
import sys
import time
from hashlib import sha256
from typing import Any

LOGGER = logging.getLogger("winnow")
_SECRET_TAIL = 4


class _JsonLines(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, ensure_ascii=False, default=str)


def set_up_logs(level: int = logging.INFO, handler: logging.Handler | None = None) -> None:
    """Send everything that is logged in this process to ``handler`` (default: stderr) as JSON lines."""
    handler = handler or logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonLines())
    logging.basicConfig(level=logging.WARNING, handlers=[handler], force=True)
    LOGGER.setLevel(level)


def log(message: str, *, level: int = logging.INFO, exc_info: bool = False, **fields: Any) -> None:
    """One line with fields: ``log("call", tool="semantic_search", duration_ms=12.5)``."""
    LOGGER.log(level, message, exc_info=exc_info, extra={"fields": fields})


def hushed(text: str, *, plain: bool) -> str:
    """A query or script as the log may hold it: hash and length, or itself with ``--log-queries``."""
    if plain:
        return text[:1000]
    return f"sha256:{sha256(text.encode('utf-8', 'replace')).hexdigest()[:16]} ({len(text)} characters)"


def masked(secret: str) -> str:
    """A secret as it may be shown: its last four characters."""
    return "*" * 8 + secret[-_SECRET_TAIL:] if len(secret) > 2 * _SECRET_TAIL else "*" * 8
