"""Documents with hostile metadata: every tool still answers according to its schema."""

from __future__ import annotations

import asyncio
import json
import sqlite3
from contextlib import AsyncExitStack, closing
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from mcp import Client
from mcp_types import TextContent

from tests.ingesting import ingest_paths
from winnow.server.backends.opening import catalogue_path, open_backends
from winnow.server.commands.entry.app import open_application
from winnow.server.contracts import answer_schema
from winnow.server.ingest.pipeline import IngestReport
from winnow.server.jobs.target import target_of
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.storage.files.seal import unseal
from winnow.server.tools.table import TOOLS
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

QUERY = "which port does the proxy listen on"
FIELDS = (
    "title", "vendor", "doc_tag", "tags", "date", "created", "updated", "lastmod", "environment", "repository",
    "repo",
    "product", "author", "aliases", "related", "depends_on", "<<", "\a", "x" * 300,
)  # fmt: skip
ODD = (
    "", " ", "\a", "\x1b[31m", "\x00", "\ud800", "\u202e", "\U000e0041", "\n\n", "\u2028", "a" * 300, "b" * 2_500,
    "\a" * 700, "漢" * 900, "Late spring of 2024, shortly after the flood in the valley",
    "Wed Mar 06 2024 10:00:00 GMT+0100 (Central European Standard Time)", "2024-01-01T00:00:00." + "0" * 200,
    "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00", "2024-02-31", "[[x]]", "acme", "Proxy", "../a.md", "/",
)  # fmt: skip
SCALARS = (
    st.sampled_from(ODD)
    | st.text(max_size=40)
    | st.integers(min_value=-(10**80), max_value=10**80)
    | st.floats()
    | st.booleans()
    | st.none()
    | st.dates()
    | st.datetimes()
)
VALUES = SCALARS | st.lists(SCALARS, max_size=5) | st.dictionaries(st.sampled_from(FIELDS), SCALARS, max_size=2)
FACTS = st.dictionaries(st.sampled_from(FIELDS) | st.text(max_size=8), VALUES, min_size=1, max_size=6)
BODY = "# Proxy\n\nThe proxy listens on port 8443 and forwards to the gateway.\n"


