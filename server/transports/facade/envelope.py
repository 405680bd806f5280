"""The envelope around every answer of the façade: ``{ok, data, meta, errors}``, with ``images`` of some."""

from __future__ import annotations

import uuid
from base64 import b64encode
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from winnow import __version__
from winnow.server.contracts import empty_answer
from winnow.server.operations.answers.budget import dumps
from winnow.server.operations.base import Image
from winnow.server.transports.call_results import CallResult, Wrapper
from winnow.server.transports.facade.problems import FacadeProblem, problem_of


@dataclass(frozen=True, slots=True)
class Envelope:
    """An answer as the façade sends it. ``problem`` is None for success; ``data`` may accompany a problem."""

    data: Any
    meta: Mapping[str, Any]
    problem: FacadeProblem | None = None
    images: Sequence[Image] = ()

    def as_json(self) -> dict[str, Any]:
        """The JSON value of the envelope; it has ``images`` where there are any."""
        errors = [self.problem.as_json()] if self.problem else []
        value = {"ok": self.problem is None, "data": self.data, "meta": dict(self.meta), "errors": errors}
        return {**value, "images": [*map(_image_json, self.images)]} if self.images else value

    @property
    def status(self) -> int:
        """The HTTP status."""
        return self.problem.status if self.problem else 200

    @property
    def headers(self) -> Mapping[str, str]:
        """The HTTP headers that the answer needs beside its type."""
        wait = self.problem.retry_after if self.problem else None
        return MappingProxyType({} if wait is None else {"retry-after": str(wait)})


def envelope_of(result: CallResult) -> Envelope:
    """The envelope of a call's result.

    ``data`` is the payload of the tool as MCP sends it, without ``meta`` and ``error``; null for an error that has
    no payload. The failure of a script has one: its output and usage.
    """
    problem = problem_of(result.error) if result.error else None
    return Envelope(data_of(result), _meta(result), problem, result.images)


def _image_json(image: Image) -> dict[str, str]:
    return {"mimeType": image.mime_type, "data": b64encode(image.data).decode("ascii")}


def data_of(result: CallResult) -> dict[str, Any] | None:
    """The payload of a result without its error; None for an error alone."""
    data = {name: value for name, value in result.payload.items() if name != "error"}
    return None if result.failed and data == empty_answer(result.tool.answer) else data


def refuse(problem: FacadeProblem, tool: str = "") -> Envelope:
    """The envelope of a request that reached no tool."""
    meta = {
        "tool": tool,
        "version": __version__,
        "durationMs": 0,
        "traceId": str(uuid.uuid4()),
        "warnings": [],
    }
    return Envelope(None, meta, problem)


def _meta(result: CallResult) -> dict[str, Any]:
    return {
        "tool": result.tool.name,
        "version": result.tool.version,
        "durationMs": result.duration_ms,
        "traceId": result.trace_id,
        "warnings": [*result.warnings],
        "cacheHit": result.cache_hit,
        "usage": dict(result.usage),
    }


def _render_around(result: CallResult) -> str:
    return dumps({"ok": True, "meta": _meta(result), "errors": []})


# What is sent besides the payload, for the dispatcher to count; the text is not sent.
WRAPPER = Wrapper(_render_around, has_text=False)
