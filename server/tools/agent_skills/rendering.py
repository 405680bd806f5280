"""The files of agent skills, for a client whose tools are known, or for one of which nothing is known."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache

from winnow.server import DATA
from winnow.server.settings.settings import Settings
from winnow.server.tools.agent_skills.table import AGENT_SKILLS, PLAYBOOK, SCRIPTS, AgentSkill
from winnow.server.tools.reference.guides import (
    PLAYBOOK_NEEDS,
    playbook,
    recipes,
    select_sections,
    spell_tool_names,
)
from winnow.server.tools.reference.sdk import sdk_reference

SKILL_FILE = "SKILL.md"
_RECIPES, _SDK = "references/recipes.md", "references/sdk.md"
_COMPATIBILITY = "Needs the MCP server winnow (winnow-mcp), which searches the user's own documents."
# Of a part of a file that is read by models of which it is not known which tools they have.
_CONDITION = "*Only where `{{tool}}` is in your list of tools. Where it is not, skip this {part}.*"
_SECTION_CONDITION, _SKILL_CONDITION, _FILE_CONDITION = (
    _CONDITION.format(part=part) for part in ("section", "skill", "file")
)
_ABOUT_RECIPES = "Scripts for `execute_code`, to copy and adapt. Each runs unchanged."
_RECIPES_HEADING = "Recipes"
_NAMED_RECIPES = "\n\n## {heading}\n\n`{file}` has scripts for `execute_code` to copy and adapt: {names}.\n"
_SECTION = re.compile(r"^## (.+)\n", re.MULTILINE)


def offered_skills(tools: Collection[str]) -> list[AgentSkill]:
    """The skills for a client with these tools."""
    return [skill for skill in AGENT_SKILLS if skill.needs in ("", *tools)]


def front_matter(skill: AgentSkill) -> dict[str, str]:
    """The front matter of the skill's file."""
    return {"name": skill.name, "description": skill.description, "compatibility": _COMPATIBILITY}


def skill_files(skill: AgentSkill, tools: Collection[str] | None, settings: Settings) -> dict[str, str]:
    """The files of a skill by their paths in its folder.

    ``tools``: the names of the tools that the reader has; sections about others are left out. None: not known;
    then such sections say on which tool they depend.
    """
    head = "".join(f"{name}: {json.dumps(value)}\n" for name, value in front_matter(skill).items())
    files = {SKILL_FILE: f"---\n{head}---\n\n{_body(skill, tools)}\n"}
    if tools is None or SCRIPTS in tools:
        files |= dict(_references(skill, tools, settings))
    return {name: spell_tool_names(text, settings) for name, text in files.items()}


def _body(skill: AgentSkill, tools: Collection[str] | None) -> str:
    is_playbook = skill.name == PLAYBOOK
    text = playbook() if is_playbook else _read(f"{skill.name}.md")
    text = text.rstrip() + _NAMED_RECIPES.format(
        heading=_RECIPES_HEADING, file=_RECIPES, names=", ".join(_names_of_recipes(skill))
    )
    needs = {**(PLAYBOOK_NEEDS if is_playbook else skill.section_needs), _RECIPES_HEADING: SCRIPTS}
    if tools is not None:
        return select_sections(text, needs, tools)
    if skill.needs:
        title, _, rest = text.partition("\n")
        text = f"{title}\n\n{_SKILL_CONDITION.format(tool=skill.needs)}\n{rest}"
    conditions = {heading: tool for heading, tool in needs.items() if tool != skill.needs}
    return select_sections(text, conditions, None, _SECTION_CONDITION)


def _references(skill: AgentSkill, tools: Collection[str] | None, settings: Settings) -> Iterator[tuple[str, str]]:
    known = _recipes()
    parts = [f"# Recipes\n\n{_ABOUT_RECIPES}", *(f"## {name}\n{known[name]}" for name in _names_of_recipes(skill))]
    if tools is None and skill.needs != SCRIPTS:
        parts.insert(1, _FILE_CONDITION.format(tool=SCRIPTS))
    yield _RECIPES, "\n\n".join(part.strip() for part in parts) + "\n"
    if skill.has_sdk:
        yield _SDK, f"# The script SDK\n\n{sdk_reference(settings.sandbox).strip()}\n"


def _names_of_recipes(skill: AgentSkill) -> Sequence[str]:
    return skill.recipes or _SECTION.findall(recipes())


@cache
def _recipes() -> Mapping[str, str]:
    """Every recipe by its heading: those of the server's own help, and those of skills alone."""
    found: dict[str, str] = {}
    for text in (recipes(), _read("recipes.md")):
        parts = _SECTION.split(text)[1:]
        found |= dict(zip(parts[::2], parts[1::2], strict=True))
    return found


@cache
def _read(name: str) -> str:
    return (DATA / "agent_skills" / name).read_text("utf-8")
