"""Scripts that read whole documents and their parts, sent by an MCP client to a server over real files."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from tests.placed_documents import DOCUMENTS, index_placed_documents
from tests.plain_store import copy_store, index_by_words
from winnow.server.commands.entry.app import Application, open_application
from winnow.server.contracts.corpus.texts import MAX_TEXT_BYTES
from winnow.server.errors import WinnowError
from winnow.server.operations.knowledge import SCRIPT
from winnow.server.settings.settings import Settings
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = [pytest.mark.anyio, pytest.mark.walls]

GUIDE = """---
title: Gates
when: 2026-01-02
stages:
  - stage: alpha
    until: 1.20
  - stage: beta
---
# Gates

See [the list](list.md) and ![a picture](x.png).

## Settings {#settings}

- Write them so:

  ```yaml
  # gate: [not](a-link)
  | a | b |
  |---|---|
  ```

| Name | Default value | Since |
|---|---|---|
| **gate_width** | 3 | v1 |
| Gate height | 4 | v2 |
| Gate height, old | 5 | v1 |

### Notes

None.

## Other settings

| Item | 2023 | |
|---|---|---|
| Net income | $ | 1,577 |
| Gate height | 7 | |
"""
# A zero-width blank is in the index and in no answer: what stands after it is one character earlier in scripts.
LONG = "".join(f"## Part {n}\n\nWords of part {n} with\u200b many signs like “é”.\n\n" for n in range(9_000))
FILES: Mapping[str, str] = {
    "guide.md": GUIDE,
    "long.md": LONG,
    "tool.py": "# not a heading\nprint('[no](link)')\n",
    "plain.md": "Nothing but words.\n",
    "bomb.md": "---\na: &a [x, x, x, x, x, x, x, x, x, x]\nb: &b [*a, *a, *a, *a, *a, *a, *a, *a, *a, *a]\n"
    "c: &c [*b, *b, *b, *b, *b, *b, *b, *b, *b, *b]\nd: &d [*c, *c, *c, *c, *c, *c, *c, *c, *c, *c]\n"
    "e: [*d, *d, *d, *d, *d, *d, *d, *d, *d, *d]\n---\nText.\n",
}


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("files")
    for name, text in FILES.items():
        (folder / name).write_text(text, "utf-8")
    return index_by_words(folder, tmp_path_factory.mktemp("store"))


@pytest.fixture(scope="module")
async def application(settings: Settings) -> AsyncIterator[Application]:
    async with open_application(settings, wait_for_model=False) as opened:
        await opened.ready()
        yield opened


@pytest.fixture
async def client(application: Application) -> AsyncIterator[Client]:
    server = build_server(Dispatcher(application.context, application.settings), application)
    async with Client(server) as connected:
        yield connected


@pytest.fixture(scope="module")
async def placed(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Application]:
    async with open_application(
        index_placed_documents(tmp_path_factory.mktemp("placed"))[0], wait_for_model=False
    ) as opened:
        await opened.ready()
        yield opened


async def run(client: Client, code: str) -> dict[str, Any]:
    answer = await client.call_tool("execute_code", {"code": code})
    assert answer.structured_content is not None
    return answer.structured_content


async def result_of(client: Client, code: str) -> Any:
    outcome = await run(client, code)
    assert outcome["status"] == "ok", outcome["error"]
    return outcome["result"]


async def test_a_text_is_whole_whatever_its_length_and_has_no_invisible_signs(client: Client) -> None:
    code = """
whole = text("long.md")
return len(whole), whole[-60:], whole.count("\\u200b"), len(whole.encode()), budget().calls
"""
    length, end, unseen, size, calls = await result_of(client, code)
    shown = LONG.replace("\u200b", "")
    assert (length, end, unseen) == (len(shown), shown[-60:], 0)
    assert size > MAX_TEXT_BYTES * 1.5
    assert 1_000 - calls == -(-size // MAX_TEXT_BYTES)


async def test_parts_are_the_characters_that_they_name(client: Client) -> None:
    code = """
whole = text("guide.md")
return [[whole[row.start:row.end] for row in kind("guide.md")] for kind in (sections, code_blocks, tables, links)]
"""
    found = await result_of(client, code)
    starts = [GUIDE.index(part) for part in ("# Gates", "## Settings", "### Notes", "## Other settings")]
    ends = [len(GUIDE), starts[3], starts[3], len(GUIDE)]
    assert found[0] == [GUIDE[start:end] for start, end in zip(starts, ends, strict=True)]
    assert found[1] == [GUIDE[GUIDE.index("```yaml") : GUIDE.index("\n\n| Name")]]
    assert [part.splitlines()[0] for part in found[2]] == ["| Name | Default value | Since |", "| Item | 2023 | |"]
    assert found[3] == ["[the list](list.md)"]


async def test_rows_of_parts_say_what_they_are(client: Client) -> None:
    code = """
