"""The verdict of one execution, and what passes between a script and its host. Records only."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

Status = Literal[
    "ok",  # the script ran to its end
    "error",  # the script raised
    "rejected",  # the policy refused the script before it ran, or an access while it ran
    "timeout",  # killed at its wall clock or CPU limit
    "memory",  # ran into its memory limit
    "limit",  # another bound: output, result size, SDK calls, rows
    "crashed",  # the child died (fault, or the kernel filter killed it)
    "cancelled",  # the caller withdrew
    "unavailable",  # no sandbox here, or no room in the queue
]


@dataclass(frozen=True, slots=True)
class ScriptError:
    """Why a script did not end well, told for the one who wrote it.

    ``line`` and ``column`` count from 1 in the agent's own source; ``hint`` says what to write instead;
    ``retry_after_s``, where it was not the script's fault, when it is worth another try; ``kept_as``, under
    which name the host keeps a result that was too large.
    """

    type: str
    message: str
    line: int | None = None
    column: int | None = None
    source_line: str | None = None
    hint: str | None = None
    retry_after_s: int | None = None
    kept_as: str | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What an execution used. Tokens are the host's count; ``tokens_kept_out`` is what the SDK delivered to
    the script and never left the sandbox.
    """

    wall_ms: float = 0.0
    cpu_ms: float = 0.0
    memory_peak_bytes: int = 0
    sdk_calls: int = 0
    rows: int = 0
    result_tokens: int = 0
    tokens_kept_out: int = 0


@dataclass(frozen=True, slots=True)
class Walls:
    """Which walls stood around an execution, and which were missing."""

    stood: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WallReport:
    """One wall of this host, as its self-test found it.

    ``stands`` means: it was raised, and the thing it forbids was tried behind it and refused. ``protects`` says
    what it is for, ``detail`` what was seen, ``advice`` what an operator can do when it does not stand.
    ``reinforces``: other walls hold the same without it, so a host may lack it.
    """

    name: str
    protects: str
    stands: bool
    detail: str = ""
    advice: str = ""
    reinforces: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """All that leaves the sandbox.

    ``whole``: the JSON of a result that was too large to be one, for the host to keep; not part of `to_json`.
    """

    status: Status
    result: Any = None
    stdout: str = ""
    error: ScriptError | None = None
    usage: Usage = field(default_factory=Usage)
    walls: Walls = field(default_factory=Walls)
    whole: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Plain data: status, result, stdout, error, usage, walls."""
        data = asdict(self)
        del data["whole"]
        for name in ("retry_after_s", "kept_as") if self.error is not None else ():
            if data["error"][name] is None:
                del data["error"][name]
        return data


class SandboxUnavailable(Exception):
    """The host does not hold a script safely. ``missing`` names the walls; the message says what to do."""

    def __init__(self, message: str, missing: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.missing = missing


@dataclass(frozen=True, slots=True)
class Reply:
    """The host's answer to one SDK call: a JSON value, and what it counts against the script's budget.

    Of a batch several calls may be under way at once. ``settle`` is called for each reply in the order of the
    calls, when the script is about to get it, and never for one that is thrown away; whatever the host counts is
    counted there. It may raise ``CallError``: the script gets that instead.
    """

    value: Any
    rows: int = 0
    tokens: int = 0
    settle: Callable[[], None] | None = None


class CallError(Exception):
    """The host refuses one SDK call. It reaches the script as an exception that the script may catch.

    ``limit`` marks a spent budget: the script may still catch it, but every further call gets it too.
    """

    def __init__(self, type: str, message: str, *, hint: str | None = None, limit: bool = False) -> None:
        super().__init__(message)
        self.type = type
        self.message = message
        self.hint = hint
        self.limit = limit


# The host's side of the SDK: method name and parameters (both hostile until validated) to an answer. Several calls
# may be under way at once.
HostCall = Callable[[str, Mapping[str, Any]], Awaitable[Reply]]
# What the host's own purses still hold, by name.
Left = Callable[[], Mapping[str, int]]
# Counts tokens of a text; the sandbox itself knows no vocabulary.
CountTokens = Callable[[str], Awaitable[int]]
