"""``winnow demo``: index this Python's own documentation, and answer from it with and without a script."""

from __future__ import annotations

import asyncio
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import typer
from rich.markup import escape
from rich.table import Table

from winnow.sandbox.runners.availability import find_obstacle, tier_name_of
from winnow.server.commands.demonstration.client import (
    Arm,
    connect_server,
    offers_scripts,
    run_direct,
    run_scripted,
    wait_for_model,
)
from winnow.server.commands.demonstration.stdlib import PROJECT, SOURCE, ModuleDocs, documents_of, read_corpus
from winnow.server.commands.demonstration.task import QUESTION, SCRIPT, TaskAnswer, expected_answer
from winnow.server.commands.terminal.output import (
    FAILED,
    UNAVAILABLE,
    Json,
    StoreOption,
    command,
    examples,
    print_json,
    print_lines,
    report_errors,
)
from winnow.server.commands.terminal.progress import show_progress
from winnow.server.commands.terminal.screen import Screen
from winnow.server.ingest.pipeline import IngestReport
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.text.sizes import count_of
from winnow.server.tools.scripts.opt_in import PAGE, name_opt_in

app = command()

NOT_STARTED = "The sandbox did not start; see winnow doctor."

ON_YOUR_OWN = """\
The same over a folder of yours:
  winnow ingest ~/notes --project notes
  winnow search "what did we decide about backups" --project notes
  winnow setup --project notes        (tells Claude, VS Code, Cursor and others to use it)
"""


@dataclass(frozen=True, slots=True)
class Demonstration:
    """The indexed documents, the true answer, and each arm's result.

    ``scripted`` is None without scripts, and ``why_not`` says why, with the command that runs both ways.
    """

    indexed: IngestReport
    truth: TaskAnswer
    direct: Arm
    scripted: Arm | None
    why_not: str = ""

    @property
    def exit_code(self) -> int:
        """0 if every answer is right, 1 if one is wrong, 4 if the sandbox did not start where it looked fine."""
        arms = [arm for arm in (self.direct, self.scripted) if arm is not None]
        if any(arm.answer != self.truth for arm in arms):
            return FAILED
        return UNAVAILABLE if self.why_not == NOT_STARTED else 0

    def to_json(self) -> dict[str, Any]:
        """The figures, for programs."""
        arms = {"direct": self.direct, "scripted": self.scripted}
        return {
            "question": QUESTION,
            "answer": self.truth,
            "indexed": asdict(self.indexed),
            "arms": {
                name: arm and {**asdict(arm), "right": arm.answer == self.truth} for name, arm in arms.items()
            },
            "share": self.scripted and round(self.scripted.tokens / self.direct.tokens, 4),
            "why_no_script": self.why_not,
        }


@app.command(
    epilog=examples("winnow demo", "winnow demo --json")
    + "\n\nExit code: 0 both ways gave the right answer, 1 one did not, 4 the sandbox did not start "
    "although scripts look possible here. Where no script can run, the direct way alone is shown.",
)
def demo(store: StoreOption = None, as_json: Json = False) -> None:
    """Index this Python's documentation, then answer one question from it in two ways."""
    with report_errors(as_json=as_json):
        settings = load_settings(store=store or load_settings().store / "demo", project=PROJECT)
        console = Screen(highlight=False, stderr=as_json)
        result = _run_demo(settings, console)
        if as_json:
            print_json(result.to_json())
        else:
            _print_result(result, console)
        raise typer.Exit(result.exit_code)


def _run_demo(settings: Settings, console: Screen) -> Demonstration:
    documentation = list(read_corpus())
    entries = sum(len(module.entries) for module in documentation)
    console.print(
        f"The documentation of Python {platform.python_version()}: {len(documentation)} modules, "
        f"{entries:,} classes and functions.\nIndexed in {settings.store}, project {PROJECT}."
    )
    if why_not := explain_no_script(settings):  # said before minutes of work, and not again
        told = f"[bold]No script runs here[/bold], so only the direct way is shown: {escape(why_not)}"
        console.print(told, soft_wrap=True)  # it ends with a command to copy
    report = _index_documentation(settings, documentation)
    console.print(_describe_report(report))
    console.print(f"\n[bold]Question[/bold]  {escape(QUESTION)}\n")
    return asyncio.run(_run_both_arms(settings, report, expected_answer(documentation)))


def _index_documentation(settings: Settings, documentation: Sequence[ModuleDocs]) -> IngestReport:
    # Vector store and model runtime take seconds to import; the first lines appear before that.
    from winnow.server.backends.opening import open_backends
    from winnow.server.ingest.pipeline import ingest_documents
    from winnow.server.jobs.target import target_of

    backends = open_backends(settings, wait_for_model=True)
    try:
        target = target_of(settings, backends, backends.embedder.wait())
        documents = documents_of(documentation)
        with show_progress() as progress:
            return ingest_documents(target, SOURCE, documents, total=len(documentation), progress=progress)
    finally:
        backends.close()


