"""The eight error codes of the façade and the HTTP status of each error: one table over the reasons."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Any

from winnow.server.errors import WinnowError


class Code(StrEnum):
    """The error codes of the façade. NONDETERMINISTIC is reserved: no reason has it (docs/facade.md)."""

    INVALID_INPUT = "INVALID_INPUT"
    NOT_FOUND = "NOT_FOUND"
    RATE_LIMIT = "RATE_LIMIT"
    TIMEOUT = "TIMEOUT"
    UNAVAILABLE = "UNAVAILABLE"
    INTERNAL = "INTERNAL"
    NONDETERMINISTIC = "NONDETERMINISTIC"
    UNSUPPORTED = "UNSUPPORTED"


# Reason -> code and HTTP status. A status of 5xx means that the same request may succeed later or elsewhere; what
# a caller can correct is a 4xx, also where its code is INTERNAL, as that of an answer that is too large must be.
PROBLEMS: Mapping[str, tuple[Code, int]] = MappingProxyType(
    {
        "INVALID_REQUEST": (Code.INVALID_INPUT, 400),
        "INVALID_CURSOR": (Code.INVALID_INPUT, 400),
        "INVALID_PROJECT": (Code.INVALID_INPUT, 400),
        "CODE_REJECTED": (Code.INVALID_INPUT, 422),
        "USER_CODE_ERROR": (Code.INVALID_INPUT, 422),
        "MEMORY": (Code.INVALID_INPUT, 422),
        "SDK_CALLS": (Code.INVALID_INPUT, 422),
        "SDK_ROWS": (Code.INVALID_INPUT, 422),
        "SDK_TEXT": (Code.INVALID_INPUT, 422),
        "STATE_FULL": (Code.INVALID_INPUT, 422),
        "SCOPE_VIOLATION": (Code.INVALID_INPUT, 403),
        "NOT_FOUND": (Code.NOT_FOUND, 404),
        "RATE_LIMIT": (Code.RATE_LIMIT, 429),
        "TIMEOUT": (Code.TIMEOUT, 504),
        "INDEX_HELD": (Code.UNAVAILABLE, 503),
        "INDEX_UNAVAILABLE": (Code.UNAVAILABLE, 503),
        "GRAPH_UNAVAILABLE": (Code.UNAVAILABLE, 503),
        "EMBEDDING_MISMATCH": (Code.UNAVAILABLE, 503),
        "MODEL_UNAVAILABLE": (Code.UNAVAILABLE, 503),
        "SOURCE_UNAVAILABLE": (Code.UNAVAILABLE, 503),
        "SANDBOX_UNAVAILABLE": (Code.UNAVAILABLE, 503),
        "SANDBOX_CRASH": (Code.UNAVAILABLE, 503),
        "SHUTTING_DOWN": (Code.UNAVAILABLE, 503),
        "QUEUE_FULL": (Code.UNAVAILABLE, 503),
        "HYBRID_NOT_SUPPORTED": (Code.UNSUPPORTED, 422),
        "UNSUPPORTED": (Code.UNSUPPORTED, 422),
        "OUTPUT_BYTES": (Code.INTERNAL, 422),
        "INTERNAL": (Code.INTERNAL, 500),
        # Of requests that reach no tool.
        "INPUT_BYTES": (Code.INVALID_INPUT, 413),
        "KEY_REUSED": (Code.INVALID_INPUT, 422),
        "REFUSED": (Code.INVALID_INPUT, 403),
        "CLIENT_LEFT": (Code.INVALID_INPUT, 400),
        "METHOD": (Code.UNSUPPORTED, 405),
        "MEDIA_TYPE": (Code.UNSUPPORTED, 415),
    }
)
# What a layer below the tools refuses has a status of its own and no reason.
_CODES_OF_STATUS: Mapping[int, Code] = MappingProxyType(
    {404: Code.NOT_FOUND, 405: Code.UNSUPPORTED, 429: Code.RATE_LIMIT, 503: Code.UNAVAILABLE}
)


@dataclass(frozen=True, slots=True)
class FacadeProblem:
    """An error as the façade sends it: one of eight codes, a message, details with the reason, an HTTP status."""

    code: Code
    message: str
    details: Mapping[str, Any]
    status: int

    def as_json(self) -> dict[str, Any]:
        """The form in ``errors`` of an envelope."""
        return {"code": self.code.value, "message": self.message, "details": dict(self.details)}

    @property
    def retry_after(self) -> int | None:
        """The value of the header ``Retry-After``, in whole seconds."""
        seconds = self.details.get("retry_after_s")
        return None if seconds is None or self.status not in (429, 503) else math.ceil(seconds)


class Refusal(Exception):
    """A request that reaches no tool."""

    def __init__(self, problem: FacadeProblem) -> None:
        super().__init__(problem.message)
        self.problem = problem


def refusal(reason: str, message: str, **details: Any) -> Refusal:
    """The refusal of a request for a reason of ``PROBLEMS``."""
    code, status = PROBLEMS[reason]
    return Refusal(FacadeProblem(code, message, {"reason": reason, "retryable": False, **details}, status))


def problem_of_error(error: WinnowError) -> FacadeProblem:
    """A ``WinnowError`` as the façade sends it."""
    return problem_of(error.envelope())


def problem_of(error: Mapping[str, Any]) -> FacadeProblem:
    """An error envelope of a tool as the façade sends it; further fields of a script's error become details."""
    details = {**error["details"], **{name: error[name] for name in error if name not in _FIELDS}}
    code, status = PROBLEMS[details["reason"]]
    return FacadeProblem(code, error["message"], details, status)


_FIELDS = frozenset({"code", "message", "details"})


def problem_of_status(status: int, message: str) -> FacadeProblem:
    """The problem that a layer below the tools refused with this HTTP status."""
    code = _CODES_OF_STATUS.get(status, Code.INVALID_INPUT)
    return FacadeProblem(code, message, {"reason": "REFUSED", "retryable": status in (429, 503)}, status)
