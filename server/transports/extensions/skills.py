"""Agent skills over MCP (SEP-2640): resources for their files, and the methods that list them.

Clients of the drafts before the final extension look for skills in ``skill://index.json``, so it is there as well.
What a client is offered follows from the tools that it has.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from mcp_types import RequestParams, Resource
from pydantic import ConfigDict

from winnow.server.errors import WinnowError
from winnow.server.settings.settings import Settings
from winnow.server.text.printable import one_line
from winnow.server.tools.agent_skills.rendering import SKILL_FILE, front_matter, offered_skills, skill_files
from winnow.server.tools.agent_skills.table import AgentSkill

EXTENSION_ID = "io.modelcontextprotocol/skills"
INDEX = "skill://index.json"
_SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
MARKDOWN, _JSON = "text/markdown", "application/json"
_URI_CHARS = 200
# The entries follow from the rights of the client, so no other client may be given them from a cache.
_CACHE: Mapping[str, Any] = {"ttlMs": 0, "cacheScope": "private"}


class GetSkillParams(RequestParams):
    """The parameters of ``skills/get``."""

    model_config = ConfigDict(hide_input_in_errors=True)

    uri: str


def skill_extensions() -> dict[str, dict[str, Any]]:
    """The extension as a server declares it, without its optional reading of folders."""
    return {EXTENSION_ID: {}}


def list_skill_resources(tools: Collection[str], settings: Settings) -> list[Resource]:
    """The index and the main file of each skill; a skill's further files are named by its entry."""
    index = _write_index(tools)
    listed = [
        Resource(
            uri=INDEX,
            name="index.json",
            title="Agent skills",
            description="The agent skills of this server.",
            mime_type=_JSON,
            size=len(index.encode()),
        )
    ]
    for skill in offered_skills(tools):
        text = skill_files(skill, tools, settings)[SKILL_FILE]
        listed.append(
            Resource(
                uri=_uri(skill),
                name=skill.name,
                description=skill.description,
                mime_type=MARKDOWN,
                size=len(text.encode()),
            )
        )
    return listed


def read_skill_file(uri: str, tools: Collection[str], settings: Settings) -> tuple[str, str] | None:
    """The text and the type of the index or of a skill's file; None for any other URI."""
    if uri == INDEX:
        return _write_index(tools), _JSON
    for skill in offered_skills(tools):
        for name, text in skill_files(skill, tools, settings).items():
            if uri == _uri(skill, name):
                return text, MARKDOWN
    return None


def list_skills(tools: Collection[str], settings: Settings) -> dict[str, Any]:
    """The result of ``skills/list``: an entry for each skill."""
    return {"skills": [_entry(skill, tools, settings) for skill in offered_skills(tools)], **_CACHE}


def get_skill(uri: str, tools: Collection[str], settings: Settings) -> dict[str, Any]:
    """The result of ``skills/get``: the entry of the skill with this URI.

    Raises:
        WinnowError: NOT_FOUND for any other URI.
    """
    for skill in offered_skills(tools):
        if uri == _uri(skill):
            return {"skill": _entry(skill, tools, settings), **_CACHE}
    known = ", ".join(map(_uri, offered_skills(tools)))
    raise WinnowError("NOT_FOUND", f"no skill is served at {one_line(uri, _URI_CHARS)!r}; there are {known}")


def _uri(skill: AgentSkill, file: str = SKILL_FILE) -> str:
    return f"skill://{skill.name}/{file}"


def _entry(skill: AgentSkill, tools: Collection[str], settings: Settings) -> dict[str, Any]:
    return {
        "uri": _uri(skill),
        "frontmatter": front_matter(skill),
        "resources": list(_manifest(skill, tools, settings)),
    }


def _manifest(skill: AgentSkill, tools: Collection[str], settings: Settings) -> Iterator[dict[str, Any]]:
    for name, text in skill_files(skill, tools, settings).items():
        data = text.encode()
        yield {
            "uri": _uri(skill, name),
            "digest": f"sha256:{hashlib.sha256(data).hexdigest()}",
            "size": len(data),
        }


def _write_index(tools: Collection[str]) -> str:
    rows = [
        {"name": skill.name, "type": "skill-md", "description": skill.description, "url": _uri(skill)}
        for skill in offered_skills(tools)
    ]
    return json.dumps({"$schema": _SCHEMA, "skills": rows}, indent=2) + "\n"
