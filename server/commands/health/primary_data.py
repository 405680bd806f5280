"""Checks of what no ingest makes again: claims, access keys, watched sources, jobs, and the audit files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from winnow.server.claims.notebook_heads import were_written
from winnow.server.claims.sqlite_store import SqliteClaimStore, claims_path
from winnow.server.commands.terminal.findings import Check, Finding
from winnow.server.errors import WinnowError
from winnow.server.jobs.job_files import FOLDER, JobFiles
from winnow.server.runtime.audit import KINDS, why_unwritable
from winnow.server.settings.settings import Settings
from winnow.server.storage.keys.key_file import read_keys
from winnow.server.storage.sqlite import check_integrity
from winnow.server.text.sizes import count_of

_RESTORE = "bring it back from a backup: winnow restore FILE --replace"
_KEEP = "keep a copy of the file for an audit; winnow goes on in it"
_SHOWN = 3


def _claims(settings: Settings) -> Iterator[Finding]:
    """Whether the file of claims is sound, and each notebook's chain of digests unbroken."""
    path = claims_path(settings.store)
    if not were_written(path):
        return
    if path.exists() and path.stat().st_size and (why := check_integrity(path)):
        yield Finding("store", "claims", False, f"{path} is damaged: {why}", _RESTORE)
        return
    try:
        with closing(SqliteClaimStore(path)) as claims:
            notebooks = claims.notebooks()
            flaws = {notebook: claims.first_flaw(notebook) for notebook in notebooks}
            changes = sum(claims.last_sequence(notebook) for notebook in notebooks)
    except WinnowError as error:
        yield Finding("store", "claims", False, error.message, "do what the message says")
        return
    for notebook, flaw in flaws.items():
        if flaw is not None:
            detail = f"{path}: change {flaw} of the notebook of {notebook.project} is not as it was written"
            yield Finding("store", "claims", False, detail, _RESTORE)
    if all(flaw is None for flaw in flaws.values()):
        detail = f"{count_of(len(notebooks), 'notebook')} with {count_of(changes, 'change')}, as they were written"
        yield Finding("store", "claims", True, detail)


def _keys(settings: Settings) -> Iterator[Finding]:
    """Whether the file of access keys can be read."""
    if not settings.store.is_dir():
        return
    try:
        keys = read_keys(settings.store)
    except WinnowError as error:
        detail, _, advice = error.message.partition("; ")
        yield Finding("store", "keys", False, detail, advice)
        return
    if keys:
        yield Finding("store", "keys", True, f"{count_of(len(keys), 'key')}, as they were written")


def _jobs(settings: Settings) -> Iterator[Finding]:
    """Whether the files of jobs can be read."""
    damaged = JobFiles(settings.store).list_jobs().damaged
    if damaged:
        names = ", ".join(damaged[:_SHOWN])
        detail = f"{count_of(len(damaged), 'job')} in {settings.store / FOLDER} cannot be read: {names}"
        yield Finding("store", "jobs", False, detail, "ask for those ingests again", essential=False)


def _audit(settings: Settings) -> Iterator[Finding]:
    """Whether the audit files can be written, and every line of them is one that winnow wrote."""
    folder = settings.audit_folder
    reasons = dict.fromkeys(filter(None, (why_unwritable(folder, kind) for kind in KINDS)))
    if reasons and settings.audit != "off":
        detail = f"calls are answered and not audited: {'; '.join(reasons)}"
        yield Finding("store", "audit", False, detail, "give the account of the server that folder and its files")
        return
    for path in sorted(folder.glob("*.jsonl*")) if folder.is_dir() else ():
        if number := _first_bad_line(path):
            detail = f"{path}, line {number:,}: it is not as it was written"
            yield Finding(
                "store",
                "audit",
                False,
                detail,
                "keep the file for an audit; winnow goes on in it",
                essential=False,
            )


def _first_bad_line(path: Path) -> int:
    """The number of the first line that is no record; 0 for none. A last line without its end is being written."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, start=1):
                if line.endswith(b"\n") and not _is_record(line):
                    return number
    except OSError:
        return 1
    return 0


def _is_record(line: bytes) -> bool:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(record, dict) and "time" in record


CHECKS: tuple[Check, ...] = (_claims, _keys, _jobs, _audit)
