"""Notebooks as JSON Lines, and copies of the whole file.

The first line of an export has the notebook's name and the statuses of its entries; each other line is a change of
its history. An import checks the chain of digests, and every record against its bounds. Imported claims are as
untrusted as anything that an agent wrote: the status of evidence and of entries is derived again. The statuses in
the file serve only to report differences.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from pydantic import TypeAdapter, ValidationError

from winnow.server.claims.hash_chain import first_flaw
from winnow.server.claims.records import Claim, ClaimVerdict, Entry, IntegrationStatus, entry_of
from winnow.server.claims.sqlite_store import SqliteClaimStore
from winnow.server.claims.store import Change, Notebook, View
from winnow.server.errors import WinnowError
from winnow.server.models import PROJECT_NAME
from winnow.server.storage.files.private_file import create_private
from winnow.server.storage.sqlite import copy_database

FORMAT = "winnow claims 1"
MAX_LINE_BYTES, MAX_CHANGES = 1_000_000, 1_000_000
_KINDS = frozenset({"written", "revised", "judged", "approved", "imported", "drifted"})
_PAGE = 200
_FIRST_STATUS: IntegrationStatus = "probation"
_BY_STATUS: TypeAdapter[dict[IntegrationStatus, list[str]]] = TypeAdapter(dict[IntegrationStatus, list[str]])
_LATEST = 253_402_300_799  # seconds since 1970, until the year 9999
_PROJECT = re.compile(PROJECT_NAME)
_OWNER = re.compile(r"[0-9a-z-]{0,64}")  # the id of an access key or of the owner of a token


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The outcome of an import: the numbers of appended and of known changes, and the refused entries.

    ``statuses`` are the statuses of the other entries when the file was written; None if the file does not have
    them.
    """

    notebook: Notebook
    appended: int
    known: int
    refused: tuple[str, ...] = ()
    statuses: Mapping[str, IntegrationStatus] | None = None


def export_lines(store: SqliteClaimStore, notebook: Notebook) -> Iterator[str]:
    """The lines of a notebook's export, without line ends."""
    head: dict[str, Any] = {"format": FORMAT, "project": notebook.project, "owner": notebook.owner}
    with_statuses = json.dumps({**head, "statuses": _statuses(store, notebook)})
    yield with_statuses if len(with_statuses) <= MAX_LINE_BYTES else json.dumps(head)
    for change in store.history(notebook):
        yield json.dumps(asdict(change), ensure_ascii=False)


def _statuses(store: SqliteClaimStore, notebook: Notebook) -> dict[str, list[str]]:
    """The ids of the entries by status, without the status that every entry begins with."""
    found: dict[str, list[str]] = {}
    after = 0
    while page := store.listing(View(notebook, sees_all=True), after, _PAGE):
        for entry in page:
            if entry.integration_status != _FIRST_STATUS:
                found.setdefault(entry.integration_status, []).append(entry.id)
        after = page[-1].sequence
    return found


def import_lines(
    store: SqliteClaimStore, lines: Iterable[bytes], notebook: Notebook | None = None
) -> ImportReport:
    """Append the changes of an export to a notebook: to ``notebook``, or to the one that the file names.

    Changes that the notebook has are left out, so that an import may be repeated. If the histories differ, unknown
    entries are added; known entries stay as they are and are reported. Raises ``WinnowError("INVALID_REQUEST")``
    for a file that was altered; nothing is imported then.
    """
    head, changes = _parse(lines)
    target = _named(notebook or head.notebook)
    own = store.history(target)
    known = {change.digest for change in own}
    fresh = [(change, record) for change, record in changes if change.digest not in known]
    follows = [change.digest for change in own] == [change.digest for change, _ in changes[: len(own)]]
    refused: set[str] = set()
    if not follows:
        everything = View(target, sees_all=True)
        ids = {change.entry_id for change, _ in fresh}
        refused = set(store.read(everything, sorted(ids)))
        fresh = [(change, record) for change, record in fresh if change.entry_id not in refused]
    store.import_changes(target, fresh)
    statuses = None
    if head.statuses is not None:
        ids = {change.entry_id for change, _ in changes} - refused
        statuses = {id: head.statuses.get(id, _FIRST_STATUS) for id in sorted(ids)}
    return ImportReport(target, len(fresh), len(changes) - len(fresh), tuple(sorted(refused)), statuses)


def check_lines(lines: Iterable[bytes]) -> tuple[Notebook, list[Change]]:
    """The notebook and the changes of an export, all checked. Raises as ``import_lines`` does."""
    head, changes = _parse(lines)
    return _named(head.notebook), [change for change, _ in changes]


