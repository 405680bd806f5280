"""The limits of a script: its scope on every call, its own session's passages, and the amount of text."""

from __future__ import annotations

import base64
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.ingesting import ingest_paths
from winnow.client_sdk import claim_calls
from winnow.sandbox import Outcome
from winnow.sandbox.child.diagnosis import hints
from winnow.server.backends.opening import open_backends
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.errors import WinnowError
from winnow.server.jobs.target import target_of
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

pytestmark = [pytest.mark.anyio, pytest.mark.walls]

FRONT = (
    "---\nvendor: acme\nenvironment: {environment}\nrepository: {repository}\ndoc_tag: {doc_tag}\n---\n"
    "# {title}\n\n"
)
SEEN = {"environment": "prod", "repository": "acme/app", "doc_tag": "v1"}
# Each differs from what the server is confined to in one label.
HIDDEN = {
    "environment": {**SEEN, "environment": "dev"},
    "repository": {**SEEN, "repository": "acme/other"},
    "doc_tag": {**SEEN, "doc_tag": "v2"},
}
OUTSIDE = [
    {"project_id": "secret"},
    {"project_id": "nothing of this name"},
    {"environment": "dev"},
    {"doc_tags": ["v2"]},
    {"doc_tags": ["v1", "v2"]},
    {"repositories": ["acme/other"]},
]
# By the name of the function that they call.
CALLS = {
    "semantic_search": "semantic_search('proxy rule', scope=scope)",
    "search_many": "search_many(['proxy rule', 'another rule'], scope=scope)",
    "grep": "grep('proxy rule', '.+', scope=scope)",
    "scan": "scan('(?i)proxy', scope=scope)",
    "count": "count('proxy', scope=scope)",
    "documents": "documents(scope=scope)",
    "repeats": "repeats(20, scope=scope)",
    "read": "read(row, scope=scope)",
    "text": "text(row, scope=scope)",
    "texts": "texts(scope=scope)",
    "page": "page(row, 1, scope=scope)",
    "fields": "fields(row, scope=scope)",
    "sections": "[sections(row, scope=scope)]",
    "code_blocks": "[code_blocks(row, scope=scope)]",
    "tables": "[tables(row, scope=scope)]",
    "links": "[links(row, scope=scope)]",
    "row": "kb.row('proxy rule', row, scope=scope)",
    "fetch": "fetch([row], scope=scope)",
    "hybrid_search": "hybrid_search('proxy rule', scope=scope)",
    "rerank": "rerank('which proxy rule', [row], scope=scope)",
    "cite": "cite([row], scope=scope)",
    "kb.search": "kb.search('proxy rule', scope=scope)",
    "kb.retrieve_evidence": "kb.retrieve_evidence('which proxy rule', scope=scope)",
    "kb.extract_evidence": "kb.extract_evidence('which proxy rule', [passage], scope=scope)",
    "kb.read_excerpt": "kb.read_excerpt(passage, scope=scope)",
    "kb.expand_excerpt": "kb.expand_excerpt(passage, scope=scope)",
    "graph.describe": "graph.describe(passage, scope=scope)",
    "graph.expand": "graph.expand(passage, scope=scope)",
    "graph.paths": "graph.paths(passage, 'acme', scope=scope)",
    "graph.parents": "graph.parents(passage, scope=scope)",
    "graph.children": "graph.children(graph.parents(passage), scope=scope)",
    "graph.entities_for_sections": "graph.entities_for_sections(graph.parents(passage), scope=scope)",
    "graph.sections_for_entities": "graph.sections_for_entities('acme', scope=scope)",
    "find_vendor_info": "find_vendor_info('acme', scope=scope)",
}
# Documents of this corpus have no pages and no tables.
WITHOUT_ANSWER = {"page", "row"}
# Functions of rows that a script has already, and of its own run: they ask for no document.
OF_ROWS_AND_RUNS = {
    "filter_rows", "filter_by_domain", "filter_by_score", "dedupe", "group_by", "summarize", "quotes",
    "format_for_agent", "tokens", "budget", "progress", "read_result", "save",
    "load", "saved",
}  # fmt: skip
# Of a notebook, which belongs to a project: test_claims_in_scripts.py has them.
OF_NOTEBOOKS = {f"claims.{name}" for name in claim_calls.FUNCTIONS}
BY_NAME = {
    "semantic_search": "{'query': 'proxy rule'}",
    "grep": "{'query': 'proxy rule', 'pattern': '.+'}",
    "scan": "{'pattern': 'proxy'}",
    "kb_count": "{}",
    "documents": "{'limit': 1}",
    "kb_repeats": "{}",
    "kb_read": "{'document': row}",
    "kb_text": "{'document': row}",
    "texts": "{}",
    "kb_fields": "{'document': row}",
    "links": "{'document': row}",
    "fetch": "{'ids': [row]}",
    "hybrid_search": "{'query': 'proxy rule'}",
    "rerank": "{'query': 'which proxy rule', 'rows': [row]}",
    "kb_search": "{'query': 'proxy rule'}",
    "kb_retrieve_evidence": "{'question': 'which proxy rule'}",
    "kb_extract_evidence": "{'question': 'which proxy rule', 'passage_ids': [passage]}",
    "kb_read_excerpt": "{'passage_id': passage}",
    "kb_expand_excerpt": "{'passage_id': passage}",
    "graph_describe": "{'ids': passage}",
    "graph_expand": "{'ids': [passage]}",
    "graph_paths": "{'from_ids': [passage], 'to_ids': ['acme']}",
    "graph_parents": "{'ids': [passage]}",
    "graph_children": "{'ids': [passage]}",
    "graph_entities_for_sections": "{'section_ids': [passage]}",
    "graph_sections_for_entities": "{'entity_ids': ['acme']}",
    "find_vendor_info": "{'vendor_name': 'acme'}",
}


