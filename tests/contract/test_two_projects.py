"""One server of two projects with settings of their own: each answers by its own and knows not the other."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, closing
from typing import Any

import anyio
import pytest
from mcp import Client

from tests.patience import LIMIT
from tests.tiny_models import write_model
from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.app import open_application
from winnow.server.ingest.pipeline import ingest_documents
from winnow.server.jobs.target import target_of
from winnow.server.models import Place
from winnow.server.readers.documents import RawDocument
from winnow.server.settings.loading import load_settings
from winnow.server.settings.project_settings import ProjectLabels, ProjectSettings
from winnow.server.settings.settings import Settings
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = [pytest.mark.anyio, pytest.mark.walls]

# Each project has its own word, in every fact and text of its documents.
WORDS = {"field/notes": "zebra", "archive": "lantern"}
FIRST, SECOND = WORDS
OWN = {
    FIRST: ProjectSettings(top_k=1, max_chars_per_chunk=200, citation_style="apa", fusion="rrf"),
    SECOND: ProjectSettings(
        top_k=2,
        max_chars_per_chunk=400,
        hybrid=False,
        citation_style="bibtex",
        labels=ProjectLabels(doc_tag="old"),
    ),
}
_TEXT = "The proxy knows the policy of the gateway, as the {word} says. " * 12


def _works(word: str) -> list[RawDocument]:
    return [
        RawDocument(
            f"{word}/{number}.pdf",
            "pdf",
            f"The {word} of {number}",
            f"# {word}\n\n" + _TEXT.format(word=word) + f" Number {number}.",
            tags=(word,),
            metadata={
                "citekey": f"{word}{number}",
                "authors": [f"{word.title()}, A"],
                "year": 2000,
                f"{word}s": word,
            },
            places=(Place(0, "page", 7),),
        )
        for number in (1, 2, 3)
    ]


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("two")
    for word in WORDS.values():
        (folder / "files" / word).mkdir(parents=True)
        (folder / "files" / word / "page.md").write_text(f"# {word}\n\nA page about the {word}.\n", "utf-8")
    chosen = load_settings(
        store=folder / "store",
        project=FIRST,
        projects=tuple(WORDS),
        tools="research",
        embedder=f"onnx:{write_model(folder / 'model')}",
        graph="off",
        daemon="off",
        enable_writes=True,
        ingest_roots=(folder / "files",),
    )
    with closing(open_backends(chosen, wait_for_model=True)) as opened:
        for project, word in WORDS.items():
            own = chosen.model_copy(update={"project": project})
            report = ingest_documents(target_of(own, opened, opened.embedder.wait()), "made", _works(word))
            assert report.failures == ()
            opened.catalogue.save_project_settings(project, OWN[project])
    return chosen


@asynccontextmanager
async def _serving(settings: Settings) -> AsyncIterator[Client]:
    async with (
        open_application(settings, wait_for_model=True, starts_engine=True) as application,
        Client(build_server(Dispatcher(application.context, settings), application)) as connected,
    ):
        yield connected


@pytest.fixture
async def client(settings: Settings) -> AsyncIterator[Client]:
    async with _serving(settings) as connected:
        yield connected


async def _call(client: Client, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The answer to a call, or its error."""
    answer = (await client.call_tool(tool, dict(arguments))).structured_content
    assert answer is not None
    return answer


async def test_each_project_is_queried_and_cited_by_its_own_settings(client: Client) -> None:
    for project, own in OWN.items():
        found = await _call(client, "query", {"project": project, "text": "proxy gateway", "top_k": 50})
        assert len(found["items"]) == own.top_k
        assert max(len(item["render_text"]) for item in found["items"]) <= own.max_chars_per_chunk
    hybrid = {
        project: await _call(client, "query_hybrid", {"project": project, "text": "proxy"}) for project in OWN
    }
    assert (hybrid[FIRST]["fusion"], hybrid[SECOND]["error"]["details"]["reason"]) == (
        "RRF",
        "HYBRID_NOT_SUPPORTED",
    )
    listed = await _call(client, "list_projects", {})
    assert {row["id"]: row["hybrid_enabled"] for row in listed["projects"]} == {FIRST: True, SECOND: False}


SCRIPT = """
found = {}
for project in (%r, %r):
    scope = {"project_id": project}
    page = semantic_search("proxy gateway", top_k=2, scope=scope)
    cited = cite(page, scope=scope)
    found[project] = [page.search_mode, page.fusion, cited.style, sorted(row.citekey for row in page)]
return found
"""


async def test_a_script_over_both_projects_searches_and_cites_each_by_its_own(client: Client) -> None:
    answer = await _call(client, "execute_code", {"code": SCRIPT % tuple(WORDS)})
    found = answer["result"]
    assert {project: ways[:3] for project, ways in found.items()} == {
        FIRST: ["hybrid", "rrf", "apa"],
        SECOND: ["semantic-only", "none", "bibtex"],
    }
    assert all(key.startswith(WORDS[project]) for project, ways in found.items() for key in ways[3])


