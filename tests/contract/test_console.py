"""The console: who may see its pages, that they show what tools return, and that documents stay text."""

from __future__ import annotations

import asyncio
import html
import json
import re
import threading
from collections.abc import AsyncIterator
from contextlib import nullcontext
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx2
import pytest
from mcp import Client

from tests.consoles import CANARY, SCRIPT, Console, console_over, find_addresses, make_store
from tests.hostile_pages import EVIL
from winnow.server.commands.console.reports import make_reports
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.console.access import HEADERS
from winnow.server.console.desk import CLIENT, Desk, OpenDesk
from winnow.server.console.examination import Examination
from winnow.server.console.pages import PAGES
from winnow.server.console.pages.search import TIERS
from winnow.server.console.web import build_console
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import Configuration
from winnow.server.settings.settings import Settings
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server
from winnow.server.transports.wire import call_tool

pytestmark = [pytest.mark.anyio, pytest.mark.walls]

QUESTION = "how long are backups kept"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Configuration:
    return make_store(tmp_path_factory.mktemp("console"))


@pytest.fixture
async def console(made: Configuration) -> AsyncIterator[Console]:
    async with console_over(made) as running:
        yield running


@pytest.fixture
async def http(console: Console) -> AsyncIterator[httpx2.AsyncClient]:
    async with console.entered() as entered:
        yield entered


# --- who may see pages ----------------------------------------------------------------------------------------


async def test_the_token_lets_in_one_browser_and_is_worthless_then(console: Console) -> None:
    async with console.client() as first, console.client() as second:
        assert (await first.get("/")).status_code == 401
        entering = await first.get(console.application.address)
        assert entering.status_code == 200
        (cookie,) = entering.headers.get_list("set-cookie")
        assert {"HttpOnly", f"Path={console.application.root}/", "SameSite=strict"} == set(cookie.split("; ")[1:])
        assert (await first.get("/")).status_code == 200
        assert (await second.get(console.application.address)).status_code == 401
        assert (await second.get("/")).status_code == 401


async def test_looking_at_the_address_does_not_use_the_token(console: Console) -> None:
    async with console.client() as http:
        assert (await http.head(console.application.address)).status_code == 401
        assert (await http.get(console.application.address)).status_code == 200


@pytest.mark.parametrize("token", ["", "a", "é" * 43, "x" * 10_000])
async def test_a_wrong_token_opens_nothing(console: Console, token: str) -> None:
    async with console.client() as http:
        refused = await http.get(f"{console.origin}/enter", params={"token": token})
        assert (refused.status_code, "set-cookie" in refused.headers) == (401, False)
        assert (await http.get(console.application.address)).status_code == 200


async def test_every_page_needs_the_cookie_of_this_console(console: Console) -> None:
    name = f"winnow_console_{console.origin.rpartition(':')[2]}"
    async with console.client() as http:
        for path in [page.path for page in PAGES]:
            for cookie in ("", f"{name}=", f"{name}={'A' * 43}", f"{name}={'é' * 43}", "; ; =", f"{name}2=x"):
                sent = {"cookie": cookie.encode("latin-1")} if cookie else {}
                assert (path, cookie, (await http.get(path, headers=sent)).status_code) == (path, cookie, 401)


async def test_a_cookie_that_another_server_set_opens_nothing_and_hinders_nobody(
    console: Console, http: httpx2.AsyncClient
) -> None:
    """Of a server at another port, for all paths of the host."""
    ((name, value),) = http.cookies.items()
    async with console.client() as other:
        sent = [f"{name}=x", f"{name}=x; {name}=y", f"{name}=x; {name}={value}", f"{name}={value}; {name}=x"]
        statuses = [(await other.get("/", headers={"cookie": each})).status_code for each in sent]
    assert statuses == [401, 401, 200, 200]


async def test_the_cookie_opens_nothing_without_the_secret_path(
    console: Console, http: httpx2.AsyncClient
) -> None:
    ((name, value),) = http.cookies.items()
    cookie = {"cookie": f"{name}={value}"}
    root = console.application.root
    async with httpx2.AsyncClient(base_url=console.origin, timeout=60, headers=cookie) as other:
        for start in ("", root[:-1], f"{root}x", root.swapcase(), f"/x{root}", f"/%2f{root[1:]}"):
            for page in PAGES:
                assert (await other.get(start + page.path)).status_code == 401, start
        assert (await other.get(f"{root}/documents")).status_code == 200


