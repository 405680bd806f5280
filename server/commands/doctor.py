"""``winnow doctor``: checks of this installation, with advice, and the audit of its sandbox."""

from __future__ import annotations

import asyncio
import logging
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, replace
from itertools import groupby
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from winnow.sandbox.runners.availability import find_obstacle
from winnow.server.bibliographies.locators import count_pages
from winnow.server.commands.health import examine
from winnow.server.commands.health.walls import GAP
from winnow.server.commands.terminal.findings import Finding, is_healthy
from winnow.server.commands.terminal.findings_table import complete_finding, print_findings
from winnow.server.commands.terminal.output import (
    FAILED,
    Json,
    StoreOption,
    command,
    complete,
    examples,
    print_json,
    print_lines,
    print_to_stderr,
    report_errors,
)
from winnow.server.commands.terminal.progress import show_trials
from winnow.server.commands.terminal.screen import Screen
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.text.printable import one_line
from winnow.server.text.sizes import count_of
from winnow.server.tools.scripts.opt_in import PAGE, name_opt_in, with_opt_in

if TYPE_CHECKING:
    from winnow.security.audit import Audit, Column, Trial
    from winnow.security.soak import Soak
    from winnow.security.suite import Attack

_THIN = (
    "thin: pages that are images, {few}, unreadable characters, or no passages; files that were not read are not "
    "in the index: winnow ingest names each with its reason"
)

app = command()

INTERRUPTED = 130  # as a shell says it of a program that Ctrl-C ended


