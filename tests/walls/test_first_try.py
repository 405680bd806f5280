"""A script with one mistake gets an error with the place, the line, and what to write instead."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from winnow.client_sdk import MCPClient
from winnow.sandbox import Outcome, Reply
from winnow.sandbox.child.diagnosis.hints import SIGNATURES
from winnow.server.text.words.tokens import count_tokens

pytestmark = pytest.mark.walls

ROW = {
    "id": "guide#1",
    "title": "Retries",
    "score": 0.5,
    "section": "Policy",
    "type": "markdown",
    "file": "guide.md",
    "preview": "Retry three times.",
    "metadata": {"document_id": "d1", "tags": ["net"]},
}


async def answer(method: str, params: Mapping[str, Any]) -> Reply:
    """Two rows, whatever is asked."""
    return Reply({"mode": "preview", "count": 2, "results": [ROW, {**ROW, "id": "guide#2"}]}, rows=2, tokens=20)


async def count_async(text: str) -> int:
    return count_tokens(text)


def run(bench: Any, code: str) -> Outcome:
    outcome: Outcome = bench.run(code, call=answer, count_tokens=count_async)
    return outcome


def error_of(outcome: Outcome) -> tuple[str, int | None, str | None]:
    assert outcome.error is not None, outcome
    return outcome.error.type, outcome.error.line, outcome.error.source_line


def words(outcome: Outcome) -> str:
    assert outcome.error is not None, outcome
    return f"{outcome.error.message} {outcome.error.hint}"


# --- keywords --------------------------------------------------------------------------------------------------


GIVEN = {
    name: [one for one in signature.parameters.values() if len(one.name) > 4]
    for name, signature in SIGNATURES.items()
}
WRONG = [(name, one) for name, some in GIVEN.items() for one in some]


def _with_typo(name: str) -> str:
    return f"{name[:2]}{name[3]}{name[2]}{name[4:]}" if name[2] != name[3] else name[:2] + name[3:]


def _required_arguments(name: str) -> Iterator[str]:
    for one in SIGNATURES[name].parameters.values():
        if one.default is inspect.Parameter.empty:
            yield f"{one.name}='x'"


def test_there_is_a_wrong_keyword_for_every_function_that_takes_some() -> None:
    taking = {name for name, signature in SIGNATURES.items() if any(len(one) > 4 for one in signature.parameters)}
    assert {name for name, _ in WRONG} == taking
    assert len(WRONG) > 100


@pytest.mark.parametrize("owner", ["", "client."])
def test_a_misspelt_keyword_of_any_function_names_the_right_one(bench: Any, owner: str) -> None:
    """With the line, and before anything is asked: on the functions themselves, and on a client of MCP's shape."""
    wrong = []
    for name, parameter in WRONG:
        if owner and not hasattr(MCPClient, name.partition(".")[0]):
            continue
        rest = [one for one in _required_arguments(name) if not one.startswith(f"{parameter.name}=")]
        line = f"rows = {owner}{name}({', '.join([*rest, f'{_with_typo(parameter.name)}=1'])})"
        outcome = run(bench, f"client = MCPClient()\n{line}")
        if error_of(outcome) != ("TypeError", 2, line) or repr(parameter.name) not in words(outcome):
            wrong.append((line, outcome.error))
    assert wrong == []


# --- fields ----------------------------------------------------------------------------------------------------

FIELDS = {
    "an attribute": "print(rows[0].tittle)",
    "an item": "print(rows[0]['tittle'])",
    "get": "print(rows[0].get('tittle'))",
    "get with a default": "print([row.get('scroe', 0) for row in rows])",
    "a formatted string": "print(f'{rows[0].tittle}: {rows[0].score}')",
    "a list made of rows": "print([row.tittle for row in rows])",
    "a dict made of rows": "print({row.tittle: row.id for row in rows})",
    "a generator of rows": "print(sum(row.scroe for row in rows))",
    "a nested loop": "print([row.fiel for page in search_many(['aa', 'bb']) for row in page])",
    "the key of sorted": "print(sorted(rows, key=lambda row: row.scroe))",
    "the key of max": "print(max(rows, key=lambda row: row['scroe']))",
    "a filter": "print(list(filter(lambda row: row.typ == 'code', rows)))",
    "getattr": "print(getattr(rows[0], 'tittle'))",
    "unpacked": "best, *rest = rows; print(best.tittle)",
    "within metadata": "print(rows[0].metadata.tgas)",
    "of a page": "print(rows.next_curser)",
    "a predicate": "print(filter_rows(rows, lambda row: row.scroe > 0.5))",
    "filter_rows": "print(filter_rows(rows, metadata={'typ': 'code'}))",
    "group_by": "print(group_by(rows, 'fiel'))",
    "group_by two": "print(group_by(rows, ['type', 'fiel']))",
    "dedupe": "print(dedupe(rows, by='tittle'))",
    "summarize": "print(summarize(rows, fields=['id', 'tittle']))",
    "format_for_agent": "print(format_for_agent(rows, fields=['tittle', 'score']))",
}
MEANT = {
    "tittle": "title",
    "scroe": "score",
    "fiel": "file",
    "typ": "type",
    "tgas": "tags",
    "next_curser": "next_cursor",
}


@pytest.mark.parametrize("where", FIELDS)
def test_a_misspelt_field_is_told_wherever_it_stands(bench: Any, where: str) -> None:
    outcome = run(bench, f"rows = semantic_search('retry')\n{FIELDS[where]}")
    assert error_of(outcome) == ("MissingField", 2, FIELDS[where])
    meant = [right for wrong, right in MEANT.items() if f"'{wrong}'" in words(outcome)]
    assert [f"did you mean {right!r}" in words(outcome) for right in meant] == [True]