async def test_nobody_is_told_the_secret_path_without_the_token(console: Console) -> None:
    async with console.client() as stranger:
        answers = [
            await stranger.get(console.origin + path) for path in ("/", "/enter", "/x", "/static/console.css")
        ]
    assert [console.application.root in f"{each.headers}{each.text}" for each in answers] == [False] * 4


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "evil.example"}, 421),
        ({"host": "127.0.0.1"}, 421),
        ({"host": "127.0.0.1:1"}, 421),
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": "http://127.0.0.1:1"}, 403),
        ({"sec-fetch-site": "cross-site"}, 403),
        ({"sec-fetch-site": "same-site"}, 403),
        ({"sec-fetch-site": "same-origin"}, 200),
        ({"sec-fetch-site": "none"}, 200),
    ],
)
async def test_hosts_and_pages_of_others_are_refused(
    http: httpx2.AsyncClient, headers: dict[str, str], status: int
) -> None:
    assert (await http.get("/", headers=headers)).status_code == status


async def test_the_page_of_this_console_may_name_itself(console: Console, http: httpx2.AsyncClient) -> None:
    assert (await http.get("/", headers={"origin": console.origin})).status_code == 200
    local = console.origin.replace("127.0.0.1", "localhost")
    named = {"host": local.removeprefix("http://"), "origin": local}
    assert (await http.get("/", headers=named)).status_code == 200


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH", "DELETE", "OPTIONS"])
async def test_no_route_takes_a_method_that_writes(http: httpx2.AsyncClient, method: str) -> None:
    assert {(await http.request(method, page.path)).status_code for page in PAGES} == {405}


async def test_every_answer_has_the_policy_and_is_not_kept(console: Console, http: httpx2.AsyncClient) -> None:
    async with console.client() as stranger:
        answers = [
            await http.get("/"),
            await http.get(f"{console.origin}/static/console.css"),
            await http.get("/nothing"),
            await http.get("/document", params={"id": "nothing"}),
            await http.post("/"),
            await stranger.get("/"),
            await stranger.get(f"{console.origin}/enter"),
        ]
    assert [answer.status_code for answer in answers] == [200, 200, 404, 404, 405, 401, 401]
    for answer in answers:
        assert {name: answer.headers.get(name) for name in HEADERS} == HEADERS
    assert "script-src" not in HEADERS["content-security-policy"]  # so that `default-src 'none'` is about scripts


@pytest.mark.parametrize(
    "path", ["/static/base.html", "/static/../web.py", "/static/%2e%2e/search.html", "/static/"]
)
async def test_the_style_is_the_only_file_that_is_served(
    console: Console, http: httpx2.AsyncClient, path: str
) -> None:
    assert (await http.get(f"{console.base}{path}")).status_code == 404
    assert (await http.get(f"{console.origin}{path}")).status_code in (401, 404)


# --- what pages show ------------------------------------------------------------------------------------------


def shown(page: str, id: str) -> str:
    """The text of a block of a page, as a browser has it."""
    found = re.search(rf'<pre id="{id}" tabindex="0">\n(.*?)</pre>', page, re.DOTALL)
    assert found, id
    return unescape(found[1])


def without_call(sent: str) -> str:
    """A result without the facts of its call: its trace, its time, a kept ranking, and so the size of these."""
    for name, value in (
        ("trace_id", r'"[^"]+"'),
        ("duration_ms", r"[0-9.e-]+"),
        ("cache_hit", "true|false"),
        ("tokens", r"\d+(?=,\"bytes\")"),
        ("bytes", r"\d+(?=,\"tokenizer\")"),
    ):
        sent, count = re.subn(rf'"{name}":(?:{value})', f'"{name}":0', sent)
        assert count == 1, name
    return sent


@pytest.mark.parametrize("tier", TIERS)
async def test_the_playground_shows_what_the_tool_returns_byte_for_byte(made: Configuration, tier: str) -> None:
    async with (
        open_application(made.settings, wait_for_model=True) as application,
        console_over(made, open_once=lambda: kept_open(application)) as console,
        console.entered() as http,
    ):
        page = (await http.get("/", params={"q": QUESTION, "tier": tier, "top_k": "3"})).text
        call = json.loads(shown(page, "call"))
        dispatcher = Dispatcher(application.context, application.settings)
        tool = dispatcher.find(call["name"])
        assert tool is not None
        returned = await call_tool(dispatcher, tool, call["arguments"], CLIENT, silent)
        async with Client(build_server(dispatcher, application)) as client:
            received = await client.call_tool(call["name"].replace(".", "_"), call["arguments"])
    expected = returned.model_dump_json(by_alias=True, exclude_none=True)
    assert without_call(shown(page, "sent")) == without_call(expected)
    assert shown(page, "text") == returned.content[0].text  # type: ignore[union-attr]
    assert json.loads(shown(page, "payload")) == json.loads(shown(page, "sent"))["structuredContent"]
    usage = json.loads(shown(page, "payload"))["meta"]["usage"]
    assert f"<strong>{usage['tokens']:,} tokens</strong>" in page
    if tool.name == "semantic_search":  # the others name passages of a session, and this client has its own
        assert shown(page, "text") == received.content[0].text  # type: ignore[union-attr]


