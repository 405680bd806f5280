"""Every tool and argument named in instructions, descriptions, playbook, prompts and help exists."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from winnow import client_sdk
from winnow.client_sdk.rows import FIELDS
from winnow.server.contracts import flat_schema
from winnow.server.errors import REASONS, ErrorCode, WinnowError
from winnow.server.retrieval.graph.records import EDGE_TYPES
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.tools.agent_skills.rendering import SKILL_FILE, skill_files
from winnow.server.tools.agent_skills.table import AGENT_SKILLS
from winnow.server.tools.prompts.library import load_prompts
from winnow.server.tools.prompts.rendering import render
from winnow.server.tools.reference.guides import instructions, playbook
from winnow.server.tools.reference.sdk import SDK
from winnow.server.tools.scripts.skills import load_skills
from winnow.server.tools.table import TOOLS

WIRE = {tool.name.replace(".", "_"): tool for tool in TOOLS}
# Not in the texts for agents: these are listed by a flag only.
LEGACY = {"search_sections", "get_section_text"}
# Nor these: they are listed with their pack, and name one another.
OF_PACKS = {name for name, tool in WIRE.items() if tool.pack}
# Named in messages, not in the list.
UNLISTED = {name for name, tool in WIRE.items() if not tool.listed}

IN_TEXTS = (
    "_INSTRUCTIONS in server/tools/reference/guides.py shows a call of each listed tool without a pack; "
    "tell of it in server/data/playbook.md, too"
)
TEXTS = {
    **{f"agent skill {skill.name}": skill_files(skill, None, Settings())[SKILL_FILE] for skill in AGENT_SKILLS},
    "instructions": instructions(Settings()),
    "instructions without the ladder": instructions(load_settings(kb_v2_enabled=False)),
    "playbook": playbook(),
    **{
        f"prompt {prompt.name}": render(prompt, {each.name: "QUESTION" for each in prompt.arguments}, list(WIRE))
        for prompt in load_prompts(()).prompts
    },
    **{
        f"description of {name}": tool.fit_description(tool.description, Settings()) for name, tool in WIRE.items()
    },
}


def _names(schema: Mapping[str, Any]) -> Iterator[str]:
    """Every property and every choice, however deep."""
    for name, value in schema.get("properties", {}).items():
        yield name
        yield from _names(value)
    yield from schema.get("enum", ())
    for inner in (*schema.get("anyOf", ()), *([schema["items"]] if "items" in schema else ())):
        yield from _names(inner)


def _parameters(name: str) -> set[str]:
    """The parameters of the tool and of the SDK function with this name."""
    taken = set(flat_schema(WIRE[name].arguments)["properties"]) if name in WIRE else set()
    function = SDK.get(name)
    return taken | set(inspect.signature(function).parameters) if inspect.isfunction(function) else taken


def _vocabulary() -> set[str]:
    details = WinnowError("RATE_LIMIT", "", retry_after_s=1.0).envelope()["details"]
    words = {*load_skills([]).skills, *WIRE, *SDK, *FIELDS, *client_sdk.__all__, *details}
    for tool in TOOLS:
        words |= {*_names(flat_schema(tool.arguments)), *_names(flat_schema(tool.answer))}
    for name in SDK:
        words |= _parameters(name)
    return words


VOCABULARY = _vocabulary()
# Names of Python, of hosts and of examples.
ELSEWHERE = {"__result__"}


@pytest.mark.parametrize("text", TEXTS)
def test_every_name_with_an_underscore_is_a_tool_a_parameter_a_field_or_a_choice(text: str) -> None:
    named = set(re.findall(r"(?<![\w.])[a-z]+(?:_[a-z]+)+(?!\w)", TEXTS[text]))
    assert named - VOCABULARY - ELSEWHERE == set(), "no tool, parameter, field or choice has this name"


CALL = re.compile(r"\b((?:(?:kb|graph)[._])?[a-z][a-z_]*)\(([^()]*)\)")


@pytest.mark.parametrize("text", TEXTS)
def test_every_call_shown_passes_what_the_tool_takes(text: str) -> None:
    passed = [
        (name, argument)
        for name, arguments in CALL.findall(TEXTS[text])
        for argument in re.findall(r"(\w+)=", arguments)
        if _parameters(name)
    ]
    assert [f"{name}({argument}=)" for name, argument in passed if argument not in _parameters(name)] == []


def test_the_instructions_show_calls_by_their_parameters_alone() -> None:
    calls = CALL.findall(TEXTS["instructions"])
    named = {name for name, _ in calls}
    assert named == set(WIRE) - LEGACY - UNLISTED - OF_PACKS - {"execute_code"}, IN_TEXTS
    for name, arguments in calls:
        assert set(arguments.split(", ")) <= _parameters(name)


@pytest.mark.parametrize("text", TEXTS)
def test_every_code_in_capitals_is_an_error_code_a_reason_or_a_relation(text: str) -> None:
    known = {*REASONS, *map(str, ErrorCode), *EDGE_TYPES}
    assert set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", TEXTS[text])) <= known


def test_the_playbook_tells_what_to_do_for_each_of_the_six_codes() -> None:
    assert {code for code in map(str, ErrorCode) if f"`{code}`" not in playbook()} == set()


def test_the_playbook_and_the_instructions_name_every_tool_that_is_listed_by_default() -> None:
    taught = set(WIRE) - LEGACY - UNLISTED - OF_PACKS
    assert {name for name in taught if f"{name}(" not in playbook()} == set()
    assert {name for name in taught if name not in TEXTS["instructions"]} == set()


def test_the_playbook_says_what_to_call_in_place_of_each_old_tool() -> None:
    table = playbook().partition("## From the old tools")[2]
    assert {name for name in LEGACY if f"`{name}`" not in table} == set()
    assert set(WIRE) >= LEGACY
