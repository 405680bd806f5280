"""What settings of projects change: searches, ingests and the embedding model, each in its own project."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from server.app import make_knowledge_base, open_knowledge
from server.backends.catalogue import Catalogue
from server.engine import endpoint
from server.errors import WinnowError
from server.ingest.pipeline import DefaultLabels, IngestReport, Target, ingest_paths
from server.ingest.target import target_of
from server.knowledge import Knowledge
from server.opening import Backends, catalogue_path, open_backends
from server.projects.settings import ProjectLabels, ProjectSettings
from server.settings import Settings, load_settings
from tests.flow.test_commands import winnow
from tests.tiny_models import TABLE, write_model

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