async def silent(seconds: float, message: str) -> None:
    """Progress that nobody asked for."""


def kept_open(application: Application) -> Any:
    """An application that stays open behind the console."""
    return nullcontext(application)


async def test_filters_and_modes_of_the_form_are_arguments_of_the_tool(http: httpx2.AsyncClient) -> None:
    query = {"q": QUESTION, "tier": "candidates", "mode": "vector_only", "type": "markdown", "tags": "a, b,"}
    page = (await http.get("/", params={**query, "path": "rules*", "top_k": "7"})).text
    assert json.loads(shown(page, "call")) == {
        "name": "kb.search",
        "arguments": {
            "query": QUESTION,
            "top_k": 7,
            "filters": {"path": "rules*", "tags": ["a", "b"], "types": ["markdown"]},
            "options": {"mode": "vector_only"},
        },
    }


async def test_a_ranking_is_explained_as_the_operation_explains_it(http: httpx2.AsyncClient) -> None:
    searched = (await http.get("/", params={"q": QUESTION, "tier": "candidates", "type": "markdown"})).text
    (leads,) = re.findall(r'href="[^"]*(/why[^"]*)"', searched)
    page = (await http.get(html.unescape(leads))).text
    assert "kb_search, " in page
    assert '<input type="hidden" name="type" value="markdown">' in page
    ranks = re.findall(r'<tr><td class="amount">(\d+)</td>', page)
    assert ranks == [str(rank) for rank in range(1, len(ranks) + 1)] != []
    named = (await http.get("/why", params={"q": QUESTION, "document": "kilns.pdf", "type": "markdown"})).text
    assert "leaves out" in named or "filter" in named
    missing = (await http.get("/why", params={"q": QUESTION, "document": "no such file"})).text
    assert "Next: " in missing


async def test_tiers_are_compared_by_their_tokens(http: httpx2.AsyncClient) -> None:
    page = (await http.get("/", params={"q": QUESTION, "compare": "1"})).text
    assert re.findall(r'<th scope="row">([^<]*)</th><td><code>', page) == [tier.label for tier in TIERS.values()]


async def test_a_project_out_of_reach_is_refused_on_every_page_that_takes_one(http: httpx2.AsyncClient) -> None:
    page = (await http.get("/", params={"q": QUESTION, "project": "q"})).text
    assert json.loads(shown(page, "payload"))["error"]["code"] == "SCOPE_VIOLATION"
    named = (
        "/documents",
        "/document?id=kilns.pdf",
        "/page?document=kilns.pdf",
        "/graph",
        "/graph?node=x",
        "/claims",
        f"/why?q={QUESTION}",
    )
    for path in named:
        refused = await http.get(f"{path}{'&' if '?' in path else '?'}project=q")
        assert (path, refused.status_code, "SCOPE_VIOLATION" in refused.text) == (path, 403, True)


async def test_a_refused_question_is_shown_as_the_tool_refuses_it(http: httpx2.AsyncClient) -> None:
    page = await http.get("/", params={"q": "backups", "updated_after": "soon"})
    assert page.status_code == 200
    assert json.loads(shown(page.text, "payload"))["error"]["code"] == "INVALID_ARGUMENT"


async def test_no_tool_that_changes_something_can_be_called(made: Configuration) -> None:
    """Also where agents may write."""
    async with open_application(writing(made), wait_for_model=False) as application:
        desk = OpenDesk(application)
        for tool in ("wild_write", "wild_revise", "nothing"):
            with pytest.raises(WinnowError):
                await desk.call_tool(tool, {})
        assert "wild_write" in [listed.name for listed in await desk.list_tools()]


def writing(made: Configuration) -> Settings:
    return made.settings.model_copy(update={"enable_writes": True})