head = sections("guide.md")
(block,) = code_blocks("guide.md", "YAML")
(link,) = links("guide.md")
first, second = tables("guide.md")
assert code_blocks("guide.md", "go") == [] and head[1].text == text("guide.md")[head[1].start:head[1].end]
return [[(row.level, row.heading, row.path) for row in head], block.code, block.section, [link.text, link.target],
        first.header, first.rows, first.section, second.section, [row.page for row in head], first.file]
"""
    levels, block, section, link, header, rows, of_first, of_second, pages, file = await result_of(client, code)
    assert levels == [
        [1, "Gates", ["Gates"]],
        [2, "Settings", ["Gates", "Settings"]],
        [3, "Notes", ["Gates", "Settings", "Notes"]],
        [2, "Other settings", ["Gates", "Other settings"]],
    ]
    assert (block, section) == ("# gate: [not](a-link)\n| a | b |\n|---|---|\n", "Gates > Settings")
    assert link == ["the list", "list.md"]
    assert (header, rows[0]) == (["Name", "Default value", "Since"], ["**gate_width**", "3", "v1"])
    assert (of_first, of_second) == ("Gates > Settings", "Gates > Other settings")
    assert (pages, file) == ([None] * 4, "guide.md")


ROWS = [
    ("'GATE width', 'guide.md'", ["3", "Default value", []]),
    ("'gate height', 'guide.md'", ["4", "Default value", [["Gate height", "7", ""]]]),
    ("'gate height', 'guide.md', 'since'", ["v2", "Since", []]),
    ("'gate height', 'guide.md', '2023'", ["7", "2023", []]),
    ("'height', 'guide.md', -1", ["v2", "Since", [["Gate height, old", "5", "v1"], ["Gate height", "7", ""]]]),
    ("'net income', 'guide.md', '2023'", ["1,577", "", []]),
    ("'net income', 'guide.md'", ["1,577", "", []]),
]


@pytest.mark.parametrize(("asked", "expected"), ROWS)
async def test_a_row_is_found_by_its_label_and_further_ones_are_not_hidden(
    client: Client, asked: str, expected: list[Any]
) -> None:
    code = f"found = row({asked})\nreturn found.value, found.column, [other.cells for other in found.others]"
    assert await result_of(client, code) == expected


REFUSED = [
    ("row('gate depth', 'guide.md')", "near labels: '**gate_width**', 'Gate height', "),
    ("row('gate width', 'guide.md', 'unit')", "the columns are 'Name', 'Default value', 'Since'"),
    ("row('gate width', 'guide.md', 3)", "no single column 3"),
    ("row('x', 'plain.md')", "plain.md has no rows of tables"),
    ("sections('tool.py')", "tool.py is code, which has no Markdown"),
    ("text('nothing.md')", "none that this call reaches"),
    ("page('guide.md', 2)", "no pages"),
    ("fields('bomb.md')", "too large or too deep"),
    ("for row in documents('guide.md'):\n    row('x', row)", "not callable"),
]


@pytest.mark.parametrize(("code", "message"), REFUSED)
async def test_what_is_not_there_is_an_error_that_says_what_is(client: Client, code: str, message: str) -> None:
    outcome = await run(client, code)
    assert message in outcome["error"]["message"]


async def test_a_function_that_a_variable_hides_is_reached_through_kb(client: Client) -> None:
    hidden = await run(client, "for row in documents('guide.md'):\n    row('gate width', row)")
    assert "kb.row(...)" in hidden["error"]["hint"]
    early = await run(client, "def read_it():\n    text = text('guide.md')\n    return text\nreturn read_it()")
    assert "kb.text(...)" in early["error"]["hint"]
    unset = await run(client, "rows = documents()\nreturn [row.file for each in rows]")
    assert unset["error"]["hint"] == "row is a function of the SDK here: no variable of this name is set"
    code = "return [kb.row('gate width', row).value for row in documents('guide.md')]"
    assert await result_of(client, code) == ["3"]


async def test_front_matter_is_nested_as_it_is_written(client: Client) -> None:
    code = """
