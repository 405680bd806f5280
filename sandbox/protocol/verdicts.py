"""Every way an execution ends that the script did not choose, in words for the one who wrote it. Records only."""

from __future__ import annotations

import signal
from typing import Any

from . import sizes
from .limits import KIB, MIB, Limits
from .outcome import Outcome, ScriptError, Status


def _ending(status: Status, type: str, message: str, hint: str | None = None) -> Outcome:
    return Outcome(status, error=ScriptError(type, message, hint=hint))


def source_too_large(size: int, bound: int) -> Outcome:
    """More source than ``source_bytes``."""
    return _ending(
        "rejected",
        "CodeRejected",
        f"the script is {size:,} bytes long; the limit is {bound:,}",
        "do not paste data into the script: read it with kb.search or fetch inside it",
    )


def queue_full(waiting: int, retry_after_s: int) -> Outcome:
    """No worker, and no room to wait or not within the time."""
    error = ScriptError(
        "QUEUE_FULL",
        f"all workers are busy and {waiting} scripts wait",
        hint=f"run it again in {retry_after_s} s; a direct search answers meanwhile",
        retry_after_s=retry_after_s,
    )
    return Outcome("unavailable", error=error)


def unavailable(why: str) -> Outcome:
    """No sandbox on this host, or not any more."""
    return _ending("unavailable", "SandboxUnavailable", why, "winnow doctor shows every wall and what to do")


def timeout(limits: Limits) -> Outcome:
    """Killed at the wall clock."""
    return _ending(
        "timeout",
        "Timeout",
        f"the script ran longer than {limits.wall_seconds:g} s and was killed",
        "fetch fewer documents, or work on ids and previews before full texts; stdout holds what it printed",
    )


def cpu(limits: Limits) -> Outcome:
    """Killed at the CPU limit."""
    return _ending("timeout", "Timeout", f"the script used more than {limits.cpu_seconds} s of CPU and was killed",
                   "look for a loop that does not end, or a regular expression that backtracks")  # fmt: skip


def memory(limits: Limits) -> Outcome:
    """Out of memory, found by the parent's watch."""
    return _ending("memory", "MemoryLimit", f"the script needed more than {limits.memory_bytes // MIB} MiB and was"
                   " killed", "keep ids or previews instead of full texts; work in batches")  # fmt: skip


def output(limits: Limits) -> Outcome:
    """Printed too much."""
    return _ending("limit", "OutputLimit", f"the script printed more than {limits.stdout_total_bytes // KIB} KiB"
                   " and was stopped", "print a summary; return the answer instead of printing it")  # fmt: skip


def calls(limits: Limits) -> Outcome:
    """Went on calling after every further call was refused."""
    return _ending(
        "limit",
        "CallLimit",
        f"a script may make {limits.sdk_calls} calls; this one made them, went on calling, and was stopped",
        "do not catch a CallLimit in a loop; ask for more rows in fewer calls",
    )


def result_too_large(value: Any, size: int, bound: int, unit: str) -> Outcome:
    """The result is whole or not at all; where it is so large, and what would do."""
    return _ending(
        "limit",
        "ResultTooLarge",
        f"the result is {size:,} {unit} long; the limit is {bound:,}; largest: {sizes.largest(value)}",
        sizes.smaller(value, bound, unit),
    )


def violation(why: str) -> Outcome:
    """Something other than a frame came out of the child."""
    return _ending("crashed", "SandboxCrash", f"the child broke the protocol ({why}) and was killed")


def death(number: int) -> Outcome:
    """The child died without a last word."""
    if number == signal.SIGSYS:
        what = "the script made a system call that the sandbox forbids, and was killed"
    elif number == signal.SIGKILL:
        what = "the system killed the script, most likely for want of memory"
    elif number:
        what = f"the script crashed the interpreter ({signal.Signals(number).name})"
    else:
        what = "the child ended without an answer"
    return _ending("crashed", "SandboxCrash", what)
