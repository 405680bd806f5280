"""A pytest plugin: the process takes files of tests from a queue that several processes share.

The queue is a folder. ``<user>.json`` lists the files for the processes of one user, in order; a process claims
the next one by creating ``<user>/<file>``, in which one alone succeeds. Fixtures of a session live as long as the
process, those of a module as long as its file: a file is never divided.

When a file has ended, its claim holds a record of it, from which ``tests/everybody.py`` reports progress.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

_PLUGIN = "tests-of-a-queue"
SLOWEST = 10


@dataclass(frozen=True, slots=True)
class Ran:
    """How a file of tests went: seconds of wall clock, in all and of the slowest tests, and counts of tests."""

    seconds: float
    slowest: dict[str, float]
    tests: int
    failed: int


def write_queue(folder: Path, user: str, files: list[str]) -> None:
    """Make the queue of one user, whose processes may all claim files."""
    claims = folder / user
    claims.mkdir()
    claims.chmod(0o1777)
    (folder / f"{user}.json").write_text(json.dumps(files), "utf-8")


def read_claims(folder: Path, user: str) -> dict[str, Ran | None]:
    """Each file that was claimed, with its record; None while it runs."""
    claims = {path.name.replace("+", "/"): path.read_text("utf-8") for path in (folder / user).iterdir()}
    return {file: Ran(**json.loads(text)) if text else None for file, text in claims.items()}


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--queue", type=Path, help="the list of a queue of files: FOLDER/USER.json")


def pytest_configure(config: pytest.Config) -> None:
    if config.option.queue is not None:
        config.pluginmanager.register(_Worker(config.option.queue), _PLUGIN)


@dataclass(slots=True, eq=False)
class _Worker:
    """Collects and runs one file after the other."""

    queue: Path
    _seconds: dict[str, float] = field(default_factory=dict)
    _failed: int = 0

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection(self) -> bool:
        """Nothing is collected beforehand."""
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self, session: pytest.Session) -> bool:
        collected = 0
        files = json.loads(self.queue.read_text("utf-8"))
        modules = _find_modules(session, files)
        for claim, file in self._claim_files(files):
            began = time.monotonic()
            self._seconds, self._failed = {}, 0
            items = _collect(session, modules.get(session.config.rootpath / file))
            collected += len(items)
            if not session.config.option.collectonly:
                _run(session, items)
            ran = Ran(round(time.monotonic() - began, 2), self._find_slowest(), len(items), self._failed)
            claim.write_text(json.dumps(asdict(ran)), "utf-8")  # one write: a reader sees nothing, or all of it
        session.testscollected = collected
        return True

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._failed += report.failed

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._failed += report.failed
        self._seconds[report.nodeid] = self._seconds.get(report.nodeid, 0.0) + report.duration

    def _claim_files(self, files: Sequence[str]) -> Iterator[tuple[Path, str]]:
        for file in files:
            claim = self.queue.with_suffix("") / file.replace("/", "+")
            try:
                claim.touch(exist_ok=False)
            except FileExistsError:
                continue
            yield claim, file

    def _find_slowest(self) -> dict[str, float]:
        by_time = sorted(self._seconds.items(), key=lambda test: test[1], reverse=True)
        return {name: round(seconds, 2) for name, seconds in by_time[:SLOWEST]}


def _find_modules(session: pytest.Session, files: Sequence[str]) -> dict[Path, pytest.Collector]:
    """The files as nodes of one tree, not imported yet: fixtures of folders belong to the nodes of these."""
    option = session.config.option
    chosen, option.keyword, option.markexpr = (option.keyword, option.markexpr), "", ""
    try:
        nodes = session.perform_collect(files, genitems=False)
    finally:
        option.keyword, option.markexpr = chosen
    return {node.path: node for node in nodes if isinstance(node, pytest.Collector)}


def _collect(session: pytest.Session, module: pytest.Collector | None) -> list[pytest.Item]:
    """The tests of a file that are chosen; none of a file that is gone."""
    items = list(session.genitems(module)) if module else []
    session.items = items
    session.config.hook.pytest_collection_modifyitems(session=session, config=session.config, items=items)
    return items


def _run(session: pytest.Session, items: list[Any]) -> None:
    for item, after in pairwise([*items, _OtherFile(session)]):
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=after)
        if session.shouldfail:
            raise session.Failed(session.shouldfail)
        if session.shouldstop:
            raise session.Interrupted(session.shouldstop)


@dataclass(frozen=True, slots=True)
class _OtherFile:
    """The next test of a file's last one: it shares the session's fixtures and no others."""

    session: pytest.Session

    def listchain(self) -> list[pytest.Session]:
        return [self.session]
