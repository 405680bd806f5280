"""Calls of tool packs: input and answer checked against schemas, answers kept, breaks of the contract counted."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from winnow.sandbox.protocol.outcome import SandboxUnavailable
from winnow.sandbox.runners.programs import ProgramEnd, run_program
from winnow.server.errors import WinnowError
from winnow.server.operations.answers.budget import dumps
from winnow.server.runtime.caches import Cache
from winnow.server.runtime.logs import log
from winnow.server.text.printable import ending, one_line, printable_data
from winnow.server.tools.operator_packs.contract_violations import MOST, ContractViolations
from winnow.server.tools.operator_packs.http_calls import TooMuch, ask, prepare_request
from winnow.server.tools.operator_packs.json_values import NoValue, ReportedFailure, parse_value, take_answer
from winnow.server.tools.operator_packs.program_calls import build_call, template_values
from winnow.server.tools.operator_packs.records import PackProgram, PackRequest, ToolPack
from winnow.server.tools.operator_packs.schemas import is_deep
from winnow.server.tools.operator_packs.templates import TemplateRefused, render

_AT_ONCE = 4
_MOST_WAITING = 16
_RETRY_SECONDS = 2.0
_KEPT_ANSWERS = 256
_KEPT_SECONDS = 600.0
_KEPT_CHARS = 128 * 1024  # all of them together stay below 64 MiB
_MESSAGE_CHARS = 290
_STDERR_CHARS = 1_000


@dataclass(frozen=True, slots=True)
class PackAnswer:
    """The answer of a pack, and whether it was kept from an earlier call."""

    data: Any
    is_kept: bool = False


@dataclass(frozen=True, slots=True)
class _ContractBroken(Exception):
    """A pack did not do what its file promises: ``reason`` is one of the errors that callers see."""

    reason: str
    why: str
    details: Mapping[str, int] = field(default_factory=dict)


class PackRunner:
    """Runs the packs of one server, a few at once. For one event loop."""

    def __init__(self, contract_violations: ContractViolations) -> None:
        self.contract_violations = contract_violations
        self._slots = asyncio.Semaphore(_AT_ONCE)
        self._waiting = 0
        self._answers: Cache[Any] = Cache(_KEPT_ANSWERS, _KEPT_SECONDS)

    async def call(
        self, pack: ToolPack, given: Mapping[str, Any], caller: str, *, is_fresh: bool = False
    ) -> PackAnswer:
        """The answer of a pack. ``caller`` identifies whose answers may be taken from earlier calls.

        ``is_fresh``: none may be; the new answer takes the place of a kept one.

        Raises ``WinnowError``: INVALID_REQUEST for an input that does not fit, TIMEOUT, OUTPUT_BYTES and
        SOURCE_UNAVAILABLE for what the pack did.
        """
        stdin = _check_input(pack, given)
        try:
            key = _cache_key(pack, given, caller)
            if key is not None and not is_fresh and (kept := self._answers.get(key)) is not None:
                return PackAnswer(kept[0], is_kept=True)
            data = await self._run(pack, given, stdin)
        except TemplateRefused as error:
            raise WinnowError("INVALID_REQUEST", one_line(f"{pack.id}: {error}", _MESSAGE_CHARS)) from None
        except _ContractBroken as broken:
            raise await self._count_break(pack, broken) from None
        if key is not None and len(dumps(data)) <= _KEPT_CHARS:
            self._answers.put(key, (data,))
        return PackAnswer(data)

    async def _count_break(self, pack: ToolPack, broken: _ContractBroken) -> WinnowError:
        breaks = await asyncio.to_thread(self.contract_violations.add, pack, broken.why)
        left = MOST - breaks.count
        then = f"after {left} more it is taken off the list" if left > 0 else "it is taken off the list now"
        message = f"{pack.id} {broken.why}; {then}; its operator sees why: winnow pack list --folder FOLDER"
        return WinnowError(broken.reason, one_line(message, _MESSAGE_CHARS), details=broken.details)

    async def _run(self, pack: ToolPack, given: Mapping[str, Any], stdin: bytes) -> Any:
        if self._waiting >= _MOST_WAITING:
            message = f"{self._waiting} calls of tool packs wait already; repeat this one"
            raise WinnowError("QUEUE_FULL", message, retryable=True, retry_after_s=_RETRY_SECONDS)
        self._waiting += 1
        try:
            await self._slots.acquire()
        finally:
            self._waiting -= 1
        try:
            return await _answer_of(pack, given, stdin, self.contract_violations.store)
        finally:
            self._slots.release()


def _cache_key(pack: ToolPack, given: Mapping[str, Any], caller: str) -> tuple[str, str, str] | None:
    """Under which an answer is kept; None where none is. Raises ``TemplateRefused``."""
    if not pack.cache_key:
        return None
    return caller, pack.digest, render(pack.cache_key, template_values(pack, given))


def _check_input(pack: ToolPack, given: Mapping[str, Any]) -> bytes:
    """The line that a program reads. Raises ``WinnowError("INVALID_REQUEST")`` for an input that does not fit."""
    try:
        # Strict: a program would fail at halves of characters and at numbers that JSON does not have.
        stdin = json.dumps({"input": given}, ensure_ascii=False, allow_nan=False).encode() + b"\n"
    except (ValueError, RecursionError):
        message = f"{pack.id}: the input has a number, a character or a depth that JSON cannot carry"
        raise WinnowError("INVALID_REQUEST", message) from None
    if len(stdin) > pack.bounds.input_bytes:
        message = f"{pack.id} takes at most {pack.bounds.input_bytes:,} bytes, and this input has {len(stdin):,}"
        raise WinnowError("INVALID_REQUEST", message)
    if why := pack.takes.explain(given):
        raise WinnowError("INVALID_REQUEST", one_line(f"{pack.id}: {why}", _MESSAGE_CHARS))
    return stdin


async def _answer_of(pack: ToolPack, given: Mapping[str, Any], stdin: bytes, store: Path) -> Any:
    """The checked answer of the pack. Raises ``_ContractBroken``, ``TemplateRefused`` and ``WinnowError``."""
    if isinstance(pack.execution, PackProgram):
        data = await _run_program(pack, pack.execution, given, stdin, store)
    else:
        data = await _ask_address(pack, pack.execution, given)
    try:
        value = take_answer(await asyncio.to_thread(parse_value, data), pack.answer_path)
        if is_deep(value):
            raise NoValue("it is nested too deeply")
        answer = printable_data(value)
    except NoValue as error:
        raise _ContractBroken("SOURCE_UNAVAILABLE", f"broke its contract: {error}") from None
    except ReportedFailure as error:
        message = one_line(f"{pack.id} failed: {error.message}", _MESSAGE_CHARS)
        raise WinnowError("SOURCE_UNAVAILABLE", message) from None
    if why := await asyncio.to_thread(pack.answers.explain, answer):
        raise _ContractBroken("SOURCE_UNAVAILABLE", f"broke its contract: outputSchema: {why}")
    return answer


async def _ask_address(pack: ToolPack, request: PackRequest, given: Mapping[str, Any]) -> bytes:
    try:
        async with asyncio.timeout(pack.bounds.seconds):
            return await ask(prepare_request(pack, request, given), pack.bounds.output_bytes)
    except TimeoutError:
        raise _too_late(pack) from None
    except TooMuch as error:
        raise _too_large(pack, error.size) from None


async def _run_program(
    pack: ToolPack, program: PackProgram, given: Mapping[str, Any], stdin: bytes, store: Path
) -> bytes:
    call = build_call(pack, program, given, stdin, store)
    is_cancelled = threading.Event()
    try:
        end = await asyncio.to_thread(run_program, call, is_cancelled.is_set)
    except SandboxUnavailable as error:
        log("a tool pack did not run", level=30, tool=pack.id, why=str(error))
        message = f"{pack.id} cannot run on this host now; its operator sees why: winnow pack list --folder FOLDER"
        raise WinnowError("SANDBOX_UNAVAILABLE", message) from None
    finally:
        is_cancelled.set()
    if end.stderr:
        log("standard error of a tool pack", tool=pack.id, text=ending(end.stderr, _STDERR_CHARS))
    return _check_end(pack, end)


def _check_end(pack: ToolPack, end: ProgramEnd) -> bytes:
    if end.is_late:
        raise _too_late(pack)
    if end.is_oversized:
        raise _too_large(pack, end.printed_bytes)
    if end.is_out_of_memory:
        raise _ContractBroken("MEMORY", f"took more than its {pack.bounds.memory_bytes >> 20:,} MiB of memory")
    if end.code:
        how = f"was ended by signal {-end.code}" if end.code < 0 else f"ended with status {end.code}"
        raise _ContractBroken("SOURCE_UNAVAILABLE", f"broke its contract: its program {how}")
    return end.stdout


def _too_late(pack: ToolPack) -> _ContractBroken:
    return _ContractBroken("TIMEOUT", f"did not answer within its {pack.bounds.seconds:g} s")


def _too_large(pack: ToolPack, size: int) -> _ContractBroken:
    """The break of a pack of whose answer ``size`` bytes were read before it was ended."""
    most = pack.bounds.output_bytes
    why = f"answered with more than its {most:,} bytes (limits.maxOutputBytes): {size:,} were read"
    return _ContractBroken("OUTPUT_BYTES", why, {"size": size, "max": most})
