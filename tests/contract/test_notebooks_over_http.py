"""Notebooks over plain HTTP: the shapes of the routes, who may use them, and what is refused."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx2
import jsonschema
import pytest

from tests.notebooks import serving_http
from tests.research_store import HIDDEN, MINE, THEIRS, research_backends, research_settings
from tests.two_projects import Client, make_client
from winnow.server.backends.opening import Backends
from winnow.server.settings.settings import Settings
from winnow.server.storage.keys.key_ring import KeyRing
from winnow.server.transports.access.http_access import HttpAccess

pytestmark = pytest.mark.anyio

QUOTE = "The proxy stands before the gateway."
BOOK = f"/notebooks/{quote(MINE, safe='')}"
EVERY = (
    ("POST", "/semantic-search", {"query": "lamps"}),
    ("GET", "/search?query=lamps", None),
    ("POST", "/claims/batch", {"entry_ids": ["0" * 12]}),
    ("POST", "/entries", {"topic": "a", "claims": [{"text": "Lamps burn."}]}),
    ("GET", "/entries/000000000000", None),
    ("PATCH", "/entries/000000000000", {"topic": "b"}),
    ("GET", "/entries/000000000000/related", None),
    ("GET", "/browse", None),
    ("GET", "/browse?has_friction_above=0.5", None),
    ("GET", "/observe", None),
    ("GET", "/status", None),
)
WRITING = {("POST", "/entries"), ("PATCH", "/entries/000000000000")}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Settings, Backends]]:
    settings = research_settings(tmp_path_factory.mktemp("notebooks"), tools="claims", enable_writes=True)
    with research_backends(settings) as backends:
        yield settings, backends


@pytest.fixture(scope="module")
async def http(opened: tuple[Settings, Backends]) -> AsyncIterator[httpx2.AsyncClient]:
    async with serving_http(*opened) as client:
        yield client


async def ask(http: httpx2.AsyncClient, method: str, path: str, body: Any = None, **headers: str) -> Any:
    """The answer, which must be a success."""
    answer = await http.request(method, path, headers=headers, **({} if body is None else {"json": body}))
    assert answer.status_code == 200, answer.text
    return answer.json()


async def refusal(http: httpx2.AsyncClient, method: str, path: str, body: Any = None) -> tuple[int, str, str]:
    """Status, reason and message of a refused request."""
    answer = await http.request(method, path, **({} if body is None else {"json": body}))
    (error,) = answer.json()["errors"]
    assert answer.json()["ok"] is False
    return answer.status_code, error["details"]["reason"], error["message"]


async def write(http: httpx2.AsyncClient, topic: str, text: str, book: str = BOOK, **more: Any) -> Any:
    return await ask(http, "POST", f"{book}/entries", {"topic": topic, "claims": [{"text": text, **more}]})


async def test_the_routes_answer_in_the_shapes_of_the_api_without_an_envelope(
    opened: tuple[Settings, Backends], http: httpx2.AsyncClient
) -> None:
    catalogue = opened[1].catalogue
    found = catalogue.passages(catalogue.chunk_ids(MINE), MINE).values()
    passage = next(each.chunk.id for each in found if QUOTE in each.chunk.text)
    evidence = [{"section_id": passage, "quote": QUOTE}]
    written = await write(http, "ships/proxy", "The proxy is in front.", evidence=evidence, confidence=0.95)
    entry_id = written["entry_id"]
    assert written["claims"][0]["evidence"][0]["status"] == "verified"
    searched = await ask(
        http, "POST", f"{BOOK}/semantic-search", {"query": "proxy in front", "top_k": 3, "min_similarity": 0.0}
    )
    assert searched["mode"] == "semantic"
    row = searched["results"][0]
    assert (row["entry_id"], row["topic"], row["claims_status"]) == (entry_id, "ships/proxy", "distilled")
    assert (row["integration_status"], row["max_friction"], 0 < row["similarity"] <= 1) == (
        "integrated",
        0.0,
        True,
    )
    assert (row["claims"][0]["text"], row["claims"][0]["confidence"]) == ("The proxy is in front.", 0.95)
    for mode in ("lexical", "hybrid"):
        body = {"query": "proxy", "mode": mode, "topic_prefix": "ships"}
        assert (await ask(http, "POST", f"{BOOK}/semantic-search", body))["mode"] == mode
    by_words = await ask(http, "GET", f"{BOOK}/search?query=proxy&top_k=5")
    assert (by_words["mode"], by_words["results"][0]["entry_id"]) == ("lexical", entry_id)
    batch = await ask(http, "POST", f"{BOOK}/claims/batch", {"entry_ids": [entry_id, "0" * 12]})
    (entry,) = batch["entries"]
    assert (entry["id"], entry["topic"], entry["claims_status"]) == (entry_id, "ships/proxy", "distilled")
    assert batch["missing_ids"] == ["0" * 12]
    read = await ask(http, "GET", f"{BOOK}/entries/{entry_id}")
    assert {"content", "claims", "comparisons", "references", "revisions"} <= read.keys()
    revised = await ask(http, "PATCH", f"{BOOK}/entries/{entry_id}", {"topic": "ships/first"})
    assert (revised["topic"], revised["revision"]) == ("ships/first", 2)
    topics = await ask(http, "GET", f"{BOOK}/browse?topic_prefix=ships")
    assert [(each["topic"], each["entry_count"]) for each in topics["topics"]] == [("ships/first", 1)]
    assert (await ask(http, "GET", f"{BOOK}/browse?has_friction_above=0.5&limit=3"))["results"] == []
    assert (await ask(http, "GET", f"{BOOK}/entries/{entry_id}/related?direction=similar"))["count"] == 0
    status = await ask(http, "GET", f"{BOOK}/status")
    assert (status["total_entries"], status["writes"]) == (1, True)


async def test_changes_are_observed_from_a_sequence_on(http: httpx2.AsyncClient) -> None:
    before = (await ask(http, "GET", f"{BOOK}/status"))["last_sequence"]
    for number in range(3):
        await write(http, "tides", f"Tide {number} comes in.")
    first = await ask(http, "GET", f"{BOOK}/observe?since_sequence={before}&limit=2")
    assert [change["sequence"] for change in first["changes"]] == [before + 1, before + 2]
    rest = await ask(http, "GET", f"{BOOK}/observe?since_sequence={first['next_sequence']}")
    assert [change["claims"][0]["text"] for change in rest["changes"]] == ["Tide 2 comes in."]
    assert rest["next_sequence"] == before + 3


async def test_a_write_that_is_sent_twice_with_a_key_is_one_entry(http: httpx2.AsyncClient) -> None:
    body = {"topic": "keys", "claims": [{"text": "It is written once."}]}
    both = [
        (await ask(http, "POST", f"{BOOK}/entries", body, **{"idempotency-key": "write 1"}))["entry_id"]
        for _ in range(2)
    ]
    assert both[0] == both[1]
    assert (await ask(http, "GET", f"{BOOK}/browse?topic_prefix=keys"))["topics"][0]["entry_count"] == 1


async def test_without_the_tools_of_claims_or_without_writes_the_routes_are_not_there(
    opened: tuple[Settings, Backends],
) -> None:
    settings, backends = opened
    for changed, missing in (
        ({"tools": ("all",)}, {(method, path) for method, path, _ in EVERY}),
        ({"enable_writes": False}, WRITING),
    ):
        async with serving_http(settings.model_copy(update=changed), backends) as http:
            described = (await ask(http, "GET", "/openapi.json"))["paths"]
            for method, path, body in EVERY:
                answer = await http.request(method, f"{BOOK}{path}", **({} if body is None else {"json": body}))
                if (method, path) in missing:
                    assert answer.status_code in (403, 404), (method, path)
                    assert answer.json()["errors"]
                named = path.partition("?")[0].replace("000000000000", "{entry_id}")
                is_described = method.lower() in described.get(f"/notebooks/{{notebook}}{named}", {})
                assert is_described is ((method, path) not in missing), (method, path)
            if changed.get("enable_writes") is False:
                assert (await ask(http, "GET", f"{BOOK}/status"))["writes"] is False


async def test_an_answer_is_what_the_openapi_document_says(http: httpx2.AsyncClient) -> None:
    written = await write(http, "schemas", "Schemas hold.")
    document = await ask(http, "GET", "/openapi.json")
    sent = {"/entries/{entry_id}": f"/entries/{written['entry_id']}"}
    for method, path, body in EVERY:
        below = path.partition("?")[0].replace("000000000000", "{entry_id}")
        described = document["paths"][f"/notebooks/{{notebook}}{below}"][method.lower()]
        schema = described["responses"]["200"]["content"]["application/json"]["schema"]
        answer = await ask(
            http, method, BOOK + sent.get(below, path.replace("000000000000", written["entry_id"])), body
        )
        jsonschema.validate(answer, schema, jsonschema.Draft202012Validator)
        if body is not None:
            asked = described["requestBody"]["content"]["application/json"]["schema"]
            jsonschema.validate(body, asked, jsonschema.Draft202012Validator)


async def test_a_project_out_of_reach_answers_as_one_that_does_not_exist(http: httpx2.AsyncClient) -> None:
    for method, path, body in EVERY:
        hidden = await refusal(http, method, f"/notebooks/{HIDDEN}{path}", body)
        unknown = await refusal(http, method, f"/notebooks/unknown{path}", body)
        assert hidden[:2] == unknown[:2] == (403, "SCOPE_VIOLATION"), (method, path)
        assert hidden[2].replace(HIDDEN, "unknown") == unknown[2]
    body = {"topic": "a", "claims": [{"text": "Where am I?"}], "project": THEIRS, "entry_id": "x"}
    written = (await ask(http, "POST", f"{BOOK}/entries", body))["entry_id"]
    assert (await ask(http, "GET", f"{BOOK}/entries/{written}"))["entry_id"] == written
    theirs = f"/notebooks/{quote(THEIRS, safe='')}/entries/{written}"
    assert (await refusal(http, "GET", theirs))[:2] == (404, "NOT_FOUND")


async def test_a_key_has_a_notebook_of_its_own_and_one_that_reads_does_not_write(
    opened: tuple[Settings, Backends], tmp_path: Path
) -> None:
    one, two = make_client(tmp_path, "one", MINE), make_client(tmp_path, "two", MINE)
    reader = make_client(tmp_path, "reader", MINE, read_only=True)
    access = HttpAccess(KeyRing(tmp_path), (MINE, THEIRS))

    async def seen(http: httpx2.AsyncClient, client: Client) -> list[str]:
        found = await ask(http, "GET", f"{BOOK}/search?query=walrus", **client.headers)
        return [row["entry_id"] for row in found["results"]]

    async with serving_http(*opened, access=access) as http:
        body = {"topic": "sea", "claims": [{"text": "A walrus swims."}]}
        written = (await ask(http, "POST", f"{BOOK}/entries", body, **one.headers))["entry_id"]
        assert await seen(http, one) == [written]
        assert await seen(http, two) == await seen(http, reader) == []
        for method, path, body in EVERY:
            answer = await http.request(
                method, f"{BOOK}{path}", headers=reader.headers, **({} if body is None else {"json": body})
            )
            assert ((method, path) in WRITING) <= (answer.status_code in (403, 404)), (method, path)
            unknown = await http.request(method, f"{BOOK}{path}")
            assert unknown.status_code == 401
            assert unknown.json()["ok"] is False


async def test_requests_count_as_calls_and_over_the_limit_say_when_to_come_back(
    opened: tuple[Settings, Backends],
) -> None:
    settings, backends = opened
    async with serving_http(settings.model_copy(update={"calls_per_minute": 1}), backends) as http:
        await ask(http, "GET", f"{BOOK}/status")
        answer = await http.get(f"{BOOK}/status")
        assert (answer.status_code, 0 < int(answer.headers["retry-after"]) <= 60) == (429, True)


@pytest.mark.parametrize(
    ("method", "path", "body", "expected"),
    [
        ("POST", "/semantic-search", {"query": "x"}, (400, "INVALID_REQUEST")),
        ("POST", "/semantic-search", [], (400, "INVALID_REQUEST")),
        ("POST", "/semantic-search", {"query": "ok", "top_k": 51}, (400, "INVALID_REQUEST")),
        ("POST", "/claims/batch", {"entry_ids": ["0" * 12] * 51}, (400, "INVALID_REQUEST")),
        ("POST", "/claims/batch", {"entry_ids": ["x" * 65_536]}, (413, "INPUT_BYTES")),
        ("POST", "/entries", {"topic": "a", "content": "x" * 65_536}, (400, "INVALID_REQUEST")),
        ("POST", "/entries", {"topic": "a", "content": "x" * 524_288}, (413, "INPUT_BYTES")),
        ("POST", "/entries", {"topic": "a//b", "claims": [{"text": "Fine."}]}, (400, "INVALID_REQUEST")),
        ("GET", "/search", None, (400, "INVALID_REQUEST")),
        ("GET", "/search?query=ok&top_k=ten", None, (400, "INVALID_REQUEST")),
        ("GET", "/search?query=ok&query=more", None, (400, "INVALID_REQUEST")),
        ("GET", "/browse?has_friction_above=nan", None, (400, "INVALID_REQUEST")),
        ("GET", "/observe?since_sequence=-1", None, (400, "INVALID_REQUEST")),
        ("GET", f"/observe?limit={'1' * 2_000}", None, (400, "INVALID_REQUEST")),
        ("GET", "/entries/..%2f..", None, (404, "NOT_FOUND")),
        ("DELETE", "/entries/000000000000", None, (405, "METHOD")),
        ("GET", "/nowhere", None, (404, "NOT_FOUND")),
    ],
)
async def test_requests_beyond_their_bounds_are_refused(
    http: httpx2.AsyncClient, method: str, path: str, body: Any, expected: tuple[int, str]
) -> None:
    assert (await refusal(http, method, f"{BOOK}{path}", body))[:2] == expected
