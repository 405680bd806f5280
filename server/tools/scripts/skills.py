"""Skills: functions that scripts may import, shipped with winnow or from the operator's folders.

A folder of skills contains Python files; each public function with a docstring is a skill. A file or folder that
another user owns or may write is skipped (``server.runtime.operator_files``). A file that the sandbox's policy
refuses is skipped too: a skill can do nothing that a script cannot. The operator's folders come first; a skill
whose name is already taken is skipped. Scripts have no file access and cannot add or change skills.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from winnow.sandbox.child.language.refusals import Rejected
from winnow.sandbox.child.modules.skills import MODULE, MOST_BYTES, Skills, compile_skill
from winnow.server import DATA
from winnow.server.runtime.operator_files import UnusableText, check_writers, read_operator_file
from winnow.server.text.markup.syntax_trees import retry_trees

SHIPPED = DATA / "skills"
_MOST_FILES = 100  # of one folder
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Skill:
    """A function: its name, its parameters as source text, its docstring and its file."""

    name: str
    parameters: str
    doc: str
    file: str

    @property
    def line(self) -> str:
        """The first line of the docstring."""
        return self.doc.partition("\n")[0]

    def describe(self) -> str:
        """The name, the parameters and the docstring, as Markdown."""
        return f"## {self.name}\n\n`{self.name}{self.parameters}`\n\n{self.doc}"


@dataclass(frozen=True, slots=True)
class SkippedSkill:
    """A file or function that scripts cannot import, and why."""

    what: str
    why: str


@dataclass(frozen=True, slots=True)
class SkillSet:
    """The skills that scripts may import, and those that were skipped."""

    skills: Mapping[str, Skill] = field(default_factory=dict)
    sources: Mapping[str, str] = field(default_factory=dict)
    left_out: tuple[SkippedSkill, ...] = ()

    def is_named_in(self, code: str) -> bool:
        """Whether a script names the module or a skill; without an import of it, its error suggests one."""
        return not {MODULE, *self.skills}.isdisjoint(_WORD.findall(code))

    def for_scripts(self) -> Skills:
        """The skills in the form that the sandbox takes."""
        return Skills(self.sources, {name: skill.file for name, skill in self.skills.items()})


def load_skills(folders: Sequence[Path]) -> SkillSet:
    """Load the skills of these folders, then the shipped ones."""
    skills: dict[str, Skill] = {}
    sources: dict[str, str] = {}
    left_out: list[SkippedSkill] = []
    for folder in (*folders, SHIPPED):
        is_ours = folder == SHIPPED  # its writers can change the code of this process anyway
        for path in _list_files(folder, left_out, is_ours=is_ours):
            file = f"{path.stem}@{len(sources)}"
            try:
                # More than a skill may have: the check of the source refuses the rest in its own words.
                source = read_operator_file(path, 4 * MOST_BYTES, is_ours=is_ours)
                file_skills = retry_trees(_parse_skills, source, file)
            except Rejected as error:
                where = f"line {error.line}: " if error.line else ""
                left_out.append(SkippedSkill(str(path), f"{where}{error.message}"))
                continue
            except (OSError, UnusableText) as error:
                left_out.append(SkippedSkill(str(path), str(error)))
                continue
            taken = [skill for skill in file_skills if skill.name in skills]
            left_out += [
                SkippedSkill(f"{path}: {skill.name}", "another skill already has this name") for skill in taken
            ]
            sources[file] = source
            skills.update({skill.name: skill for skill in file_skills if skill not in taken})
    return SkillSet(skills, sources, tuple(left_out))


def _list_files(folder: Path, left_out: list[SkippedSkill], *, is_ours: bool) -> Sequence[Path]:
    try:
        if not is_ours:
            check_writers(folder, folder.stat())
        return sorted(path for path in folder.iterdir() if path.suffix == ".py")[:_MOST_FILES]
    except OSError as error:
        left_out.append(SkippedSkill(str(folder), str(error)))
        return []


def _parse_skills(source: str, file: str) -> list[Skill]:
    """The public functions of a file, in order. Raises ``Rejected`` if the policy refuses the file."""
    compile_skill(source)
    skills: list[Skill] = []
    for node in ast.parse(source).body:
        if not isinstance(node, ast.FunctionDef) or node.name.startswith("_"):
            continue
        doc = ast.get_docstring(node)
        if not doc:
            raise Rejected("CodeRejected", f"{node.name}: a skill needs a docstring", node.lineno)
        skills.append(Skill(node.name, f"({ast.unparse(node.args)})", inspect.cleandoc(doc), file))
    return skills


# Runners whose language is too small for skills (setting ``sandbox``).
WITHOUT_SKILLS = frozenset({"monty"})


def describe_skills(skill_set: SkillSet) -> str:
    """A list of all skills, then each with its parameters and docstring, as Markdown."""
    lines = [f"- `{skill.name}{skill.parameters}`: {skill.line}" for skill in skill_set.skills.values()]
    whole = [skill.describe() for skill in skill_set.skills.values()]
    return "\n\n".join([_OPENING, "\n".join(lines), *whole])


def describe_skill(skill: Skill) -> str:
    """One skill alone, as Markdown, with how a script imports it."""
    return f"{skill.describe()}\n\n```python\nfrom skills import {skill.name}\n```"


_OPENING = """\
Functions made of SDK calls, for questions that come up often. In a script: `from skills import NAME`."""
