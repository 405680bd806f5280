"""The notebook of a caller beside the graph: from claims to their sources and back, and nothing of another's."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from mcp import Client

from tests.claim_notebooks import OTHER_QUOTE, QUOTE, Opened, open_store, serving
from winnow.server.claims.records import Comparison
from winnow.server.commands.entry.app import Application
from winnow.server.errors import WinnowError
from winnow.server.operations.claims import claim_graph
from winnow.server.operations.knowledge import DIRECT, SCRIPT, Caller
from winnow.server.retrieval.graph.records import NOTEBOOK_EDGE_TYPES
from winnow.server.runtime.sessions.identities import key_name
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = pytest.mark.anyio


def key(name: str, budget: Any = DIRECT) -> Caller:
    return Caller(key_name(name, ["mine"], is_read_only=False, calls_per_minute=None), budget)


MINE, OTHER = key("k1"), key("k2")
WALKS = ("graph.expand", "graph.describe", "graph.parents", "graph.children")


@dataclass(frozen=True, slots=True)
class Walked:
    """A server; two entries that contradict each other, and the passages that their claims cite."""

    application: Application
    first: str
    second: str
    passage: str
    old: str

    async def rows(self, operation: str, caller: Caller = MINE, **arguments: Any) -> list[dict[str, Any]]:
        """The rows of an answer."""
        rows: list[dict[str, Any]] = (await self.application.kb.call(operation, arguments, caller)).payload[
            "results"
        ]
        return rows

    async def titles(self, *ends: str, caller: Caller = MINE, **more: Any) -> list[list[str]]:
        """The paths between two nodes: the kinds of their nodes and their relations."""
        rows = await self.rows("graph.paths", caller, from_ids=[ends[0]], to_ids=[ends[1]], **more)
        return [
            [row["nodes"][0]["label"], *(part for edge, node in zip(row["edges"], row["nodes"][1:], strict=True)
             for part in (edge["relation"], node["label"]))]
            for row in rows
        ]  # fmt: skip


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Opened]:
    with open_store(tmp_path_factory.mktemp("graph")) as opened:
        yield opened


@pytest.fixture(scope="module")
async def walked(opened: Opened) -> AsyncIterator[Walked]:
    async with serving(opened) as application:
        kb = application.kb
        ids = []
        for quote in (QUOTE, OTHER_QUOTE):
            found = await kb.call("semantic_search", {"query": quote, "top_k": 1}, MINE)
            ids.append(found.payload["results"][0]["id"])
        passage, old = ids

        async def write(text: str, *evidence: tuple[str, str, str]) -> str:
            given = [{"section_id": id, "quote": quote, "stance": stance} for id, quote, stance in evidence]
            entry = {"topic": "backups", "title": "On backups", "claims": [{"text": text, "evidence": given}]}
            return str((await kb.call("claims.write", entry, MINE)).payload["entry_id"])

        first = await write("Kept for 90 days.", (passage, QUOTE, "supports"), (old, "Whales sing.", "supports"))
        second = await write(
            "Backups are deleted after a week.", (passage, QUOTE, "refutes"), (old, OTHER_QUOTE, "supports")
        )
        verdict = {"claim": 1, "other": f"{second}.1", "judgement": "contradicts"}
        await kb.call("claims.revise", {"entry_id": first, "verdicts": [verdict]}, MINE)
        yield Walked(application, first, second, passage, old)


async def test_a_claim_leads_to_its_verified_sources_its_entry_and_what_contradicts_it(walked: Walked) -> None:
    rows = await walked.rows("graph.expand", ids=[f"claim:{walked.first}.1"])
    found = {row["id"]: (row["label"], row["relation"], row.get("direction")) for row in rows}
    assert found == {
        walked.passage: ("Chunk", "SUPPORTS", "out"),
        f"entry:{walked.first}": ("Entry", "PART_OF", "out"),
        f"claim:{walked.second}.1": ("Claim", "CONTRADICTS", None),
    }
    opposed = next(row for row in rows if row["label"] == "Claim")
    assert (opposed["title"], opposed["section_ids"]) == (
        "Backups are deleted after a week.",
        [walked.old, walked.passage],
    )


async def test_a_passage_leads_to_the_claims_for_and_against_it(walked: Walked) -> None:
    rows = await walked.rows("graph.expand", ids=[walked.passage], types=["supports", "REFUTES"])
    assert {(row["id"], row["relation"], row["direction"]) for row in rows} == {
        (f"claim:{walked.first}.1", "SUPPORTS", "in"),
        (f"claim:{walked.second}.1", "REFUTES", "in"),
    }
    outwards = await walked.rows("graph.expand", ids=[walked.passage], types=["SUPPORTS"], direction="out")
    assert outwards == []


async def test_paths_lead_from_a_claim_through_its_passage_to_a_document_and_back(walked: Walked) -> None:
    (document, *_) = [
        row["id"]
        for row in await walked.rows("graph.parents", ids=[walked.passage], hops=5)
        if row["label"] == "Document"
    ]
    claim, entry = f"claim:{walked.first}.1", f"entry:{walked.first}"
    (shortest, *_) = await walked.titles(claim, document, max_hops=4)
    assert shortest[:3] == ["Claim", "SUPPORTS", "Chunk"]
    assert shortest[-2:] == ["PART_OF", "Document"]
    (back, *_) = await walked.titles(document, entry, max_hops=5)
    assert back[0] == "Document"
    assert back[-5:] == ["Chunk", "SUPPORTS", "Claim", "PART_OF", "Entry"]
    (row, *_) = await walked.rows("graph.paths", from_ids=[claim], to_ids=[walked.passage])
    assert (row["hops"], row["edges"][0]["section_ids"]) == (1, [walked.passage])


async def test_paths_between_claims_go_through_verdicts_and_shared_passages(walked: Walked) -> None:
    ends = f"claim:{walked.first}.1", f"{walked.second}.1"
    found = await walked.titles(*ends, max_hops=2)
    assert found == [
        ["Claim", "CONTRADICTS", "Claim"],
        ["Claim", "SUPPORTS", "Chunk", "REFUTES", "Claim"],
    ]
    assert await walked.titles(*ends, max_hops=2, types=["SUPPORTS"]) == []
    between_passages = await walked.titles(walked.passage, walked.old, max_hops=2, types=["SUPPORTS", "REFUTES"])
    assert between_passages == [["Chunk", "REFUTES", "Claim", "SUPPORTS", "Chunk"]]


async def test_parents_and_children_go_between_entries_and_claims(walked: Walked) -> None:
    parents = await walked.rows("graph.parents", ids=[f"claim:{walked.first}.1"])
    assert [(row["id"], row["label"]) for row in parents] == [(f"entry:{walked.first}", "Entry")]
    children = await walked.rows("graph.children", ids=[walked.first], hops=5)
    assert [(row["id"], row["title"]) for row in children] == [(f"claim:{walked.first}.1", "Kept for 90 days.")]
    of_passage = await walked.rows("graph.children", ids=[walked.passage])
    assert of_passage == []


async def test_entries_about_the_same_are_similar_and_others_are_not(walked: Walked, opened: Opened) -> None:
    store, ends = opened[1].claims.store, (walked.first, walked.second)
    for entropy, expected in ((0.25, [(f"entry:{walked.second}", 0.75, None)]), (0.9, [])):
        store.compare(walked.first, [Comparison(entry_id=ends[0], other_id=ends[1], entropy=entropy)])
        rows = await walked.rows("graph.expand", ids=[f"entry:{walked.first}"], types=["SIMILAR"])
        assert [(row["id"], row["weight"], row.get("direction")) for row in rows] == expected


async def test_nodes_are_described_and_counted(walked: Walked) -> None:
    described = {
        row["id"]: row
        for row in await walked.rows("graph.describe", ids=[walked.first, f"{walked.first}.1", walked.passage])
    }
    entry, claim = described[f"entry:{walked.first}"], described[f"claim:{walked.first}.1"]
    assert (entry["title"], entry["edges_in"]) == ("On backups", {"PART_OF": 1})
    assert claim["edges_out"]["SUPPORTS"] == 1
    assert claim["section_ids"] == [walked.passage]
    incoming = described[walked.passage]["edges_in"]
    assert (incoming["SUPPORTS"], incoming["REFUTES"]) == (1, 1)
    counts = (await walked.application.kb.call("graph.describe", {}, MINE)).payload["graph"]
    assert (counts["labels"]["Entry"], counts["labels"]["Claim"]) == (2, 2)
    assert counts["relations"].keys() & set(NOTEBOOK_EDGE_TYPES) == set()


async def test_nothing_of_a_notebook_is_in_the_graph_of_another_key_or_without_the_pack(
    walked: Walked, opened: Opened
) -> None:
    async with serving(opened, tools=("all",)) as without:
        plain = Walked(without, walked.first, walked.second, walked.passage, walked.old)
        for one, caller in ((walked, OTHER), (walked, key("k2", SCRIPT)), (plain, MINE)):
            for operation in WALKS:
                arguments = (
                    {"ids": [walked.passage], "hops": 5} | {}
                    if operation != "graph.describe"
                    else {"ids": [walked.passage]}
                )
                text = json.dumps(await one.rows(operation, caller, **arguments))
                assert not any(mark in text for mark in ("claim:", "entry:", *NOTEBOOK_EDGE_TYPES))
                for name in (f"claim:{walked.first}.1", f"entry:{walked.first}", walked.first):
                    with pytest.raises(WinnowError, match="no node") as caught:
                        await one.rows(operation, caller, ids=[name])
                    assert caught.value.reason == "NOT_FOUND"
            counts = (await one.application.kb.call("graph.describe", {}, caller)).payload["graph"]["labels"]
            assert {"Entry", "Claim"} & counts.keys() == set()
            with pytest.raises(WinnowError, match="no node"):
                await one.titles(f"claim:{walked.first}.1", walked.passage, caller=caller)
    found = [await walked.rows("graph.expand", each, ids=[walked.passage], hops=2) for each in (OTHER, MINE)]
    shared = [[row["id"] for row in rows if ":" not in row["id"]] for rows in found]
    assert set(shared[0]) <= set(shared[1])


async def test_what_waits_for_approval_is_in_the_graph_of_its_own_session_alone(opened: Opened) -> None:
    async with serving(opened, review_claims=True) as application:
        entry = {"topic": "t", "claims": [{"text": "It waits."}]}
        written = await application.kb.call("claims.write", entry, application.kb.caller("one"))
        asked = {"ids": [f"entry:{written.payload['entry_id']}"]}
        own = await application.kb.call("graph.expand", asked, application.kb.caller("one"))
        assert [row["title"] for row in own.payload["results"]] == ["It waits."]
        with pytest.raises(WinnowError, match="no node"):
            await application.kb.call("graph.expand", asked, application.kb.caller("other"))


async def test_one_call_reads_a_bounded_part_of_a_notebook_and_says_so(
    walked: Walked, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claim_graph, "MAX_ENTRIES", 1)
    asked = {"from_ids": [f"claim:{walked.first}.1"], "to_ids": [walked.passage], "max_hops": 3}
    payload = (await walked.application.kb.call("graph.paths", asked, MINE)).payload
    assert (payload["results"][0]["hops"], payload["complete"]) == (1, False)


async def test_the_tools_answer_as_their_schemas_say_and_scripts_walk_too(walked: Walked, opened: Opened) -> None:
    application = walked.application
    written = {"topic": "t", "claims": [{"text": "1. [x] Forged\nline", "evidence": []}]}
    entry = (await application.kb.call("claims.write", written, application.kb.caller("stdio"))).payload[
        "entry_id"
    ]
    async with Client(build_server(Dispatcher(application.context, opened[0]), application)) as client:
        for tool, arguments in (
            ("graph_expand", {"ids": [f"entry:{entry}"]}),
            ("graph_describe", {"ids": [f"claim:{entry}.1"]}),
            ("graph_paths", {"from_ids": [f"claim:{entry}.1"], "to_ids": [f"entry:{entry}"]}),
        ):
            result = await client.call_tool(tool, arguments)
            assert not result.is_error, result.structured_content
            text = "\n".join(getattr(part, "text", "") for part in result.content)
            assert "Forged line" in text
            assert not any(line.startswith("line") for line in text.splitlines())
    rows = await walked.rows("graph.expand", key("k1", SCRIPT), ids=[f"claim:{walked.first}.1"])
    assert {row["relation"] for row in rows} == {"SUPPORTS", "PART_OF", "CONTRADICTS"}
