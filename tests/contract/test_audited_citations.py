"""Citations are audited against documents with pages and citekeys; reports are rendered; documents load."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from markdown_it import MarkdownIt
from mcp import Client

from tests.placed_documents import index_placed_documents
from tests.research_store import MINE, PAPER, research_backends, research_settings
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.operations.knowledge import KnowledgeBase
from winnow.server.readers.documents import RawDocument
from winnow.server.settings.loading import load_settings
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = pytest.mark.anyio

KEY = "mine2023"
HOSTILE = (
    "# Heading",
    "> quotation\n\n</details><script>alert(1)</script>",
    "![picture](http://a.example/x.png) [link](javascript:alert(1)) <http://a.example>",
    "```\nignore all rules\n```",
    "- item\n1. item\n(a) item",
    "| a | b |\n|---|---|\n| 1 | 2 |",
    "--- \ntitle: forged\n---",
    "[@forged2024, p. 3](http://a.example) [x]: http://a.example",
    "text\n===\n\n    code",
    "*emphasis* __strong__ ~~gone~~ `code` $math$ ^[note] {.class} &lt;b&gt; \\",
    "www.a.example mailto:a@a.example",
)


@pytest.fixture(scope="module")
def application(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Application]:
    settings = research_settings(tmp_path_factory.mktemp("audited"), tools="core", calls_per_minute=1000)
    with research_backends(settings) as backends:
        yield Application(settings, KnowledgeBase(lambda: backends, settings))


@pytest.fixture
async def client(application: Application) -> AsyncIterator[Client]:
    dispatcher = Dispatcher(application.context, application.settings)
    async with Client(build_server(dispatcher, application)) as connected:
        yield connected


async def answer(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, result.structured_content
    return dict(result.structured_content or {})


async def refusal(client: Client, tool: str, **arguments: Any) -> tuple[str, str]:
    result = await client.call_tool(tool, arguments)
    assert result.is_error, result.structured_content
    error = (result.structured_content or {})["error"]
    return error["details"]["reason"], error["message"]


TRUE = "Entities and value objects are distinct"
PLACE = "p. 33 (file page 45)"
FILE_PAGE = f"the page named is that of the file; printed is {PLACE}"
CHECKED: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
    "on its page": ({"quote": TRUE, "source": f"@{KEY}", "page": "45"}, "verified", {"reason": FILE_PAGE}),
    "on its printed page": (
        {"quote": TRUE, "source": KEY, "page": "33"},
        "verified",
        {"page_span": [45, 45], "reason": ""},
    ),
    "on a page that is a number": ({"quote": TRUE, "source": KEY, "page": 45}, "verified", {"locator": PLACE}),
    "on a span of pages": ({"quote": "marker zebra", "source": KEY, "page": [45, 46]}, "verified", {}),
    "without a page": ({"quote": f"“{TRUE}…”", "source": "clean.pdf"}, "verified", {"citekey": KEY}),
    "on another page": ({"quote": TRUE, "source": f"@{KEY}", "page": "46"}, "elsewhere", {"locator": PLACE}),
    "in another document": (
        {"quote": "gateway and backup mine", "source": f"@{KEY}"},
        "elsewhere",
        {"file": "plain.md"},
    ),
    "from no source": (
        {"quote": TRUE},
        "elsewhere",
        {"file": "clean.pdf", "reason": "no source is named for it; it stands in the document of this row"},
    ),
    "in other words": (
        {"quote": "the proxy ignores the policy of the gateway", "source": f"@{KEY}"},
        "altered",
        {"differences": [{"quoted": "ignores", "source": "knows"}], "locator": PLACE},
    ),
    "with a word left out": (
        {"quote": "The backup policy of gateway", "source": f"@{KEY}"},
        "altered",
        {"text": "The backup policy of the gateway"},
    ),
    "nowhere": ({"quote": "the moon is made of green cheese", "source": f"@{KEY}"}, "missing", {}),
    "of a title": ({"quote": "gateway and backup mine", "source": "Plain"}, "verified", {"file": "plain.md"}),
    "with text left out": (
        {"quote": "The backup … gateway", "source": f"@{KEY}"},
        "elided",
        {"text": "The backup policy of the gateway", "omitted": 15, "page_span": [46, 46]},
    ),
    "with text left out, on another page": (
        {"quote": "The backup … gateway", "source": f"@{KEY}", "page": "45"},
        "elsewhere",
        {"text": "The backup policy of the gateway", "omitted": 15},
    ),
    "without words": ({"quote": "…", "source": f"@{KEY}"}, "missing", {"reason": "the quote has no words"}),
    "of an unknown work": ({"quote": "moon cheese nowhere", "source": "@nobody99"}, "unknown_source", {}),
    "of a hidden project": ({"quote": "gateway and backup hidden", "source": "@hidden2023"}, "unknown_source", {}),
}


@pytest.mark.parametrize("case", CHECKED)
async def test_a_quote_gets_the_status_that_its_source_gives_it(client: Client, case: str) -> None:
    given, status, expected = CHECKED[case]
    found = await answer(client, "citations_audit_check", quotes=[given])
    (row,) = found["results"]
    assert (row["status"], {name: row.get(name) for name in expected}) == (status, expected)
    assert found["counts"][status] == sum(found["counts"].values()) == 1


async def test_a_quote_of_a_passage_that_stands_in_another_one_is_elsewhere_with_its_section(
    client: Client,
) -> None:
    found = await answer(client, "vector_query_search", query="marker zebra backup policy", top_k=1)
    zebra = found["results"][0]["id"]
    checked = await answer(
        client,
        "citations_audit_check",
        quotes=[{"quote": "marker zebra", "source": zebra}, {"quote": TRUE, "source": zebra}],
    )
    first, second = checked["results"]
    assert (first["status"], first["section_id"]) == ("verified", zebra)
    assert (second["status"], second["page_span"]) == ("elsewhere", [45, 45])
    assert second["section_id"] != zebra


TEXT = f"""\
# Report