@app.command(
    epilog=examples(
        "winnow doctor",
        "winnow doctor --json",
        "winnow doctor --documents",
        "winnow doctor --audit --family network",
        "winnow doctor --soak 10000",
    )
    + "\n\nExit code: 0 everything essential for the tier of this host is right, 1 something is not, or an attack "
    "could not be tried, 4 no sandbox here to audit.",
)
def doctor(
    store: StoreOption = None,
    project: Annotated[
        str | None, typer.Option(help="with --documents: only those of this project", show_default=False)
    ] = None,
    documents: Annotated[
        bool, typer.Option("--documents", help="list the documents of which little came into the index")
    ] = False,
    audit: Annotated[
        bool,
        typer.Option(
            "--audit", help="run every attack on the sandbox of this host; about half an hour on two cores"
        ),
    ] = False,
    family: Annotated[
        list[str] | None,
        typer.Option("--family", metavar="NAME", help="audit this family only; repeatable", show_default=False),
    ] = None,
    soak: Annotated[
        int | None,
        typer.Option(
            "--soak",
            metavar="N",
            min=100,
            max=1_000_000,
            help="run N scripts, some of them attacks, 8 at once",
            show_default=False,
        ),
    ] = None,
    show_all: Annotated[
        bool, typer.Option("--all", help="list each part of Python that the smaller language lacks")
    ] = False,
    seccomp: Annotated[
        bool, typer.Option("--seccomp", help="print the system-call filter for a container that gives all walls")
    ] = False,
    apparmor: Annotated[
        bool, typer.Option("--apparmor", help="print the AppArmor profile that gives this installation all walls")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check this installation, the store, the model and every wall of the sandbox.

    With --documents, list the documents of which little can be found instead: scans, few characters a page,
    unreadable characters, no passages. With --audit, attack the sandbox: every attack of security/attacks against
    plain Python, where it must succeed, and against the fence, the walls and both, where it must fail. With
    --soak, run thousands of scripts and check that nothing is left behind. --seccomp and --apparmor
    print profiles for hosts that refuse namespaces (docs/containers.md). docs/operations.md shows the JSON.
    """
    with report_errors(as_json=as_json):
        if seccomp or apparmor:
            _print_host_profile(seccomp=seccomp)
            return
        settings = load_settings(store=store)
        if documents:
            _print_thin_documents(settings, project, as_json=as_json)
            return
        if project is not None:
            raise WinnowError("INVALID_REQUEST", "--project chooses whose documents to list: add --documents")
        if audit:
            from winnow.security.suite import read_attacks

            attacks = _select_families(list(read_attacks()), family or [])
            raise typer.Exit(run_audit(attacks, accept_missing=settings.allow_weaker_sandbox, as_json=as_json))
        if soak:
            raise typer.Exit(run_soak(soak, accept_missing=settings.allow_weaker_sandbox, as_json=as_json))
        if family:
            raise WinnowError("INVALID_REQUEST", "--family chooses what to audit: add --audit")
        if as_json:
            findings = [complete_finding(finding) for finding in examine(settings)]
            healthy = is_healthy(findings)
            print_json({"ok": healthy, "checks": [finding.to_json() for finding in findings]})
        else:
            findings_shown = examine(settings) if show_all else _fold_gaps(examine(settings))
            healthy = print_findings(findings_shown)
            print_lines(*_describe_scripts(settings))
        raise typer.Exit(0 if healthy else FAILED)


def _describe_scripts(settings: Settings) -> Iterator[str]:
    """The last lines where walls are missing: whether scripts run nevertheless, and a command to copy."""
    runner, accepted = settings.sandbox, settings.allow_weaker_sandbox
    lacking = find_obstacle(runner)
    if settings.execute_code == "off" or lacking is None or not (name := name_opt_in(lacking.missing)):
        return
    if find_obstacle(runner, accepted) is None:
        yield f"Scripts run without {', '.join(sorted(lacking.missing))}: by the operator's choice ({PAGE})."
        return
    chosen = "" if runner == "auto" else f" --sandbox {runner}"
    yield f"Scripts do not run here: {lacking.reason}."
    yield f"If you may change how this host or container is started: the lines above, and {PAGE}. If you may not:"
    yield complete(f"  winnow serve{chosen} --allow-weaker-sandbox {name}")


def _print_host_profile(*, seccomp: bool) -> None:
    from winnow.server.commands.health import host_profiles

    text = (
        host_profiles.seccomp_profile()
        if seccomp
        else host_profiles.apparmor_profile(host_profiles.find_program())
    )
    print_lines(*text.splitlines())


def _print_thin_documents(settings: Settings, only: str | None, *, as_json: bool) -> None:
    """Print the documents of all projects, or of one, of which little came into the index, with advice."""
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.backends.opening import catalogue_path
    from winnow.server.commands.terminal.stores import require_index
    from winnow.server.ingest.inspection.thin_documents import describe_thresholds, find_thin_documents
    from winnow.server.settings.project_settings import unknown_project

    require_index(settings.store)
    with closing(Catalogue(catalogue_path(settings))) as catalogue:
        projects = [info for info in catalogue.projects() if only in (None, info.name)]
        if only is not None and not projects:
            raise unknown_project(only, [info.name for info in catalogue.projects()])
        thin = [found for project in projects for found in find_thin_documents(catalogue, project.name)]
    count = sum(project.documents for project in projects)
    if as_json:
        print_json({"documents": count, "thin": [found.to_json() for found in thin]})
        return
    for found in thin:
        pages = count_pages({found.type: found.pages})
        facts = (
            f"project {found.project}",
            found.type,
            *filter(None, [pages]),
            count_of(found.characters, "character"),
            count_of(found.passages, "passage"),
        )
        print_lines(f"{one_line(found.file)} ({', '.join(facts)})")
        for problem in found.problems:
            print_lines(f"  {problem.problem}", complete(f"  → {one_line(problem.advice)}"))
    print_lines(
        f"{len(thin):,} of {count_of(count, 'document')} came out thin", _THIN.format(few=describe_thresholds())
    )


def _fold_gaps(findings: Iterable[Finding]) -> Iterator[Finding]:
    """The findings, with one in place of those about gaps of the smaller language."""
    for is_gap, members in groupby(findings, key=lambda finding: finding.check == GAP):
        if is_gap:
            gaps = list(members)
            told = f"{len(gaps)} parts of Python; they are listed by: winnow doctor --all"
            yield replace(gaps[0], detail=told, advice="")
        else:
            yield from members


# --- the audit ---------------------------------------------------------------------------------------------


def _select_families(attacks: Sequence[Attack], names: Sequence[str]) -> list[Attack]:
    known = sorted({attack.family for attack in attacks})
    if unknown := sorted(set(names) - set(known)):
        raise WinnowError("INVALID_REQUEST", f"no family {unknown[0]!r}; there are {', '.join(known)}")
    return [attack for attack in attacks if not names or attack.family in names]


@contextmanager
def _report_steps(what: str, total: int) -> Iterator[Callable[[], None]]:
    """Show progress of an audit or soak; yields the function to call after each step."""
    from winnow.sandbox import SandboxUnavailable

    logging.getLogger("sandbox").setLevel(logging.ERROR)  # killed scripts are expected here
    try:
        with show_trials(what, total) as advance:
            yield advance
    except SandboxUnavailable as error:
        why = with_opt_in(str(error), error.missing)
        raise WinnowError("SANDBOX_UNAVAILABLE", f"{why}; winnow doctor shows every wall") from None


def run_audit(attacks: Sequence[Attack], *, accept_missing: tuple[str, ...], as_json: bool) -> int:
    """Run the attacks, print the results, and return the exit code."""
    from winnow.security.audit import Audit, claimed_modes, find_missing_walls, run

    expected = sum(len(claimed_modes(attack)) for attack in attacks)
    trials: list[Trial] = []
    missing: tuple[str, ...] | None = None
    began = time.monotonic()

    def note(trial: Trial) -> None:
        trials.append(trial)
        advance()

    with _report_steps("attacking", expected) as advance:
        try:
            missing = asyncio.run(find_missing_walls(attacks, accept_missing=accept_missing))
            report = asyncio.run(run(attacks, accept_missing=accept_missing, missing=missing, on_trial=note))
        except KeyboardInterrupt:
            report = Audit(tuple(trials), time.monotonic() - began, missing, is_whole=False)
    if as_json:
        print_json(report.to_json())
    else:
        _print_audit(report)
    if not report.is_whole:
        print_to_stderr(_describe_rest(attacks, trials, expected))
        return INTERRUPTED
    return 0 if report.is_clean else FAILED


def _describe_rest(attacks: Sequence[Attack], trials: Sequence[Trial], expected: int) -> str:
    """The sentence about an interrupted audit, with the command for the families that it had not finished."""
    from winnow.security.audit import claimed_modes

    done = Counter(trial.family for trial in trials)
    whole = Counter(attack.family for attack in attacks for _ in claimed_modes(attack))
    rest = " ".join(f"--family {family}" for family in sorted(whole) if done[family] < whole[family])
    return (
        f"winnow: interrupted after {len(trials):,} of {expected:,} trials. Go on with the families that are not "
        f"done: winnow doctor --audit {rest}"
    )


def run_soak(executions: int, *, accept_missing: tuple[str, ...], as_json: bool) -> int:
    """Run ``executions`` scripts, print the results, and return the exit code."""
    from winnow.security import soak
    from winnow.security.suite import read_attacks

    scripts = [attack for attack in read_attacks() if attack.is_script]
    with _report_steps("soaking", executions) as advance:
        report = asyncio.run(soak.run(scripts, executions, accept_missing=accept_missing, on_execution=advance))
    if as_json:
        print_json(report.to_json())
    else:
        _print_soak(report)
    return 0 if report.ok else FAILED


def _print_soak(report: Soak) -> None:
    console = Screen(highlight=False)
    console.print(
        f"{report.executions:,} scripts, {report.attacks:,} of them attacks, {report.at_once} at once, "
        f"{report.seconds:.0f} s; they ended as "
        + ", ".join(f"{ending} {count:,}" for ending, count in sorted(report.endings.items()))
    )
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for heading in ("", "start", "end"):
        table.add_column(heading, justify="right" if heading else "left")
    start, end = asdict(report.before), asdict(report.after)
    for name, value in start.items():
        table.add_row(name.replace("_", " "), f"{value:,}", f"{end[name]:,}")
    console.print(table)
    renewed = ", ".join(f"{why} {count}" for why, count in sorted(report.renewals.items())) or "none"
    console.print(f"fork servers replaced: {renewed}; processes left behind: {report.left_behind}")
    for violation in report.violations:
        console.print(f"[red]violation[/red] {escape(violation)}")
    console.print("Nothing stayed behind." if report.ok else "Not everything is as it was.")


def _print_audit(report: Audit) -> None:
    console = Screen(highlight=False)
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), show_footer=True)
    families = report.families()
    table.add_column("family", f"{len(families)} families", no_wrap=True)
    table.add_column("attacks", str(sum(family.attacks for family in families)), justify="right")
    for mode, column in report.totals().items():
        table.add_column(mode, _format_cell(column), justify="right")
    for family in families:
        table.add_row(family.name, str(family.attacks), *map(_format_cell, family.columns.values()))
    console.print(table, "", sep="\n")
    for trial in report.violations():
        what = f"[red]violation[/red] {trial.mode} {trial.attack}: {escape(trial.violation)}"
        console.print(what, soft_wrap=True)
    if unproven := report.unproven():
        console.print(
            f"refused by this host to every process, so proving nothing here: {', '.join(unproven)}",
            soft_wrap=True,
        )
    console.print(
        f"{len(report.violations())} violations in {len(report.trials)} trials, {report.seconds:.0f} s",
        "control: attacks that succeed on plain Python; fence, walls, both: attacks held of those claimed",
        *_describe_walls(report),
        *_describe_not_run(report),
        sep="\n",
        soft_wrap=True,
    )


def _describe_not_run(report: Audit) -> Iterator[str]:
    """The last lines of an audit on a host where the product did not start what is attacked."""
    not_run = report.not_run()
    for reason, trials in not_run.items():
        names = ", ".join(dict.fromkeys(trial.attack for trial in trials))
        yield f"not run here: {reason}, {count_of(len(trials), 'trial')}: {names}"
    if not_run:
        number = sum(map(len, not_run.values()))
        yield f"{count_of(number, 'trial')} could not run here: this audit is not complete"


def _describe_walls(report: Audit) -> Iterator[str]:
    """The last line of an audit on a host that lacks walls."""
    if report.missing:
        yield (
            f"tier {report.tier}: attacked without {', '.join(report.missing)}; it says nothing about a host "
            "with all walls, and seccomp alone holds more here than there (docs/containers.md)"
        )


def _format_cell(column: Column) -> str:
    if not column.claimed:
        return "-"
    text = f"{column.held}/{column.claimed}"
    return text if column.held == column.claimed else f"[red]{text}[/red]"