def _near(word: str) -> str:
    return f"{word[:-1]}1"


# Calls in the scope of a project about the other one's word; what they name themselves is taken out of answers.
CALLS: Mapping[str, Callable[[dict[str, Any], str], tuple[str, dict[str, Any]]]] = {
    "list": lambda scope, word: ("kb_documents", {"scope": scope}),
    "keys": lambda scope, word: ("kb_documents", {"scope": scope, "group_by": "citekey"}),
    "near key": lambda scope, word: ("kb_documents", {"scope": scope, "where": {"citekey": _near(word)}}),
    "near field": lambda scope, word: ("kb_documents", {"scope": scope, "where": {_near(word): "x"}}),
    "near path": lambda scope, word: ("kb_documents", {"scope": scope, "path": f"{word[:-1]}/*"}),
    "near tag": lambda scope, word: ("kb_search", {"scope": scope, "query": "proxy", "filters": {"tags": [word]}}),
    "read": lambda scope, word: ("kb_read", {"scope": scope, "document": f"{word}/1.pdf"}),
    "title": lambda scope, word: ("kb_read", {"scope": scope, "document": f"The {word} of 1"}),
    "scan": lambda scope, word: ("kb_scan", {"scope": scope, "pattern": f"(?i){word}"}),
    "search": lambda scope, word: ("semantic_search", {"scope": scope, "query": f"citekey:{_near(word)} proxy"}),
    "evidence": lambda scope, word: (
        "kb_retrieve_evidence",
        {"scope": scope, "question": f"what does {_near(word)} say?"},
    ),
    "query": lambda scope, word: ("query", {"project": scope["project_id"], "text": f"the {word} of the proxy"}),
    "inspect": lambda scope, word: ("inspect_collection", {"project": scope["project_id"], "sample": 5}),
}


@pytest.mark.parametrize("name", CALLS)
async def test_no_answer_names_what_the_other_project_has(client: Client, name: str) -> None:
    for project, other in ((FIRST, WORDS[SECOND]), (SECOND, WORDS[FIRST])):
        tool, arguments = CALLS[name]({"project_id": project}, other)
        answer = await _call(client, tool, arguments)
        said = json.dumps({key: value for key, value in answer.items() if key != "meta"})
        warnings = json.dumps(answer["meta"]["warnings"])
        # A caller's own words stand in errors and warnings; works of the other project would stand beside them.
        for own in (f"{other}/1.pdf", f"The {other} of 1", repr(other), _near(other)):
            said, warnings = said.replace(own, ""), warnings.replace(own, "")
        assert [text for text in (said, warnings) if other in text.casefold()] == []


CITING = """
theirs = semantic_search("proxy", top_k=1, scope={"project_id": %r})[0]
try:
    return [cite([theirs], scope={"project_id": %r}).citations]
except SDKError as error:
    return str(error)
"""


async def test_no_project_cites_works_of_the_other(client: Client) -> None:
    for project, other in ((FIRST, SECOND), (SECOND, FIRST)):
        answer = await _call(client, "execute_code", {"code": CITING % (other, project)})
        assert "no passage or document" in str(answer["result"]), answer
        assert WORDS[other] not in json.dumps(answer["result"])


async def _finished(client: Client, job: str) -> dict[str, Any]:
    """The answer for a job at its end."""
    with anyio.fail_after(LIMIT):
        while (answer := await _call(client, "job_status", {"job_id": job}))["state"] in ("queued", "running"):
            await anyio.sleep(0.05)
    return answer


async def test_a_job_writes_into_its_project_alone_and_is_unknown_to_servers_of_the_other(
    settings: Settings,
) -> None:
    jobs: dict[str, str] = {}
    async with _serving(settings) as client:
        for project, word in WORDS.items():
            job = await _call(client, "ingest_from_source", {"project": project, "source": word})
            jobs[project] = job["job_id"]
        for project, other in ((FIRST, WORDS[SECOND]), (SECOND, WORDS[FIRST])):
            answer = await _finished(client, jobs[project])
            assert (answer["state"], other in json.dumps(answer)) == ("done", False)
            listed = await _call(client, "kb_documents", {"scope": {"project_id": project}, "path": "*page.md"})
            assert [row["title"] for row in listed["results"]] == [WORDS[project]]
    async with _serving(settings.model_copy(update={"projects": (FIRST,)})) as confined:
        for tool in ("job_status", "job_cancel"):
            refused = {
                (await _call(confined, tool, {"job_id": job}))["error"]["message"].replace(job, "")
                for job in (jobs[SECOND], "job_" + "0" * 32)  # one that is there, and one that is not
            }
            assert len(refused) == 1
        assert (await _call(confined, "job_status", {"job_id": jobs[FIRST]}))["state"] == "done"