async def test_the_marked_page_is_in_the_page_itself(http: httpx2.AsyncClient) -> None:
    page = (await http.get("/page", params={"document": "kilns.pdf", "page": "2", "quote": "ninety degrees"})).text
    assert re.findall(r'<img src="(data:image/\w+;base64,)', page) == ["data:image/png;base64,"]
    lines = (await http.get("/page", params={"document": "rules <b>.md", "quote": "ninety days"})).text
    assert re.findall(r"<mark>(.*?)</mark>", lines) == ["ninety days"]


async def test_scripts_are_shown_with_their_walls_and_savings(http: httpx2.AsyncClient) -> None:
    scripts, script, savings = [
        (await http.get(path)).text for path in ("/scripts", f"/script?id={SCRIPT}", "/savings")
    ]
    assert "<strong>4,000 tokens kept out</strong>" in scripts
    assert '<span class="bad">landlock</span>' in scripts
    assert "Missing: landlock." in script
    assert '<td class="amount">4,000</td>\n  <td class="amount">250</td>' in savings
    assert savings.count('<rect class="kept"') == 1


@pytest.mark.parametrize(
    "line",
    [
        '{"time":"2026-01-31"}',
        '{"time":5,"execution_id":"odd"}',
        '{"time":"2026-01-31","execution_id":"odd","rows":"x"}',
        '{"time":"2026-01-31","execution_id":"odd","walls":{"stood":5,"missing":7}}',
        '{"time":"2026-01-31","execution_id":"odd","wall_ms":1e999,"rows":NaN}',
        '{"time":"2026-01-31","execution_id":"odd","error":"\\ud800","calls":5}',
        "[" * 100_000,
    ],
)
async def test_an_odd_line_of_the_audit_fails_no_page(
    made: Configuration, http: httpx2.AsyncClient, line: str
) -> None:
    path = made.settings.audit_folder / "executions.jsonl"
    before = path.read_bytes()
    path.write_bytes(before + line.encode() + b"\n")
    try:
        pages = ("/scripts", f"/script?id={SCRIPT}", "/savings?since=2026-01-01", "/script?id=odd")
        statuses = [(await http.get(page)).status_code for page in pages]
    finally:
        path.write_bytes(before)
    assert (statuses[:3], statuses[3] in (200, 404)) == ([200] * 3, True)


async def test_claims_are_shown_with_evidence_and_friction(http: httpx2.AsyncClient) -> None:
    claims = (await http.get("/claims")).text
    (entry, *_) = re.findall(r"/claim\?id=([0-9a-z]+)", claims)
    shown_entry = (await http.get("/claim", params={"id": entry})).text
    assert '<span class="good">verified</span>, supports:' in shown_entry
    assert "<h2>Friction</h2>" in claims
    assert re.search(r", (written|judged) \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC</p>", claims)
    assert "against" in shown_entry


async def test_a_node_links_to_its_neighbours_in_drawing_and_list(http: httpx2.AsyncClient) -> None:
    (document, *_) = re.findall(r"/document\?id=([0-9a-z]+)", (await http.get("/documents")).text)
    page = (await http.get("/graph", params={"node": document})).text
    drawing, listed = page.split("<h2>Neighbours</h2>")
    links = re.compile(r'href="[^"?]*(/graph\?node=[0-9a-z]+)"')
    drawn = links.findall(drawing.partition("<svg")[2])
    assert drawn == links.findall(listed)[: len(drawn)] != []
    assert (await http.get(drawn[0])).status_code == 200


async def test_sources_and_jobs_are_shown_with_what_went_wrong(http: httpx2.AsyncClient) -> None:
    page = unescape((await http.get("/sources")).text)
    assert "not watched now; 1 not read" in page
    assert f"not read: {EVIL[5]}" in page
    assert f"NOT_FOUND: <bdi>{EVIL[1]}</bdi>" in page


async def test_documents_of_which_little_came_into_the_index_are_named(http: httpx2.AsyncClient) -> None:
    page = (await http.get("/documents/health")).text
    assert re.findall(r"<h2><bdi>(.*?)</bdi></h2>", page) == ["kilns.pdf"]


async def test_sources_load_again_only_where_that_was_asked_for(http: httpx2.AsyncClient) -> None:
    pages = [(await http.get(path)).text for path in ("/sources", "/sources?live=on")]
    assert ['http-equiv="refresh" content="5"' in page for page in pages] == [False, True]


async def test_no_page_shows_a_secret(http: httpx2.AsyncClient) -> None:
    pages = [(await http.get(address)).text for address in await find_addresses(http)]
    assert [CANARY in page for page in pages] == [False] * len(pages)
    assert "qdrant_api_key" in (await http.get("/settings")).text


