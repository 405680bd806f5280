"""``winnow doctor``: what is right and what is not on this machine, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from server.commands.output import FAILED, Json, Store, command, errors_shown, print_json
from server.health import Finding, examine, is_healthy
from server.settings import load_settings

app = command()


@app.command(
    epilog="Examples: winnow doctor | winnow doctor --json\n\n"
    "Exit code: 0 everything essential is right, 1 something is not.",
)
def doctor(store: Store = None, as_json: Json = False) -> None:
    """Check this installation, the store, the model and every wall of the sandbox."""
    with errors_shown(as_json=as_json):
        findings = examine(load_settings(store=store))
        healthy = is_healthy(findings)
        if as_json:
            print_json({"ok": healthy, "checks": [finding.to_json() for finding in findings]})
        else:
            _show(findings, healthy=healthy)
        raise typer.Exit(0 if healthy else FAILED)


def _show(findings: Sequence[Finding], *, healthy: bool) -> None:
    console = Console(highlight=False)
    for group, members in groupby(findings, key=lambda finding: finding.group):
        table = Table(box=None, show_header=False, pad_edge=False, padding=(0, 2, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True)
        table.add_column(overflow="fold")
        for finding in members:
            table.add_row(_mark(finding), escape(finding.check), escape(_told(finding)))
            if finding.advice:
                table.add_row("", "", f"[bold]→ {escape(finding.advice)}[/bold]")
        console.print(f"[bold]{group}[/bold]", table, "", sep="\n")
    console.print(
        "Everything essential is right." if healthy else "Not everything is right; the arrows say what to do."
    )


def _told(finding: Finding) -> str:
    return f"{finding.detail}: {finding.evidence}" if finding.evidence and not finding.ok else finding.detail


def _mark(finding: Finding) -> str:
    if finding.ok:
        return "[green]ok[/green]"
    return "[red]NO[/red]" if finding.essential else "[yellow]--[/yellow]"