def _describe_report(report: IngestReport) -> str:
    if not report.chunks:
        return (
            "Nothing changed since the last run: "
            f"{count_of(report.unchanged, 'document')} ({report.seconds:.1f} s)."
        )
    rate = report.chunks / max(report.seconds, 0.001)
    return f"{count_of(report.chunks, 'chunk')} in {report.seconds:.1f} s ({rate:.0f}/s)."


async def _run_both_arms(settings: Settings, report: IngestReport, answer: TaskAnswer) -> Demonstration:
    async with connect_server(settings.store, PROJECT, log=settings.store / "serve.log") as client:
        if settings.embedding != "off":
            await wait_for_model(client)
        has_scripts = await offers_scripts(client)
        by_script = await run_scripted(client) if has_scripts else None
        by_hand = await run_direct(client)
    return Demonstration(report, answer, by_hand, by_script, "" if has_scripts else _why(settings))


def _why(settings: Settings) -> str:
    return explain_no_script(settings) or NOT_STARTED


def explain_no_script(settings: Settings) -> str:
    """Why no script can run here, and the command of a demonstration with scripts; "" where they look possible."""
    if settings.execute_code == "off":
        return "execute_code is switched off (setting execute_code)"
    obstacle = find_obstacle(settings.sandbox, settings.allow_weaker_sandbox)
    if obstacle is None:
        return ""
    name = name_opt_in(obstacle.missing)
    if not name:
        return f"{obstacle.reason}; see winnow doctor"
    tier = tier_name_of(obstacle.missing)
    behind = f"behind the walls of the tier {tier}" if tier else "without these walls"
    return (
        f"{obstacle.reason}. To show both ways {behind} ({PAGE}): WINNOW_ALLOW_WEAKER_SANDBOX={name} winnow demo"
    )


def _print_result(result: Demonstration, console: Screen) -> None:
    console.print(_answer_table(result))
    console.print()
    console.print(_figure_table(result))
    console.print(
        "Tokens are what the model writes and reads. In both ways the same rule picks the answer from the texts."
    )
    if result.scripted is None:
        unforeseen = f" {NOT_STARTED}" if result.why_not == NOT_STARTED else ""
        console.print(f"\n[bold]No script ran[/bold], so only the direct way was shown.{unforeseen}")
    else:
        _print_script(result.direct, result.scripted, console)
    if result.exit_code == FAILED:
        console.print("\n[red bold]An answer is wrong[/red bold]: it differs from what the docstrings say.")
    print_lines("", *ON_YOUR_OWN.splitlines())


def _answer_table(result: Demonstration) -> Table:
    """A row for each function in an answer; where an answer is wrong, a column with the right one."""
    columns = {"direct searches": result.direct.answer}
    if result.scripted is not None:
        columns["one script"] = result.scripted.answer
    if result.exit_code == FAILED:
        columns["docstrings"] = result.truth
    table = _new_table("function", *columns)
    for name in sorted({name for answer in columns.values() for name in answer}):
        table.add_row(name, *(", ".join(answer.get(name, ["-"])) for answer in columns.values()))
    return table


def _figure_table(result: Demonstration) -> Table:
    table = _new_table("", "calls", "tokens in the model's context", "seconds", "answer")
    for name, arm in (("direct searches", result.direct), ("one script", result.scripted)):
        if arm is not None:
            verdict = "right" if arm.answer == result.truth else "WRONG"
            table.add_row(name, f"{arm.calls}", f"{arm.tokens:,}", f"{arm.seconds:.2f}", verdict)
    return table


def _new_table(*columns: str) -> Table:
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _print_script(direct: Arm, scripted: Arm, console: Screen) -> None:
    console.print("\n[bold]The script[/bold]")
    print_lines(*SCRIPT.splitlines())
    usage, walls, error = (scripted.details.get(part, {}) for part in ("usage", "walls", "error"))
    if error:
        console.print(f"[red]It failed[/red]: {escape(error['type'])}: {escape(error['message'])}")
        return
    console.print(
        f"It took {count_of(usage['sdk_calls'], 'SDK call')} and "
        f"{count_of(usage['rows'], 'row')}; {usage['tokens_kept_out']:,} tokens "
        f"stayed in the sandbox. It cost {scripted.tokens / direct.tokens:.1%} of what the direct way cost."
    )
    if not walls["missing"]:
        console.print("Every wall stood around it; winnow doctor names them.")
    for wall in walls["missing"]:
        console.print(f"[yellow]Wall that was missing: {escape(wall)}[/yellow]")