FINE = {
    "get of what only some rows have": "[row.get('vendor', '') for row in rows]",
    "get of a field of the script's own": "row = rows[0]\nrow['titel'] = 1\nrow.get('titel')",
    "get of a dict": "{'titel': 1}.get('titel')",
    "grouped by what no row has here": "list(group_by(rows, 'vendor'))",
    "fields that a row may lack": "summarize(rows, fields=['title', 'quote', 'colour'])",
    "no rows at all": "group_by([], 'fiel')",
}


@pytest.mark.parametrize("what", FINE)
def test_what_may_be_meant_as_it_stands_is_left_alone(bench: Any, what: str) -> None:
    assert run(bench, f"rows = semantic_search('retry')\n{FINE[what]}").status == "ok"


# --- await -----------------------------------------------------------------------------------------------------

# An SDK call answers at once: forgetting to await one loses nothing.
UNAWAITED_CALLS = {
    "assigned": "rows = client.semantic_search('retry')\nreturn [row.title for row in rows]",
    "looped over": "return [row.title for row in client.kb.search('retry')]",
    "returned": "return summarize(client.semantic_search('retry'), fields='title')",
    "by name": "return [row.title for row in client.call_tool('semantic_search', {'query': 'retry'})]",
    "within a client": "async with client as one:\n    return [row.title for row in one.search('retry')]",
}


@pytest.mark.parametrize("how", UNAWAITED_CALLS)
def test_a_call_of_a_client_answers_without_await_as_with_it(bench: Any, how: str) -> None:
    outcome = run(bench, f"client = MCPClient()\n{UNAWAITED_CALLS[how]}")
    assert [one if isinstance(one, str) else one["title"] for one in outcome.result] == ["Retries"] * 2


UNAWAITED = {
    "assigned": ("rows = find('retry')\nreturn rows[0].title", 5, "return rows[0].title"),
    "looped over": ("for row in find('retry'):\n    print(row)", 4, "for row in find('retry'):"),
    "returned": ("return find('retry')", 4, "return find('retry')"),
    "printed": ("print(find('retry'))", 4, "print(find('retry'))"),
    "alone": ("find('retry')", 4, "find('retry')"),
    "in a dict": ("return {'rows': find('retry')}", 4, "return {'rows': find('retry')}"),
    "in a list": ("return [find(q) for q in ('a', 'b')]", 4, "return [find(q) for q in ('a', 'b')]"),
    "counted": ("return len(find('retry'))", 4, "return len(find('retry'))"),
    "gathered": (
        "async def main():\n    pages = asyncio.gather(find('a'), find('b'))\n    return pages[0]\n"
        "return await main()",
        6,
        "    return pages[0]",
    ),
}


@pytest.mark.parametrize("how", UNAWAITED)
def test_a_function_of_the_scripts_own_that_is_not_awaited_is_named(bench: Any, how: str) -> None:
    lines, line, source = UNAWAITED[how]
    outcome = run(bench, f"import asyncio\nasync def find(query):\n    return semantic_search(query)\n{lines}")
    assert error_of(outcome)[1:] == (line, source)
    assert "await" in words(outcome)
    assert ("find()" if how != "gathered" else "gather()") in words(outcome)


# --- without bounds --------------------------------------------------------------------------------------------

UNBOUNDED = {
    "rows": ("return semantic_search('retry') * 300", "for row in result["),
    "a named result": ("result = [row.to_dict() for row in semantic_search('retry') * 300]", "for row in result["),
    "the last expression": ("rows = semantic_search('retry') * 300\nrows", "for row in result["),
    "texts": ("return ['x' * 1000 for _ in range(100)]", "result[:26]"),
    "a dict of rows": ("return {'n': 600, 'rows': semantic_search('retry') * 300}", "row in result['rows']["),
    "a dict by name": ("return {str(n): 'x' * 900 for n in range(100)}", "dict(list(result.items())[:28])"),
    "deep": ("return {'a': {'b': ['word ' * 200] * 100}}", "result['a']['b'][:26]"),
    "a text": ("return 'x y ' * 30_000", "result[:26_214]"),
    "many tokens": ("return '≠' * 10_500", "result[:"),
    "numbers": ("return list(range(60_000))", "result[:4508]"),
}


@pytest.mark.parametrize("what", UNBOUNDED)
def test_a_result_without_bounds_is_told_with_its_size_and_a_smaller_form(bench: Any, what: str) -> None:
    code, form = UNBOUNDED[what]
    outcome = run(bench, code)
    assert outcome.error is not None
    assert (outcome.status, outcome.error.type) == ("limit", "ResultTooLarge")
    assert "the limit is" in outcome.error.message
    assert "largest: result" in outcome.error.message
    assert form in (outcome.error.hint or "")
    assert len(words(outcome)) < 700


PRINTED = {
    "at once": "print('x y ' * 30_000)",
    "line by line": "for n in range(30_000):\n    print('row', n)",
    "as JSON": "import json\nprint(json.dumps([row.to_dict() for row in semantic_search('retry') * 300]))",
    "row by row": "for row in semantic_search('retry') * 900:\n    print(row)",
    "with a pretty printer": "from pprint import pprint\npprint(semantic_search('retry') * 900)",
}


@pytest.mark.parametrize("how", PRINTED)
def test_printing_without_bounds_says_how_much_was_cut(bench: Any, how: str) -> None:
    outcome = run(bench, PRINTED[how])
    first, _, rest = outcome.stdout.partition("\n")
    assert (first.startswith("[... "), "bytes of output cut here" in first) == (True, True)
    assert len(rest.encode()) <= 8 * 1024
