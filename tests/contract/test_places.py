"""Pages, slides and other places in every row, quote, excerpt and piece: those of every one of its characters."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from mcp import Client
from typer.testing import CliRunner

from tests.placed_documents import (
    DOCUMENTS,
    LOCATED,
    expected_fields,
    index_placed_documents,
    located,
    places_at,
)
from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.opening import catalogue_path
from winnow.server.commands import quote as quote_command
from winnow.server.commands import search as search_command
from winnow.server.commands.corpus import read as read_command
from winnow.server.commands.corpus import scan as scan_command
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.models import Chunk, Place
from winnow.server.readers.documents import RawDocument
from winnow.server.settings.settings import Settings
from winnow.server.text.printable import printable
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def placed(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    return index_placed_documents(tmp_path_factory.mktemp("store"))[0]


@pytest.fixture
async def application(placed: Settings) -> AsyncIterator[Application]:
    settings = placed.model_copy(update={"calls_per_minute": 100_000})
    async with open_application(settings, wait_for_model=False) as opened:
        yield opened


@pytest.fixture
async def client(application: Application) -> AsyncIterator[Client]:
    server = build_server(Dispatcher(application.context, application.settings), application)
    async with Client(server) as opened:
        yield opened


@pytest.fixture(scope="module")
def chunks(placed: Settings) -> dict[str, tuple[str, Chunk]]:
    """The path and the chunk of each chunk id."""
    with closing(Catalogue(catalogue_path(placed))) as catalogue:
        found = catalogue.passages(catalogue.chunk_ids("default"), "default")
        return {id: (passage.document.uri, passage.chunk) for id, passage in found.items()}


async def call(client: Client, tool: str, **arguments: Any) -> tuple[dict[str, Any], str]:
    """The structured answer and the text of a tool."""
    answer = await client.call_tool(tool, arguments)
    assert answer.structured_content is not None
    assert not answer.is_error, answer.structured_content
    return answer.structured_content, answer.content[0].text  # type: ignore[union-attr]


async def test_chunks_of_slides_sheets_chapters_and_messages_are_in_one_each_and_others_cross(
    chunks: dict[str, tuple[str, Chunk]],
) -> None:
    crossing = {
        DOCUMENTS[uri].places[0].kind
        for uri, chunk in chunks.values()
        if DOCUMENTS[uri].places and len(places_at(DOCUMENTS[uri], chunk.start, chunk.end)) > 1
    }
    assert crossing & {"slide", "sheet", "chapter", "message"} == set()
    assert {uri for uri, _ in chunks.values()} == set(DOCUMENTS)


@pytest.mark.parametrize("mode", ["metadata", "preview", "full"])
async def test_rows_of_every_tier_say_where_the_passage_is(
    client: Client, chunks: dict[str, tuple[str, Chunk]], mode: str
) -> None:
    seen = set()
    for uri in DOCUMENTS:
        name = uri.partition(".")[0]
        answer, text = await call(
            client, "semantic_search", query=f"valve {name}", filters={"path": uri}, response_mode=mode, top_k=5
        )
        for row in answer["results"]:
            uri, chunk = chunks[row["id"]]
            expected = expected_fields(uri, chunk.start, chunk.end)
            assert located(row) == expected
            assert expected.get("locator", "") in text
            seen.add(uri)
    assert seen == set(DOCUMENTS)


async def test_candidates_and_quotes_say_it_too_and_a_quote_by_its_own_sentence(
    client: Client, chunks: dict[str, tuple[str, Chunk]]
) -> None:
    for uri, document in DOCUMENTS.items():
        name = uri.partition(".")[0]
        numbers = [place.number for place in document.places] or [1]
        for number in numbers:
            found, text = await call(
                client, "kb_search", query=f"valve {name}{number} opens", filters={"path": uri}
            )
            for row in found["results"]:
                _, chunk = chunks[row["section_id"]]
                assert located(row) == expected_fields(uri, chunk.start, chunk.end)
            quoted, text = await call(
                client,
                "kb_retrieve_evidence",
                question=f"when does valve {name}{number} open?",
                filters={"path": uri},
                include_context_tokens=0,
            )
            sentence = f"Valve {name}{number} opens at {number} bar."
            (quote,) = [quote for quote in quoted["quotes"] if quote["quote"] == sentence]
            start = document.text.index(sentence)
            expected = expected_fields(uri, start, start + len(sentence))
            assert located(quote) == expected
            cited = f"[{uri}, {expected['locator']}]" if expected else f"| section {quote['section_id']}"
            assert cited in text


async def test_excerpts_say_where_they_begin_and_end_within_the_passage_and_beyond_it(
    client: Client, chunks: dict[str, tuple[str, Chunk]]
) -> None:
    for id, (uri, chunk) in chunks.items():
        for start in (0, len(chunk.text) - 1, len(chunk.text) + 50):
            if chunk.start + start >= len(DOCUMENTS[uri].text):
                continue
            answer, _ = await call(client, "kb_read_excerpt", passage_id=id, start_char=start, max_tokens=200)
            begin = chunk.start + start
            assert located(answer) == expected_fields(uri, begin, begin + len(answer["excerpt"])), (uri, start)
        answer, _ = await call(client, "kb_expand_excerpt", passage_id=id, before_tokens=90, after_tokens=120)
        begin = chunk.start + answer["start_char"]
        assert located(answer) == expected_fields(uri, begin, begin + len(answer["excerpt"])), uri


async def test_pieces_of_documents_and_matches_say_it(client: Client) -> None:
    for uri, document in DOCUMENTS.items():
        start: int | None = 0
        while start is not None:
            piece, text = await call(client, "kb_read", document=uri, start=start, max_tokens=150)
            expected = expected_fields(uri, piece["start"], piece["end"])
            assert located(piece) == expected
            assert expected.get("locator", "") in text
            start = piece["next"]
        # Across the ends of places, too.
        for pattern in (r"Valve \w+", r"yard\.\s+## Part \w+"):
            found, _ = await call(client, "kb_scan", pattern=pattern, path=uri, limit=1_000)
            matches = list(re.finditer(pattern, document.text))
            assert [row["start"] for row in found["results"]] == [match.start() for match in matches]
            for row in found["results"]:
                expected = expected_fields(uri, row["start"], row["end"])
                assert located(row) == expected
                assert row.get("page") == expected.get("page_span", [None])[0]


async def test_a_page_is_read_by_its_number_and_is_exactly_the_characters_that_locators_count_to_it(
    client: Client,
) -> None:
    for uri, document in DOCUMENTS.items():
        for place in document.places:
            characters = [at for at in range(len(document.text)) if places_at(document, at, at + 1) == [place]]
            answer, text = await call(client, "kb_read", document=uri, page=place.number)
            assert (answer["start"], answer["end"]) == (characters[0], characters[-1] + 1)
            assert answer["text"] == document.text[characters[0] : characters[-1] + 1]
            assert answer["next"] == (answer["end"] if place != document.places[-1] else None)
            expected = expected_fields(uri, answer["start"], answer["end"])
            assert located(answer) == expected
            assert expected["locator"] in text


@pytest.mark.parametrize("asked", ["p. 34", "page 34", "p. 34 (file page 46)", "file page 46", "46", 46, [46, 46]])
async def test_a_page_is_read_by_its_printed_number_and_as_rows_name_it(client: Client, asked: object) -> None:
    answer, text = await call(client, "kb_read", document="guide.pdf", page=asked)
    assert (answer["page_span"], answer["locator"]) == ([46, 46], "p. 34 (file page 46)")
    assert "| p. 34 (file page 46)" in text


async def test_a_page_that_is_longer_than_the_piece_says_where_it_goes_on_and_ends(client: Client) -> None:
    first, _ = await call(client, "kb_read", document="deck.pptx", page=2, max_tokens=20)
    last = DOCUMENTS["deck.pptx"].places[2].start
    rest = f"this piece is a part of slide 2, which goes on at start {first['next']}, up to character {last}"
    assert first["meta"]["warnings"] == [rest]
    several, _ = await call(client, "kb_read", document="deck.pptx", page="2-9")
    assert (several["start"], several["meta"]["warnings"][-1]) == (first["start"], "page: it has slides 1-3 only")
    whole, _ = await call(client, "kb_read", document="deck.pptx", page=2)
    assert whole["meta"].get("warnings", []) == []
    assert whole["text"].startswith(first["text"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"document": "deck.pptx", "page": 4}, "there is no slide 4 with text; it has slides 1-3"),
        ({"document": "guide.pdf", "page": 44}, "there is no file page 44 with text; it has file pages 45-56"),
        (
            {"document": "guide.pdf", "page": "p. 45"},
            "no page has '45' printed on it; its pages are pp. 33-44 (file",
        ),
        ({"document": "deck.pptx", "page": "p. 2"}, "no page has '2' printed on it; a number alone"),
        ({"document": "talk.vtt", "page": 10**9}, "there is no caption 1000000000 with text; it has captions 1-3"),
        ({"document": "plain.md", "page": 1}, "this document has no pages or other places"),
        ({"document": "deck.pptx", "page": 2, "start": 5}, "give a page or start, not both"),
        ({"document": "deck.pptx", "page": 0}, "page"),
        ({"document": "deck.pptx", "page": -1}, "page"),
        ({"document": "deck.pptx", "page": 10**30}, "page"),
        ({"document": "deck.pptx", "page": "two"}, "page"),
        ({"document": "deck.pptx", "page": 1.5}, "page"),
        ({"document": "deck.pptx", "page": [1]}, "page"),
        ({"document": "book.xlsx", "sheet": "Q1"}, "sheet: no such argument; did you mean 'page'?"),
        ({"document": "deck.pptx", "page_number": 2}, "page_number: no such argument; did you mean 'page'?"),
        ({"document": "boox.xlsx"}, "nearest: 'book.xlsx'"),
    ],
)
async def test_a_page_that_cannot_be_read_is_an_error_that_says_what_can(
    client: Client, arguments: dict[str, Any], message: str
) -> None:
    answer = await client.call_tool("kb_read", arguments)
    assert answer.is_error
    assert message in answer.content[0].text  # type: ignore[union-attr]


async def test_rows_of_documents_without_places_do_not_grow(client: Client) -> None:
    answer, _ = await call(client, "semantic_search", query="valve plain1", filters={"path": "plain.md"})
    assert set(answer["results"][0]) == {"id", "title", "score", "section", "type", "vendor", "file", "created"}
    found, _ = await call(client, "kb_scan", pattern="Valve", path="plain.md")
    assert not set(found["results"][0]) & {*LOCATED, "page"}


async def test_a_scope_and_filters_hold_for_documents_with_places(client: Client) -> None:
    scope = {"environment": "prod"}
    found, _ = await call(client, "kb_scan", pattern="Valve", scope=scope)
    assert {row["file"] for row in found["results"]} == {"guide.pdf"}
    listed, _ = await call(client, "kb_documents", group_by="type")
    assert {row["key"]: row["documents"] for row in listed["results"]} == {
        document.type: 1 for document in DOCUMENTS.values()
    }


SCRIPT = """
rows = semantic_search("valve guide45", response_mode="full", top_k=1)
hit = rows[0]
plain = semantic_search("valve plain1", top_k=1, filters={"path": "plain.md"})[0]
quote = kb.retrieve_evidence("when does valve guide45 open", filters={"path": "guide.pdf"})[0]
match = scan(r"Valve guide46", path="guide.pdf")[0]
piece = read("deck.pptx")
page = read("deck.pptx", page=3)
spanned = read("guide.pdf", page=hit.page_span)
pages = read("guide.pdf", page="46-47", max_tokens=4000)
excerpt = kb.read_excerpt(quote)
grepped = grep("valve guide45", r"guide\\d+", top_k=1)[0]
return {
    "hit": [hit.page_span, hit.page_labels, hit.locator, hit.link],
    "plain": [plain.page_span, plain.page_labels, plain.locator, plain.link, "locator" in plain],
    "quote": [quote.page_span, quote.locator],
    "match": [match.page, match.page_span, match.locator],
    "piece": piece.locator,
    "page": [page.locator, page.text.split("\\n")[0], page.next],
    "pages": [spanned.page_span, pages.page_span, pages.locator],
    "excerpt": excerpt.locator,
    "grepped": grepped.locator,
    "cited": cite(quote),
    "cited plain": "p." in cite(plain),
    "small": summarize(rows, fields=["locator"])[0].locator,
    "printed": "p. 33 (file page 45)" in repr(quote),
}
"""


@pytest.mark.walls
async def test_scripts_read_the_same_fields_and_none_where_there_are_no_places(client: Client) -> None:
    answer, _ = await call(client, "execute_code", code=SCRIPT)
    assert answer["status"] == "ok", answer
    result = answer["result"]
    cited = result.pop("cited")
    assert re.fullmatch(r"Guide.* \(guide\.pdf, p\. 33 \(file page 45\)\) \[\w+\]", cited), cited
    hit = result.pop("hit")
    assert (hit[0][0], hit[1][0], hit[2][:4], hit[3]) == (
        45,
        "33",
        "p. 3" if hit[0] == [45, 45] else "pp. ",
        "guide.pdf#page=45",
    )
    assert result.pop("grepped") == hit[2]
    assert result.pop("small") == hit[2]
    assert result.pop("excerpt")[:1] == "p"
    assert result.pop("pages") == [hit[0], [46, 47], "pp. 34-35 (file pages 46-47)"]
    assert result == {
        "plain": [None, None, None, None, False],
        "quote": [[45, 45], "p. 33 (file page 45)"],
        "match": [46, [46, 46], "p. 34 (file page 46)"],
        "piece": "slides 1-3",
        "page": ["slide 3", "## Part deck3", None],
        "cited plain": False,
        "printed": True,
    }


COMMANDS: Mapping[str, tuple[Any, list[str], str]] = {
    "search": (search_command.app, ["valve guide47", "--top-k", "1"], "guide.pdf | p"),
    "search --explain": (search_command.app, ["valve guide47", "--explain"], "guide.pdf, p"),
    "quote": (quote_command.app, ["when does valve guide47 open"], "[guide.pdf, p. 35 (file page 47)]"),
    "scan": (scan_command.app, ["Valve guide47"], "p. 35 (file page 47)"),
    "read": (read_command.app, ["deck.pptx"], "slides 1-3"),
    "read --page": (read_command.app, ["deck.pptx", "--page", "2"], "| slide 2"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_show_the_place(placed: Settings, name: str) -> None:
    app, arguments, expected = COMMANDS[name]
    done = CliRunner().invoke(app, [*arguments, "--store", str(placed.store)])
    assert done.exit_code == 0, done.output
    assert expected in done.output


HIDDEN = "\x1b[31mred\x1b[0m\u200b "


@pytest.fixture
def unprintable(tmp_path: Path) -> tuple[Settings, RawDocument]:
    """A document whose text loses characters when it is shown, with a page for each of its sentences."""
    sentences = [f"{HIDDEN}Valve red{number} opens at {number} bar.\n\n" for number in range(1, 5)]
    starts = [sum(map(len, sentences[:at])) for at in range(len(sentences))]
    places = tuple(Place(start, "page", number) for number, start in enumerate(starts, 1))
    document = RawDocument("red.pdf", "pdf", "Red", "".join(sentences), places=places)
    return index_placed_documents(tmp_path / "store", [document])[0], document


async def test_places_are_right_where_shown_text_is_shorter_than_the_document(
    unprintable: tuple[Settings, RawDocument],
) -> None:
    settings, document = unprintable
    async with (
        open_application(settings, wait_for_model=False) as opened,
        Client(build_server(Dispatcher(opened.context, settings), opened)) as client,
    ):
        for number in range(1, 5):
            question = f"when does valve red{number} open?"
            answer, _ = await call(client, "kb_retrieve_evidence", question=question, include_context_tokens=0)
            (quote,) = [quote for quote in answer["quotes"] if f"red{number} " in quote["quote"]]
            assert quote["page_span"] == [number, number]
            shown = printable(document.text).index(f"Valve red{number}")
            excerpt, _ = await call(
                client, "kb_read_excerpt", passage_id=quote["section_id"], start_char=shown, max_tokens=8
            )
            assert excerpt["page_span"][0] == number
            json.dumps(excerpt)