stated = fields("guide.md")
flat = documents("guide.md")[0]
return stated, stated.stages[-1].stage, stated.get("owner"), flat.fields["stages.stage"], fields("plain.md")
"""
    nested, last, owner, flat, none = await result_of(client, code)
    stages = [{"stage": "alpha", "until": "1.20"}, {"stage": "beta"}]
    assert nested == {"title": "Gates", "when": "2026-01-02", "stages": stages}
    assert (last, owner, flat, none) == ("beta", None, ["alpha", "beta"], {})


async def test_texts_go_through_all_documents_in_few_calls_and_their_rows_need_no_more(client: Client) -> None:
    code = """
seen = {}
for document in texts():
    seen[document.file] = len(document.text)
    if document.type != "code":
        assert all(document.text[row.start:row.end] == row.text for row in sections(document))
return seen, budget().calls, len(texts("*.md")), [row.file for row in texts("tool*")], list(texts("none*"))
"""
    seen, calls, count, some, none = await result_of(client, code)
    assert seen == {name: len(text.replace("\u200b", "")) for name, text in sorted(FILES.items())}
    assert 1_000 - calls <= 6
    assert (count, some, none) == (4, ["tool.py"], [])


async def test_a_run_takes_in_no_more_text_than_it_may(settings: Settings, tmp_path: Path) -> None:
    copied = copy_store(settings.store, tmp_path / "store")
    limited = settings.model_copy(update={"store": copied, "script_text_mb": 1})
    code = """
taken, refused = {}, []
for name in ["long.md"] * 3 + ["guide.md"]:
    for kind in (text, lambda document: next(row.text for row in texts(document)), sections):
        try:
            kind(name)
            taken[name] = len(text(name).encode())
        except SDKError as error:
            refused.append(error.message)
return sum(taken.values()), len(refused), budget().text_bytes.left
"""
    async with open_application(limited, wait_for_model=False) as opened:
        await opened.ready()
        outcome = await opened.scripts.run(code)
    size = len(LONG.replace("\u200b", "").encode()) + len(GUIDE)
    assert (outcome.status, outcome.result) == ("ok", [size, 0, 1024 * 1024 - size]), outcome.error


async def test_pages_slides_sheets_and_chapters_are_read_by_their_numbers(placed: Application) -> None:
    for document in DOCUMENTS.values():
        bounds = pairwise([*(place.start for place in document.places), len(document.text)])
        for place, (start, end) in zip(document.places, bounds, strict=True):
            outcome = await placed.scripts.run(f"return page({document.uri!r}, {place.number})")
            assert (outcome.status, outcome.result) == ("ok", document.text[start:end]), outcome.error
    printed = await placed.scripts.run("return page('guide.pdf', 'p. 34') == page('guide.pdf', [46, 46])")
    assert printed.result is True


async def test_parts_of_files_with_pages_say_where_they_are(placed: Application) -> None:
    code = """
whole = text("guide.pdf")
rows = [read("guide.pdf", page=number, max_tokens=20000) for number in (45, 47)]
return [(row.text == whole[row.start:row.end], row.locator) for row in rows], len(whole)
"""
    outcome = await placed.scripts.run(code)
    assert outcome.result[0] == [[True, "p. 33 (file page 45)"], [True, "p. 35 (file page 47)"]], outcome.error


@pytest.mark.parametrize(
    ("asked", "reason"),
    [
        ({"documents": []}, "INVALID_REQUEST"),
        ({"documents": ["guide.md"] * 51}, "INVALID_REQUEST"),
        ({"documents": ["guide.md"], "start": 10**8}, "INVALID_REQUEST"),
        ({"documents": ["guide.md", "plain.md"], "start": 1}, "INVALID_REQUEST"),
        ({"documents": ["guide.md"], "page": 0}, "INVALID_REQUEST"),
        ({"documents": ["guide.md", "nothing.md"]}, "NOT_FOUND"),
    ],
)
async def test_bad_requests_for_texts_are_refused(
    application: Application, asked: dict[str, Any], reason: str
) -> None:
    kb = application.context("test", lambda *_: None).kb  # type: ignore[arg-type, return-value]
    with pytest.raises(WinnowError) as raised:
        await kb.call("kb.text", asked, kb.caller("test", SCRIPT))
    assert raised.value.reason == reason


async def test_only_scripts_have_these_operations(client: Client) -> None:
    names = {tool.name for tool in (await client.list_tools()).tools}
    assert names & {"kb_text", "kb_fields"} == set()
