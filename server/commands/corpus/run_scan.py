"""Runs a scan for the shell: its progress, its end by Ctrl-C, and what is printed."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import typer

from winnow.server.commands.corpus.following import COUNTS, FollowedScan
from winnow.server.commands.terminal.operation import knowledge_of, print_answer
from winnow.server.commands.terminal.output import FAILED, print_json, print_to_stderr
from winnow.server.commands.terminal.progress import INTERRUPTED, OnStep, show_counts
from winnow.server.operations.corpus.scan import render_scan
from winnow.server.operations.knowledge import SCRIPT, Knowledge
from winnow.server.settings.settings import Settings
from winnow.server.text.sizes import count_of


@dataclass(frozen=True, slots=True)
class ScanOutcome:
    """The matches of a scan, and the exit code of the command: not 0 where it is not complete."""

    payload: dict[str, Any]
    warnings: tuple[str, ...]
    exit_code: int


def run_scan(settings: Settings, arguments: Mapping[str, Any]) -> ScanOutcome:
    """Follow a scan to its end, or until Ctrl-C. Raises ``WinnowError`` if it cannot begin."""
    scan, exit_code = FollowedScan(arguments, arguments["limit"]), 0
    try:
        asyncio.run(_follow(settings, scan))
        exit_code = 0 if scan.is_complete else FAILED
    except KeyboardInterrupt:
        exit_code = INTERRUPTED
    return ScanOutcome(scan.payload(), scan.all_warnings(), exit_code)


def print_matches(outcome: ScanOutcome, *, as_json: bool) -> None:
    """Print the rows, and exit with the outcome's code."""
    _print(outcome, outcome.payload, render_scan(outcome.payload), as_json=as_json)


def print_counts(outcome: ScanOutcome, *, as_json: bool) -> None:
    """Print how many matches there are, and exit with the outcome's code."""
    total = outcome.payload["total"]
    matches, passages, documents = (total[name] for name in COUNTS)
    line = (
        f"{count_of(matches, 'match', 'matches')} in "
        f"{count_of(passages, 'passage')} of {count_of(documents, 'document')}"
    )
    payload = {**total, "scanned": outcome.payload["scanned"], "complete": outcome.payload["complete"]}
    _print(outcome, payload, [line], as_json=as_json)


def _print(outcome: ScanOutcome, payload: dict[str, Any], lines: list[str], *, as_json: bool) -> None:
    if as_json:
        print_json({**payload, "warnings": list(outcome.warnings)})
    else:
        print_answer(lines, payload)
        print_to_stderr(*(f"warning: {warning}" for warning in outcome.warnings))
    if outcome.exit_code:
        raise typer.Exit(outcome.exit_code)


async def _follow(settings: Settings, scan: FollowedScan) -> None:
    async with knowledge_of(settings) as kb:
        with ExitStack() as stack:
            await scan.follow(kb, _Progress(kb, scan.arguments, stack).show)


@dataclass(slots=True)
class _Progress:
    """The progress of a scan that takes several calls; ``stack`` closes its display."""

    kb: Knowledge
    arguments: Mapping[str, Any]
    stack: ExitStack
    documents: int = 0
    on_step: OnStep | None = None

    async def show(self, documents: int, matches: int) -> None:
        """Show how many documents were looked through, of how many, and the matches in them."""
        if self.on_step is None:
            narrowed = {name: self.arguments[name] for name in ("path", "where")}
            answer = await self.kb.call("kb.documents", {**narrowed, "limit": 1}, self.kb.caller("shell", SCRIPT))
            self.documents = answer.payload["total"]["documents"]
            self.on_step = self.stack.enter_context(show_counts())
        self.on_step(f"scanning, {count_of(matches, 'match', 'matches')}", documents, self.documents)
