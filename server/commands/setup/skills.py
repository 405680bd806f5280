"""Agent skills in the folders of clients (``winnow setup --skills``): written, brought up to date, and taken out.

Beside its files a skill's folder has a record with their digests. What differs from it was altered by somebody
else, and is never overwritten or removed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from winnow.server.commands.setup.changes import ChangeState
from winnow.server.commands.setup.files import (
    ConfigFile,
    read_config_file,
    replace_config_file,
    require_writable,
)
from winnow.server.commands.setup.skill_folders import RECORD, SkillFolder
from winnow.server.errors import WinnowError
from winnow.server.settings.settings import Settings
from winnow.server.tools.agent_skills.rendering import skill_files
from winnow.server.tools.agent_skills.table import AGENT_SKILLS, AgentSkill

# The names that a record may have: those of files in a skill's folder, and no path that leads elsewhere.
_FILE = re.compile(r"(?:references/)?[A-Za-z0-9_-]{1,64}\.md")
_TOLD = {
    ChangeState.ADDED: ("added", "would be added"),
    ChangeState.UPDATED: ("updated", "would be updated"),
    ChangeState.UNCHANGED: ("already there", "already there"),
    ChangeState.REMOVED: ("removed", "would be removed"),
    ChangeState.ABSENT: ("not there", "not there"),
}


@dataclass(frozen=True, slots=True)
class SkillOutcome:
    """The outcome for one skill in one folder."""

    folder: SkillFolder
    skill: str
    state: ChangeState | None = None
    error: WinnowError | None = None

    def to_json(self) -> dict[str, Any]:
        """The outcome as JSON data."""
        row: dict[str, Any] = {
            "clients": [client.name for client in self.folder.clients],
            "folder": str(self.folder.path / self.skill),
            "skill": self.skill,
        }
        if self.error is not None:
            return {**row, "state": "failed", "error": self.error.envelope()}
        assert self.state is not None
        return {**row, "state": self.state.value}


@dataclass(frozen=True, slots=True)
class _SkillChange:
    """The files of a skill's folder that change, with their text (None: removed); the record is the last one."""

    state: ChangeState
    writes: Sequence[tuple[ConfigFile, bytes | None]] = field(default_factory=tuple)

    def write(self) -> None:
        for file, data in self.writes:
            replace_config_file(file, data, keeps_copy=False)


def install_skills(folders: Sequence[SkillFolder], *, only_print: bool) -> list[SkillOutcome]:
    """Bring the skills in each folder to this version; ``only_print``: work it out and write nothing."""
    return [_apply(folder, skill, only_print, remove=False) for folder in folders for skill in AGENT_SKILLS]


def remove_skills(folders: Sequence[SkillFolder], *, only_print: bool) -> list[SkillOutcome]:
    """Take our skills out of each folder; what others put there stays."""
    return [_apply(folder, skill, only_print, remove=True) for folder in folders for skill in AGENT_SKILLS]


def _apply(folder: SkillFolder, skill: AgentSkill, only_print: bool, *, remove: bool) -> SkillOutcome:
    place = folder.path / skill.name
    try:
        change = _plan_removal(place) if remove else _plan(place, skill)
        if not only_print:
            change.write()
            if remove:
                _remove_empty(place)
    except WinnowError as error:
        return SkillOutcome(folder, skill.name, error=error)
    return SkillOutcome(folder, skill.name, change.state)


def _plan(place: Path, skill: AgentSkill) -> _SkillChange:
    record, written = _read_record(place)
    wanted = {name: text.encode() for name, text in skill_files(skill, None, Settings()).items()}
    writes: list[tuple[ConfigFile, bytes | None]] = []
    for name in (*wanted, *(name for name in written if name not in wanted)):
        file = _read_file(place, name)
        if file.data == wanted.get(name):
            continue
        if file.data is not None:
            _require_ours(file, written.get(name))
        require_writable(file)
        writes.append((file, wanted.get(name)))
    digests = {name: _digest(data) for name, data in wanted.items()}
    new_record = (json.dumps({"files": digests}, indent=2) + "\n").encode()
    if record.data != new_record:
        writes.append((record, new_record))
    if not writes:
        return _SkillChange(ChangeState.UNCHANGED)
    return _SkillChange(ChangeState.UPDATED if written else ChangeState.ADDED, writes)


def _plan_removal(place: Path) -> _SkillChange:
    record, written = _read_record(place)
    if record.data is None:
        return _SkillChange(ChangeState.ABSENT)
    writes: list[tuple[ConfigFile, bytes | None]] = []
    for name, digest in written.items():
        file = _read_file(place, name)
        if file.data is not None:
            _require_ours(file, digest)
            require_writable(file)
            writes.append((file, None))
    return _SkillChange(ChangeState.REMOVED, [*writes, (record, None)])


def _read_record(place: Path) -> tuple[ConfigFile, Mapping[str, str]]:
    """The record of a skill's folder, and the digests in it by file; none without a record.

    Raises ``WinnowError("INVALID_REQUEST")`` for one that winnow did not write.
    """
    record = _read_file(place, RECORD)
    if record.data is None:
        return record, {}
    try:
        files = json.loads(record.text)["files"]
        if not all(_FILE.fullmatch(name) and isinstance(digest, str) for name, digest in files.items()):
            raise ValueError("no name of a file of a skill")
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise WinnowError(
            "INVALID_REQUEST", f"{record.path} is not as winnow wrote it; move {place} away"
        ) from None
    return record, files


def _read_file(place: Path, name: str) -> ConfigFile:
    """A file of a skill. Raises ``WinnowError("INVALID_REQUEST")`` for one behind a link."""
    for path in (place / name, (place / name).parent):
        if path != place and path.is_symlink():
            raise WinnowError(
                "INVALID_REQUEST", f"{path} is a link, so nothing of this skill was touched; remove it"
            )
    return read_config_file(place / name)


def _require_ours(file: ConfigFile, digest: str | None) -> None:
    """Raise ``WinnowError("INVALID_REQUEST")`` for a file that is not as winnow wrote it."""
    assert file.data is not None
    if _digest(file.data) == digest:
        return
    why = "was changed" if digest else "is not of winnow"
    raise WinnowError(
        "INVALID_REQUEST", f"{file.path} {why}, so nothing of this skill was touched; move its folder away first"
    )


def _digest(data: bytes) -> str:
    return f"sha256:{hashlib.sha256(data).hexdigest()}"


def _remove_empty(place: Path) -> None:
    """Remove the folders of a skill that have nothing left, and the folder of skills if it was the last one."""
    for folder in (place / "references", place, place.parent):
        with suppress(OSError):  # not empty, or not there
            folder.rmdir()


def describe_skills(outcomes: Sequence[SkillOutcome], *, planned: bool) -> Iterator[str]:
    """A line for each skill in each folder, or its error. ``planned``: nothing was written."""
    for folder in {outcome.folder.path: outcome.folder for outcome in outcomes}.values():
        yield f"{folder.titles}: {folder.path}"
        for outcome in outcomes:
            if outcome.folder.path != folder.path:
                continue
            if outcome.error is not None:
                yield f"  {outcome.skill}  NOT DONE: {outcome.error.message}"
            else:
                assert outcome.state is not None
                yield f"  {outcome.skill}  {_TOLD[outcome.state][planned]}"