def back_up(store: SqliteClaimStore, target: Path) -> None:
    """Copy the file as it is now into a new private file; other processes may write meanwhile.

    Raises ``WinnowError`` if ``target`` exists, is a dangling link, or cannot be written.
    """
    try:
        create_private(target).close()
    except FileExistsError:
        raise WinnowError("INVALID_REQUEST", f"{target} exists already; name a new file") from None
    except OSError as error:
        raise WinnowError("INVALID_REQUEST", f"{target} cannot be written: {error.strerror}") from None
    try:
        copy_database(store.database.path, target, lambda done, total: None)
    except BaseException:
        target.unlink()
        raise


@dataclass(frozen=True, slots=True)
class _Head:
    """The first line: the notebook, and the statuses of its entries, None if the line does not have them."""

    notebook: Notebook
    statuses: Mapping[str, IntegrationStatus] | None


def _head(line: bytes) -> _Head:
    fields = _object(line, 1)
    if fields.get("format") != FORMAT:
        raise _refusal(1, "it is not an export of winnow claims")
    notebook = Notebook(str(fields.get("project", "")), str(fields.get("owner", "")))
    if (given := fields.get("statuses")) is None:
        return _Head(notebook, None)
    try:
        by_status = _BY_STATUS.validate_python(given)
    except ValidationError:
        raise _refusal(1, "its statuses are not those of entries") from None
    return _Head(notebook, {id: status for status, ids in by_status.items() for id in ids})


def _parse(lines: Iterable[bytes]) -> tuple[_Head, list[tuple[Change, Entry | ClaimVerdict]]]:
    iterator = iter(lines)
    head = _head(next(iterator, b""))
    changes = []
    for number, line in enumerate(iterator, start=2):
        if number > MAX_CHANGES:
            raise _refusal(number, f"a file may have {MAX_CHANGES:,} changes")
        changes.append(_change(line, number, head.notebook))
    _check_verdicts(changes)
    if (flaw := first_flaw(change for change, _ in changes)) is not None:
        raise _refusal(flaw + 1, "the chain of digests is broken: this line or one before it was altered")
    return head, changes


def _named(notebook: Notebook) -> Notebook:
    """The notebook, if its project and owner are valid. Raises ``WinnowError("INVALID_REQUEST")`` otherwise."""
    if not (_PROJECT.fullmatch(notebook.project) and _OWNER.fullmatch(notebook.owner)):
        raise WinnowError("INVALID_REQUEST", "a notebook has the name of a project, and no key or the id of one")
    return notebook


def _check_verdicts(changes: Sequence[tuple[Change, Entry | ClaimVerdict]]) -> None:
    """Raise for a verdict about an entry that the file does not have, which could belong to another notebook."""
    written: set[str] = set()
    for number, (change, record) in enumerate(changes, start=2):
        if isinstance(record, Entry):
            written.add(record.id)
        elif not {change.entry_id, entry_of(record.other_id)} <= written:
            raise _refusal(number, "its verdict is about an entry that no line before it has")


def _change(line: bytes, number: int, notebook: Notebook) -> tuple[Change, Entry | ClaimVerdict]:
    fields = _object(line, number)
    try:
        change = Change(**fields)
        is_fitting = all(
            type(fields[name]) is kind
            for name, kind in (("sequence", int), ("entry_id", str), ("kind", str), ("body", str), ("digest", str))
        )
        is_fitting = is_fitting and change.kind in _KINDS and type(change.at) in (int, float)
        if not is_fitting or not 0 <= change.at <= _LATEST:
            raise _refusal(number, "it is not a change of a notebook")
        record = _record(change, notebook)
    except (TypeError, ValueError, ValidationError):
        raise _refusal(number, "it is not a change of a notebook") from None
    if (record.id if isinstance(record, Entry) else record.claim_id.partition(".")[0]) != change.entry_id:
        raise _refusal(number, "its record is that of another entry")
    return change, record


def _record(change: Change, notebook: Notebook) -> Entry | ClaimVerdict:
    if change.kind == "judged":
        return ClaimVerdict.model_validate_json(change.body)
    body = json.loads(change.body)
    entry = Entry.model_validate({**body, "project": notebook.project, "owner": notebook.owner})
    claims = tuple(map(_unchecked, entry.claims))
    return entry.model_copy(update={"claims": claims, "friction": 0.0, "integration_status": "probation"})


def _unchecked(claim: Claim) -> Claim:
    evidence = tuple(each.model_copy(update={"status": "unchecked", "checked_at": 0.0}) for each in claim.evidence)
    return claim.model_copy(update={"evidence": evidence})


def _object(line: bytes, number: int) -> dict[str, Any]:
    if len(line) > MAX_LINE_BYTES:
        raise _refusal(number, f"a line may have {MAX_LINE_BYTES:,} bytes")
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _refusal(number, "it is no JSON object")
    return found


def _refusal(number: int, why: str) -> WinnowError:
    return WinnowError("INVALID_REQUEST", f"line {number}: {why}; nothing was imported")
