"""The outcomes that the sandbox itself gives an execution, with messages written for the script's author."""

from __future__ import annotations

import signal
from typing import Any

from . import smaller_results
from .limits import KIB, MIB, Limits
from .outcome import Outcome, ScriptError, Status

QUEUE_FULL, SHUTTING_DOWN = "QUEUE_FULL", "SHUTTING_DOWN"


def _error(status: Status, type: str, message: str, hint: str | None = None) -> Outcome:
    return Outcome(status, error=ScriptError(type, message, hint=hint))


def source_too_large(size: int, bound: int) -> Outcome:
    """More source than ``source_bytes``."""
    return _error(
        "rejected",
        "CodeRejected",
        f"the script is {size:,} bytes long; the limit is {bound:,}",
        "do not paste data into the script: read it with kb.search or fetch inside it",
    )


def queue_full(waiting: int, room: int, retry_after_s: int) -> Outcome:
    """No worker was free, and the queue was full or the wait too long."""
    error = ScriptError(
        QUEUE_FULL,
        f"all workers are busy and {waiting} scripts wait, of at most {room}",
        hint=f"run it again in {retry_after_s} s; a direct search answers meanwhile",
        retry_after_s=retry_after_s,
        waiting=waiting,
        queue=room,
    )
    return Outcome("unavailable", error=error)


def unavailable(reason: str) -> Outcome:
    """No sandbox on this machine, or it is closed."""
    return _error("unavailable", "SandboxUnavailable", reason, "winnow doctor shows every wall and what to do")


CLOSING_RETRY_SECONDS = 5


def closing() -> Outcome:
    """The server ended before the script did."""
    error = ScriptError(
        SHUTTING_DOWN,
        "the server ended before the script did, and killed it",
        hint=f"send the same script again in {CLOSING_RETRY_SECONDS} s",
        retry_after_s=CLOSING_RETRY_SECONDS,
    )
    return Outcome("unavailable", error=error)


def timeout(limits: Limits) -> Outcome:
    """Killed at the wall clock."""
    return _error(
        "timeout",
        "Timeout",
        f"the script was not done when its {limits.wall_seconds:g} s were about to end, and was killed",
        "fetch fewer documents, or work on ids and previews before full texts; what `result` held comes back",
    )


def cpu(limits: Limits) -> Outcome:
    """Killed at the CPU limit."""
    return _error("timeout", "Timeout", f"the script used more than {limits.cpu_seconds} s of CPU and was killed",
                   "look for a loop that does not end, or a regular expression that backtracks")  # fmt: skip


def memory(limits: Limits) -> Outcome:
    """Killed because the parent's polling found too much memory in use."""
    return _error("memory", "MemoryLimit", f"the script needed more than {limits.memory_bytes // MIB} MiB and was"
                   " killed", "keep ids or previews instead of full texts; work in batches")  # fmt: skip


def output(limits: Limits) -> Outcome:
    """Stopped because it printed too much."""
    error = ScriptError(
        "OutputLimit",
        f"the script printed more than {limits.stdout_total_bytes // KIB} KiB and was stopped",
        hint="print a summary; return the answer instead of printing it",
        max=limits.stdout_total_bytes,
    )
    return Outcome("limit", error=error)


def calls(limits: Limits) -> Outcome:
    """Stopped because it went on calling after every further call was refused."""
    return _error(
        "limit",
        "CallLimit",
        f"a script may make {limits.sdk_calls:,} SDK calls; this one made them, went on calling, and was stopped",
        "do not catch a CallLimit in a loop; take more rows in each call, or use kb.scan and kb.count",
    )


def result_too_large(value: Any, size: int, bound: int, unit: str) -> Outcome:
    """The result is too large; results are never cut. The message names its largest places and a smaller form."""
    error = ScriptError(
        "ResultTooLarge",
        f"the result is {size:,} {unit} long; the limit is {bound:,}; "
        f"largest: {smaller_results.describe_largest(value)}",
        hint=smaller_results.suggest_smaller(value, bound, unit),
        size=size,
        max=bound,
    )
    return Outcome("limit", error=error)


def sizes_of(error: ScriptError) -> dict[str, int]:
    """The size and the limit that an error states, as far as it does."""
    return {name: value for name, value in (("size", error.size), ("max", error.max)) if value is not None}


def violation(reason: str) -> Outcome:
    """The child sent something that is not a frame."""
    return _error("crashed", "SandboxCrash", f"the child broke the protocol ({reason}) and was killed")


def death(signal_number: int) -> Outcome:
    """The child died without an answer."""
    if signal_number == signal.SIGSYS:
        what = "the script made a system call that the sandbox forbids, and was killed"
    elif signal_number == signal.SIGKILL:
        what = "the system killed the script, most likely because memory ran out"
    elif signal_number:
        what = f"the script crashed the interpreter ({signal.Signals(signal_number).name})"
    else:
        what = "the child ended without an answer"
    return _error("crashed", "SandboxCrash", what)
