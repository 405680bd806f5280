"""What settings of projects change: searches, ingests and the embedding model, each in its own project."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

import pytest

from tests.flow.test_commands import winnow
from tests.ingesting import ingest_paths
from tests.tiny_models import TABLE, write_model
from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.opening import Backends, catalogue_path, open_backends
from winnow.server.commands.entry.knowledge import make_knowledge_base, open_knowledge
from winnow.server.engine import endpoint
from winnow.server.errors import WinnowError
from winnow.server.ingest.pipeline import IngestReport, Target
from winnow.server.jobs.target import target_of
from winnow.server.operations.claims.table import OF_CLAIMS
from winnow.server.operations.knowledge import DIRECT, OPERATIONS, SCRIPT, Knowledge, KnowledgeBase
from winnow.server.readers.documents import DefaultLabels
from winnow.server.settings.loading import load_settings
from winnow.server.settings.project_settings import ProjectLabels, ProjectSettings
from winnow.server.settings.settings import Settings

pytestmark = pytest.mark.anyio

# The model's words have vectors; "zebra" is unknown to it, so only the lexical leg finds it.
PAGES = {
    "proxy.md": "# Proxy\n\nproxy gateway proxy\n",
    "policy.md": "# Policy\n\nbackup policy zebra\n",
    "plain.md": "---\nenvironment: dev\n---\n# Plain\n\ngateway gateway policy\n",
}
LEGS = {"usual": ("hybrid", "convex"), "ranks": ("hybrid", "rrf"), "meaning": ("semantic-only", "none")}
SETTINGS = {"ranks": ProjectSettings(fusion="rrf"), "meaning": ProjectSettings(hybrid=False)}


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    for name, text in PAGES.items():
        (folder / name).write_text(text, "utf-8")
    return folder


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load_settings(
        store=tmp_path / "store",
        project="usual",
        projects=tuple(LEGS),
        embedder=f"onnx:{write_model(tmp_path / 'model')}",
        graph="off",
    )


@pytest.fixture
def backends(settings: Settings) -> Iterator[Backends]:
    with closing(open_backends(settings, wait_for_model=True)) as opened:
        yield opened


def ingest(settings: Settings, opened: Backends, project: str, folder: Path, **how: Any) -> IngestReport:
    own = settings.model_copy(update={"project": project})
    return ingest_paths(target_of(own, opened, opened.embedder.ready()), [folder], **how)


async def ways_of(kb: Knowledge) -> dict[str, tuple[str, str]]:
    """How a search of each project was ranked."""
    found: dict[str, tuple[str, str]] = {}
    for project in LEGS:
        arguments = {"query": "proxy policy", "scope": {"project_id": project}}
        for _ in range(2):  # the second answer comes from the cache
            payload = (await kb.call("semantic_search", arguments, kb.caller("test"))).payload
            way = payload["search_mode"], payload["fusion"]
            assert found.setdefault(project, way) == way
    return found


@pytest.mark.parametrize("daemon", ["off", "on"])
async def test_projects_of_one_server_are_searched_each_by_its_own_settings(
    settings: Settings, docs: Path, daemon: str
) -> None:
    if daemon == "on" and not endpoint.is_supported():
        pytest.skip("engines are not shared on this system")
    with closing(open_backends(settings, wait_for_model=True)) as opened:
        for project in LEGS:
            assert ingest(settings, opened, project, docs).failures == ()
        for project, own in SETTINGS.items():
            opened.catalogue.save_project_settings(project, own)
    served = settings.model_copy(update={"daemon": daemon})
    if daemon == "on":
        kb: Knowledge = open_knowledge(served, wait_for_model=True, starts_engine=True)
    else:
        kb = make_knowledge_base(served, wait_for_model=True)
    try:
        await kb.open()
        assert await ways_of(kb) == LEGS
        # A change holds for the next call of a running server.
        with closing(Catalogue(catalogue_path(settings))) as catalogue:
            catalogue.save_project_settings("meaning", ProjectSettings())
        assert await ways_of(kb) == {**LEGS, "meaning": LEGS["usual"]}
    finally:
        await kb.aclose()
        if daemon == "on":
            assert winnow("engine", "stop", "--store", str(settings.store)).returncode == 0


def test_a_change_by_another_process_holds_also_after_ingests_of_this_one(
    settings: Settings, backends: Backends, docs: Path
) -> None:
    """Sealing what an ingest changed leaves this process its locks: its log is not removed under it."""
    ingest(settings, backends, "usual", docs)
    ingest(settings, backends, "meaning", docs)
    for style in ("mla", "apa"):
        store = ("--store", str(settings.store))
        assert winnow("project", "set", "meaning", "--citation-style", style, *store).returncode == 0
        assert backends.catalogue.project_settings("meaning").citation_style == style


# Every operation that ranks passages, its arguments, and where its answer has the way.
RANKED: Mapping[str, tuple[dict[str, Any], tuple[str | int, ...]]] = {
    "semantic_search": ({"query": "proxy zebra"}, ("search_mode",)),
    "hybrid_search": ({"query": "proxy zebra", "sparse_weight": 1.0}, ("search_mode",)),
    "rerank": ({"query": "proxy zebra"}, ("search_mode",)),
    "kb.search": ({"query": "proxy zebra", "options": {"include_debug": True}}, ("debug", "search_mode")),
    "kb.retrieve_evidence": ({"question": "proxy zebra"}, ("diagnostics", "search_mode")),
    "search_sections": ({"query": "proxy zebra"}, ("results", 0, "source")),
    "query_hybrid": ({"text": "proxy zebra"}, ("hybrid_enabled",)),
    "vector.query.search": ({"query": "proxy zebra"}, ("results", 0, "source")),
    "kb.explain_ranking": ({"query": "proxy zebra"}, ("search_mode",)),
}
# "query" ranks by vectors alone in every project. Of other settings, the research tools use top_k and
# max_chars_per_chunk, ingests labels and languages, kb.cite the style, and every ranking by both legs fusion. No
# setting changes the rest, which reads, counts or goes along relations.
UNRANKED = {
    *("fetch", "tokens", "read_result", "save", "load", "saved", "kb.read_excerpt", "kb.expand_excerpt"),
    *("kb.extract_evidence", "kb.documents", "kb.repeats", "kb.read", "kb.show", "kb.cite", "kb.scan", "kb.count"),
    *("kb.text", "kb.fields"),
    *("graph.describe", "graph.expand", "graph.paths", "graph.parents", "graph.children", "find_vendor_info"),
    *("graph.entities_for_sections", "graph.sections_for_entities", "get_section_text"),
    *("ingest_from_source", "job_status", "job_cancel", "list_projects", "inspect_collection", "query"),
    *("planner.multi_perspective", "research.execute", "docs.load.fetch"),  # they ask what is above
    *("citations.audit.check", "exports.render.markdown"),
    *(each.name for each in OF_CLAIMS),  # they search notebooks
    "index_state",
}


def test_every_operation_is_known_to_rank_passages_or_not() -> None:
    assert sorted([*RANKED, *UNRANKED]) == sorted(OPERATIONS)


@pytest.fixture
def uris(settings: Settings, docs: Path) -> dict[str, str]:
    """Two projects of the same documents, one with hybrid search off; the paths of their chunks by id."""
    with closing(open_backends(settings, wait_for_model=True)) as opened:
        uris: dict[str, str] = {}
        for project in ("usual", "meaning"):
            ingest(settings, opened, project, docs)
            known = opened.catalogue.passages(opened.catalogue.chunk_ids(project), project)
            uris |= {id: passage.document.uri for id, passage in known.items()}
        opened.catalogue.save_project_settings("meaning", SETTINGS["meaning"])
    return uris


@asynccontextmanager
async def _served(settings: Settings, project: str) -> AsyncIterator[KnowledgeBase]:
    """A server of one project."""
    kb = make_knowledge_base(settings.model_copy(update={"project": project}), wait_for_model=True)
    await kb.open()
    try:
        yield kb
    finally:
        await kb.aclose()


async def _way(kb: KnowledgeBase, operation: str, arguments: dict[str, Any], place: tuple[str | int, ...]) -> Any:
    """How an operation ranked, or the reason of its refusal."""
    budget = SCRIPT if operation in ("hybrid_search", "rerank") else DIRECT
    try:
        found: Any = (await kb.call(operation, arguments, kb.caller("test", budget, "r"))).payload
    except WinnowError as error:
        return error.reason
    for part in place:
        found = found[part]
    return found


async def test_with_hybrid_search_off_every_ranking_is_by_meaning_alone(
    settings: Settings, uris: dict[str, str]
) -> None:
    ways: dict[str, dict[str, Any]] = {}
    for project in ("usual", "meaning"):
        own = {"rerank": {"ids": list(uris)}, "query_hybrid": {"project": project}}
        async with _served(settings, project) as kb:
            ways[project] = {
                operation: await _way(kb, operation, arguments | own.get(operation, {}), place)
                for operation, (arguments, place) in RANKED.items()
            }
    expected: dict[str, Any] = dict.fromkeys(("search_sections", "vector.query.search"), ("hybrid", "vector"))
    expected["query_hybrid"] = (True, "HYBRID_NOT_SUPPORTED")
    for operation in RANKED:
        both = (ways["usual"][operation], ways["meaning"][operation])
        assert both == expected.get(operation, ("hybrid", "semantic-only"))


async def test_weights_of_legs_that_do_not_count_are_a_warning(settings: Settings, uris: dict[str, str]) -> None:
    async with _served(settings, "meaning") as kb:
        answer = await kb.call("hybrid_search", {"query": "proxy"}, kb.caller("test", SCRIPT, "r"))
    _, told = answer.warnings  # before it, that the answer is about this project alone
    assert told == "hybrid search is off for project 'meaning': ranked by meaning alone, weights do not count"


def labels_of(opened: Backends, project: str) -> dict[str, tuple[str, str]]:
    return {each.uri: (each.doc_tag, each.environment) for each in opened.catalogue.documents(project)}


def test_an_ingest_takes_the_labels_of_its_project_unless_a_flag_or_the_document_states_one(
    settings: Settings, backends: Backends, docs: Path
) -> None:
    own = ProjectSettings(labels=ProjectLabels(doc_tag="paper", environment="prod"))
    backends.catalogue.save_project_settings("ranks", own)
    ingest(settings, backends, "usual", docs)
    assert set(labels_of(backends, "usual").values()) == {("", ""), ("", "dev")}
    ingest(settings, backends, "ranks", docs)
    ours = {"proxy.md": ("paper", "prod"), "policy.md": ("paper", "prod"), "plain.md": ("paper", "dev")}
    assert labels_of(backends, "ranks") == ours
    assert ingest(settings, backends, "ranks", docs).documents == 0
    ingest(settings, backends, "ranks", docs, labels=DefaultLabels(doc_tag="draft"))
    assert labels_of(backends, "ranks") == {uri: ("draft", label) for uri, (_, label) in ours.items()}
    # What a flag forces replaces what documents state; a label of the project does not.
    ingest(settings, backends, "ranks", docs, labels=DefaultLabels(doc_tag="draft", forced=True))
    assert labels_of(backends, "ranks") == {uri: ("draft", label) for uri, (_, label) in ours.items()}
    ingest(settings, backends, "ranks", docs, labels=DefaultLabels(environment="scratch", forced=True))
    assert set(labels_of(backends, "ranks").values()) == {("paper", "scratch")}


def test_a_change_of_the_projects_labels_counts_at_the_next_ingest(
    settings: Settings, backends: Backends, docs: Path
) -> None:
    ingest(settings, backends, "usual", docs)
    backends.catalogue.save_project_settings("usual", ProjectSettings(labels=ProjectLabels(doc_tag="paper")))
    assert ingest(settings, backends, "usual", docs).documents == len(PAGES)
    assert {tag for tag, _ in labels_of(backends, "usual").values()} == {"paper"}


def test_a_project_bound_to_a_model_takes_no_vectors_of_another_and_none_without(
    settings: Settings, backends: Backends, docs: Path
) -> None:
    model = backends.embedder.ready()
    assert model is not None
    backends.catalogue.save_project_settings("ranks", ProjectSettings(embedder=model.fingerprint))
    backends.catalogue.save_project_settings("meaning", ProjectSettings(embedder="another/1"))
    assert ingest(settings, backends, "ranks", docs).documents == len(PAGES)
    for project, embedder in (("meaning", model), ("ranks", None)):
        target = Target(project, backends.catalogue, backends.store, embedder)
        with pytest.raises(WinnowError, match=f"winnow project set {project} --reset embedder") as caught:
            ingest_paths(target, [docs])
        assert caught.value.reason == "EMBEDDING_MISMATCH"
    assert backends.catalogue.documents("meaning") == []
    assert ingest(settings, backends, "usual", docs).documents == len(PAGES)


def test_the_model_of_a_store_with_a_bound_project_is_not_replaced(
    settings: Settings, docs: Path, tmp_path: Path
) -> None:
    with closing(open_backends(settings, wait_for_model=True)) as opened:
        ingest(settings, opened, "usual", docs)
        fingerprint = opened.catalogue.embedding("usual")
    store = ("--store", str(settings.store))
    refused = winnow("project", "set", "usual", "--embedder", "another/1", "--json", *store)
    assert json.loads(refused.stdout)["error"]["details"]["reason"] == "EMBEDDING_MISMATCH"
    assert winnow("project", "set", "usual", "--embedder", fingerprint, *store).returncode == 0
    other = f"onnx:{write_model(tmp_path / 'other', -TABLE)}"
    refused = winnow("reindex", "--embedder", other, "--json", *store)
    assert (refused.returncode, json.loads(refused.stdout)["error"]["details"]["bound_to"]) == (4, fingerprint)
    assert winnow("project", "set", "usual", "--reset", "embedder", *store).returncode == 0
    assert winnow("reindex", "--embedder", other, *store).returncode == 0
