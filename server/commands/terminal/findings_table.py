"""Findings on the terminal: a table for each group of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from itertools import groupby

from rich.markup import escape
from rich.table import Table

from winnow.server.commands.terminal.findings import Finding
from winnow.server.commands.terminal.output import complete
from winnow.server.commands.terminal.screen import Screen


def print_findings(findings: Iterable[Finding]) -> bool:
    """Print each group of findings as soon as it is complete; whether all essential ones are fine."""
    console = Screen(highlight=False)
    healthy = True
    for group, members in groupby(map(complete_finding, findings), key=lambda finding: finding.group):
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for finding in members:
            healthy = healthy and (finding.ok or not finding.essential)
            table.add_row(_format_mark(finding), escape(finding.check), escape(_describe(finding)))
            if finding.advice:
                table.add_row("", "", f"[bold]→ {escape(finding.advice)}[/bold]")
        console.print(f"[bold]{group}[/bold]", table, "", sep="\n")
    console.print(
        "Everything essential is right." if healthy else "Not everything is right; the arrows say what to do."
    )
    return healthy


def complete_finding(finding: Finding) -> Finding:
    """The finding with whole commands in its words, where it is no good one."""
    if finding.ok:
        return finding
    return replace(finding, detail=complete(finding.detail), advice=complete(finding.advice))


def _describe(finding: Finding) -> str:
    return f"{finding.detail}: {finding.evidence}" if finding.evidence and not finding.ok else finding.detail


def _format_mark(finding: Finding) -> str:
    if finding.ok:
        return "[green]ok[/green]"
    return "[red]NO[/red]" if finding.essential else "[yellow]--[/yellow]"
