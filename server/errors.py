"""The errors that callers see: six codes, and a table of reasons. Imports no other module of the project.

The answer to a client has one of six codes; ``details.reason`` says more precisely what happened. A reason belongs
to exactly one code::

    kind of error           reason, for example   code                  the message says
    the caller's mistake    INVALID_REQUEST       INVALID_ARGUMENT      what to send instead
    outside the scope       SCOPE_VIOLATION       SCOPE_VIOLATION       what is in scope
    a service is missing    INDEX_HELD            BACKEND_UNAVAILABLE   when to try again
    out of time             TIMEOUT               TIMEOUT               what to try
    too large               OUTPUT_BYTES          BUDGET_EXCEEDED       how to ask for less
    a bug                   INTERNAL              INTERNAL_ERROR        where the log is; no details
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any


class ErrorCode(StrEnum):
    """The six error codes that clients see."""

    INVALID_ARGUMENT = "INVALID_ARGUMENT"
    SCOPE_VIOLATION = "SCOPE_VIOLATION"
    BACKEND_UNAVAILABLE = "BACKEND_UNAVAILABLE"
    TIMEOUT = "TIMEOUT"
    BUDGET_EXCEEDED = "BUDGET_EXCEEDED"
    INTERNAL_ERROR = "INTERNAL_ERROR"


REASONS: Mapping[str, ErrorCode] = MappingProxyType(
    {
        "INVALID_REQUEST": ErrorCode.INVALID_ARGUMENT,
        "INVALID_CURSOR": ErrorCode.INVALID_ARGUMENT,
        "INVALID_PROJECT": ErrorCode.INVALID_ARGUMENT,
        "NOT_FOUND": ErrorCode.INVALID_ARGUMENT,
        "UNSUPPORTED": ErrorCode.INVALID_ARGUMENT,
        "CODE_REJECTED": ErrorCode.INVALID_ARGUMENT,
        "USER_CODE_ERROR": ErrorCode.INVALID_ARGUMENT,
        "SCOPE_VIOLATION": ErrorCode.SCOPE_VIOLATION,
        "INDEX_HELD": ErrorCode.BACKEND_UNAVAILABLE,
        "INDEX_UNAVAILABLE": ErrorCode.BACKEND_UNAVAILABLE,
        "GRAPH_UNAVAILABLE": ErrorCode.BACKEND_UNAVAILABLE,
        "EMBEDDING_MISMATCH": ErrorCode.BACKEND_UNAVAILABLE,
        "HYBRID_NOT_SUPPORTED": ErrorCode.BACKEND_UNAVAILABLE,
        "MODEL_UNAVAILABLE": ErrorCode.BACKEND_UNAVAILABLE,
        "SOURCE_UNAVAILABLE": ErrorCode.BACKEND_UNAVAILABLE,
        "SANDBOX_UNAVAILABLE": ErrorCode.BACKEND_UNAVAILABLE,
        "SANDBOX_CRASH": ErrorCode.BACKEND_UNAVAILABLE,
        "QUEUE_FULL": ErrorCode.BACKEND_UNAVAILABLE,
        "RATE_LIMIT": ErrorCode.BACKEND_UNAVAILABLE,
        "SHUTTING_DOWN": ErrorCode.BACKEND_UNAVAILABLE,
        "TIMEOUT": ErrorCode.TIMEOUT,
        "MEMORY": ErrorCode.BUDGET_EXCEEDED,
        "OUTPUT_BYTES": ErrorCode.BUDGET_EXCEEDED,
        "SDK_CALLS": ErrorCode.BUDGET_EXCEEDED,
        "SDK_ROWS": ErrorCode.BUDGET_EXCEEDED,
        "SDK_TEXT": ErrorCode.BUDGET_EXCEEDED,
        "STATE_FULL": ErrorCode.BUDGET_EXCEEDED,
        "INTERNAL": ErrorCode.INTERNAL_ERROR,
    }
)


class WinnowError(Exception):
    """An error that the caller can act on. The message says what to do next and is safe to show.

    ``reason`` must be a key of ``REASONS``. ``details`` holds JSON values only.

    >>> WinnowError("NOT_FOUND", "no chunk 'a7'; ids come from search results").code
    <ErrorCode.INVALID_ARGUMENT: 'INVALID_ARGUMENT'>
    """

    def __init__(
        self,
        reason: str,
        message: str,
        *,
        retryable: bool = False,
        retry_after_s: float | None = None,
        details: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(message)
        self.reason = reason
        self.code = REASONS[reason]
        self.message = message
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.details: Mapping[str, Any] = MappingProxyType(dict(details or {}))

    def envelope(self) -> dict[str, Any]:
        """The form that clients receive: ``{"code", "message", "details": {"reason", "retryable", ...}}``."""
        details: dict[str, Any] = {"reason": self.reason, "retryable": self.retryable, **self.details}
        if self.retry_after_s is not None:
            details["retry_after_s"] = self.retry_after_s
        return {"code": self.code.value, "message": self.message, "details": details}


def error_of(envelope: Mapping[str, Any]) -> WinnowError:
    """The error that has this envelope."""
    details = dict(envelope["details"])
    reason, retryable = details.pop("reason"), details.pop("retryable")
    seconds = details.pop("retry_after_s", None)
    return WinnowError(reason, envelope["message"], retryable=retryable, retry_after_s=seconds, details=details)


def internal_error() -> WinnowError:
    """The error for a bug of the server: no text of the exception leaves the process."""
    return WinnowError("INTERNAL", "internal error; the server's log has the details under this trace id")


# When a client of a server that ends may try again: it is usually replaced within seconds.
_ENDING_RETRY_SECONDS = 5.0


def ending_error() -> WinnowError:
    """The error for requests that arrive while the server ends."""
    return WinnowError(
        "SHUTTING_DOWN",
        f"this server ends and takes no more calls; send the same one again in {_ENDING_RETRY_SECONDS:.0f} s",
        retryable=True,
        retry_after_s=_ENDING_RETRY_SECONDS,
    )


def own_words(message: str) -> str:
    """A message of pydantic in the words of the check that refused the value."""
    return message.removeprefix("Value error, ")