def write_documents(folder: Path, stated: list[dict[str, Any]]) -> Path:
    """Each set of facts as YAML of a page and as metadata of a record."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "good.md").write_text(f"---\nvendor: acme\n---\n{BODY}")
    with (folder / "records.jsonl").open("w", encoding="utf-8") as records:
        for number, facts in enumerate(stated):
            page = f"---\n{yaml.safe_dump(facts, allow_unicode=True)}---\n{BODY}"
            (folder / f"{number}.md").write_text(page, encoding="utf-8", errors="surrogatepass")
            record = {"_id": number, "title": facts.get("title"), "text": BODY, "metadata": facts}
            records.write(json.dumps(record, default=str) + "\n")
    return folder


def ingest(own: Settings, folder: Path) -> IngestReport:
    backends = open_backends(own, wait_for_model=True)
    try:
        return ingest_paths(target_of(own, backends, backends.embedder.ready()), [folder])
    finally:
        backends.close()


def own_settings(folder: Path) -> Settings:
    return load_settings(
        store=folder,
        project="p",
        embedding="off",
        legacy_tools=True,
        tools="research,core,claims",
        enable_writes=True,
        execute_code="off",
    )


async def call_every_tool(own: Settings) -> int:
    """Call every tool for every document and return the number of documents. Raises where a tool fails."""
    async with AsyncExitStack() as stack:
        app = await stack.enter_async_context(open_application(own, wait_for_model=True))
        server = build_server(Dispatcher(app.context, app.settings), app)
        client = await stack.enter_async_context(Client(server))
        unlisted = {tool.name.replace(".", "_"): dict(answer_schema(tool.answer)) for tool in TOOLS}
        listed = {tool.name: tool.output_schema or {} for tool in (await client.list_tools()).tools}
        schemas = unlisted | listed

        async def call(tool: str, **arguments: Any) -> dict[str, Any]:
            result = await client.call_tool(tool, arguments)
            assert isinstance(result.content[0], TextContent)
            assert not result.is_error, (tool, arguments, result.content[0].text)
            jsonschema.validate(result.structured_content, schemas[tool])
            return dict(result.structured_content or {})

        found = await call("semantic_search", query=QUERY, top_k=100, response_mode="ids_only")
        ids = found["ids"]
        for mode in ("metadata", "preview", "full"):
            await call("semantic_search", query=QUERY, top_k=100, response_mode=mode, include_relationships=True)
        await call("semantic_search", filter_ids=ids, response_mode="full", include_relationships=True)
        hits = await call(
            "kb_search", query=QUERY, top_k=20, options={"include_scores": True, "include_debug": True}
        )
        passages = [row["passage_id"] for row in hits["results"]]
        await call("kb_retrieve_evidence", question=QUERY)
        await call("kb_extract_evidence", question=QUERY, passage_ids=passages)
        for passage in passages[:2]:
            await call("kb_read_excerpt", passage_id=passage)
            await call("kb_expand_excerpt", passage_id=passage)
        for uri in [one.uri for one in (await client.list_resources()).resources]:
            await client.read_resource(uri)
        entities = await call("graph_entities_for_sections", section_ids=ids[:50])
        named = [one["entity_id"] for one in entities["results"]] or ids
        await call("graph_sections_for_entities", entity_ids=named[:20])
        await call("graph_describe", ids=[*ids, *named][:50], include_snippet=True)
        await call("graph_expand", ids=ids[:5], hops=3)
        await call("graph_paths", from_ids=ids[:2], to_ids=ids[-2:], max_hops=6)
        await call("graph_parents", ids=ids[:50])
        await call("graph_children", ids=named[:20], hops=2, include_snippet=True)
        documents = await call("kb_documents", limit=50)
        for name in ("type", "folder", "tags", "language"):
            await call("kb_documents", group_by=name)
        for document in documents["results"][:5]:
            await call("kb_read", document=document["document_id"])
        await call("kb_scan", pattern=r"\w+", limit=50)
        for name in ("document", "section", "match"):
            await call("kb_scan", pattern=r"\w+", group_by=name)
        await call("find_vendor_info", vendor_name="acme", include_content=True)
        await call("search_sections", query=QUERY, page_size=100)
        await call("get_section_text", section_ids=ids[:20])
        evidence = [{"section_id": id, "quote": "the"} for id in ids[:3]]
        claims = [{"text": "It is so.", "evidence": evidence}]
        for _ in range(2):
            written = await call("wild_write", topic="t", claims=claims)
        await call("wild_read", entry_id=written["entry_id"])
        await call("wild_search", query="it is so")
        await call("list_projects")
        await call("inspect_collection", project="p", sample=5)
        await call("vector_query_search", query=QUERY, top_k=100)
        await call("planner_multi_perspective", question=QUERY, max_perspectives=10)
        await call("research_execute", question=QUERY, max_perspectives=10)
        for document in documents["results"][:5]:
            await call("docs_load_fetch", uri=document["document_id"])
        quotes = [{"quote": BODY[:200], "source": id} for id in ids[:20]]
        await call("citations_audit_check", quotes=quotes)
        await call("exports_render_markdown", title="T", sections=[{"heading": "H", "quotes": quotes[:5]}])
        return len(ids)


@settings(
    max_examples=4,
    phases=[Phase.explicit, Phase.generate],  # an example takes a second, and what fails is small
    derandomize=True,
    database=None,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)
@given(stated=st.lists(FACTS, min_size=8, max_size=8))
def test_every_tool_answers_over_whatever_front_matter_states(
    tmp_path_factory: pytest.TempPathFactory, stated: list[dict[str, Any]]
) -> None:
    own = own_settings(tmp_path_factory.mktemp("store"))
    documents = write_documents(tmp_path_factory.mktemp("documents"), stated)
    report = ingest(own, documents)
    assert report.documents > len(stated)  # a record may fail: what JSON cannot hold is named
    assert asyncio.run(call_every_tool(own)) == report.chunks


def test_every_tool_answers_over_every_odd_value_in_every_field(tmp_path: Path) -> None:
    own = own_settings(tmp_path / "store")
    named = [name for name in FIELDS if name not in ("<<", "\a")]
    stated = [{**dict.fromkeys(named, odd), "tags": [odd, "", odd], "aliases": [odd]} for odd in ODD]
    assert ingest(own, write_documents(tmp_path / "documents", stated)).failures == ()
    assert asyncio.run(call_every_tool(own)) == 2 * len(ODD) + 1


def test_a_store_from_before_values_were_bounded_is_searched(tmp_path: Path) -> None:
    """Facts that an earlier winnow accepted are bounded when they are read."""
    own = own_settings(tmp_path / "store")
    ingest(own, write_documents(tmp_path / "documents", [{"title": "A"}]))
    with closing(sqlite3.connect(catalogue_path(own))) as catalogue, catalogue:
        catalogue.execute(
            "UPDATE documents SET title = ?, vendor = ?, doc_tag = ?, tags = ?, created = ?",
            ("\x1b[2K" * 500, "v" * 900, "\a" * 900, json.dumps(["\a", "", "t" * 900] * 90), "d" * 62),
        )
    unseal(own.store)  # it had no digests of its files either
    assert asyncio.run(call_every_tool(own)) == 3
