"""The pages that are written from the code, and the tables of the README. ``generate.py`` runs this file."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial

from generate import FOLDER, write_stale

from distribution.manifests import repository_files
from winnow.server.commands.entry.cli import COMMANDS
from winnow.server.commands.setup.clients import CLIENTS, Client
from winnow.server.commands.setup.machine import System
from winnow.server.commands.terminal.flags import bounds_of, default_of, values_of
from winnow.server.contracts import flat_schema
from winnow.server.settings.permissions import TOPICS, Setter
from winnow.server.settings.settings import Settings
from winnow.server.tools.agent_skills.table import AGENT_SKILLS
from winnow.server.tools.prompts.library import load_prompts
from winnow.server.tools.reference.guides import playbook, recipes
from winnow.server.tools.reference.schemas import answer_table, arguments_table, table
from winnow.server.tools.reference.sdk import sdk_reference
from winnow.server.tools.table import TOOLS, Tool
from winnow.server.transports.extensions.apps import list_apps
from winnow.server.transports.extensions.skills import list_skill_resources
from winnow.server.transports.resources import PAGES as PAGES_BY_URI
from winnow.server.transports.resources import TEMPLATES

_ALL_NAMES = frozenset(tool.name.replace(".", "_") for tool in TOOLS)
GENERATED = "<!-- Written by docs/generate.py from the code. Change it there. -->"


# page below docs/tools/ -> its title, and the names of its tools or their beginning; none for those of a pack
_FAMILIES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "kb": ("Tools: passages and documents", ("kb.",)),
    "search": ("Tools: search by tiers, and vendors", ("semantic_search", "find_vendor_info")),
    "graph": ("Tools: the graph", ("graph.",)),
    "scripts": ("Tools: scripts and help", ("execute_code", "read_result", "help")),
    "earlier": ("Tools: earlier names", ("search_sections", "get_section_text")),
    "research": ("Tools: projects and ingests", ()),
    "core": ("Tools: plans, citations and exports", ()),
    "pages": ("Tools: the cited page", ()),
    "claims": ("Tools: a notebook of claims", ()),
}


def tools_page() -> str:
    """All tools by their pages, with the first sentence of each; then resources and prompts."""
    opening = [
        "# Tools",
        GENERATED,
        "What an MCP client sees. The names are as they are listed; `.` also works for `_`. An optional argument\n"
        'that is `null`, `""` or `[]` counts as not given, also inside `scope` and `filters`: hosts send these\n'
        "for arguments that are not used. Lists lose such items. Each tool's arguments and answer are on the\n"
        "page of its family.",
    ]
    return _page(
        [*opening, *(part for family in _FAMILIES for part in _overview(family)), *_resources(), *_prompts()]
    )


def family_page(family: str) -> str:
    """The tools of a family, each with its description, arguments and answer."""
    return _page(
        [f"# {_FAMILIES[family][0]}", GENERATED, *(part for tool in _tools_of(family) for part in _tool(tool))]
    )


def _tools_of(family: str) -> list[Tool]:
    names = _FAMILIES[family][1]
    return [
        tool for tool in TOOLS if tool.pack == family or (not tool.pack and tool.name.startswith(names or " "))
    ]


def _overview(family: str) -> Iterator[str]:
    title = _FAMILIES[family][0].partition(": ")[2]
    yield f"## {title[:1].upper()}{title[1:]}"
    rows = (
        (f"[`{tool.name.replace('.', '_')}`](tools/{family}.md#{tool.name.replace('.', '_')})", _row_text(tool))
        for tool in _tools_of(family)
    )
    yield table(("tool", "what it does"), rows)


def _tool(tool: Tool) -> Iterator[str]:
    pack = f" Listed with `--tools {tool.pack}`." if tool.pack else ""
    hints = {"read-only": tool.read_only, "idempotent": tool.idempotent, "destructive": tool.destructive}
    yield f"## {tool.name.replace('.', '_')}"
    annotated = ", ".join(name for name, holds in hints.items() if holds) or "it writes, and each call anew"
    yield f"{tool.title}. Annotated: {annotated}.{pack}"
    yield "\n".join(f"> {line}".rstrip() for line in tool.description.splitlines())
    for name, words in tool.describe_arguments(Settings()).items():
        yield f"Its `{name}`:"
        yield "\n".join(f"> {line}".rstrip() for line in words.splitlines())
    yield "### Arguments"
    yield arguments_table(flat_schema(tool.arguments))
    yield "### Answer"
    yield answer_table(flat_schema(tool.answer))


def _resources() -> Iterator[str]:
    yield "## Resources"
    yield (
        "Help pages, apps and [agent skills](agent-skills.md) are listed. A passage is read by the `scratch_uri` "
        "of a search result, a large result by the `result_uri` of its error."
    )
    rows = [(f"`{uri}`", page.description) for uri, page in PAGES_BY_URI.items()]
    rows += [(f"`{app.uri}`", app.description or "") for app in list_apps(_ALL_NAMES, Settings())]
    rows += [(f"`{one.uri}`", one.description or "") for one in list_skill_resources(_ALL_NAMES, Settings())]
    patterns = [(f"`{one.uri_template}`", one.description or "") for one in TEMPLATES]
    yield table(("URI", "what it is"), [*rows, *patterns])


def _prompts() -> Iterator[str]:
    yield "## Prompts"
    rows = (
        (
            f"`{prompt.listed_name}`",
            str(prompt.major),
            "; ".join(f"`{each.name}`: {each.asks}" for each in prompt.arguments),
            prompt.description,
        )
        for prompt in load_prompts(()).prompts
    )
    yield table(("name", "version", "arguments", "what it does"), rows)


def sdk_page() -> str:
    """The page of the SDK: its functions, their results, and the limits of a run."""
    return _page(["# The script SDK", GENERATED, sdk_reference()])


def playbook_page() -> str:
    """The whole playbook that teaches an agent to use the tools."""
    title, _, text = playbook().partition("\n\n")
    return _page([title, GENERATED, text])


def recipes_page() -> str:
    """Scripts to copy."""
    title, _, text = recipes().partition("\n\n")
    return _page([title, GENERATED, text])


_SETTERS: Mapping[Setter, str] = {
    Setter.OPERATOR: "operator",
    Setter.USER: "user",
    Setter.FOLDER: "folder",
}


def settings_page() -> str:
    """Every setting by topic: its values, its default, who may set it, what it means."""
    opening = [
        "# Settings",
        GENERATED,
        "Each setting has one name: the flag `--memory-mb` of `winnow serve`, the variable `WINNOW_MEMORY_MB`, "
        "the key `memory_mb` in a `winnow.toml`. The nearest place wins: flag, variable, the file that "
        "`WINNOW_CONFIG` names or else `~/.config/winnow/winnow.toml`, and last the `winnow.toml` of the working "
        "folder. `winnow config` shows what is in force, where it came from and what was ignored.",
        "A setting marked **folder** may also come from the working folder's file, which may be somebody else's: "
        "it changes how answers look or are ranked, or narrows them. One marked **user** may not: it sends text "
        "or keys somewhere, widens what is in reach, loads code, lifts a limit or hides what happened. One marked "
        "**operator** is taken from a flag, a variable or the file that `WINNOW_CONFIG` names, and from no other.",
        "A key is sent only to the server that it was given with: where a nearer place names another server, that "
        "place has to give the key as well. `--project` alone narrows: a list of `projects` from a farther place "
        "then counts no more.",
    ]
    return _page([*opening, *(part for topic in TOPICS for part in _topic(topic))])


def _topic(topic: str) -> Iterator[str]:
    yield f"## {topic}"
    rows = (
        (
            f"`{name}`",
            _values(name),
            f"`{default_of(name)}`" if default_of(name) else "",
            _SETTERS[setter],
            _meaning(name),
        )
        for name, setter in TOPICS[topic].items()
    )
    yield table(("setting", "values", "default", "who", "what it means"), rows)


def _values(name: str) -> str:
    is_switch = Settings.model_fields[name].annotation is bool
    return "on, off" if is_switch else bounds_of(name) or values_of(name).replace("|", ", ")


def _meaning(name: str) -> str:
    return str(Settings.model_fields[name].description)


def decisions_page() -> str:
    """The decisions by number, each with its title."""
    files = sorted((FOLDER / "decisions").glob("[0-9]*.md"))
    titles = ((file.name, file.read_text("utf-8").partition("\n")[0].removeprefix("# ")) for file in files)
    rows = "\n".join(f"* [{title}]({name})" for name, title in titles)
    return _page(["# Decisions", GENERATED, "What was decided, what else there was, and the reasons.", rows])


def readme() -> str:
    """The README with its two tables: the tools of the usual list, and the commands."""
    text = (FOLDER.parent / "README.md").read_text("utf-8")
    return _with_table(_with_table(text, "tools", _tools_table()), "commands", _commands_table())


def _with_table(text: str, name: str, rows: str) -> str:
    opening, end = f"<!-- {name}: written by docs/generate.py -->\n", "<!-- end -->"
    return re.sub(
        f"({re.escape(opening)}).*?(?={end})", lambda found: found[1] + rows + "\n", text, count=1, flags=re.S
    )


def _tools_table() -> str:
    listed = [tool for tool in TOOLS if "(earlier tool)" not in tool.title and not tool.pack]
    rows = ((f"`{tool.name.replace('.', '_')}`", _row_text(tool)) for tool in listed)
    return table(("tool", "what it does"), rows)


def _row_text(tool: Tool) -> str:
    return _first_sentence(tool.description) + (
        "" if tool.listed else "; not in the tool list, but callable by name"
    )


def _first_sentence(description: str) -> str:
    return re.split(r"\.(?:\s|$)", description, maxsplit=1)[0]


def _commands_table() -> str:
    return table(("command", "what it does"), ((f"`winnow {name}`", line) for name, (_, line) in COMMANDS.items()))


def clients_page() -> str:
    """The page about clients on this machine, with its table."""
    return _with_table((FOLDER / "clients.md").read_text("utf-8"), "clients", _clients_table())


def _clients_table() -> str:
    rows = (
        (
            f"`{client.name}`",
            client.title,
            "<br>".join(_files_of(client)),
            client.format.value,
            f"`{'.'.join(client.servers)}`",
        )
        for client in CLIENTS
    )
    return table(("name", "client", "file", "format", "servers stand in"), rows)


# The folders that paths of clients begin with, as people write them; {desktop} is another one on each system.
_FOLDERS = {"home": "~", "config": "~/.config", "codex": "~/.codex", "claude": "~", "claude_home": "~/.claude"}
_FOLDERS |= {"roaming": "%APPDATA%", "local": "%LOCALAPPDATA%"}
_DESKTOPS = {
    System.LINUX: ("Linux", "~/.config"),
    System.MACOS: ("macOS", "~/Library/Application Support"),
    System.WINDOWS: ("Windows", "%APPDATA%"),
}


def _files_of(client: Client) -> Iterator[str]:
    """The files of a client, with the systems where not all have the same."""
    found: dict[str, list[str]] = {}
    for system, (name, desktop) in _DESKTOPS.items():
        for place in client.places[system]:
            found.setdefault(place.file.format(**_FOLDERS, desktop=desktop), []).append(name)
    for file, systems in found.items():
        yield f"`{file}`" if len(systems) == len(System) else f"{', '.join(systems)}: `{file}`"


def agent_skills_page() -> str:
    """The page about agent skills, with its tables."""
    text = _with_table((FOLDER / "agent-skills.md").read_text("utf-8"), "skills", _skills_table())
    return _with_table(text, "skill folders", _skill_folders_table())


def _skills_table() -> str:
    rows = (
        (
            f"[`{skill.name}`](../plugin/skills/{skill.name}/SKILL.md)",
            skill.description,
            f"`{skill.needs}`" if skill.needs else "",
        )
        for skill in AGENT_SKILLS
    )
    return table(("skill", "what it is for, as a model reads it", "needs the tool"), rows)


def _skill_folders_table() -> str:
    rows = (
        (f"`{client.name}`", client.title, f"`{client.skills.format(**_FOLDERS)}`")
        for client in CLIENTS
        if client.skills
    )
    return table(("name", "client", "folder"), rows)


# Page -> the files of deploy/ that it shows, each with its language.
_SHOWN: Mapping[str, Mapping[str, str]] = {
    "hosting.md": {"winnow.service": "ini"},
    "containers.md": {"Containerfile": "dockerfile", "compose.yaml": "yaml"},
}


def page_with_files(page: str) -> str:
    """A page with the files of ``deploy/`` that it shows."""
    text = (FOLDER / page).read_text("utf-8")
    for name, language in _SHOWN[page].items():
        content = (FOLDER.parent / "deploy" / name).read_text("utf-8")
        text = _with_table(text, f"deploy/{name}", f"```{language}\n{content}```")
    return text


def _page(parts: list[str]) -> str:
    return "\n\n".join(parts) + "\n"


PAGES: Mapping[str, Callable[[], str]] = {
    "tools.md": tools_page,
    **{f"tools/{family}.md": partial(family_page, family) for family in _FAMILIES},
    "sdk.md": sdk_page,
    "playbook.md": playbook_page,
    "recipes.md": recipes_page,
    "settings.md": settings_page,
    "decisions/README.md": decisions_page,
    "clients.md": clients_page,
    "agent-skills.md": agent_skills_page,
    **{page: partial(page_with_files, page) for page in _SHOWN},
    "../README.md": readme,
    **{f"../{name}": build for name, build in repository_files().items()},
}


if __name__ == "__main__":
    sys.exit(write_stale(PAGES) > 0)