@dataclass(frozen=True, slots=True)
class Indexed:
    """A store, the settings that confine a server, and the chunks and documents that it must not show."""

    settings: Settings
    hidden: Mapping[str, str]
    documents: Sequence[str]


def _write(folder: Path, name: str, labels: Mapping[str, str], text: str) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.md").write_text(FRONT.format(title=name.title(), **labels) + text, "utf-8")


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    """Twelve pages in scope, one outside by each label, and one in another project."""
    home = tmp_path_factory.mktemp("labelled")
    for page in range(12):
        rules = [
            f"Proxy rule {page}-{number} sends requests of team {number} to gate {page}." for number in range(9)
        ]
        _write(home / "docs", f"page{page}", SEEN, "\n".join([*rules, "", "Every gate closes at ten o'clock."]))
    for label, labels in HIDDEN.items():
        _write(home / "docs", f"hidden {label}", labels, f"The proxy rule of HIDDEN {label} is not for everybody.")
    _write(home / "elsewhere", "secret", SEEN, "The proxy rule of HIDDEN elsewhere is in another project.")
    hidden, documents = {}, []
    for project, folder in (("shop", "docs"), ("secret", "elsewhere")):
        settings = load_settings(store=home / "store", project=project, embedding="off")
        opened = open_backends(settings, wait_for_model=True)
        try:
            ingest_paths(target_of(settings, opened, None), [home / folder])
            known = opened.catalogue.passages(opened.catalogue.chunk_ids(project), project)
            unseen = {chunk: p for chunk, p in known.items() if "HIDDEN" in p.chunk.text}
            hidden |= {p.document.title: chunk for chunk, p in unseen.items()}
            documents += [p.document.id for p in unseen.values()]
        finally:
            opened.close()
    assert len(hidden) == len(HIDDEN) + 1
    confined = {"environment": "prod", "repositories": ["acme/app"], "doc_tags": ["v1"]}
    return Indexed(
        load_settings(store=home / "store", project="shop", embedding="off", **confined), hidden, documents
    )


@pytest.fixture(scope="module")
async def shop(indexed: Indexed) -> AsyncIterator[Application]:
    """A server confined by every label, with limits on rows."""
    limited = indexed.settings.model_copy(update={"script_previews": 200, "script_documents": 50})
    async with open_application(limited, wait_for_model=True) as application:
        await application.ready()
        yield application


async def result_of(shop: Application, code: str, client: str = "one") -> Any:
    outcome = await shop.scripts.run(code, client=client)
    assert (outcome.status, "HIDDEN" in repr(outcome)) == ("ok", False), outcome.error
    return outcome.result


FIRST = "row = kb.search('proxy rule')[0]\npassage = row.passage_id\n"


# --- scope -------------------------------------------------------------------------------------------------------


def test_every_function_of_the_sdk_takes_a_scope_and_is_tried_with_one() -> None:
    assert {name for name, signature in hints.SIGNATURES.items() if "scope" in signature.parameters} == set(CALLS)
    assert set(hints.SIGNATURES) - OF_ROWS_AND_RUNS - OF_NOTEBOOKS == set(CALLS)


