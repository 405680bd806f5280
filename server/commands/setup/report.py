"""The report of a run of setup, for people and for programs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from winnow.server.commands.setup.changes import ChangeState, FileChange, Home
from winnow.server.commands.setup.clients import Client
from winnow.server.commands.setup.editing.config_text import with_entry
from winnow.server.commands.setup.files import BACKUP
from winnow.server.commands.setup.launch import NAME, Launch, entry_of
from winnow.server.errors import WinnowError
from winnow.server.text.sizes import count_of

if TYPE_CHECKING:
    from winnow.server.commands.setup.handshake import Handshake

_TOLD = {
    ChangeState.ADDED: "added to",
    ChangeState.UPDATED: "updated in",
    ChangeState.UNCHANGED: "already in",
    ChangeState.REMOVED: "removed from",
    ChangeState.ABSENT: "nothing to remove from",
}


@dataclass(frozen=True, slots=True)
class FileOutcome:
    """The outcome for one configuration file. ``kept`` is the copy of the file as it was."""

    home: Home
    change: FileChange | None = None
    error: WinnowError | None = None
    kept: Path | None = None

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON data."""
        row: dict[str, Any] = {"client": self.home.client.name, "file": str(self.home.path)}
        if self.error is not None:
            return {**row, "state": "failed", "error": self.error.envelope()}
        assert self.change is not None
        kept = str(self.kept) if self.kept else None
        off = [switch.detail for switch in self.change.switches]
        return {**row, "state": self.change.state.value, "switched_off_by": off, "backup": kept}


@dataclass(frozen=True, slots=True)
class SetupReport:
    """The outcomes of a run, and the handshake: None where the server was not started."""

    launch: Launch | None
    outcomes: Sequence[FileOutcome]
    handshake: Handshake | None = None
    failure: WinnowError | None = None
    notes: Sequence[str] = field(default_factory=tuple)

    @property
    def ok(self) -> bool:
        """Whether everything that was to be done is done."""
        return bool(self.outcomes) and not self.failure and not any(each.error for each in self.outcomes)

    def to_json(self) -> dict[str, Any]:
        """The report as JSON data."""
        return {
            "ok": self.ok,
            "launch": self.launch and self.launch.to_json(),
            "clients": [each.to_json() for each in self.outcomes],
            "handshake": self.handshake and self.handshake.to_json(),
            "failure": self.failure and self.failure.envelope(),
            "notes": list(self.notes),
        }


def describe_outcomes(outcomes: Sequence[FileOutcome], *, planned: bool) -> Iterator[str]:
    """A line for each file, or its error; then where the copies are. ``planned``: nothing was written."""
    width = max((len(each.home.client.title) for each in outcomes), default=0)
    for each in outcomes:
        title = f"{each.home.client.title:<{width}}"
        if each.error is not None:
            message = each.error.message
            path = "" if str(each.home.path) in message else f"{each.home.path}: "
            yield f"{title}  NOT DONE: {path}{message}"
            continue
        assert each.change is not None
        done = each.change.after != each.change.file.data
        told = f"would be {_TOLD[each.change.state]}" if planned and done else _TOLD[each.change.state]
        gone = ", and with it the file, which had nothing else" if done and each.change.after is None else ""
        yield f"{title}  {told} {each.home.path}{gone}"
        for switch in each.change.switches:
            yield f"{'':<{width}}  BUT {switch.detail}: {switch.advice}"
    if any(each.kept for each in outcomes):
        yield f"Each file as it was is kept beside it, as *{BACKUP}*"


def describe_handshake(handshake: Handshake) -> str:
    """The line about what clients will show."""
    scripts = (
        "agents may run scripts (execute_code)"
        if handshake.has_scripts
        else "execute_code is not offered: winnow doctor says which walls are missing here, and how to accept that"
    )
    tools = f"{count_of(len(handshake.tools), 'tool')}, whose definitions are {handshake.tokens:,} tokens"
    return f"The server starts as clients start it ({handshake.seconds:.1f} s): {tools}; {scripts}."


def describe_failure(failure: WinnowError) -> Iterator[str]:
    """The lines about a server that does not start."""
    yield f"winnow: {failure.message}"
    log = failure.details.get("log") or []
    yield from (f"  {line}" for line in log)
    if not log:
        yield "  (it wrote nothing to its log)"
    yield "Nothing was written. See what is wrong with: winnow doctor, then run the same command again"


def describe_next_steps(outcomes: Sequence[FileOutcome]) -> Iterator[str]:
    """The lines about how each client comes to see the change."""
    changed = [each for each in outcomes if each.change and each.change.state is not ChangeState.UNCHANGED]
    clients = {each.home.client.name: each.home.client for each in changed}
    if not changed and not any(each.error for each in outcomes):
        yield "Nothing had to be changed. Where a client does not show winnow: winnow setup --doctor"
    if clients:
        yield "So that a client sees it:"
        width = max(len(client.title) for client in clients.values())
        yield from (f"  {client.title:<{width}}  {client.again}" for client in clients.values())
        yield "Where one does not: winnow setup --doctor. To undo all of this: winnow setup --remove"


def describe_entry(launch: Launch, client: Client, entry: Mapping[str, Any] | None = None) -> list[str]:
    """The lines of a file of this client that has our entry alone; by default a new one."""
    entry = entry or entry_of(client, launch, None)
    return with_entry("", client.format, (*client.servers, NAME), entry).splitlines()


def describe_planned_entries(launch: Launch, outcomes: Sequence[FileOutcome]) -> Iterator[str]:
    """The entry of each file that would change, and of each that has to be changed by hand.

    Not the difference of the file, in which a line beside the entry may hold the key of another server.
    """
    for each in outcomes:
        shown = each.change.shown if each.change else None
        if shown or each.error:
            yield from ("", f"{each.home.path}:", *describe_entry(launch, each.home.client, shown))
