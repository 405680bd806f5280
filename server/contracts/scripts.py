"""``execute_code`` and ``read_result``: a script and its outcome, and reading a large result."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, StringConstraints

from winnow.server.contracts.base import DESCRIBED, Arguments, JsonValue, Meta, Payload


class ExecuteCode(Arguments):
    """Arguments of ``execute_code``. The size limit of the source is the sandbox's, counted in bytes."""

    code: Annotated[str, StringConstraints(min_length=1, max_length=51_200)] = Field(
        description="Python source; its result is a top-level return, __result__, result, or the last expression"
    )
    description: Annotated[str, StringConstraints(max_length=500)] | None = Field(
        default=None,
        description="what the script is for, for the audit log, which hashes it unless queries are logged",
    )
    timeout: int | None = Field(
        default=None, ge=1, le=60, description="seconds; default 30", json_schema_extra=DESCRIBED
    )


class OutcomeError(Payload):
    """Why a script failed, and the error code. ``type`` is absent where no script was started."""

    type: Annotated[str, StringConstraints(max_length=200)] | None = None
    message: Annotated[str, StringConstraints(max_length=4000)]
    line: int | None = Field(default=None, ge=0, le=1_000_000)
    column: int | None = Field(default=None, ge=0, le=1_000_000)
    source_line: Annotated[str, StringConstraints(max_length=1000)] | None = None
    hint: Annotated[str, StringConstraints(max_length=2000)] | None = None
    code: Annotated[str, StringConstraints(max_length=40)]
    details: dict[str, Any] = Field(default_factory=dict)


class OutcomeUsage(Payload):
    """The resources that a script used."""

    wall_ms: float = Field(ge=0, le=86_400_000)
    cpu_ms: float = Field(ge=0, le=86_400_000)
    memory_peak_bytes: int = Field(ge=0, le=1 << 50)
    sdk_calls: int = Field(ge=0, le=1_000_000)
    rows: int = Field(ge=0, le=10_000_000)
    result_tokens: int = Field(ge=0, le=10_000_000)
    tokens_kept_out: int = Field(ge=0, le=1_000_000_000)


class OutcomeWalls(Payload):
    """The walls that were missing around the script; the audit and the doctor report the others."""

    missing: list[Annotated[str, StringConstraints(max_length=40)]] = Field(default_factory=list, max_length=40)


class OutcomeAnswer(Payload):
    """Answer of ``execute_code``: the outcome of the script.

    ``partial``: a limit ended the script, and ``result`` is what its variable ``result`` held then.
    ``meta.warnings`` has those of its calls.
    """

    status: Literal["ok", "error", "rejected", "timeout", "memory", "limit", "crashed", "cancelled", "unavailable"]
    result: JsonValue = None
    partial: bool | None = None
    stdout: Annotated[str, StringConstraints(max_length=20_000)] = ""
    error: OutcomeError | None = None
    usage: OutcomeUsage
    walls: OutcomeWalls
    meta: Meta


class ReadResult(Arguments):
    """Arguments of ``read_result``."""

    execution_id: Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{16}$", max_length=16)] = Field(
        description="execution_id of the answer that was too large"
    )
    start_char: int = Field(
        default=0, ge=0, le=10_000_000, description="where to begin; to go on, next_start_char of the last answer"
    )
    max_tokens: int = Field(default=1_000, ge=50, le=8_000, description="length of the portion")


class ResultAnswer(Payload):
    """Answer of ``read_result``: a portion of the result's JSON."""

    execution_id: Annotated[str, StringConstraints(max_length=16)]
    text: Annotated[str, StringConstraints(max_length=200_000)]
    start_char: int = Field(ge=0, le=10_000_000)
    total_chars: int = Field(ge=0, le=10_000_000)
    truncated: bool
    next_start_char: int | None = Field(default=None, ge=0, le=10_000_000)
    meta: Meta
