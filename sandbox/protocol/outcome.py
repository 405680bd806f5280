"""The outcome of one execution, and the records that the caller exchanges with the sandbox."""

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
    "cancelled",  # the caller cancelled the call
    "unavailable",  # no sandbox here, or no room in the queue
]


@dataclass(frozen=True, slots=True)
class ScriptError:
    """The reason why a script failed, written for the script's author.

    ``line`` and ``column`` count from 1 in the agent's own source; ``hint`` says what to write instead;
    ``retry_after_s``: when to try again, where the script was not at fault; ``waiting``: how many scripts wait, of
    at most ``queue``; ``kept_as``: the name under which the caller keeps a result that was too large, ``size`` how
    large that was and ``max`` how large it may be, both in bytes or both in tokens.
    """

    type: str
    message: str
    line: int | None = None
    column: int | None = None
    source_line: str | None = None
    hint: str | None = None
    retry_after_s: int | None = None
    waiting: int | None = None
    queue: int | None = None
    kept_as: str | None = None
    size: int | None = None
    max: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """The resources that an execution used. The caller counts tokens; ``tokens_kept_out`` are those that the SDK
    delivered to the script and that did not leave the sandbox.
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
    """The walls that stood around an execution, and those that were missing."""

    stood: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class WallReport:
    """The result of one wall's self-test on this host.

    ``stands``: it was raised, and the action that it forbids was tried behind it and refused. ``protects`` names
    its purpose, ``detail`` the observation, ``advice`` what an operator can do when it does not stand.
    ``reinforces``: other walls protect the same asset without it, so a host may lack it.
    """

    name: str
    protects: str
    stands: bool
    detail: str = ""
    advice: str = ""
    reinforces: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """Everything that leaves the sandbox.

    ``partial``: a limit ended the script, and ``result`` is what its variable ``result`` held. ``warnings`` are
    those of its calls. ``whole``: the JSON of a result that was too large, for the caller to keep; not part of
    `to_json`.
    """

    status: Status
    result: Any = None
    stdout: str = ""
    error: ScriptError | None = None
    usage: Usage = field(default_factory=Usage)
    walls: Walls = field(default_factory=Walls)
    whole: str | None = None
    partial: bool = False
    warnings: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Plain data: status, result, stdout, error, usage, walls, and ``partial`` and ``warnings`` where set."""
        data = asdict(self)
        del data["whole"]
        for name in ("partial", "warnings"):
            if not data[name]:
                del data[name]
        for name in (
            ("retry_after_s", "waiting", "queue", "kept_as", "size", "max") if self.error is not None else ()
        ):
            if data["error"][name] is None:
                del data["error"][name]
        return data


class SandboxUnavailable(Exception):
    """Scripts cannot run safely on this machine. ``missing`` names the walls; the message says what to do."""

    def __init__(self, message: str, missing: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.missing = missing


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer to one SDK call: a JSON value, and what it counts against the script's budgets.

    Several calls of a batch may run at once. ``charge`` is called for each reply in the order of the calls, just
    before the script gets it, and never for a reply that is discarded; the caller counts its budgets there. It may
    raise ``CallError``: the script gets that instead.
    """

    value: Any
    rows: int = 0
    tokens: int = 0
    charge: Callable[[], None] | None = None


class CallError(Exception):
    """The refusal of one SDK call. The script gets it as an exception that it may catch.

    ``limit`` marks a spent budget: the script may catch it, but every further call is refused as well.
    """

    def __init__(self, type: str, message: str, *, hint: str | None = None, limit: bool = False) -> None:
        super().__init__(message)
        self.type = type
        self.message = message
        self.hint = hint
        self.limit = limit


# Answers an SDK call: method name and parameters (both hostile until validated). Several may run at once.
HostCall = Callable[[str, Mapping[str, Any]], Awaitable[Reply]]
# Returns what is left of the caller's own budgets, by name: JSON values.
Left = Callable[[], Mapping[str, Any]]
# Counts the tokens of a text; the sandbox itself has no tokenizer.
CountTokens = Callable[[str], Awaitable[int]]
