"""A confined server: no operation, script or id reaches a document outside its scope."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Callable, Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.errors import WinnowError
from winnow.server.ingest.pipeline import RawDocument, ingest_documents
from winnow.server.jobs.target import target_of
from winnow.server.operations.knowledge import OPERATIONS
from winnow.server.settings.loading import load_settings

pytestmark = pytest.mark.anyio

ENVIRONMENTS, REPOSITORIES, TAGS = ("", "dev", "prod"), ("", "acme/app", "acme/web"), ("", "v1", "v2")
LABELS = tuple(product(ENVIRONMENTS, REPOSITORIES, TAGS))
QUESTION = "who keeps the proxy secret"
# Every document holds one word that is said nowhere else: marker, its number, x.
Markers = set[int]
BOUNDS: dict[str, dict[str, Any]] = {
    "environment": {"environment": "prod"},
    "repositories": {"repositories": ("acme/app", "nowhere")},
    "doc tags": {"doc_tags": ("v1",)},
    "all of them": {"environment": "dev", "repositories": ("acme/web",), "doc_tags": ("v1", "v2")},
}


def document(number: int) -> RawDocument:
    environment, repository, tag = LABELS[number]
    return RawDocument(
        uri=f"{number}.md",
        type="markdown",
        title=f"Page {number}",
        text=f"The proxy keeps the secret marker{number}x in a drawer.",
        vendor="acme",
        doc_tag=tag,
        environment=environment,
        repository=repository,
    )


def inside(scope: Mapping[str, Any]) -> Markers:
    """The documents within a scope of these labels."""
    return {
        number
        for number, (environment, repository, tag) in enumerate(LABELS)
        if scope.get("environment", "") in ("", environment)
        and (not scope.get("repositories") or repository in scope["repositories"])
        and (not scope.get("doc_tags") or tag in scope["doc_tags"])
    }


def find_markers(payload: Any) -> Markers:
    """The documents that an answer mentions, by text, title or name."""
    return {
        int(number)
        for groups in re.findall(r"marker(\d+)x|Page (\d+)|\b(\d+)\.md", json.dumps(payload))
        for number in groups
        if number
    }


@pytest.fixture(scope="module")
def labelled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[int, str]]:
    """A store of documents with all combinations of labels, and the chunk of each."""
    folder = tmp_path_factory.mktemp("labelled")
    settings = load_settings(store=folder, project="p", embedding="off")
    backends = open_backends(settings, wait_for_model=False)
    try:
        ingest_documents(
            target_of(settings, backends, None), "made", [document(number) for number in range(len(LABELS))]
        )
        found = backends.catalogue.passages(backends.catalogue.chunk_ids("p"), "p")
        return folder, {int(one.document.uri[:-3]): id for id, one in found.items()}
    finally:
        backends.close()


@pytest.fixture(params=BOUNDS)
async def confined(
    request: pytest.FixtureRequest, labelled: tuple[Path, dict[int, str]]
) -> AsyncIterator[tuple[Application, Markers]]:
    """A server confined by each of the bounds, and the documents inside."""
    bound = BOUNDS[request.param]
    settings = load_settings(store=labelled[0], project="p", embedding="off", **bound)
    async with open_application(settings, wait_for_model=False) as application:
        yield application, inside(bound)


@pytest.fixture
async def open_to_all(labelled: tuple[Path, dict[int, str]]) -> AsyncIterator[Application]:
    settings = load_settings(store=labelled[0], project="p", embedding="off", execute_code="off")
    async with open_application(settings, wait_for_model=False) as application:
        yield application


# What each operation is asked for, given the id of one chunk.
CALLS: dict[str, Callable[[str], dict[str, Any]]] = {
    "semantic_search": lambda _: {"query": QUESTION, "top_k": 100, "response_mode": "full"},
    "fetch": lambda chunk: {"ids": [chunk], "missing": "skip"},
    "hybrid_search": lambda _: {"query": QUESTION, "top_k": 100, "response_mode": "full", "bm25_weight": 1.0},
    "rerank": lambda chunk: {"query": QUESTION, "ids": [chunk], "top_k": 100},
    "tokens": lambda _: {"texts": [QUESTION]},
    "read_result": lambda _: {"execution_id": "0" * 16},
    "save": lambda _: {"name": "a", "text": "1", "start": 0, "bytes": 1},
    "load": lambda _: {"name": "a"},
    "saved": lambda _: {},
    "kb.search": lambda _: {"query": QUESTION, "top_k": 100, "page_size": 100},
    "kb.read_excerpt": lambda chunk: {"passage_id": chunk},
    "kb.expand_excerpt": lambda chunk: {"passage_id": chunk},
    "kb.extract_evidence": lambda chunk: {"question": QUESTION, "passage_ids": [chunk]},
    "kb.retrieve_evidence": lambda _: {"question": QUESTION, "top_k": 20, "max_quotes": 20},
    "kb.scan": lambda _: {"pattern": "(?s).+"},
    "kb.count": lambda _: {"pattern": "(?s).+"},
    "kb.documents": lambda _: {"limit": 1000},
    "kb.repeats": lambda _: {"min_chars": 20},
    "kb.read": lambda chunk: {"document": chunk},
    "kb.text": lambda chunk: {"documents": [chunk]},
    "kb.fields": lambda chunk: {"document": chunk},
    "kb.show": lambda chunk: {"passage_id": chunk},
    "kb.cite": lambda chunk: {"rows": [{"id": chunk}]},
    "kb.explain_ranking": lambda _: {"query": QUESTION, "top_k": 100},
    "graph.describe": lambda chunk: {"ids": [chunk]},
    "graph.expand": lambda chunk: {"ids": [chunk], "hops": 5, "page_size": 200},
    "graph.paths": lambda chunk: {"from_ids": [chunk], "to_ids": ["acme"]},
    "graph.parents": lambda chunk: {"ids": [chunk]},
    "graph.children": lambda chunk: {"ids": [chunk]},
    "graph.entities_for_sections": lambda chunk: {"section_ids": [chunk]},
    "graph.sections_for_entities": lambda _: {"entity_ids": ["acme"], "page_size": 100, "include_snippet": True},
    "find_vendor_info": lambda _: {"vendor_name": "acme", "max_results": 100},
    "search_sections": lambda _: {"query": QUESTION, "top_k": 100, "page_size": 100},
    "get_section_text": lambda chunk: {"section_ids": [chunk]},
    "list_projects": lambda _: {},
    "index_state": lambda _: {},
    "claims.search": lambda _: {"query": QUESTION, "min_similarity": 0.0},
    "claims.related": lambda _: {"entry_id": "0" * 12},
    "claims.claims": lambda _: {"entry_ids": ["0" * 12]},
    "claims.read": lambda _: {"entry_id": "0" * 12},
    "claims.topics": lambda _: {},
    "claims.friction": lambda _: {"min_friction": 0.0},
    "claims.recent": lambda _: {},
    "claims.status": lambda _: {},
    "claims.write": lambda chunk: {
        "topic": "t",
        "claims": [{"text": "It is so.", "evidence": [{"section_id": chunk, "quote": "a"}]}],
    },
    "claims.revise": lambda _: {"entry_id": "0" * 12},
    "ingest_from_source": lambda _: {"project": "p", "source": "notes"},
    "job_status": lambda _: {"job_id": "job_of_nobody"},
    "job_cancel": lambda _: {"job_id": "job_of_nobody"},
    "query": lambda _: {"project": "p", "text": QUESTION},
    "query_hybrid": lambda _: {"project": "p", "text": QUESTION},
    "inspect_collection": lambda _: {"project": "p", "sample": 5},
    "vector.query.search": lambda _: {"query": QUESTION, "top_k": 100, "per_document": 100},
    "planner.multi_perspective": lambda _: {"question": QUESTION, "max_perspectives": 10},
    "research.execute": lambda _: {"question": QUESTION, "max_perspectives": 10, "max_tokens": 16000},
    "docs.load.fetch": lambda chunk: {"uri": chunk},
    "citations.audit.check": lambda _: {"quotes": [{"quote": QUESTION, "source": "@nobody"}]},
    "exports.render.markdown": lambda _: {"title": "T", "sections": [{"heading": "H"}]},
}
SEARCHES = (
    "semantic_search",
    "hybrid_search",
    "kb.search",
    "search_sections",
    "graph.sections_for_entities",
    "find_vendor_info",
    "vector.query.search",
    "kb.explain_ranking",
)
WITH_ID = [name for name, arguments in CALLS.items() if "chunk" in str(arguments("chunk"))]
WALKS = tuple(name for name in WITH_ID if name.startswith("graph."))
# Documents by their addresses, several ids at once, and what this server refuses whatever the passage is.
_OTHERS = ("rerank", "kb.read", "kb.text", "kb.fields", "docs.load.fetch", "claims.write")
BY_ID = tuple(name for name in WITH_ID if name not in WALKS and name not in _OTHERS)
SCOPED = tuple(name for name, operation in OPERATIONS.items() if "scope" in operation.arguments.model_fields)


async def answer(application: Application, operation: str, chunk: str, **more: Any) -> Markers | str:
    """The documents that an answer mentions, or the reason of its error."""
    arguments = CALLS[operation](chunk) | more
    try:
        found = await application.kb.call(operation, arguments, application.caller("test"))
    except WinnowError as error:
        return error.reason
    return find_markers(found.payload)


def test_every_operation_is_tried() -> None:
    assert set(CALLS) == set(OPERATIONS)


async def test_searches_show_all_of_what_is_inside_and_nothing_else(
    confined: tuple[Application, Markers], labelled: tuple[Path, dict[int, str]]
) -> None:
    application, within = confined
    for operation in SEARCHES:
        assert (operation, await answer(application, operation, "")) == (operation, within)
    quoted = await answer(application, "kb.retrieve_evidence", "")
    assert isinstance(quoted, set)
    assert quoted
    assert quoted <= within


async def test_samples_of_a_collection_are_from_inside(confined: tuple[Application, Markers]) -> None:
    application, within = confined
    found = await answer(application, "inspect_collection", "")
    assert isinstance(found, set)
    assert found
    assert found <= within


async def test_an_id_from_outside_is_as_unknown_as_one_that_never_was(
    confined: tuple[Application, Markers], labelled: tuple[Path, dict[int, str]]
) -> None:
    application, within = confined
    for operation in BY_ID:
        unknown = await answer(application, operation, "0" * 12)
        for number, chunk in labelled[1].items():
            expected = {number} if number in within else unknown
            assert (operation, number, await answer(application, operation, chunk)) == (
                operation,
                number,
                expected,
            )


async def test_what_is_outside_is_not_ranked_either(
    confined: tuple[Application, Markers], labelled: tuple[Path, dict[int, str]]
) -> None:
    application, within = confined
    chunks = labelled[1]
    asked = {"query": QUESTION, "ids": [*chunks.values()], "top_k": 100}
    found = await application.kb.call("rerank", asked, application.caller("test"))
    assert {row["id"] for row in found.payload["results"]} == {chunks[number] for number in within}
    assert set(found.payload["missing_ids"]) == {chunks[number] for number in chunks.keys() - within}


async def test_a_walk_starts_inside_or_not_at_all_and_never_leads_outside(
    confined: tuple[Application, Markers], labelled: tuple[Path, dict[int, str]]
) -> None:
    application, within = confined
    for operation in WALKS:
        reached: Markers = set()
        for number, chunk in labelled[1].items():
            found = await answer(application, operation, chunk)
            assert (operation, number, isinstance(found, set)) == (operation, number, number in within)
            reached |= found if isinstance(found, set) else set()
        assert (operation, reached <= within) == (operation, True)
    everywhere = await answer(application, "graph.expand", labelled[1][min(within)])
    assert everywhere == within


async def test_filtering_by_ids_shows_only_what_is_inside(
    confined: tuple[Application, Markers], labelled: tuple[Path, dict[int, str]]
) -> None:
    application, within = confined
    arguments = {"filter_ids": list(labelled[1].values()), "query": QUESTION, "response_mode": "full"}
    found = await application.kb.call("semantic_search", arguments, application.caller("test"))
    assert find_markers(found.payload) == within
    outside = {chunk for number, chunk in labelled[1].items() if number not in within}
    assert set(found.payload["missing_ids"]) == outside


@pytest.mark.parametrize("operation", SCOPED)
@pytest.mark.parametrize(
    ("bound", "scope"),
    [
        ({"environment": "prod"}, {"environment": "dev"}),
        ({"repositories": ("acme/app",)}, {"repositories": ["acme/app", "acme/web"]}),
        ({"doc_tags": ("v1",)}, {"doc_tags": ["v2"]}),
        ({}, {"project_id": "q"}),
    ],
)
async def test_no_call_reaches_beyond_the_bounds(
    labelled: tuple[Path, dict[int, str]], operation: str, bound: dict[str, Any], scope: dict[str, Any]
) -> None:
    settings = load_settings(store=labelled[0], project="p", embedding="off", **bound)
    some = labelled[1][min(inside(bound))]
    async with open_application(settings, wait_for_model=False) as application:
        assert await answer(application, operation, some, scope=scope) == "SCOPE_VIOLATION"


async def test_an_earlier_tool_has_no_scope_to_name_and_no_filter_that_leads_outside(
    labelled: tuple[Path, dict[int, str]],
) -> None:
    earlier = ("search_sections", "get_section_text")
    of_no_document = {"tokens", "read_result", "save", "load", "saved", "list_projects", "index_state"}
    # Those of packs name their project; tests/contract/test_research.py tries them.
    of_packs = {"query", "query_hybrid", "inspect_collection"}
    # tests/contract/test_claim_tools.py tries them
    of_packs |= {name for name in OPERATIONS if name.startswith("claims.")}
    of_jobs = {"ingest_from_source", "job_status", "job_cancel"}  # tests/flow/test_jobs.py tries them
    assert set(earlier) == set(OPERATIONS) - set(SCOPED) - of_no_document - of_packs - of_jobs
    settings = load_settings(store=labelled[0], project="p", embedding="off", doc_tags=("v1",), environment="dev")
    within = inside({"doc_tags": ("v1",), "environment": "dev"})
    async with open_application(settings, wait_for_model=False) as application:
        for operation in earlier:  # a scope that it cannot obey is refused
            widened = await answer(application, operation, labelled[1][0], scope={"environment": "prod"})
            assert (operation, widened) == (operation, "INVALID_REQUEST")
        for filters in ({"environment": "prod"}, {"project_id": "q"}, {"repositories": ["acme/app"]}):
            assert await answer(application, "search_sections", "", filters=filters) == within
        assert await answer(application, "search_sections", "", filters={"doc_tag": "v2"}) == "SCOPE_VIOLATION"


@hypothesis_settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True
)
@given(
    scope=st.fixed_dictionaries(
        {},
        optional={
            "environment": st.sampled_from(("dev", "prod", "scratch")),
            "repositories": st.lists(st.sampled_from(("acme/app", "acme/web", "ACME/APP", "acme")), max_size=3),
            "doc_tags": st.lists(st.sampled_from(("v1", "v2", "v")), max_size=2),
        },
    )
)
async def test_a_calls_scope_is_kept_by_every_operation(
    open_to_all: Application, labelled: tuple[Path, dict[int, str]], scope: dict[str, Any]
) -> None:
    within = inside(scope)
    assert await answer(open_to_all, "semantic_search", "", scope=scope) == within
    assert await answer(open_to_all, "kb.search", "", scope=scope) == within
    quoted = await answer(open_to_all, "kb.retrieve_evidence", "", scope=scope)
    assert isinstance(quoted, set)
    assert quoted <= within
    for number in (0, 4, 13, 26):
        read = await answer(open_to_all, "fetch", labelled[1][number], scope=scope)
        assert read == ({number} if number in within else set())


async def test_a_script_sees_no_more_than_a_call(
    confined: tuple[Application, Markers], labelled: tuple[Path, dict[int, str]]
) -> None:
    application, within = confined
    await application.ready()
    if not application.scripts.available:
        pytest.skip(application.scripts.why_not)
    code = f"""
ids = {list(labelled[1].values())!r}
found = [row.text for row in semantic_search({QUESTION!r}, top_k=100, response_mode="full")]
return [found, [row.text for row in fetch(ids, missing="skip")]]
"""
    outcome = await application.scripts.run(code)
    assert (outcome.status, outcome.error) == ("ok", None)
    searched, fetched = outcome.result
    assert (find_markers(searched), find_markers(fetched)) == (within, within)
