"""The work of setup: changes are worked out, the server is started as they say, and the files are written."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from winnow.sandbox.runners.availability import find_obstacle
from winnow.sandbox.runners.runner_table import RUNNERS
from winnow.server.commands.setup.changes import Home, plan_entry, plan_removal
from winnow.server.commands.setup.launch import (
    ALLOW_WEAKER,
    Launch,
    argument_of,
    is_passing,
    option_for,
    unseen_variables,
)
from winnow.server.commands.setup.report import FileOutcome, SetupReport
from winnow.server.errors import WinnowError
from winnow.server.settings.sources import config_file
from winnow.server.tools.scripts.opt_in import name_opt_in

if TYPE_CHECKING:
    from winnow.server.commands.setup.handshake import Handshake


def set_up(homes: Sequence[Home], launch: Launch, *, only_print: bool) -> SetupReport:
    """Work out every change, start the server as the files will say, and write them.

    Nothing is written where the server does not start. A file that cannot be changed does not hold up the others.
    """
    outcomes = [_plan(home, launch) for home in homes]
    planned = [each.change.launch for each in outcomes if each.change and each.change.launch]
    notes = list(_notes(launch, planned or [launch]))
    if only_print:
        return SetupReport(launch, outcomes, notes=notes)
    notes += _notes_on_variables(outcomes)
    try:
        handshake = _shake_hands(outcomes)
    except WinnowError as error:
        return SetupReport(launch, outcomes, failure=error, notes=notes)
    if handshake and handshake.advice:
        notes.append(handshake.advice)
    return SetupReport(launch, [_write(each) for each in outcomes], handshake, notes=notes)


_UNSEEN = "of this shell will not reach the server: clients pass on none of them"


def _notes(launch: Launch, planned: Sequence[Launch]) -> Iterator[str]:
    options = {name: option for name in unseen_variables() if (option := option_for(name))}
    if variables := [name for name in unseen_variables() if name not in options]:
        yield f"{', '.join(variables)} {_UNSEEN}. Put these settings into {config_file()}"
    for name, option in options.items():
        flag = option.partition(" ")[0]
        if all(flag in each.args for each in planned):
            continue
        how = (
            f"run winnow setup {option}" if flag == ALLOW_WEAKER else "put it there by hand; winnow setup keeps it"
        )
        yield f"{name} {_UNSEEN}, and no file of yours may set it. The entry needs the argument {option}: {how}"
    yield from dict.fromkeys(filter(None, map(_describe_useless_opt_in, planned)))
    if is_passing(launch):
        yield (
            f"{launch.command} lies in a cache that is emptied from time to time; install for good: "
            "uv tool install winnow-mcp, then set up again"
        )


def _describe_useless_opt_in(launch: Launch) -> str:
    """The sentence about an opt-in for missing walls with which scripts will not run on this host; "" for none."""
    given = [value for option, value in pairwise(launch.args) if option == ALLOW_WEAKER]
    runner = argument_of(launch.args, "--sandbox") or "auto"
    accepted = [name for value in given for name in value.split(",")]
    if not accepted or runner not in RUNNERS or (obstacle := find_obstacle(runner, accepted)) is None:
        return ""
    name = name_opt_in(obstacle.missing)
    mend = f"run winnow setup {ALLOW_WEAKER} {name}" if name else "winnow doctor says what to do"
    return f"with {ALLOW_WEAKER} {','.join(given)} no script runs on this host: {obstacle.reason}; {mend}"


def _notes_on_variables(outcomes: Sequence[FileOutcome]) -> Iterator[str]:
    for each in outcomes:
        if each.change and each.change.launch and each.change.launch.untried:
            names = ", ".join(each.change.launch.untried)
            yield f"{names} in {each.home.path} are none of winnow's: the server was started without them"


def _plan(home: Home, launch: Launch) -> FileOutcome:
    try:
        return FileOutcome(home, plan_entry(home, launch))
    except WinnowError as error:
        return FileOutcome(home, error=error)


def _shake_hands(outcomes: Sequence[FileOutcome]) -> Handshake | None:
    """The handshake with what the planned files start: each launch once, and they differ seldom.

    Returns the last one; None where no file can be changed.
    """
    from winnow.server.commands.setup.handshake import shake_hands

    launches = []
    for each in outcomes:
        if each.change is not None and each.change.launch not in launches:
            launches.append(each.change.launch)
    done = None
    for launch in launches:
        assert launch is not None
        done = shake_hands(launch)
    return done


def _write(outcome: FileOutcome) -> FileOutcome:
    if outcome.change is None:
        return outcome
    try:
        return FileOutcome(outcome.home, outcome.change, kept=outcome.change.write())
    except WinnowError as error:
        return FileOutcome(outcome.home, error=error)


def take_out(homes: Sequence[Home], *, only_print: bool) -> list[FileOutcome]:
    """Take our entry out of each file; ``only_print``: work it out and write nothing."""
    outcomes = []
    for home in homes:
        try:
            outcome = FileOutcome(home, plan_removal(home))
        except WinnowError as error:
            outcome = FileOutcome(home, error=error)
        outcomes.append(outcome if only_print else _write(outcome))
    return outcomes