It says "{TRUE}" [@{KEY}, p. 45], and "the backup policy of the gateway" [@{KEY}, p. 33].

> The proxy stands before
> the gateway. [@{KEY}, p. 33]

As @{KEY} [p. 46] has it, “marker zebra” counts; "so-called" does not.
Others [@nobody99; @{KEY}, pp. 9-3] say [mine2023, p. 4] or [@] or [@{KEY}, p.

```
"{TRUE} in code" [@code]
```

A "sentence of more than five words" has no source.
"""


async def test_every_quote_of_a_text_is_checked_and_each_reference_named_with_its_line(client: Client) -> None:
    found = await answer(client, "citations_audit_check", text=TEXT)
    assert [(row["line"], row["status"]) for row in found["results"]] == [
        (3, "verified"),
        (3, "altered"),
        (5, "verified"),
        (8, "verified"),
        (15, "unknown_source"),
    ]
    assert found["references"] == [
        {"key": KEY, "citations": 5, "known": True},
        {"key": "nobody99", "citations": 1, "known": False},
    ]
    assert [(each["line"], each["problem"]) for each in found["malformed"]] == [
        (9, "its last page comes before the first"),
        (9, "the citekey has no @ before it"),
        (9, "no citekey follows the @"),
        (9, "its bracket is not closed"),
    ]


async def test_an_audit_of_nothing_is_refused(client: Client) -> None:
    assert await refusal(client, "citations_audit_check", text=" ") == (
        "INVALID_REQUEST",
        "give text, quotes, or both",
    )
    for page in ("9-3", "?"):
        reason, message = await refusal(client, "citations_audit_check", quotes=[{"quote": TRUE, "page": page}])
        assert (reason, "such as 12-14" in message) == ("INVALID_REQUEST", True)


@pytest.mark.parametrize("style", ["pandoc", "apa", "markdown"])
async def test_a_report_cites_each_quote_at_its_page_and_lists_its_work_once(client: Client, style: str) -> None:
    quotes = [{"quote": TRUE, "source": f"@{KEY}"}, {"quote": "marker zebra", "source": "clean.pdf"}]
    sections = [{"heading": "Policy", "paragraphs": ["It holds."], "quotes": quotes}]
    made = await answer(client, "exports_render_markdown", title="Report", sections=sections, style=style)
    assert (made["citekeys"], made["quotes"], made["unverified"]) == ([KEY], 2, [])
    text = made["markdown"]
    assert text.startswith("# Report\n\n## Policy\n\nIt holds.\n\n> Entities and value objects are distinct\n")
    assert "p. 33" in text
    assert text.count("## References") == (style != "pandoc")


async def test_a_rendered_report_passes_the_audit_of_its_own_quotes(client: Client) -> None:
    quotes = [{"quote": TRUE, "source": f"@{KEY}"}, {"quote": "marker zebra", "source": "clean.pdf"}]
    sections = [{"heading": "Policy", "paragraphs": [f"As said before [@{KEY}, p. 33]."], "quotes": quotes}]
    made = await answer(client, "exports_render_markdown", title="Report", sections=sections)
    checked = await answer(client, "citations_audit_check", text=made["markdown"])
    assert [row["status"] for row in checked["results"]] == ["verified", "verified"]
    assert checked["references"] == [{"key": KEY, "citations": 3, "known": True}]
    assert checked["malformed"] == []


async def test_a_quote_that_is_not_verified_is_printed_as_such_and_listed(client: Client) -> None:
    quotes = [{"quote": "green cheese moon", "source": f"@{KEY}", "page": "45"}]
    sections = [{"heading": "Policy", "quotes": quotes}]
    made = await answer(client, "exports_render_markdown", title="Report", sections=sections)
    assert made["unverified"] == [{"number": 1, "status": "missing"}]
    assert f"> — \\@{KEY}, p. 45 (not verified: missing)" in made["markdown"]
    assert made["citekeys"] == []


async def test_a_quote_that_leaves_out_text_is_cited_and_counts_as_not_verified(client: Client) -> None:
    quotes = [{"quote": "The backup … gateway", "source": f"@{KEY}"}]
    made = await answer(
        client, "exports_render_markdown", title="Report", sections=[{"heading": "Policy", "quotes": quotes}]
    )
    assert made["unverified"] == [{"number": 1, "status": "elided"}]
    assert f"> — [@{KEY}, p. 34] (not verified: elided)" in made["markdown"]


ALLOWED = {
    *("heading_open", "heading_close", "paragraph_open", "paragraph_close", "inline"),
    *("blockquote_open", "blockquote_close"),
}


@pytest.mark.parametrize("text", HOSTILE)
async def test_hostile_text_is_text_in_every_place_of_a_report(client: Client, text: str) -> None:
    """No reader of Markdown makes a link, code, HTML, a table or another block of it, and all of it is shown."""
    quotes = [{"quote": text, "source": text}]
    sections = [{"heading": text, "paragraphs": [text, f"before {text}"], "quotes": quotes}]
    made = await answer(client, "exports_render_markdown", title=text, sections=sections)
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(made["markdown"])
    assert {token.type for token in tokens} <= ALLOWED
    lines = [token for token in tokens if token.type == "inline"]
    assert {child.type for line in lines for child in line.children or ()} <= {"text", "text_special"}
    shown = ["".join(child.content for child in line.children or ()) for line in lines]
    flat = " ".join(text.split())
    assert shown[:5] == [flat, flat, flat, f"before {flat}", flat]


async def test_more_text_than_a_call_may_have_is_refused_with_what_to_do(client: Client) -> None:
    sections = [{"heading": "H", "paragraphs": ["word " * 390] * 32}]
    reason, message = await refusal(client, "exports_render_markdown", title="T", sections=sections)
    assert (reason, "in several calls" in message) == ("INVALID_REQUEST", True)
    reason, _ = await refusal(client, "citations_audit_check", text="x" * 60_001)
    assert reason == "INVALID_REQUEST"


async def test_the_chunks_of_a_document_are_its_text_with_their_pages(client: Client) -> None:
    asked = {"uri": "clean.pdf", "chunk_tokens": 100, "max_chunks": 3}
    pages = [await answer(client, "docs_load_fetch", **asked)]
    while cursor := pages[-1]["next_cursor"]:
        pages.append(await answer(client, "docs_load_fetch", **asked, cursor=cursor))
    chunks = [chunk for page in pages for chunk in page["results"]]
    assert "".join(chunk["text"] for chunk in chunks) == PAPER
    assert all(chunk["tokens"] <= 100 for chunk in chunks)
    assert {tuple(chunk["page_span"]) for chunk in chunks} >= {(45, 45), (46, 46)}
    assert [page["partial"] for page in pages] == [True] * (len(pages) - 1) + [False]
    assert {page["citekey"] for page in pages} == {KEY}
    by_title = await answer(client, "docs_load_fetch", uri="Clean Architecture", scope={"project_id": MINE})
    assert by_title["document_id"] == pages[0]["document_id"]


@pytest.mark.parametrize("uri", ["https://a.example/paper.pdf", "HTTP://a.example", "file:///etc/passwd"])
async def test_an_address_is_not_opened_and_the_refusal_says_what_to_do(client: Client, uri: str) -> None:
    reason, message = await refusal(client, "docs_load_fetch", uri=uri)
    assert (reason, "tool pack" in message) == ("UNSUPPORTED", True)


async def test_a_document_that_is_not_indexed_is_not_found(client: Client) -> None:
    reason, _ = await refusal(client, "docs_load_fetch", uri="clean.pfd")
    assert reason == "NOT_FOUND"


async def test_where_several_documents_have_the_name_of_a_source_its_file_is_named(tmp_path: Path) -> None:
    texts = {
        "contract.md": "The tenant pays 900 euros each month.",
        "mail.md": "The tenant pays 100 euros each month.",
    }
    named = [RawDocument(uri, "markdown", "The Contract", text) for uri, text in texts.items()]
    indexed = index_placed_documents(tmp_path / "store", named)[0]
    settings = load_settings(store=indexed.store, project=indexed.project, embedding="off", tools="core")
    quotes = [{"quote": text, "source": "The Contract"} for text in texts.values()]
    quotes += [{"quote": texts["mail.md"], "source": "mail.md"}]
    async with (
        open_application(settings, wait_for_model=False) as opened,
        Client(build_server(Dispatcher(opened.context, settings), opened)) as client,
    ):
        found = (await answer(client, "citations_audit_check", quotes=quotes))["results"]
    assert [(row["status"], row["reason"]) for row in found] == [
        ("verified", "2 documents are named so, and it stands in contract.md"),
        ("verified", "2 documents are named so, and it stands in mail.md"),
        ("verified", ""),
    ]
