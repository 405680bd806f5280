"""``help``: the playbook, the SDK reference and every tool, in portions. Hosts cut long descriptions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

from winnow.server.contracts import flat_schema, parse
from winnow.server.contracts.help import Help, HelpAnswer
from winnow.server.errors import WinnowError
from winnow.server.operations.answers.budget import Size
from winnow.server.settings.value_types import ToolPack
from winnow.server.text.suggestions import suggest
from winnow.server.tools.base import Context, Tool, ToolResult
from winnow.server.tools.reference.guides import playbook, recipes, spell_tool_names
from winnow.server.tools.reference.schemas import arguments_table
from winnow.server.tools.reference.sdk import explain, list_functions, sdk_index, sdk_reference
from winnow.server.tools.scripts.opt_in import tell_agent
from winnow.server.tools.scripts.skills import WITHOUT_SKILLS, Skill, describe_skill, describe_skills

DESCRIPTION = """\
How to use this server: playbook, script SDK, each tool's arguments.
Use when: you write a script, or were refused.
Do not use when: you want what documents say.
Returns at most: 2,000 tokens.
If you need more, call: this with next_start_char as start_char.
Defaults: topic playbook."""

_MAX_SIZE = Size(tokens=2_000, bytes=16 * 1024)
# What the tools of each pack are for; each pack is a topic, listed or not.
_PACKS: Mapping[ToolPack, str] = MappingProxyType(
    {
        "research": "Tools for people who write with sources: projects, their passages, ingests.",
        "core": "Plans, evidence of several perspectives, citations and exports under one set of contracts.",
        "pages": "The cited page itself, with the quote marked.",
        "claims": "A notebook of claims that agents write: the server looks for their quotes.",
    }
)
# The topics whose answers list all topics; the others are for who knows a topic's name.
_WITH_TOPICS = ("playbook", "topics")
_FOR_AUTHORS = frozenset({"sdk", "reference", "recipes", "skills"})
# The list of topics and the escapes of JSON take the rest of the bound.
_TEXT_TOKENS = 1_500


def build_help_tool(tools: Sequence[Tool]) -> Tool:
    """The ``help`` tool of a server with these tools."""
    return Tool(
        name="help",
        title="How to use this server",
        description=DESCRIPTION,
        arguments=Help,
        answer=HelpAnswer,
        handler=partial(_answer_help, tools),
        max_size=_MAX_SIZE,
        is_repeatable=True,
        waits_for_scripts=True,
    )


async def _answer_help(tools: Sequence[Tool], context: Context, arguments: dict[str, Any]) -> ToolResult:
    request, warnings = parse(Help, arguments)
    known = (*tools, *context.operator_tools)
    topics = _list_topics([tool for tool in known if tool.is_available(context)], context)
    for pack in _PACKS:
        topics.setdefault(pack, partial(_describe_pack, pack, tools, context))
    if _needs_scripts(request.topic, tools) and context.scripts.brief_why_not:
        raise WinnowError("NOT_FOUND", f"topic: {tell_agent(request.topic, context.scripts.brief_why_not)}")
    topic, text = _find_topic(request.topic, topics, _advise_flags(request.topic, tools, context))
    end = await _find_portion_end(context, text, request.start_char)
    payload: dict[str, Any] = {
        "topic": topic,
        "text": text[request.start_char : end],
        "truncated": end < len(text),
    }
    if topic in _WITH_TOPICS:
        payload["topics"] = list(topics)
    headline = f"help on {topic}: characters {request.start_char:,} to {end:,} of {len(text):,}"
    lines = [headline, payload["text"]]
    if end < len(text):
        payload["next_start_char"] = end
        lines.append(f"next_start_char: {end}")
    elif topic == "playbook":
        lines.append(f"topics: {', '.join(topics)}")
    return ToolResult(payload, "\n".join(lines), headline, warnings=warnings, rows=1)


def _list_topics(offered: Sequence[Tool], context: Context) -> dict[str, Callable[[], str]]:
    """The topics of this server and how each text is made. A tool that is also an SDK function is one topic."""
    names = {_normalize(tool.name) for tool in offered}
    topics: dict[str, Callable[[], str]] = {
        "playbook": lambda: spell_tool_names(playbook(names), context.settings)
    }
    in_scripts = _script_functions(context) if "execute_code" in names else {}
    if in_scripts:
        topics["sdk"] = partial(sdk_index, in_scripts, context.settings.sandbox)
        topics["reference"] = partial(sdk_reference, context.settings.sandbox)
        topics["recipes"] = recipes
    skills: Mapping[str, Skill] = {}
    if in_scripts and context.settings.sandbox not in WITHOUT_SKILLS:
        skills = context.scripts.skill_set.skills
        topics["skills"] = partial(describe_skills, context.scripts.skill_set)
    topics["topics"] = lambda: ", ".join(listed)
    for tool in offered:
        name = tool.name if context.settings.tool_names == "dotted" else _normalize(tool.name)
        topics[name] = partial(_describe_tool, tool, tool.name if tool.name in in_scripts else None, context)
    tool_names = {tool.name for tool in offered}
    listed: dict[str, Callable[[], str]] = {
        **topics,
        **{name: partial(explain, name) for name in in_scripts if name not in tool_names},
    }
    listed |= {name: partial(describe_skill, skill) for name, skill in skills.items() if name not in listed}
    return listed


def _script_functions(context: Context) -> Mapping[str, object]:
    """The SDK functions of this server; without a graph, those that need one are left out."""
    known = list_functions(context.settings.sandbox)
    over_graph = "find_vendor_info", *(name for name in known if name.startswith("graph."))
    has_graph = context.settings.graph != "off"
    return {name: value for name, value in known.items() if has_graph or name not in over_graph}


def _describe_tool(tool: Tool, in_scripts: str | None, context: Context) -> str:
    description = spell_tool_names(tool.fit_description(tool.description, context.settings), context.settings)
    parts = [f"# {tool.title}", description, "## Arguments"]
    parts.append(arguments_table(flat_schema(tool.arguments)))
    if in_scripts is not None:
        parts.append(f"# In a script\n\n{explain(in_scripts)}")
    return "\n\n".join(parts)


def _describe_pack(pack: ToolPack, tools: Sequence[Tool], context: Context) -> str:
    """The tools of a pack, each with what it is for, and the flags that those need which are not listed."""
    lines = [f"# The pack {pack}", "", _PACKS[pack], ""]
    for tool in (each for each in tools if each.pack == pack):
        name = tool.name if context.settings.tool_names == "dotted" else _normalize(tool.name)
        flags = tool.missing_flags(context)
        first = spell_tool_names(tool.description.partition("\n")[0], context.settings)
        lines.append(f"- {name}: {first}" + f" (not listed here: it needs {flags})" * bool(flags))
    return "\n".join(lines)


def _needs_scripts(topic: str, tools: Sequence[Tool]) -> bool:
    """Whether the topic is a tool that needs scripts, or a text for authors of scripts."""
    of_tools = {_normalize(tool.name) for tool in tools if tool.needs_scripts}
    return _normalize(topic) in of_tools | _FOR_AUTHORS


def _advise_flags(topic: str, tools: Sequence[Tool], context: Context) -> str:
    """Advice to the operator on listing the tool of this name; "" for any other topic."""
    named = next((tool for tool in tools if _normalize(tool.name) == _normalize(topic)), None)
    flags = named.missing_flags(context) if named else ""
    return f"it is a tool of the pack {named.pack}: start the server with {flags}" if named and flags else ""


def _find_topic(topic: str, topics: Mapping[str, Callable[[], str]], advice: str) -> tuple[str, str]:
    name = next((known for known in topics if _normalize(known) == _normalize(topic)), None)
    if name is None:
        advice = advice or suggest(topic, topics, f"topics: {', '.join(topics)}")
        raise WinnowError("NOT_FOUND", f"topic: no help on {topic!r}; {advice}")
    return name, topics[name]()


async def _find_portion_end(context: Context, text: str, start: int) -> int:
    """The end of the portion that begins at ``start``: after a whole line, if it contains one."""
    if start >= len(text):
        message = f"start_char: this topic ends at {len(text):,} characters; use a smaller one"
        raise WinnowError("INVALID_REQUEST", message)
    portion = await context.kb.first_tokens(text[start:], _TEXT_TOKENS)
    whole_lines = portion.rfind("\n") + 1
    return start + (whole_lines if whole_lines and start + len(portion) < len(text) else len(portion))


def _normalize(name: str) -> str:
    return name.replace(".", "_").lower()
