"""Runs one script inside the locked child, and says how it ended in one frame."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import client_sdk.transport

from . import frames, results, troubles
from .console import Console, OutputLimitReached

if TYPE_CHECKING:
    from .child import Channel

Job = Mapping[str, Any]


def warm_up() -> None:
    """Compile and run something, so that no child is the first to."""


def run(job: Job, channel: Channel, *, fence: bool) -> dict[str, Any]:
    """The last frame of one script. Whatever the script does ends here."""
    console = Console(channel, job["stdout_bytes"])
    client_sdk.transport.connect(_transport(channel, job["request_bytes"]))
    try:
        ending = _ending(job, console, fence=fence)
        console.flush()
    except OutputLimitReached:
        return troubles.output_limit(job["stdout_bytes"])
    except MemoryError:
        return troubles.memory_limit(job["memory_bytes"])
    return ending


def _ending(job: Job, console: Console, *, fence: bool) -> dict[str, Any]:
    code = job["code"]
    try:
        value = _raw(code, console)
    except (OutputLimitReached, MemoryError):
        raise
    except BaseException as error:
        return {"status": "error", "error": {"type": type(error).__name__, "message": str(error)}}
    if value is None:
        return {"done": True}
    return {"result": value}


def _transport(channel: Channel, request_bytes: int) -> client_sdk.transport.Transport:
    def call(method: str, params: Mapping[str, Any]) -> Mapping[str, Any]:
        body = frames.dump({"call": method, "params": params})
        if len(body) > request_bytes:
            return {
                "error": {
                    "type": "RequestTooLarge",
                    "message": f"{len(body):,} bytes",
                    "hint": None,
                    "limit": False,
                }
            }
        channel.send_body(body)
        reply: Mapping[str, Any] = channel.receive()
        return reply

    return call


def _raw(source: str, console: Console) -> Any:
    """Without the fence: plain Python, for the tests of the walls."""
    sys.stdout = sys.stderr = console  # type: ignore[assignment]
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(source, "<script>", "exec"), names)
    return names.get("__result__", names.get("result"))