@pytest.mark.parametrize(
    "call",
    [*CALLS.values(), *(f"MCPClient().call_tool({n!r}, {{**{a}, 'scope': scope}})" for n, a in BY_NAME.items())],
)
async def test_a_scope_that_is_wider_than_the_server_s_is_refused_by_every_call(
    shop: Application, call: str
) -> None:
    code = f"""
{FIRST}
told = []
for scope in {OUTSIDE!r}:
    try:
        told.append(len({call}))
    except SDKError as error:
        told.append(error.type)
return told
"""
    assert await result_of(shop, code) == ["SCOPE_VIOLATION"] * len(OUTSIDE)


@pytest.mark.parametrize("call", [call for name, call in CALLS.items() if name not in WITHOUT_ANSWER])
async def test_the_server_s_own_scope_may_be_named(shop: Application, call: str) -> None:
    own = {"project_id": "shop", "environment": "prod", "doc_tags": ["v1"], "repositories": ["acme/app"]}
    assert await result_of(shop, f"{FIRST}scope = {own!r}\nreturn len({call}) > 0") is True


async def test_a_filter_outside_the_scope_is_refused(shop: Application) -> None:
    code = """
told = []
for ask in (kb.search, kb.retrieve_evidence, semantic_search):
    try:
        told.append(len(ask("proxy rule", filters={"doc_tag": ["v2"]})))
    except SDKError as error:
        told.append(error.type)
return told
"""
    assert await result_of(shop, code) == ["SCOPE_VIOLATION"] * 3


async def test_what_is_outside_is_in_no_answer_and_its_ids_are_unknown(
    shop: Application, indexed: Indexed
) -> None:
    code = f"""
hidden = {[*indexed.hidden.values()]!r}
found = [*kb.search("HIDDEN proxy rule", top_k=100, max_per_doc=100), *semantic_search("HIDDEN proxy", top_k=100)]
quotes = kb.retrieve_evidence("HIDDEN not for everybody", top_k=20, max_quotes=20)
told = [sum(row.id in hidden for row in [*found, *quotes])]
told.append(fetch(hidden, missing="skip").missing_ids == hidden)
told.append(sorted(rerank("HIDDEN proxy", hidden, top_k=20, missing="skip").missing_ids) == sorted(hidden))
told.append(not any(row.id in hidden for row in hybrid_search("HIDDEN proxy", 1, 0, top_k=100)))
told.append(semantic_search(filter_ids=hidden, missing="skip").missing_ids == hidden)
told.append(kb.extract_evidence("which proxy rule", [found[0], *hidden], missing="skip").missing_ids == hidden)
walks = (graph.describe, graph.expand, graph.parents, graph.children, graph.entities_for_sections)
for ask in (fetch, kb.read_excerpt, kb.expand_excerpt, lambda id: kb.extract_evidence("which rule", [id]), *walks):
    for id in hidden:
        try:
            told.append(ask(id))
        except SDKError as error:
            told.append(error.type)
around = [*graph.expand("acme", hops=5, page_size=200), *find_vendor_info("acme", max_results=100)]
places = scan("(?s)HIDDEN.*|(?i)proxy", limit=10_000)
told.append(places.complete and len(places) > 12 and not any(row.passage_id in hidden for row in places))
told.append(count("HIDDEN").matches == scan("HIDDEN", group_by="match").total.matches == 0)
told.append(all("HIDDEN" not in row.text for row in texts()) and len(texts()) == 12)
told.append(count().documents == count("(?s).+").documents == places.scanned.documents == 12)
told.append(len(around) > 12 and not any(id in hidden for row in around for id in [row.id, *row.section_ids]))
return told
"""
    expected = [0, True, True, True, True, True, *["NOT_FOUND"] * 9 * len(indexed.hidden), *[True] * 5]
    assert await result_of(shop, code) == expected


# --- sessions ----------------------------------------------------------------------------------------------------


async def _reads(shop: Application, passage: str, client: str) -> str:
    try:
        answer = await shop.kb.call("kb.read_excerpt", {"passage_id": passage}, shop.caller(client))
    except WinnowError as error:
        return error.reason
    return str(answer.payload["excerpt"])


