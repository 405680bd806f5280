"""Agent skills as a client gets them: listed, read and verified, and naming no tool that it does not have."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
import yaml
from mcp import Client
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, Request, RequestParams, Result, TextResourceContents

from winnow.server.commands.entry.app import Application, open_application
from winnow.server.settings.settings import Settings
from winnow.server.tools.agent_skills.rendering import skill_files
from winnow.server.tools.agent_skills.table import AGENT_SKILLS, AgentSkill
from winnow.server.tools.reference.guides import recipes
from winnow.server.tools.table import TOOLS
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = [pytest.mark.anyio, pytest.mark.walls]

EXTENSION, INDEX = "io.modelcontextprotocol/skills", "skill://index.json"
WIRE = {tool.name.replace(".", "_"): tool for tool in TOOLS}
# Called by name, and never in a list.
UNLISTED = {name for name, tool in WIRE.items() if not tool.listed}
# Words that are tools and other things as well: an argument, a verb.
WORDS = {"query", "help"}
NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
SERVERS: Mapping[str, dict[str, Any]] = {
    "all": {},
    "packs": {"tools": ("all", "core", "claims", "pages", "research"), "enable_writes": True},
    "code": {"tools": ("code",)},
    "no scripts": {"execute_code": "off"},
    "no graph": {"graph": "off"},
    "no kb tools": {"kb_v2_enabled": False},
    "no scripts and no kb tools": {"execute_code": "off", "kb_v2_enabled": False},
}


class AnyResult(Result):
    """A result with whatever the server sent."""

    model_config = Result.model_config | {"extra": "allow"}


class UriParams(RequestParams):
    """The parameters of ``skills/get``."""

    uri: str


@asynccontextmanager
async def connect(application: Application, era: str = "auto", **changed: Any) -> AsyncIterator[Client]:
    settings = application.settings.model_copy(update=changed)
    async with open_application(settings, wait_for_model=False) as opened:
        await opened.ready()
        async with Client(build_server(Dispatcher(opened.context, settings), opened), mode=era) as client:
            yield client


async def ask(client: Client, method: str, uri: str | None = None) -> dict[str, Any]:
    params = UriParams(uri=uri) if uri is not None else RequestParams()
    result = await client.session.send_request(Request(method=method, params=params), AnyResult)
    return result.model_dump(by_alias=True, mode="json", exclude_none=True)


async def read(client: Client, uri: str) -> TextResourceContents:
    (contents,) = (await client.read_resource(uri)).contents
    assert isinstance(contents, TextResourceContents)
    return contents


def front_matter_of(text: str) -> Any:
    start, head, _ = text.split("---\n", 2)
    assert start == ""
    return yaml.safe_load(head)


@pytest.mark.parametrize("era", ["auto", "legacy"])
async def test_every_skill_that_is_listed_is_read_and_has_the_stated_digests(
    application: Application, era: str
) -> None:
    async with connect(application, era) as client:
        assert (client.server_capabilities.extensions or {})[EXTENSION] == {}
        answer = await ask(client, "skills/list")
        assert {name: answer[name] for name in ("ttlMs", "cacheScope")} == {"ttlMs": 0, "cacheScope": "private"}
        assert [skill["frontmatter"]["name"] for skill in answer["skills"]] == [one.name for one in AGENT_SKILLS]
        for skill in answer["skills"]:
            assert skill["uri"] == f"skill://{skill['frontmatter']['name']}/SKILL.md"
            assert skill["uri"] in [file["uri"] for file in skill["resources"]]
            assert front_matter_of((await read(client, skill["uri"])).text) == skill["frontmatter"]
            for file in skill["resources"]:
                contents = await read(client, file["uri"])
                data = contents.text.encode()
                assert contents.mime_type == "text/markdown"
                assert (f"sha256:{hashlib.sha256(data).hexdigest()}", len(data)) == (file["digest"], file["size"])
            assert await ask(client, "skills/get", skill["uri"]) == {
                **{name: value for name, value in answer.items() if name != "skills"}, "skill": skill,
            }  # fmt: skip


@pytest.mark.parametrize("era", ["auto", "legacy"])
@pytest.mark.parametrize(
    "uri",
    ["skill://nothing/SKILL.md", INDEX, "skill://winnow-scripts/references/sdk.md", "skill://winnow-scripts"],
)
async def test_an_address_that_is_no_skill_is_an_error_with_the_skills_that_there_are(
    application: Application, era: str, uri: str
) -> None:
    async with connect(application, era) as client:
        with pytest.raises(MCPError, match=r"skill://winnow-playbook/SKILL\.md") as refused:
            await ask(client, "skills/get", uri)
    assert refused.value.error.code == INVALID_PARAMS


async def test_skills_are_resources_with_an_index_for_clients_of_earlier_drafts(application: Application) -> None:
    async with connect(application) as client:
        listed = {
            one.uri: one for one in (await client.list_resources()).resources if one.uri.startswith("skill:")
        }
        index = await read(client, INDEX)
        rows = json.loads(index.text)["skills"]
        assert (index.mime_type, list(listed)) == ("application/json", [INDEX, *(row["url"] for row in rows)])
        for row in rows:
            contents = await read(client, row["url"])
            one = listed[row["url"]]
            assert (row["type"], row["name"], row["description"]) == ("skill-md", one.name, one.description)
            assert (one.mime_type, one.size) == ("text/markdown", len(contents.text.encode()))


@pytest.mark.parametrize(
    "uri", ["skill://winnow-scripts/../winnow-playbook/SKILL.md", "skill://winnow-scripts/x.md"]
)
async def test_a_file_that_no_skill_has_is_refused(application: Application, uri: str) -> None:
    async with connect(application) as client:
        with pytest.raises(MCPError, match="is not a resource of this server"):
            await read(client, uri)


def named_tools(text: str) -> set[str]:
    """The tools that a text names; in code they are functions of scripts."""
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return {name for name in WIRE if re.search(rf"(?<![\w.]){name}(?!\w)", prose)} - UNLISTED - WORDS


@pytest.mark.parametrize("name", SERVERS)
async def test_a_skill_names_no_tool_that_the_client_does_not_have(application: Application, name: str) -> None:
    """Of the old tools the playbook names the successors; that section goes with them."""
    async with connect(application, **SERVERS[name]) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        offered = (await ask(client, "skills/list"))["skills"]
        assert [skill["frontmatter"]["name"] for skill in offered] == [
            one.name for one in AGENT_SKILLS if one.needs in ("", *tools)
        ]
        for skill in offered:
            files = [file["uri"] for file in skill["resources"] if not file["uri"].endswith("/sdk.md")]
            has_recipes = any(file.endswith("/recipes.md") for file in files)
            assert has_recipes is ("execute_code" in tools)
            for file in files:
                text = (await read(client, file)).text
                assert named_tools(text) - tools - {"search_sections", "get_section_text"} == set(), file
                assert "in your list of tools" not in text


async def test_the_packs_bring_the_sections_about_their_tools(application: Application) -> None:
    async with connect(application) as client:
        plain = (await read(client, "skill://winnow-literature-notes/SKILL.md")).text
    async with connect(application, **SERVERS["packs"]) as client:
        more = (await read(client, "skill://winnow-literature-notes/SKILL.md")).text
    headings = re.findall(r"^## (.+)$", more, re.MULTILINE)
    added = {*headings} - {*re.findall(r"^## (.+)$", plain, re.MULTILINE)}
    assert added == {"Keep what was found", "What was found out before", "Show the page"}


async def test_tools_are_named_as_they_are_listed(application: Application) -> None:
    async with connect(application, tool_names="dotted") as client:
        text = (await read(client, "skill://winnow-cited-answers/SKILL.md")).text
        entry = await ask(client, "skills/get", "skill://winnow-cited-answers/SKILL.md")
    assert ("kb.retrieve_evidence" in text, "kb_retrieve_evidence" in text) == (True, False)
    assert entry["skill"]["resources"][0]["size"] == len(text.encode())


# --- the files, where the tools of the reader are not known


def static(skill: AgentSkill) -> dict[str, str]:
    return skill_files(skill, None, Settings())


@pytest.mark.parametrize("skill", AGENT_SKILLS, ids=lambda skill: str(skill.name))
def test_a_skill_has_the_form_that_agentskills_io_asks_for(skill: AgentSkill) -> None:
    files = static(skill)
    front = front_matter_of(files["SKILL.md"])
    assert NAME.fullmatch(front["name"])
    assert (front["name"], len(front["name"]) <= 64) == (skill.name, True)
    assert 0 < len(front["description"]) <= 1_024
    assert 0 < len(front["compatibility"]) <= 500
    assert len(files["SKILL.md"].splitlines()) < 500
    named = {*re.findall(r"`(references/[\w.]+)`", files["SKILL.md"])}
    assert named == {*files} - {"SKILL.md"}


@pytest.mark.parametrize("skill", AGENT_SKILLS, ids=lambda skill: str(skill.name))
def test_a_section_about_a_tool_says_so_where_the_reader_s_tools_are_not_known(skill: AgentSkill) -> None:
    """Whatever list the reader has: a tool outside it stands in a section that begins with the condition."""
    opening, *sections = static(skill)["SKILL.md"].split("\n## ")
    always = {"help", skill.needs, *({"kb_retrieve_evidence"} if skill.needs == "kb_retrieve_evidence" else ())}
    if skill.needs == "kb_documents":  # they are listed together
        always |= {"kb_retrieve_evidence", "kb_read"}
    for part in (opening, *sections):
        conditions = set(re.findall(r"^\*Only where `(\w+)` is in your list of tools", part, re.MULTILINE))
        if not conditions:
            assert named_tools(part) - always == set(), part
    if skill.needs:
        assert (
            f"*Only where `{skill.needs}` is in your list of tools. Where it is not, skip this skill.*" in opening
        )


def test_every_recipe_of_the_server_goes_with_the_skill_for_scripts() -> None:
    text = static(next(skill for skill in AGENT_SKILLS if skill.has_sdk))["references/recipes.md"]
    assert re.findall(r"^## .+$", text, re.MULTILINE) == re.findall(r"^## .+$", recipes(), re.MULTILINE)
