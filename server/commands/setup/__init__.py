"""``winnow setup``: put the server into the configuration of MCP clients, and start it as they do."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from typing import Annotated

import typer

from winnow.server.commands.serve import check_projects
from winnow.server.commands.setup.applying import set_up, take_out
from winnow.server.commands.setup.changes import Home, find_homes, places_of
from winnow.server.commands.setup.clients import ALIASES, CLIENTS, Client
from winnow.server.commands.setup.launch import Launch, launch_of
from winnow.server.commands.setup.machine import Machine, describe_scripts, this_machine
from winnow.server.commands.setup.report import (
    SetupReport,
    describe_entry,
    describe_failure,
    describe_handshake,
    describe_next_steps,
    describe_outcomes,
    describe_planned_entries,
)
from winnow.server.commands.setup.skill_folders import find_skill_folders, has_skills
from winnow.server.commands.terminal.output import (
    FAILED,
    Json,
    ProjectOption,
    StoreOption,
    command,
    examples,
    print_json,
    print_lines,
    print_text,
    print_to_stderr,
    report_errors,
)
from winnow.server.commands.terminal.stores import require_store
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load
from winnow.server.settings.settings import Settings, default_store

app = command()

# Windows has no locks of this kind, so nothing there would start what is written.
_NO_STORE = (
    "winnow opens no store on this system, whose Python has no module {module}: install it in WSL 2 or in a "
    "container, and let the client start it there (docs/macos-and-windows.md has the entry)"
)
_NAMES = ", ".join(client.name for client in CLIENTS)
_EPILOG = f"""
Clients: {_NAMES}.

Without a name, every client that is found on this machine is set up. The entry has the absolute path of this
installation, of the store and of the project, so that nothing depends on a PATH. Before anything is written, the
server is started as clients start it, in their bare environment; if it does not start, nothing is written.

Only the entry named winnow is changed. Comments, order and other keys of a file stay, and the file as it was is
kept beside it. A file that does not parse is never touched. --remove takes the entry out again.

--skills writes agent skills in place of the entry: the playbook, writing scripts, cited answers and literature
notes, into the folder from which a client reads the user's skills. A skill that was changed since is left alone.

On a terminal it asks for a folder where no documents are indexed yet, and answers a question of yours, also where
no client was found. Without a terminal it asks nothing, and names the commands and their options.

Exit code: 0 all is as it should be; 1 a file or the server is not, or no client was found; 2 for usage.