async def test_a_script_s_passages_are_read_on_by_the_client_that_sent_it_and_by_nobody_else(
    shop: Application,
) -> None:
    passage = await result_of(shop, f"{FIRST}return passage", client="one")
    assert "Proxy rule" in await _reads(shop, passage, "one")
    assert await _reads(shop, passage, "two") == "NOT_FOUND"
    code = f"""
try:
    return kb.read_excerpt({passage!r}).excerpt
except SDKError as error:
    return error.type
"""
    assert "Proxy rule" in await result_of(shop, code, client="one")
    assert await result_of(shop, code, client="two") == "NOT_FOUND"


async def test_another_session_s_passage_looks_like_one_that_never_was(shop: Application) -> None:
    passage = await result_of(shop, f"{FIRST}return passage", client="one")
    code = f"""
told = []
for id in ({passage!r}, "0123456789"):
    for ask in (kb.read_excerpt, kb.expand_excerpt, lambda id: kb.extract_evidence("which rule", [id])):
        try:
            told.append(ask(id))
        except SDKError as error:
            told.append([error.type, error.message.replace(id, "ID"), error.hint])
ids = [*kb.search("proxy rule"), {passage!r}, "0123456789"]
mixed = kb.extract_evidence("which proxy rule", ids, missing="skip")
return told[:3] == told[3:], [one[0] for one in told], mixed.missing_ids
"""
    told = await result_of(shop, code, client="two")
    assert told == [True, ["NOT_FOUND"] * 6, [passage, "0123456789"]]


async def test_no_argument_names_a_session(shop: Application) -> None:
    passage, session = await result_of(
        shop, "page = kb.search('proxy rule')\nreturn page[0].passage_id, page.session_id"
    )
    code = f"""
more = {{"session_id": {session!r}}}
calls = [
    lambda: kb.search("proxy rule", **more),
    lambda: kb.read_excerpt({passage!r}, **more),
    lambda: kb.read_excerpt({passage!r}, scope=more),
    lambda: kb.extract_evidence("which proxy rule", [{passage!r}], scope=more),
    lambda: MCPClient().call_tool("kb_read_excerpt", {{"passage_id": {passage!r}, **more}}),
    lambda: MCPClient().call_tool("kb_search", {{"query": "proxy rule", "options": more}}),
    lambda: kb.read_excerpt("winnow://scratch/{session}/{passage}"),
    lambda: kb.read_excerpt("{session}/{passage}"),
]
told = []
for call in calls:
    try:
        told.append(call())
    except SDKError as error:
        told.append(error.type)
    except TypeError:
        told.append("TypeError")
return told
"""
    told = await result_of(shop, code, client="two")
    refused = [*["TypeError"] * 2, *["INVALID_REQUEST"] * 2]
    # An argument that a tool does not have is ignored: the passage is looked for in the caller's own session.
    assert told == [*refused, "NOT_FOUND", "INVALID_REQUEST", "NOT_FOUND", "NOT_FOUND"]


# --- arguments that lie ------------------------------------------------------------------------------------------


def _cursor(*parts: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(parts).encode()).decode().rstrip("=")


FORGED = [
    " ", "W10", "e30", "bnVsbA", "not base64 at all", "\x00", _cursor(5, "", 1, "lexical-only"),
    _cursor(-1, "", 1, ""), _cursor(10**9, "", 1, ""), _cursor(True, "", 1, ""), _cursor(0.5, "", 1, ""),
    _cursor(5, "", 1, "", "more"), _cursor([5], "", 1, ""), "x" * 201,
]  # fmt: skip


@pytest.mark.parametrize(
    "call",
    [
        "kb.search('proxy rule', cursor=cursor)",
        "kb.retrieve_evidence('which proxy rule', cursor=cursor)",
        "kb.extract_evidence('which proxy rule', [passage], cursor=cursor)",
        "graph.expand('acme', cursor=cursor)",
        "find_vendor_info('acme', cursor=cursor)",
        "scan('proxy', cursor=cursor)",
    ],
)
async def test_a_forged_cursor_leads_nowhere(shop: Application, call: str) -> None:
    code = f"""
{FIRST}
of_another = kb.retrieve_evidence("another rule", max_quotes=1).next_cursor
assert of_another
told = []
for cursor in [*{FORGED!r}, of_another]:
    try:
        told.append(len({call}))
    except SDKError as error:
        told.append(error.type)
return told
"""
    told = await result_of(shop, code)
    assert len(told) == len(FORGED) + 1
    assert set(told) <= {"INVALID_CURSOR", "INVALID_REQUEST"}


