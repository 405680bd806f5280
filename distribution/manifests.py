"""The documents by which clients and registries know winnow, made from the facts.

``docs/generate.py`` writes those that are part of the repository; the bundle's are written into the bundle.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from types import MappingProxyType
from typing import Any

from distribution.facts import SERVE, USER_OPTIONS, Facts, UserOption, read_facts
from winnow.server.settings.settings import Settings
from winnow.server.tools.agent_skills.rendering import skill_files
from winnow.server.tools.agent_skills.table import AGENT_SKILLS
from winnow.server.tools.table import TOOLS, Tool

_SERVER_SCHEMA = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json"
_BUNDLE_VERSION = "0.4"
ENTRY_POINT = "server/main.py"
# Systems on which a store can be opened: docs/macos-and-windows.md.
_PLATFORMS = ("linux", "darwin")


def bundle_manifest(facts: Facts) -> dict[str, Any]:
    """``manifest.json`` of the MCPB bundle: uv makes the environment, from the bundle's own ``pyproject.toml``."""
    run = ["run", "--directory", "${__dirname}", ENTRY_POINT]
    return {
        "manifest_version": _BUNDLE_VERSION,
        "name": facts.name,
        "display_name": facts.title,
        "version": facts.version,
        "description": facts.description,
        "author": {"name": facts.author},
        "license": facts.license_id,
        "keywords": list(facts.keywords),
        "server": {
            "type": "uv",
            "entry_point": ENTRY_POINT,
            "mcp_config": {"command": "uv", "args": [*run, *_client_arguments()]},
        },
        "tools": [_listed(tool.name, tool.description) for tool in _listed_tools()],
        "tools_generated": True,
        "prompts_generated": True,
        "user_config": {option.name: _bundle_option(option) for option in USER_OPTIONS},
        "compatibility": {"platforms": list(_PLATFORMS), "runtimes": {"python": facts.python}},
    }


def _listed_tools() -> list[Tool]:
    """The tools that a client lists by default."""
    return [tool for tool in TOOLS if tool.listed and not tool.pack and "(earlier tool)" not in tool.title]


def _client_arguments() -> list[str]:
    """The options with the places that a client fills with what its user gave."""
    return [word for option in USER_OPTIONS for word in (option.flag, f"${{user_config.{option.name}}}")]


def _listed(name: str, description: str) -> dict[str, str]:
    return {"name": name.replace(".", "_"), "description": re.split(r"\.(?:\s|$)", description, maxsplit=1)[0]}


def _bundle_option(option: UserOption) -> dict[str, Any]:
    return {**_plugin_option(option), "required": False}


def bundle_project(facts: Facts, wheel: str, pins: Iterable[str]) -> str:
    """``pyproject.toml`` of the bundle: the wheel inside it, and the versions that winnow was tested with."""
    constraints = "".join(f"  {json.dumps(pin)},\n" for pin in pins)
    return (
        f'[project]\nname = "{facts.name}-bundle"\nversion = "{facts.version}"\n'
        f'requires-python = "{facts.python}"\ndependencies = ["{facts.name}=={facts.version}"]\n\n'
        f"[tool.uv]\npackage = false\nconstraint-dependencies = [\n{constraints}]\n\n"
        f'[tool.uv.sources]\n{facts.name} = {{ path = "{wheel}" }}\n'
    )


def bundle_program() -> str:
    """The program that the bundle starts: a server on stdio with the options that it is given."""
    return (
        '"""Starts winnow on stdio; the options are those of ``winnow serve``."""\n\n'
        "import sys\nfrom pathlib import Path\n\nfrom winnow.server.commands.entry.cli import main\n\n"
        'if __name__ == "__main__":\n    # Not every client fills in the home within a default.\n'
        '    given = [word.replace("${HOME}", str(Path.home())) for word in sys.argv[1:]]\n'
        f'    sys.argv[1:] = ["{SERVE}", *given]\n    main()\n'
    )


def server_document(facts: Facts) -> dict[str, Any]:
    """``server.json`` of the MCP registry."""
    package = {
        "registryType": "pypi",
        "identifier": facts.name,
        "version": facts.version,
        "runtimeHint": "uvx",
        "transport": {"type": "stdio"},
        "packageArguments": [
            {"type": "positional", "value": SERVE},
            *(_registry_option(option) for option in USER_OPTIONS),
        ],
    }
    return {
        "$schema": _SERVER_SCHEMA,
        "name": facts.registry_name,
        "title": facts.title,
        "description": facts.description,
        "version": facts.version,
        "packages": [package],
    }


def _registry_option(option: UserOption) -> dict[str, Any]:
    kind = "filepath" if option.is_folder else "string"
    return {"type": "named", "name": option.flag, "description": option.description, "format": kind}


def plugin_manifest(facts: Facts) -> dict[str, Any]:
    """``plugin.json`` of the plugin for Claude Code."""
    return {
        "name": facts.title,
        "version": facts.version,
        "description": facts.description,
        "author": {"name": facts.author},
        "license": facts.license_id,
        "keywords": list(facts.keywords),
        "userConfig": {option.name: _plugin_option(option) for option in USER_OPTIONS},
    }


def _plugin_option(option: UserOption) -> dict[str, Any]:
    return {
        "type": "directory" if option.is_folder else "string",
        "title": option.title,
        "description": option.description,
        "default": option.default,
    }


def plugin_servers(facts: Facts) -> dict[str, Any]:
    """``.mcp.json`` of the plugin: the version of the plugin, run by uvx."""
    arguments = [f"{facts.name}@{facts.version}", SERVE, *_client_arguments()]
    return {"mcpServers": {facts.title: {"command": "uvx", "args": arguments}}}


def marketplace(facts: Facts) -> dict[str, Any]:
    """``marketplace.json``: the repository as a list of plugins with one in it."""
    plugin = {"name": facts.title, "source": "./plugin", "description": facts.description}
    return {
        "name": facts.name,
        "description": facts.description,
        "owner": {"name": facts.author},
        "plugins": [plugin],
    }


def as_text(document: Mapping[str, Any]) -> str:
    """The document as it is written."""
    return json.dumps(document, ensure_ascii=False, indent=2) + "\n"


# File of the repository -> its document.
_DOCUMENTS: Mapping[str, Callable[[Facts], dict[str, Any]]] = MappingProxyType(
    {
        "server.json": server_document,
        ".claude-plugin/marketplace.json": marketplace,
        "plugin/.claude-plugin/plugin.json": plugin_manifest,
        "plugin/.mcp.json": plugin_servers,
    }
)


def repository_files() -> dict[str, Callable[[], str]]:
    """Each manifest and each skill of the plugin in the repository, with what writes it."""
    files: dict[str, Callable[[], str]] = {name: partial(_write, build) for name, build in _DOCUMENTS.items()}
    files |= {name: partial(str, text) for name, text in plugin_skills().items()}
    return files


def plugin_skills() -> dict[str, str]:
    """The agent skills of the plugin: its folder ``skills`` has one of each."""
    return {
        f"plugin/skills/{skill.name}/{file}": text
        for skill in AGENT_SKILLS
        for file, text in skill_files(skill, None, Settings()).items()
    }


def _write(build: Callable[[Facts], dict[str, Any]]) -> str:
    return as_text(build(read_facts()))
