"""Skills: functions that the operator chose for scripts to import, beside the ones that winnow brings.

A folder of skills holds Python files; each public function with a docstring is a skill. Whoever can write there
writes what scripts may call, so a file or folder that another user owns or may write is left out, and so is one
that the sandbox's policy refuses: a skill can nothing that a script cannot. Folders of the operator's come first;
a name that is there already is left out, too. Scripts have no files, so no script adds or changes one.
"""

from __future__ import annotations

import ast
import inspect
import os
import stat
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from sandbox.language.refusals import Rejected
from sandbox.modules.skills import MOST_BYTES, Skills, compile_skill

SHIPPED = Path(__file__).parents[1] / "data" / "skills"
_MOST_FILES = 100  # of one folder


@dataclass(frozen=True, slots=True)
class Skill:
    """A function by its name: its parameters as they are written, its docstring, the file that it is from."""

    name: str
    parameters: str
    doc: str
    file: str

    @property
    def line(self) -> str:
        """What it does, in one line."""
        return self.doc.partition("\n")[0]


@dataclass(frozen=True, slots=True)
class SkippedSkill:
    """A file, or a function of one, that scripts do not get; and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class SkillSet:
    """What scripts may import, and what was left out."""

    skills: Mapping[str, Skill] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[SkippedSkill, ...] = ()

    def for_scripts(self) -> Skills:
        """As the sandbox takes them."""
        return Skills(self.sources, {name: skill.file for name, skill in self.skills.items()})


def load_skills(folders: Sequence[Path]) -> SkillSet:
    """The skills of these folders, and the shipped ones after them."""
    skills: dict[str, Skill] = {}
    sources: dict[str, str] = {}
    left_out: list[SkippedSkill] = []
    for folder in (*folders, SHIPPED):
        is_ours = folder == SHIPPED  # who may write there writes the code of this process, too
        for path in _files(folder, left_out, is_ours=is_ours):
            file = f"{path.stem}@{len(sources)}"
            try:
                source = _source_of(path, is_ours=is_ours)
                found = list(_skills_in(source, file))
            except Rejected as error:
                where = f"line {error.line}: " if error.line else ""
                left_out.append(SkippedSkill(str(path), f"{where}{error.message}"))
                continue
            except (OSError, UnicodeDecodeError, PermissionError) as error:
                left_out.append(SkippedSkill(str(path), str(error)))
                continue
            taken = [skill for skill in found if skill.name in skills]
            left_out += [
                SkippedSkill(f"{path}: {skill.name}", "there is one of this name already") for skill in taken
            ]
            sources[file] = source
            skills.update({skill.name: skill for skill in found if skill not in taken})
    return SkillSet(skills, sources, tuple(left_out))


def _files(folder: Path, left_out: list[SkippedSkill], *, is_ours: bool) -> Sequence[Path]:
    try:
        if not is_ours:
            _check_writers(folder, folder.stat())
        return sorted(path for path in folder.iterdir() if path.suffix == ".py")[:_MOST_FILES]
    except OSError as error:
        left_out.append(SkippedSkill(str(folder), str(error)))
        return []


def _check_writers(path: Path, status: os.stat_result) -> None:
    """Raises ``PermissionError`` where a user other than this one and root may write."""
    if sys.platform == "win32":
        return
    if status.st_uid not in (0, os.geteuid()):
        raise PermissionError(f"another user owns it: {path}; own it yourself, or have root own it")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise PermissionError(f"others may write it: chmod go-w {path}")


def _source_of(path: Path, *, is_ours: bool) -> str:
    # The file that is open is the one that is checked; a pipe or a device would hold up the start.
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with open(descriptor, "rb") as file:
        status = os.fstat(descriptor)
        if not is_ours:
            _check_writers(path, status)
        if not stat.S_ISREG(status.st_mode):
            raise PermissionError(f"it is not a file: {path}")
        data = file.read(MOST_BYTES + 1)
    return data.decode("utf-8")


def _skills_in(source: str, file: str) -> Iterator[Skill]:
    """The public functions of a file that the policy admits, in order."""
    compile_skill(source)
    for node in ast.parse(source).body:
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        doc = ast.get_docstring(node)
        if not doc:
            raise Rejected("CodeRejected", f"{node.name}: a skill says in its docstring what it does", node.lineno)
        yield Skill(node.name, f"({ast.unparse(node.args)})", inspect.cleandoc(doc), file)


# Engines whose language is too small for them (setting ``sandbox``).
WITHOUT_SKILLS = frozenset({"monty"})


def describe_skills(shelf: SkillSet) -> str:
    """Every skill by one line, then each with its parameters; Markdown."""
    lines = [f"- `{skill.name}{skill.parameters}`: {skill.line}" for skill in shelf.skills.values()]
    whole = [
        f"## {skill.name}\n\n`{skill.name}{skill.parameters}`\n\n{skill.doc}" for skill in shelf.skills.values()
    ]
    return "\n\n".join([_OPENING, "\n".join(lines), *whole])


_OPENING = """\
Functions made of SDK calls, for questions that come up often. In a script: `from skills import NAME`."""