SIZES = [
    "kb.search('proxy rule', top_k=101)", "kb.search('proxy rule', top_k=0)", "kb.search('proxy rule', top_k=-1)",
    "kb.search('proxy rule', top_k=10**30)", "kb.search('proxy rule', top_k=2**2000)",
    "kb.search('proxy rule', top_k=float('inf'))", "kb.search('proxy rule', max_per_doc=0)",
    "kb.search('x' * 1_001)", "kb.search(' ' * 50)", "kb.search('x' * 100_000)",
    "kb.retrieve_evidence('which rule', top_k=21)", "kb.retrieve_evidence('which rule', max_quotes=21)",
    "kb.retrieve_evidence('which rule', max_quote_tokens=201)",
    "kb.retrieve_evidence('which rule', max_quote_tokens=0)",
    "kb.retrieve_evidence('which rule', include_context_tokens=101)",
    "kb.extract_evidence('which rule', [])", "kb.extract_evidence('which rule', [passage] * 51)",
    "kb.extract_evidence('which rule', [passage] * 1_000)",
    "kb.extract_evidence('which rule', [passage] * 100_000)", "kb.extract_evidence('which rule', ['x' * 65])",
    "kb.extract_evidence('which rule', [''])",
    "kb.read_excerpt(passage, max_tokens=801)", "kb.read_excerpt(passage, max_tokens=7)",
    "kb.read_excerpt(passage, start_char=-1)", "kb.read_excerpt(passage, start_char=10**7 + 1)",
    "kb.read_excerpt(passage, start_char=10**7)", "kb.read_excerpt('')", "kb.read_excerpt(None)",
    "kb.expand_excerpt(passage, 801, 0)", "kb.expand_excerpt(passage, 0, -1)",
    "MCPClient().call_tool('kb_search', {'query': 'proxy rule', 'page_size': 101})",
    "graph.expand(passage, 6)", "graph.expand([])", "graph.expand([passage] * 51)", "graph.expand('x' * 201)",
    "graph.expand(passage, page_size=201)", "graph.paths(passage, 'acme', 7)", "graph.expand(passage, 2**2000)",
    "graph.paths(passage, 'acme', limit=51)", "find_vendor_info('acme', max_results=101)",
    "MCPClient().call_tool('kb_search', {'query': 'proxy rule', 'options': {'max_snippet_chars': 10_000}})",
]  # fmt: skip


async def test_what_is_too_large_or_too_small_is_refused_with_a_reason(shop: Application) -> None:
    listed = ", ".join(f"lambda: {size}" for size in SIZES)
    code = f"""
{FIRST}
told = []
for call in [{listed}]:
    try:
        told.append(repr(call())[:100])
    except SDKError as error:
        told.append(error.type)
return told
"""
    told = await result_of(shop, code)
    allowed = {"INVALID_REQUEST", "RequestTooLarge"}
    assert [(size, ending) for size, ending in zip(SIZES, told, strict=True) if ending not in allowed] == []


LIARS = """
class Liar(dict):
    def __contains__(self, name): return True
    def __getitem__(self, name): return hidden
    def get(self, name, default=None): return hidden
class Text(str):
    def __str__(self): return hidden
    def __eq__(self, other): return True
    def __hash__(self): return 0
    def encode(self, *arguments): return hidden.encode()
class Number(int):
    def __index__(self): return 100
    def __int__(self): return 100
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __hash__(self): return 0
class Anything:
    def __index__(self): return 3
    def __int__(self): return 3
    def __eq__(self, other): return True
    def __ne__(self, other): return True
    def __iter__(self): return iter([hidden])
    def __len__(self): return 1
    def __getattr__(self, name): return hidden
"""


async def test_documents_outside_the_scope_are_unknown_documents(shop: Application, indexed: Indexed) -> None:
    code = f"""
{FIRST}
mine = fetch(row)[0].document_id
told = set()
for id in {[*indexed.documents, "0" * 12]!r}:
    page = fetch([id, mine], "ids", missing="skip")
    told.add((len(page) > 0, page.missing_ids == [id]))
    for ids in (id, [id, row.id]):
        try:
            told.add(len(fetch(ids)))
        except SDKError as error:
            told.add((error.type, error.message.replace(id, "ID")))
    for scope in ({{"doc_tags": ["v2"]}}, {{"project_id": "secret"}}):
        try:
            told.add(len(fetch(id, scope=scope)))
        except SDKError as error:
            told.add(error.type)
return sorted(map(str, told))
"""
    unknown = "no passage and no document in reach has the id 'ID'; ids come from rows; "
    assert await result_of(shop, code) == [
        str(("NOT_FOUND", f'{unknown}missing="skip" leaves out what is not there')),
        "(True, True)",
        "SCOPE_VIOLATION",
    ]