async def test_the_doctor_is_one_for_all_who_ask_meanwhile(made: Configuration) -> None:
    """Also when who asked first has gone; who asks later gets a new one."""
    begun = []
    may_end = threading.Event()

    def examine() -> list[dict[str, Any]]:
        begun.append(1)
        may_end.wait(60)
        return [{"run": len(begun)}]

    examination = Examination(examine)
    first, *others = [asyncio.create_task(examination.findings()) for _ in range(20)]
    await asyncio.sleep(0)
    first.cancel()
    may_end.set()
    assert await asyncio.gather(*others) == [[{"run": 1}]] * 19
    assert await examination.findings() == [{"run": 2}]


@pytest.mark.parametrize(
    ("port", "host", "status"), [(80, "127.0.0.1", 401), (80, "localhost", 401), (81, "localhost", 421)]
)
async def test_a_browser_leaves_the_usual_port_out_of_the_host(
    made: Configuration, port: int, host: str, status: int
) -> None:
    desk = Desk(made.settings, lambda: open_application(made.settings, wait_for_model=True))
    transport = httpx2.ASGITransport(build_console(desk, make_reports(made), port))
    async with httpx2.AsyncClient(transport=transport) as http:
        assert (await http.get(f"http://{host}/", headers={"host": host})).status_code == status


# --- documents stay text --------------------------------------------------------------------------------------

_ELEMENTS = {"iframe", "object", "embed", "base", "script", "style", "foreignobject", "animate", "set", "use"}


class Markup(HTMLParser):
    """What in a page could run or load something."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag in _ELEMENTS or (tag == "img" and not values.get("src", "").startswith("data:image/png;")):
            self.found.append(f"<{tag}>")
        if tag == "meta" and values.get("http-equiv", "refresh") != "refresh":
            self.found.append(f"<meta {values}>")
        for name, value in values.items():
            if name.startswith("on") or name in ("style", "srcdoc", "formaction", "xlink:href"):
                self.found.append(f"{tag} {name}")
            if name in ("href", "action") and not re.match(r"/[^/\\]|/$|#|data:,$", value):
                self.found.append(f"{tag} {name}={value}")


async def test_no_text_of_a_document_is_markup_on_any_page(http: httpx2.AsyncClient) -> None:
    addresses = await find_addresses(http)
    pages = {address: (await http.get(address)).text for address in addresses}
    assert {address: found for address, page in pages.items() if (found := Markup(page).found)} == {}
    everything = unescape("".join(pages.values()))
    assert [line for line in EVIL if line not in everything] == []


async def test_each_page_is_served_and_errors_say_what_to_do(http: httpx2.AsyncClient) -> None:
    statuses = {address: (await http.get(address)).status_code for address in await find_addresses(http)}
    refused = {
        "/document?id=../../secret": 404,
        "/page?document=%3Cb%3E": 404,
        "/graph?node=%3Cscript%3E": 404,
        "/claim?id=%22%3E": 404,
        "/scripts?since=%3C": 400,
        "/script?id=other": 404,
    }
    assert statuses == {address: refused.get(address, 200) for address in statuses}


# --- how long an application is open --------------------------------------------------------------------------


async def test_an_idle_console_has_nothing_open_and_opens_it_again(made: Configuration) -> None:
    async with console_over(made, idle_seconds=0.05) as console, console.entered() as http:
        await http.get("/")
        assert console.desk.is_open is False
        for _ in range(2):
            assert (await http.get("/documents")).status_code == 200
            async with asyncio.timeout(30):
                while console.desk.is_open:
                    await asyncio.sleep(0.01)


async def test_two_consoles_in_one_browser_keep_their_own_cookies(made: Configuration) -> None:
    async with console_over(made) as one, console_over(made) as two, httpx2.AsyncClient(timeout=60) as http:
        for console in (one, two):
            assert (await http.get(console.application.address)).status_code == 200
        assert [(await http.get(f"{console.base}/settings")).status_code for console in (one, two)] == [200, 200]


async def test_pages_change_nothing_in_the_store(made: Configuration, http: httpx2.AsyncClient) -> None:
    def contents() -> dict[str, bytes]:
        """The files of the store, but those that any process that reads it has: audit, locks, logs of SQLite."""
        return {
            str(path): path.read_bytes()
            for path in sorted(Path(made.settings.store).rglob("*"))
            if path.is_file() and path.suffix in (".json", ".sqlite3", ".db", ".toml")
        }

    before = contents()
    for address in await find_addresses(http):
        await http.get(address)
    assert contents() == before != {}
