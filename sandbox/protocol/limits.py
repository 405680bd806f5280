"""The limits of one script. Units are in the names."""

from __future__ import annotations

from dataclasses import dataclass

KIB = 1024
MIB = 1024 * KIB
WARM_BYTES = 96 * MIB  # resident memory of a child before its script has done anything, with a margin


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of one execution. Each is enforced by the parent or the kernel, never by the script.

    The wall clock runs from the moment a worker takes the script and covers everything: the script, the answers to
    its calls, sleeps, and encoding the result.
    """

    wall_seconds: float = 30.0  # a desktop host gives up on a call after about 60 s: the ceiling is below that
    cpu_seconds: int = 30
    memory_bytes: int = 512 * MIB
    source_bytes: int = 50 * KIB  # ten times the longest script a model wrote in our collections
    result_bytes: int = 32 * KIB  # hosts warn at 10,000 tokens; 32 KiB of JSON is about 8,000
    result_tokens: int = 8_000
    # A larger result is refused, but up to this size the caller may keep it: four results of full size. The worst
    # text of this length takes the parent 20 ms to decode, once for each script.
    kept_bytes: int = 128 * KIB
    stdout_tail_bytes: int = 8 * KIB  # the end of the printed text, which is kept and shown
    stdout_total_bytes: int = 1 * MIB  # a script that prints more is stopped: no caller reads that much
    sdk_calls: int = 1_000
    request_bytes: int = 64 * KIB  # one call of the script
    reply_bytes: int = 1 * MIB  # one answer to a call
    reply_total_bytes: int = 256 * MIB  # all answers to one script; the same text may be read again and again
    nesting: int = 64  # depth of a result


@dataclass(frozen=True, slots=True)
class Layers:
    """The halves of the sandbox that are in force. For tests only: each half must hold with the other one removed.

    No setting, flag or environment variable changes this.
    """

    fence: bool = True  # the language: policy, guards, façades
    walls: bool = True  # the kernel: namespaces, Landlock, seccomp, limits