""" + examples(
    "winnow setup",
    "winnow setup cursor zed --project handbook",
    "winnow setup --print",
    "winnow setup --doctor claude-desktop",
    "winnow setup --remove",
    "winnow setup --skills claude-code",
)


@app.command(epilog=_EPILOG)
def setup(
    clients: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="CLIENT...", help="clients; default: every one on this machine", show_default=False
        ),
    ] = None,
    project: ProjectOption = None,
    store: StoreOption = None,
    allow_weaker_sandbox: Annotated[
        str | None,
        typer.Option(
            "--allow-weaker-sandbox",
            metavar="TIER",
            help="put this argument into the entry, so that scripts run behind the walls of a lesser tier",
            show_default=False,
        ),
    ] = None,
    only_print: Annotated[
        bool, typer.Option("--print", help="show what would be written where; write and start nothing")
    ] = False,
    remove: Annotated[bool, typer.Option("--remove", help="take the entry out again")] = False,
    skills: Annotated[
        bool, typer.Option("--skills", help="write agent skills, or remove them, in place of the entry")
    ] = False,
    doctor: Annotated[
        bool, typer.Option("--doctor", help="explain why a client does not show the server; change nothing")
    ] = False,
    as_json: Json = False,
) -> None:
    """Set up MCP clients on this machine, so that their agents use this store."""
    with report_errors(as_json=as_json):
        if doctor and (remove or only_print or skills):
            raise WinnowError(
                "INVALID_REQUEST", "--doctor changes nothing; leave out --remove, --print and --skills"
            )
        machine = this_machine()
        chosen = choose_clients(clients or [])
        if doctor:
            raise typer.Exit(_diagnose(machine, chosen, named=bool(clients), as_json=as_json))
        if skills:
            raise typer.Exit(_set_up_skills(machine, chosen, clients or [], only_print, remove, as_json))
        homes = find_homes(machine, chosen)
        missing = find_missing(clients or [], homes)
        if remove:
            raise typer.Exit(_remove(machine, homes, missing, only_print=only_print, as_json=as_json))
        settings, is_first = _prepare(
            {"store": store, "project": project, "allow_weaker_sandbox": allow_weaker_sandbox},
            homes,
            asks=not (only_print or as_json),
        )
        launch = launch_of(settings, allow_weaker_sandbox)
        report = set_up(homes, launch, only_print=only_print)
        if as_json:
            print_json({**report.to_json(), "missing": [client.name for client in missing]})
        else:
            _print_report(report, launch, machine, only_print=only_print)
            _report_missing(launch, homes, missing, machine)
            if not report.outcomes:  # of the entry to paste
                print_to_stderr(*(f"note: {note}" for note in report.notes))
            if is_first and (report.ok or not homes):
                _answer_a_question(launch)
        raise typer.Exit(FAILED if missing or not report.ok else 0)


def choose_clients(names: Sequence[str]) -> list[Client]:
    """The clients of these names, in the order of the table; all of them for no name.

    Raises ``WinnowError("NOT_FOUND")`` with the names that there are.
    """
    known = {client.name for client in CLIENTS}
    wanted = {meant for name in names for meant in _meanings(name)}
    if unknown := sorted(wanted - known):
        raise WinnowError("NOT_FOUND", f"no client {unknown[0]!r}; there are {_NAMES}")
    return [client for client in CLIENTS if not wanted or client.name in wanted]


def find_missing(names: Sequence[str], homes: Sequence[Home]) -> list[Client]:
    """The clients that were named and are not on this machine; of a word for several clients, one is enough."""
    here = {home.client.name for home in homes}
    missing = {meant for name in names if here.isdisjoint(_meanings(name)) for meant in _meanings(name)}
    return [client for client in CLIENTS if client.name in missing]


def _meanings(name: str) -> Sequence[str]:
    return ALIASES.get(name.lower(), (name.lower(),))


def _prepare(flags: Mapping[str, str | None], homes: Sequence[Home], *, asks: bool) -> tuple[Settings, bool]:
    """The settings for clients, after the first index is made; whether questions are asked."""
    try:
        from winnow.server.commands.setup.first_run import describe_two_commands, is_at_terminal, offer_index
        from winnow.server.commands.setup.project_choice import choose_project, projects_with_documents
    except ModuleNotFoundError as error:
        raise _unsupported(error) from None
    configuration = load(flags)
    check_projects(configuration)
    settings = configuration.settings
    if projects_with_documents(settings):
        return choose_project(configuration), False
    if asks and is_at_terminal():
        titles = dict.fromkeys(home.client.title for home in homes)
        print_lines(f"Clients on this machine: {', '.join(titles) or 'none'}.")
        made = offer_index(settings)
    else:
        made = False
        print_to_stderr(*describe_two_commands(settings))
    if settings.store != default_store():  # as winnow serve does, which would refuse to start
        require_store(settings.store)
    return settings, made


def _unsupported(error: ModuleNotFoundError) -> WinnowError:
    """The error for a module of Python that this system lacks. Raises the given one for any other module."""
    if error.name not in sys.stdlib_module_names:
        raise error
    return WinnowError("UNSUPPORTED", _NO_STORE.format(module=error.name))


def _diagnose(machine: Machine, chosen: Sequence[Client], *, named: bool, as_json: bool) -> int:
    from winnow.server.commands.setup.diagnosis import examine_clients
    from winnow.server.commands.terminal.findings import is_healthy
    from winnow.server.commands.terminal.findings_table import print_findings

    here = chosen if named else [client for client in chosen if find_homes(machine, [client])]
    findings = examine_clients(machine, here)
    if as_json:
        found = list(findings)
        print_json({"ok": is_healthy(found), "checks": [finding.to_json() for finding in found]})
        return 0 if is_healthy(found) and found else FAILED
    if not here:
        print_lines(
            "No client was found on this machine; winnow setup --doctor CLIENT says where its file would be."
        )
        return FAILED
    return 0 if print_findings(findings) else FAILED


def _set_up_skills(
    machine: Machine, chosen: Sequence[Client], named: Sequence[str], only_print: bool, remove: bool, as_json: bool
) -> int:
    """Write the agent skills for these clients, or take them out."""
    try:
        from winnow.server.commands.setup.skills import describe_skills, install_skills, remove_skills
    except ModuleNotFoundError as error:
        raise _unsupported(error) from None
    folders = find_skill_folders(machine, chosen)
    missing = [client for client in find_missing(named, find_homes(machine, chosen)) if client.skills]
    without = [client for client in chosen if named and not client.skills]
    outcomes = (remove_skills if remove else install_skills)(folders, only_print=only_print)
    failed = any(each.error for each in outcomes)
    if as_json:
        print_json(
            {
                "ok": bool(outcomes) and not failed,
                "skills": [each.to_json() for each in outcomes],
                "missing": [client.name for client in missing],
                "without_skills": [client.name for client in without],
            }
        )
    else:
        print_lines(*describe_skills(outcomes, planned=only_print))
        print_lines(*(f"{client.title}: not on this machine" for client in missing))
        print_lines(*(f"{client.title}: it reads no skills from a folder" for client in without))
        if not folders and not missing and not without:
            print_lines("No client that reads skills from a folder was found on this machine.")
        if only_print:
            print_lines("Nothing was written.")
    return FAILED if failed or missing or without or (not outcomes and not remove) else 0


def _remove(
    machine: Machine, homes: Sequence[Home], missing: Sequence[Client], *, only_print: bool, as_json: bool
) -> int:
    outcomes = take_out(homes, only_print=only_print)
    report = SetupReport(None, outcomes)
    if as_json:
        print_json(report.to_json())
    else:
        print_lines(*describe_outcomes(outcomes, planned=only_print))
        print_lines(*(f"{client.title}: not on this machine" for client in missing))
        if not homes and not missing:
            print_lines("No client was found on this machine, so there is nothing to remove.")
        if has_skills(machine, [home.client for home in homes]):
            print_lines("Agent skills of winnow stay. To remove them: winnow setup --skills --remove")
    return FAILED if any(each.error for each in outcomes) else 0


def _report_missing(launch: Launch, homes: Sequence[Home], missing: Sequence[Client], machine: Machine) -> None:
    """Say which clients are not here, or that none is, with the entry to paste."""
    for client in missing:
        places = " or ".join(places_of(client, machine))
        print_to_stderr(
            f"winnow: {client.title} is not on this machine: there is no {places}. Install it, start it once and "
            "run this again, or paste this into its file yourself:"
        )
        print_lines(*describe_entry(launch, client))
    if not homes and not missing:
        print_to_stderr(
            "winnow: no client was found on this machine, so nothing was written. This entry goes into the file "
            "of most clients (--doctor CLIENT says where that is):"
        )
        print_lines(*describe_entry(launch, CLIENTS[0]))


def _print_report(report: SetupReport, launch: Launch, machine: Machine, *, only_print: bool) -> None:
    if not report.outcomes:
        return
    if report.failure:
        print_lines(*describe_outcomes([each for each in report.outcomes if each.error], planned=True))
        print_to_stderr(*describe_failure(report.failure), *(f"note: {note}" for note in report.notes))
        return
    print_lines(*describe_outcomes(report.outcomes, planned=only_print))
    if only_print:
        print_lines(*describe_planned_entries(launch, report.outcomes))
    if report.handshake:
        print_lines("", describe_handshake(report.handshake))
    if sentence := describe_scripts(machine.system):
        print_lines(sentence)
    print_lines(*(f"note: {note}" for note in report.notes))
    if only_print:
        print_lines("", "Nothing was written, and nothing was started.")
    else:
        print_lines("", *describe_next_steps(report.outcomes))


def _answer_a_question(launch: Launch) -> None:
    """The end of a first run: one question of the user's, answered as an agent gets it."""
    from winnow.server.commands.setup.first_run import ask_for_question
    from winnow.server.commands.setup.handshake import ask

    print_lines("")
    if question := ask_for_question():
        print_text(f"{ask(launch, question)}\n\n")
        print_lines("That is what an agent reads. Ask yours the same.")