async def test_objects_that_lie_get_what_their_plain_value_gets(shop: Application, indexed: Indexed) -> None:
    hidden = indexed.hidden["Secret"]
    code = f"""
hidden = {hidden!r}
{LIARS}
row = kb.search("proxy rule")[0]
mine, row.passage_id, row.id = row.passage_id, hidden, hidden
calls = [
    lambda: kb.read_excerpt(row),
    lambda: fetch(row).ids,
    lambda: kb.read_excerpt(Liar(passage_id=mine)),
    lambda: kb.read_excerpt(Text(mine)).passage_id == mine,
    lambda: kb.read_excerpt(Anything()),
    lambda: kb.extract_evidence("which proxy rule", Anything()),
    lambda: kb.extract_evidence("which proxy rule", [Text(mine), Liar()], missing="skip").missing_ids == [hidden],
    lambda: len(kb.search("proxy rule", top_k=Number(2))),
    lambda: len(kb.search("proxy rule", top_k=Anything())),
    lambda: len(kb.search("proxy rule", max_per_doc=Number(2))),
    lambda: len(kb.search("proxy rule", max_per_doc=Anything())),
    lambda: kb.search("proxy rule", scope=Liar(project_id="shop")).ids[0] != hidden,
    lambda: kb.search("proxy rule", filters=Anything()),
    lambda: kb.read_excerpt(Row(passage_id=dict(a=1))),
    lambda: kb.read_excerpt(mine, format=Text("bullets")).excerpt[:2],
]
told = []
for call in calls:
    try:
        told.append(call())
    except SDKError as error:
        told.append(error.type)
return told
"""
    assert await result_of(shop, code) == [
        "NOT_FOUND", "NOT_FOUND", "NOT_FOUND", True, "INVALID_REQUEST", "NOT_FOUND", True, 2, "INVALID_REQUEST", 5,
        "INVALID_REQUEST", True, "INVALID_REQUEST", "INVALID_REQUEST", "- ",
    ]  # fmt: skip


# --- how much text -----------------------------------------------------------------------------------------------

COUNTED = """
def as_many_as_there_are(ask):
    rows = 0
    while True:
        try:
            answer = ask()
        except SDKError as error:
            return [rows, error.type, error.limit]
        rows += len(answer) if isinstance(answer, Results) else 1
"""


async def _ending(shop: Application, code: str) -> Outcome:
    return await shop.scripts.run(f"{COUNTED}{FIRST}{code}", client="one")


async def test_excerpts_count_as_full_documents_however_short(shop: Application) -> None:
    code = """
asked = [lambda: kb.read_excerpt(passage, 8), lambda: kb.expand_excerpt(passage, 0, 0), lambda: fetch(row)]
told = [as_many_as_there_are(ask) for ask in asked]
return told, len(kb.retrieve_evidence("which proxy rule")), len(semantic_search("proxy rule"))
"""
    outcome = await _ending(shop, code)
    assert outcome.result == [[[50, "SDK_ROWS", True], *[[0, "SDK_ROWS", True]] * 2], 6, 10], outcome.error


async def test_quotes_and_previews_share_one_purse(shop: Application) -> None:
    code = """
told = [as_many_as_there_are(lambda: kb.retrieve_evidence("which proxy rule", top_k=20, max_quotes=20))]
told.append(as_many_as_there_are(lambda: kb.extract_evidence("which proxy rule", [passage], max_quotes=9)))
told.append(as_many_as_there_are(lambda: kb.search("proxy rule", top_k=12)))
return told, kb.read_excerpt(passage, 8).passage_id == passage
"""
    outcome = await _ending(shop, code)
    told, reads = outcome.result
    assert (sum(rows for rows, *_ in told) <= 200 - 5, {ending[1] for ending in told}, reads) == (
        True,
        {"SDK_ROWS"},
        True,
    )
    assert told[0][0] > 150


async def test_an_uncaught_end_of_a_purse_ends_the_script_as_a_limit(shop: Application) -> None:
    outcome = await _ending(shop, "while True: kb.read_excerpt(passage, 8)")
    assert (outcome.status, outcome.error and outcome.error.type) == ("limit", "SDK_ROWS")
    assert outcome.usage.rows == 5 + 50
