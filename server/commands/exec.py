"""``winnow exec``: run a script in the sandbox from the shell, as agents run theirs."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated

import typer

from winnow.server.commands.terminal.operation import find_empty_project
from winnow.server.commands.terminal.output import (
    Json,
    LimitsOption,
    ProjectOption,
    RunnerOption,
    StoreOption,
    WeakerSandboxOption,
    command,
    examples,
    print_json,
    print_lines,
    print_to_stderr,
    report_errors,
)
from winnow.server.commands.terminal.stores import require_store
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

if TYPE_CHECKING:
    from winnow.sandbox import Outcome

app = command()

OK, SCRIPT_FAILED, LIMIT, UNAVAILABLE = 0, 1, 3, 4
_EXIT_CODES: Mapping[str, int] = MappingProxyType(
    {
        "ok": OK,
        "error": SCRIPT_FAILED,
        "rejected": SCRIPT_FAILED,
        "crashed": SCRIPT_FAILED,
        "cancelled": SCRIPT_FAILED,
        "timeout": LIMIT,
        "memory": LIMIT,
        "limit": LIMIT,
        "unavailable": UNAVAILABLE,
    }
)


@app.command(
    epilog=examples("winnow exec report.py", "echo 'return 1 + 1' | winnow exec - --json")
    + "\n\nExit code: 0 ok, 1 the script failed or was refused, 2 usage, 3 a limit, 4 no sandbox here.",
)
def exec_(
    file: Annotated[str, typer.Argument(metavar="FILE|-", help="the script; - reads it from stdin")],
    timeout: Annotated[
        float | None,
        typer.Option(
            "--timeout", metavar="S", min=1, max=60, help="seconds it may take, 1 to 60", show_default=False
        ),
    ] = None,
    memory_mb: Annotated[
        int | None,
        typer.Option("--memory-mb", metavar="N", help="memory it may use, 64 to 4096", show_default=False),
    ] = None,
    sandbox: RunnerOption = None,
    allow_weaker_sandbox: WeakerSandboxOption = None,
    limits: LimitsOption = None,
    store: StoreOption = None,
    project: ProjectOption = None,
    as_json: Json = False,
) -> None:
    """Run a retrieval script in the sandbox; --json prints exactly the outcome."""
    with report_errors(as_json=as_json):
        settings = load_settings(
            store=store,
            project=project,
            memory_mb=memory_mb,
            wall_seconds=timeout,
            sandbox=sandbox,
            allow_weaker_sandbox=allow_weaker_sandbox,
            limits=limits,
            execute_code="on",
        )
        require_store(settings.store)
        if error := find_empty_project(settings):
            raise error
        outcome = asyncio.run(_run_script(settings, _read_script(file)))
        _print_outcome(outcome, as_json=as_json)
        raise typer.Exit(_EXIT_CODES[outcome.status])


async def _run_script(settings: Settings, code: str) -> Outcome:
    from winnow.server.commands.entry.app import open_application

    async with open_application(settings, wait_for_model=True) as application:
        await application.ready()
        scripts = application.scripts
        if not scripts.available:  # a person at a shell is the operator, and is told what to do
            raise WinnowError("SANDBOX_UNAVAILABLE", f"{scripts.why_not}; winnow doctor shows every wall")
        return await scripts.run(code)


def _read_script(file: str) -> str:
    try:
        data = sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
        return data.decode("utf-8")
    except OSError as error:
        raise WinnowError("INVALID_REQUEST", f"cannot read {file}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise WinnowError("INVALID_REQUEST", f"{file} is not UTF-8 text") from None


def _print_outcome(outcome: Outcome, *, as_json: bool) -> None:
    if as_json:
        print_json(outcome.to_json())
        return
    from winnow.server.tools.execute_code import render, to_payload

    print_lines(*render(to_payload(outcome)).split("\n"), *(f"warning: {line}" for line in outcome.warnings))
    if outcome.status == "ok" and outcome.result is None and not outcome.stdout:
        print_to_stderr("note: the script returned and printed nothing; end it with: return VALUE")
