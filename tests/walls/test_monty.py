"""The smaller language: its walls, the same answers as other runners, and the exact list of gaps."""

# ruff: noqa: E501 - scripts are quoted the way they are written

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.patience import LIMIT, until
from winnow import client_sdk
from winnow.client_sdk import claim_calls, graph_calls, kb_calls, transport
from winnow.sandbox import CallError, Limits, Outcome, Reply, Sandbox, SandboxUnavailable, probe
from winnow.sandbox.child import monty_sdk
from winnow.sandbox.child.language.allow_list import ALLOWED
from winnow.sandbox.runners import monty

ROOT = Path(__file__).parents[2]
MIB = 1024 * 1024

pytestmark = [
    pytest.mark.walls,
    pytest.mark.skipif(monty.installed_version() is None, reason=f"the interpreter is missing: {monty.INSTALL}"),
]

ROW = {
    "id": "guide#1",
    "title": "Retries",
    "score": 0.5,
    "preview": "Retry three times.",
    "metadata": {"tag": "x", "file": "guide.md"},
}
WHOLE = [
    {**ROW, "content": "retries: 3, then retries: 5 and retries: 3", "section": "Retries > Limits"},
    {**ROW, "id": "guide#2", "content": "none", "section": "Retries"},
]
QUOTE = {"quote": "Three times.", "passage_id": "p1", "section_id": "s1", "title": "Retries"}
GUIDE = """# Guide

| Name | Since |
|---|---|
| gäte *width* | v1 |

- In a list:

  ```sh
  run [no](link)
  ```

See [thé list][l] and <https://a.b>.

[l]: list.md
"""
EXCERPT = {
    "passage_id": "p1",
    "excerpt": "",
    "truncated": False,
    "citation": {"section_id": "s1", "title": "Retries"},
}


LISTED = {"id": "d1", "document_id": "d1", "file": "guide.md", "tokens": 3}
PIECE = {
    "document_id": "d1",
    "file": "guide.md",
    "title": "Guide",
    "type": "markdown",
    "text": GUIDE,
    "next": None,
    "total_chars": len(GUIDE),
    "body_start": 0,
    "places": [[0, 1, "p. 1"]],
}
SAVED: dict[str, str] = {}
KEPT = {"rows": [ROW], "row": ROW, "text": "told", "numbers": [1, 2]}


async def answer(method: str, params: Mapping[str, Any]) -> Reply:
    if params.get("query") == "refused":
        raise CallError("INVALID_ARGUMENT", "no such project", hint="leave scope out")
    if method == "find_vendor_info":
        return Reply({"entities": [{"id": "e1", "title": json.dumps(dict(params))}], "next_cursor": None}, rows=1)
    if method.startswith("graph."):
        row = {"id": "n1", "title": json.dumps([method, dict(params)]), "section_ids": ["s1"]}
        return Reply({"results": [row], "graph": {"labels": {"Chunk": 2}}, "next_cursor": None}, rows=1)
    if method.startswith("claims."):
        asked = {
            "entry_id": "e1",
            "topic": json.dumps([method, dict(params)]),
            "claims": [{"n": 1, "text": "So."}],
        }
        name = {"claims.claims": "entries", "claims.topics": "topics", "claims.recent": "changes"}.get(
            method, "results"
        )
        return Reply(asked if method in ("claims.read", "claims.status") else {name: [asked]}, rows=1)
    if "evidence" in method:
        return Reply({"quotes": [QUOTE], "next_cursor": None}, rows=1, tokens=10)
    if "excerpt" in method:
        return Reply({**EXCERPT, "excerpt": json.dumps([method, dict(params)])}, rows=1, tokens=10)
    if method == "kb.documents":
        if "cursor" in params:
            raise CallError("TIMEOUT", "the second page is not to be had")
        return Reply({"results": [LISTED], "next_cursor": "second"}, rows=1)
    if method == "kb.text":
        return Reply({"results": [PIECE]}, rows=1)
    if method == "rerank":
        return Reply({"results": [{"id": params["ids"][0], "rerank_score": 1.0}]}, rows=1)
    if method == "kb.cite":
        return Reply({"style": "apa", "citations": [json.dumps(dict(params))], "citekeys": ["ohm1827"]})
    if method == "read_result":
        return Reply({"text": json.dumps(KEPT[params["execution_id"]])})
    if method == "save":
        SAVED[params["name"]] = (SAVED.get(params["name"], "") if params["start"] else "") + params["text"]
        return Reply({"saved": params["name"]})
    if method == "load":
        text = SAVED.get(params["name"])
        return Reply({"text": text or "", "version": 1 if text is not None else None, "next": None})
    if method == "saved":
        return Reply({"sizes": {name: len(text) for name, text in SAVED.items()}})
    if method == "tokens":
        return Reply({"counts": [len(text.split()) for text in params["texts"]]})
    if params.get("response_mode") == "full":
        return Reply({"mode": "full", "count": 2, "results": WHOLE}, rows=2, tokens=20)
    return Reply({"mode": "preview", "count": 1, "results": [ROW]}, rows=1, tokens=10)


class Bench:
    """A sandbox that tests use without await."""

    def __init__(self, **options: Any) -> None:
        self._loop = asyncio.Runner()
        self.sandbox = Sandbox(runner="monty", **options)
        self._loop.run(self.sandbox.start())

    def run(self, code: str, **options: Any) -> Outcome:
        return self._loop.run(self.sandbox.run(code, call=answer, **options))

    def wait(self, work: Any) -> Any:
        return self._loop.run(work)

    def close(self) -> None:
        self._loop.run(self.sandbox.close())
        self._loop.close()


@pytest.fixture(scope="module")
def small() -> Iterator[Bench]:
    bench = Bench(limits=Limits(wall_seconds=8.0, memory_bytes=128 * MIB), workers=2, spares=2)
    yield bench
    bench.close()


# --- what holds ------------------------------------------------------------------------------------------------


@pytest.mark.skipif(sys.platform != "linux", reason="its limits are Linux's")
def test_every_wall_it_claims_is_tried_and_stands_here(small: Bench) -> None:
    assert [wall.name for wall in small.sandbox.walls] == [claim.name for claim in monty.CLAIMS]
    assert [wall for wall in small.sandbox.walls if not wall.stands] == []


def test_an_outcome_names_the_walls_of_this_runner(small: Bench) -> None:
    assert small.run("1").walls.stood == tuple(claim.name for claim in monty.CLAIMS)


ATTEMPTS = {
    "a file": ("open('/etc/passwd').read()", "PermissionError"),
    "a folder": ("import os\nos.listdir('/')", "PermissionError"),
    "the environment": ("import os\nos.getenv('PATH')", "RuntimeError"),
    "a path": ("from pathlib import Path\nPath('/etc/passwd').read_text()", "PermissionError"),
    "a socket": ("import socket", "ModuleNotFoundError"),
    "a process": ("import subprocess", "ModuleNotFoundError"),
    "native code": ("import ctypes", "ModuleNotFoundError"),
    "the class graph": ("().__class__.__base__.__subclasses__()", "AttributeError"),
    "the host's objects": ("kb.search.__globals__", "AttributeError"),
    "the host's function": ("_ask.__self__", "AttributeError"),
}


@pytest.mark.parametrize("wanted", ATTEMPTS)
def test_a_script_that_wants_what_the_language_has_not_gets_an_error(small: Bench, wanted: str) -> None:
    code, kind = ATTEMPTS[wanted]
    outcome = small.run(code)
    assert (outcome.status == "error", outcome.error.type if outcome.error else None) == (
        True,
        kind or "PermissionError",
    )


def test_a_script_sees_nothing_of_the_script_before_it(small: Bench) -> None:
    assert small.run("left = 1\nleft").result == 1
    assert small.run("left").error.type == "NameError"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("code", "status", "kind"),
    [
        ("1 / 0", "error", "ZeroDivisionError"),
        ("def", "rejected", "SyntaxError"),
        ("class A(Exception): pass", "rejected", "CodeRejected"),
        ("'a' * 10**10", "memory", "MemoryLimit"),
        ("x = []\nwhile True: x.append('a' * 1_000_000)", "memory", "MemoryLimit"),
        ("while True: print('x' * 1000)", "limit", "OutputLimit"),
        ("while True:\n    try:\n        print('x' * 1000)\n    except BaseException:\n        pass", "limit", "OutputLimit"),
        ("return 'x' * 40_000", "limit", "ResultTooLarge"),
        ("return float('nan')", "error", "ResultNotData"),
        ("return 2 ** 5000", "error", "ResultNotData"),
        ("def f(): return f()\nf()", "error", "RecursionError"),
        ("for _ in range(1_200): kb.search('q')", "limit", "CallLimit"),
        ("kb.search({1: object})", "error", "ValueError"),
        ("kb.search('q' * 100_000)", "error", "ValueError"),
        ("kb.search('refused')", "error", "INVALID_ARGUMENT"),
    ],
)  # fmt: skip
def test_every_ending_has_its_status_and_type(small: Bench, code: str, status: str, kind: str) -> None:
    outcome = small.run(code)
    assert (outcome.status, outcome.error.type if outcome.error else None) == (status, kind), outcome
    assert small.run("1 + 1").result == 2


def test_a_result_that_is_far_too_large_is_told_with_its_size_in_numbers(small: Bench) -> None:
    error = small.run("return ['word'] * 20_000").error
    assert error is not None
    assert (error.type, error.size, error.max) == ("ResultTooLarge", 7 * 20_000 + 1, 32 * 1024)


@pytest.mark.parametrize("code", ["while True: pass", "import time\ntime.sleep(3600)", "sum(range(10**12))"])
def test_the_wall_clock_ends_everything(small: Bench, code: str) -> None:
    started = time.monotonic()
    outcome = small.run("print('before')\n" + code, limits=Limits(wall_seconds=1.5, memory_bytes=128 * MIB))
    assert (outcome.status, outcome.stdout) == ("timeout", "before\n")
    assert 1.5 <= time.monotonic() - started < LIMIT


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process that runs already")
def test_the_cpu_limit_ends_a_loop() -> None:
    bench = Bench(limits=Limits(cpu_seconds=1, wall_seconds=30.0), spares=0)
    try:
        outcome = bench.run("while True: pass")
    finally:
        bench.close()
    assert (outcome.status, "of CPU" in outcome.error.message if outcome.error else "") == ("timeout", True), (
        outcome
    )


def test_a_script_calls_the_same_host_and_is_metered_the_same_way(small: Bench) -> None:
    code = """
row = kb.search("retries", top_k=3)[0]
again = fetch([row, "other"], level="preview")
more = semantic_search("x", filter_ids=[row])
return [row.title, row["id"], row.metadata.file, row.file, row.get("none", 1), "score" in row, len(again), len(more)]
"""
    outcome = small.run(code)
    assert outcome.result == ["Retries", "guide#1", "guide.md", "guide.md", 1, True, 1, 1]
    assert (outcome.usage.sdk_calls, outcome.usage.rows) == (3, 3)


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("[[q.quote, q.text, q.id, q['passage_id']] for q in kb.retrieve_evidence('q', max_quotes=2)]",
         [["Three times.", "Three times.", "s1", "p1"]]),
        ("[q.title for q in kb.extract_evidence('q', kb.retrieve_evidence('q'))]", ["Retries"]),
        ("[q.title for q in kb.extract_evidence('q', kb.retrieve_evidence('q')[0])]", ["Retries"]),
        ("e = kb.read_excerpt('p')\n[e.title, e.citation.title, e.id, e.truncated, e.text == e.excerpt]",
         ["Retries", "Retries", "s1", False, True]),
        ("import json\njson.loads(kb.read_excerpt(kb.search('q', max_per_doc=2)[0], format='bullets').excerpt)",
         ["kb.read_excerpt",
          {"passage_id": "guide#1", "max_tokens": 300, "start_char": 0, "options": {"format": "bullets"}}]),
        ("import json\njson.loads(kb.expand_excerpt(kb.retrieve_evidence('q')[0], 10).excerpt)",
         ["kb.expand_excerpt", {"passage_id": "p1", "before_tokens": 10, "after_tokens": 150}]),
        ("[kb.fetch('a')[0].title, kb.semantic_search('a')[0].title, len(kb.search_many(['a', 'b']))]",
         ["Retries", "Retries", 2]),
    ],
)  # fmt: skip
def test_the_ladder_answers_as_in_the_larger_language(small: Bench, code: str, result: Any) -> None:
    outcome = small.run(code)
    assert (outcome.status, outcome.result) == ("ok", result), outcome.error


@pytest.mark.parametrize(
    ("code", "result"),
    [
        (r"[[r.match, r.matches, r.id, r.section] for r in grep('q', r'retries: (\d)')]",
         [["3", ["3", "5"], "guide#1", "Retries > Limits"]]),
        (r"[r.matches for r in kb.grep('q', '(?i)r(e)(t)')]", [[["e", "t"]], [["e", "t"]]]),
        (r"[r.match for r in grep('q', 'Limits')]", ["Limits"]),
        (r"[list(grep('q', 'no such thing')), list(grep('q', 'z*'))]", [[], []]),
        ("import re\n[r.match for r in grep('q', re.compile('no..'))]", ["none"]),
        ("[sorted(grep('q', 'none')[0])]",
         [["document_id", "file", "id", "match", "matches", "score", "section", "title", "type"]]),
    ],
)  # fmt: skip
def test_a_regular_expression_takes_from_a_search_what_it_matches(small: Bench, code: str, result: Any) -> None:
    outcome = small.run(code)
    assert (outcome.status, outcome.result) == ("ok", result), outcome.error


@pytest.mark.parametrize(
    ("code", "params"),
    [
        ("graph.expand('Pod', 2, types='MENTIONS')", {
            "ids": ["Pod"], "hops": 2, "direction": "both", "types": ["MENTIONS"], "include_snippet": False,
            "page_size": 25}),
        ("graph.paths(kb.search('a'), 'b')", {"from_ids": ["guide#1"], "to_ids": ["b"], "max_hops": 3, "limit": 10}),
        ("graph.children(graph.expand('Pod')[0])", {
            "ids": ["n1"], "hops": 1, "include_snippet": False, "page_size": 25}),
        ("graph.entities_for_sections(kb.retrieve_evidence('q'))", {"section_ids": ["s1"], "page_size": 25}),
    ],
)  # fmt: skip
def test_a_walk_asks_as_in_the_larger_language(small: Bench, code: str, params: dict[str, Any]) -> None:
    outcome = small.run(f"import json\njson.loads(({code})[0].title)[1]")
    assert (outcome.status, outcome.result) == ("ok", params), outcome.error


@pytest.mark.parametrize(
    ("code", "params"),
    [
        ("claims.search('q', top_k=2)[0]", {
            "query": "q", "mode": "hybrid", "top_k": 2, "min_similarity": 0.3, "max_claims": 5}),
        ("claims.related(claims.topics()[0])[0]", {"entry_id": "e1", "direction": "all", "max_results": 10}),
        ("claims.claims(claims.recent())[0]", {"entry_ids": ["e1"]}),
        ("claims.read(claims.friction()[0], 7)", {"entry_id": "e1", "start_char": 7}),
        ("claims.status(project='p')", {"project": "p"}),
    ],
)  # fmt: skip
def test_a_notebook_is_read_as_in_the_larger_language(small: Bench, code: str, params: dict[str, Any]) -> None:
    outcome = small.run(f"import json\nrow = {code}\n[json.loads(row.topic)[1], row.id, row.claims[0]['text']]")
    assert (outcome.status, outcome.result) == ("ok", [params, "e1", "So."]), outcome.error


def test_a_graph_is_counted_and_a_vendor_told_as_in_the_larger_language(small: Bench) -> None:
    outcome = small.run(
        "[graph.describe()['graph']['labels'], find_vendor_info('acme', entity_types='tag')[0].id]"
    )
    assert (outcome.status, outcome.result) == ("ok", [{"Chunk": 2}, "e1"]), outcome.error


def test_weights_order_counts_and_budget_are_there_in_the_smaller_language(small: Bench) -> None:
    outcome = small.run(
        "best = rerank('q', kb.search('a'))[0]\nprogress('half way')\n"
        "[best.rerank_score, best.title, tokens('a b'), budget().calls, hybrid_search('x', 1, 0)[0].id,"
        " len(fetch('a', max_tokens=5))]"
    )
    assert (outcome.status, outcome.result) == ("ok", [1.0, "Retries", 2, 997, "guide#1", 1]), outcome.error


SOME = [
    {"id": "a", "title": "Retries", "score": 0.9, "file": "guide/retries.md", "type": "markdown", "tags": ["net"],
     "preview": "Retry three times, then give up.", "section": "Policy"},
    {"id": "b", "title": "Retries", "score": 0.4, "file": "src/retry.py", "type": "code", "vendor": "acme",
     "content": "def retry():  pass " * 40},
    {"id": "c", "title": "Old | new", "file": "guide/old.md", "type": "markdown", "quote": "retry three  times THEN, give up"},
    {"id": "a", "title": "Retries", "score": 0.9, "file": "guide/retries.md", "preview": "Retry three times, then give up."},
]  # fmt: skip
SHAPED = (
    "filter_rows(rows, min_score=0.5)",
    "filter_rows(rows, lambda row: 'Re' in row.title, language='python')",
    "filter_rows(rows, include='^guide/', exclude=['old', 'draft'])",
    "filter_rows(rows, metadata={'type': 'code'}, domain='net', match='any')",
    "filter_by_domain(rows, ['acme', 'guide'])",
    "filter_by_score(rows, 0.1, 0.5)",
    "dedupe(rows)",
    "dedupe((row for row in rows), by='text')",
    "dedupe(rows, by=['title', 'type'])",
    "dedupe(rows, by=lambda row: row.title)",
    "group_by(rows, 'type')",
    "group_by(rows, ['title', 'type'])",
    "group_by(rows, lambda row: row.get('vendor'))",
    "summarize(rows, max_content_length=20)",
    "summarize(rows, fields=['title', 'text'])",
    "quotes(rows)",
    "quotes(rows, max_chars=12)",
    "[cite(row) for row in rows]",
    "cite(rows, style='apa').citations",
    "cite(rows, scope={'project_id': 'p'}).to_dict()",
    "cite(rows[0], style='bibtex').citekeys",
    "cite('ohm.pdf', 'apa').citations",
    "cite([]).to_dict()",
    "format_for_agent(rows)",
    "format_for_agent(rows, style='table', max_tokens=60)",
    "format_for_agent(rows, style='json')",
)


def _on_the_sdk(code: str) -> Any:
    transport.connect(lambda method, params, each=(): {"ok": asyncio.run(answer(method, params)).value})
    names = {name: getattr(client_sdk, name) for name in client_sdk.__all__}
    return eval(code, {**names, "rows": [client_sdk.Row(fields) for fields in SOME]})


def test_rows_are_arranged_as_in_the_larger_language(small: Bench) -> None:
    code = f"Row, given = type(kb.search('q')[0]), {SOME!r}\nrows = [Row(one) for one in given]\n[{', '.join(SHAPED)}]"
    outcome = small.run(code)
    assert outcome.status == "ok", outcome.error
    expected = [json.loads(json.dumps(_on_the_sdk(one), default=dict)) for one in SHAPED]
    assert dict(zip(SHAPED, outcome.result, strict=True)) == dict(zip(SHAPED, expected, strict=True))


def test_a_scripts_own_names_do_not_get_in_the_way_of_the_functions(small: Bench) -> None:
    """Names that the source of those functions uses as well, and the functions' own names."""
    code = (
        "rows = kb.search('q')\njson = re = counts = Row = Rows = Text = Groups = Mapping = None\n"
        "filter_rows = dedupe = None\n[len(filter_by_score(rows, 0.1)), len(quotes(rows)), format_for_agent(rows)]"
    )
    outcome = small.run(code)
    assert (outcome.status, outcome.result[:2]) == ("ok", [1, 1]), outcome.error
    assert "Retries" in outcome.result[2]


def test_whole_documents_and_their_parts_are_those_of_whole_python(small: Bench) -> None:
    """The scanner is the same source: here it runs in the other language."""
    code = """
whole = text("guide.md")
parts = sections("guide.md") + code_blocks("guide.md") + tables("guide.md") + links("guide.md")
found = row("gäte width", "guide.md", "since")
[[whole[part.start:part.end] for part in parts], code_blocks("guide.md")[0].code, tables("guide.md")[0].rows,
 [link.target for link in kb.links("guide.md")], [found.value, found.page, found.others], parts[0].locator]
"""
    outcome = small.run(code)
    assert outcome.status == "ok", outcome.error
    spans, block, rows, targets, found, locator = outcome.result
    table = GUIDE[GUIDE.index("| Name") : GUIDE.index("\n\n- In")]
    fence = GUIDE[GUIDE.index("```sh") : GUIDE.index("\n\nSee")]
    assert spans == [GUIDE, fence, table, "[thé list][l]", "<https://a.b>"]
    assert (block, rows, targets) == ("run [no](link)\n", [["gäte *width*", "v1"]], ["list.md", "https://a.b"])
    assert (found, locator) == (["v1", 1, []], "p. 1")


@pytest.mark.parametrize("kept", KEPT)
def test_a_large_result_of_an_earlier_script_is_read(small: Bench, kept: str) -> None:
    assert small.run(f"read_result({kept!r})").result == KEPT[kept]


def test_saved_values_come_back_as_in_whole_python(small: Bench) -> None:
    code = """
save("rows", kb.search("retries"))
save("text", "é" * 40_000)
rows = load("rows")
[rows[0].title, len(load("text")), load("none", 7), sorted(saved())]
"""
    assert small.run(code).result == ["Retries", 40_000, 7, ["rows", "text"]]
    assert json.loads(SAVED["rows"]) == [ROW]
    assert "nested deeper than 64" in small.run("x = []\nx.append(x)\nsave('x', x)").error.message


def test_rows_of_an_earlier_result_are_rows(small: Bench) -> None:
    assert small.run("[read_result('rows')[0].title, read_result('row').to_dict()]").result == ["Retries", ROW]


@pytest.mark.parametrize(
    "call",
    [
        *(
            f"kb.{name}"
            for name in ("search", "search_many", "grep", "fetch", "semantic_search", *kb_calls.FUNCTIONS)
        ),
        *(f"graph.{name}" for name in graph_calls.FUNCTIONS),
        *(f"claims.{name}" for name in claim_calls.FUNCTIONS),
        "find_vendor_info",
        "grep",
        "hybrid_search",
        "rerank",
        "budget",
        "tokens",
        "progress",
        "read_result",
        "save",
        "load",
        "saved",
        "cite",
        "texts",
        *monty_sdk.SHARED,
    ],
)
def test_every_call_of_the_sdk_is_there(small: Bench, call: str) -> None:
    """A missing name raises AttributeError; an existing one complains about its arguments."""
    error = small.run(f"{call}(nothing_of_this_name=1)").error
    assert error is not None
    assert (error.type, "nothing_of_this_name" in error.message) == ("TypeError", True), error


@pytest.mark.parametrize(
    "header", ["", "from winnow import kb\n", "import winnow\nkb = winnow.kb\n", "from client_sdk import kb\n"]
)
def test_the_sdk_is_there_with_and_without_an_import(small: Bench, header: str) -> None:
    assert small.run(f"{header}kb.search('a')[0].id").result == "guide#1"


@pytest.mark.parametrize(
    ("code", "result"),
    [
        ("return 1", 1),
        ("__result__ = 2\nx = 3", 2),
        ("result = 3\nprint('x')", 3),
        ("4", 4),
        ("print('printed')", "printed\n"),
        ("return (1, {2, 1}, None)", [1, [1, 2], None]),
        ("return kb.search('q')", [ROW]),
        ("return {'rows': kb.search('q')}", {"rows": [ROW]}),
        ("import datetime\nreturn datetime.date(2026, 1, 2)", "2026-01-02"),
        ("from dataclasses import dataclass\n@dataclass\nclass P:\n    x: int\nreturn [P(1)]", [{"x": 1}]),
    ],
)
def test_the_result_is_what_is_returned_or_named_or_stands_last_or_was_printed(
    small: Bench, code: str, result: Any
) -> None:
    outcome = small.run(code)
    assert (outcome.status, outcome.result) == ("ok", result), outcome


@pytest.mark.parametrize(
    ("code", "line", "column", "hint"),
    [
        ("x = 1\n1 / 0", 2, 1, None),
        ("x = 1\ny = kb.search('q')[0].tittle", 2, 5, "row.keys()"),
        ("def f():\n    yield 1", 2, 5, "list"),
        ("x = 1\nawait kb.search('q')", 2, 1, "without await"),
        ("open('x')", 1, 1, "fetch("),
        ("x = 1\nimport numpy", 2, 1, "winnow doctor"),
        ("from skills import timeline", 1, 1, "write the function into the script"),
        ("x = kb.search('refused')", 1, 5, "leave scope out"),
        ("x = 1\nkb.evidence('q')", 2, 1, "retrieve_evidence"),
        ("x = 1\ngraph.neighbors('q')", 2, 1, "expand"),
    ],
)
def test_an_error_names_the_agents_own_line_and_what_to_write_instead(
    small: Bench, code: str, line: int, column: int, hint: str | None
) -> None:
    error = small.run(code).error
    assert error is not None
    assert (error.line, error.column, error.source_line) == (line, column, code.splitlines()[line - 1])
    assert hint is None or hint in (error.hint or "")


_RUNS_MANY = """
import asyncio, os, sys
sys.path.insert(0, {root!r})
from winnow.sandbox import Limits, Sandbox
async def main():
    async with Sandbox(runner="monty", limits=Limits(wall_seconds=0.5)) as sandbox:
        await sandbox.run("1")
        await asyncio.sleep(1.0)
        before = len(os.listdir("/proc/self/fd"))
        for number in range(6):
            await sandbox.run("while True: pass" if number % 3 == 0 else "1 + 1")
        await asyncio.sleep(1.0)
        print(len(os.listdir("/proc/self/fd")) - before)
    print(open(f"/proc/self/task/{{os.getpid()}}/children").read().split())
asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_nothing_is_left_behind_after_many_scripts() -> None:
    command = [sys.executable, "-c", _RUNS_MANY.format(root=str(ROOT))]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert (done.stdout, done.stderr) == ("0\n[]\n", "")


_STARTS_AND_WAITS = """
import asyncio, sys
sys.path.insert(0, {root!r})
from winnow.sandbox import Sandbox
async def main():
    sandbox = Sandbox(runner="monty", spares=0)
    await sandbox.start()
    asyncio.ensure_future(sandbox.run("while True: pass"))
    await asyncio.sleep(1.0)
    print("ready", flush=True)
    await asyncio.sleep(60)
asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks at /proc")
def test_nothing_outlives_a_server_that_is_killed() -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", _STARTS_AND_WAITS.format(root=str(ROOT))], stdout=subprocess.PIPE, text=True
    )
    assert server.stdout is not None
    assert server.stdout.readline() == "ready\n"
    family = _descendants(server.pid)
    os.kill(server.pid, signal.SIGKILL)
    server.wait()
    server.stdout.close()
    until(lambda: not any(_alive(pid) for pid in family))
    assert len(family) >= 2
    assert [pid for pid in family if _alive(pid)] == []


def _descendants(pid: int) -> list[int]:
    direct = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    return [*direct, *(grandchild for child in direct for grandchild in _descendants(child))]


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_it_is_never_chosen_unasked_and_the_probe_tells_its_walls() -> None:
    assert {wall.name for wall in asyncio.run(probe("monty"))} == {claim.name for claim in monty.CLAIMS}
    assert "interpreter_files" not in {wall.name for wall in asyncio.run(probe())}


def test_the_command_runs_a_script_in_it_over_a_real_index(store: Path) -> None:
    command = [Path(sys.executable).with_name("winnow"), "exec", "-", "--sandbox", "monty", "--json"]
    code = "row = kb.search('when are invoices sent')[0]\nreturn {'title': row.title, 'file': row.file[-10:]}"
    done = subprocess.run(
        [*command, "--store", store, "--project", "handbook"],
        input=code,
        capture_output=True,
        text=True,
        check=False,
    )
    told = json.loads(done.stdout)
    assert (told["status"], told["result"]) == (
        "ok",
        {"title": "Billing handbook > Billing", "file": "billing.md"},
    ), done.stderr
    assert (told["usage"]["sdk_calls"], "interpreter_files" in told["walls"]["stood"]) == (1, True)


def test_where_it_is_not_installed_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(monty, "_find_binary", lambda: None)
    with pytest.raises(SandboxUnavailable, match="winnow-mcp\\[monty\\]"):
        asyncio.run(Sandbox(runner="monty").start())


# --- what it lacks ---------------------------------------------------------------------------------------------

# Each runs on CPython; a name of `monty.GAPS` holds several scripts, of which none runs there.
GAPS = {
    "classes with bases, super()": (
        "class A: x = 1\nclass B(A): pass\nprint(B().x)",
        "class A:\n    def f(self): return 1\nclass B(A):\n    def f(self): return super().f()\nprint(B().f())",
    ),
    "exceptions of your own": ("class E(Exception): pass\ntry: raise E('x')\nexcept E as e: print(e)",),
    "enumerations, NamedTuple, TypedDict": (
        "from enum import Enum\nclass C(Enum):\n    A = 1\nprint(C.A)",
        "from typing import NamedTuple\nclass P(NamedTuple):\n    x: int\nprint(P(1))",
        "from typing import TypedDict\nclass P(TypedDict):\n    x: int\nprint(P(x=1))",
    ),
    "properties, class methods, static methods": (
        "class A:\n    @property\n    def x(self): return 1\nprint(A().x)",
        "class A:\n    @classmethod\n    def make(cls): return cls()\nprint(A.make() is None)",
        "class A:\n    @staticmethod\n    def n(): return 2\nprint(A.n())",
    ),
    "comparison, len() and format() of your own objects": (
        "class V:\n    def __lt__(self, o): return True\nprint(V() < V())",
        "class V:\n    def __len__(self): return 3\nprint(len(V()))",
        "class V:\n    def __format__(self, s): return s\nprint(f'{V():abc}')",
    ),
    "__getattr__ of your own": ("class V:\n    def __getattr__(self, n): return n\nprint(V().foo)",),
    "dataclasses.asdict": ("from dataclasses import asdict\nprint(callable(asdict))",),
    "generators, yield": (
        "def f():\n    yield 1\nprint(list(f()))",
        "def f():\n    yield from [1]\nprint(list(f()))",
    ),
    "asyncio.create_task, Semaphore, async with, async for": (
        "import asyncio\nasync def f(): return 1\nasync def main(): return await asyncio.create_task(f())\n"
        "print(asyncio.run(main()))",
        "import asyncio\nasync def main():\n    async with asyncio.Semaphore(1): return 1\nprint(asyncio.run(main()))",
    ),
    "contextlib": ("from contextlib import suppress\nwith suppress(ValueError): int('x')\nprint(1)",),
    "del": ("d = {'a': 1}\ndel d['a']\nprint(d)", "x = 1\ndel x\nprint('gone')"),
    "functools.wraps": ("import functools\nprint(functools.wraps is None)",),
    "__cause__ of exceptions, except*": (
        "try:\n    try: 1/0\n    except ZeroDivisionError as e: raise ValueError('x') from e\n"
        "except ValueError as e: print(repr(e.__cause__))",
        "try: raise ExceptionGroup('g', [ValueError(1)])\nexcept* ValueError as e: print('caught')",
    ),
    "exceptions with several arguments, SystemExit": (
        "try: raise ValueError('a', 1)\nexcept ValueError as e: print(e.args)",
        "try: raise SystemExit(3)\nexcept SystemExit as e: print(e.code)",
    ),
    "str.maketrans, bytes of a list": ("print('ab'.translate(str.maketrans('a', 'z')))", "print(bytes([65, 66]))"),
    "vars, dir, callable": (
        "class B: pass\nprint(vars(B()))",
        "class B: pass\nprint('x' in dir(B()))",
        "print(callable(len))",
    ),
    "print(file=...), io": ("import io\nb = io.StringIO()\nprint('a', file=b)\nprint(b.getvalue())",),
    "from module import *": ("from math import *\nprint(floor(2.5))",),
    "OrderedDict, ChainMap, UserDict": (
        "from collections import OrderedDict\nprint(OrderedDict(a=1)['a'])",
        "from collections import ChainMap\nprint(ChainMap({'a': 1})['a'])",
        "from collections import UserDict\nprint(UserDict(a=1)['a'])",
    ),
    "functions as replacement in re.sub": ("import re\nprint(re.sub('a', lambda m: 'b', 'a'))",),
}
# These are about the SDK: the other runner is their control, in test_sandbox_language.py.
SDK_GAPS = {
    "await of SDK calls": ("await kb.search('q')",),
    "SDKError, MCPClient, pages with fields of their own": (
        "from winnow import SDKError",
        "from winnow import MCPClient",
        "kb.search('q').next_cursor",
    ),
    "texts that are read as they are reached": ("for row in texts():\n    break\nrow.text",),
    "skills": ("from skills import timeline",),
    "help(name) in a script": ("help(fetch)",),
}
RUNS = {
    "functions": "def f(a, /, b, *c, d=1, **e): return a, b, c, d, e\nprint(f(1, 2, 3, d=4, g=5))",
    "closures": "def f(x):\n    def g():\n        nonlocal x\n        x += 1\n        return x\n    return g()\nprint(f(1))",
    "comprehensions": "print([x for x in range(3)], {x: 1 for x in 'ab'}, sum(x for x in range(3)))",
    "simple classes": "class V:\n    def __init__(self, x): self.x = x\n    def __eq__(self, o): return self.x == o.x\n"
    "    def __iter__(self): return iter([self.x])\nprint(V(1) == V(1), list(V(2)))",
    "dataclasses": "from dataclasses import dataclass, field\n@dataclass\nclass P:\n    x: int\n"
    "    y: list = field(default_factory=list)\nprint(P(1))",
    "match": "match [1, 2]:\n    case [a, b]: print(a, b)",
    "try": "try: 1/0\nexcept (ValueError, ZeroDivisionError) as e: print(type(e).__name__, e)\nfinally: print('fin')",
    "with": "class C:\n    def __enter__(self): return 1\n    def __exit__(self, *a): return False\nwith C() as c: print(c)",
    "strings": "x = 3.14159\nprint(f'{x:.2f} {x!r} {x=} {1000000:,}', '{} {y}'.format(1, y=2), '%s %05.1f' % ('a', 2.25))",
    "collections": "from collections import Counter, defaultdict, deque, namedtuple\nP = namedtuple('P', 'x')\n"
    "print(Counter('aab').most_common(1), deque([1, 2], maxlen=1), P(1))",
    "json, re and dates": "import json, re, datetime\nprint(json.loads('[1]'), re.findall('a', 'aa'), datetime.date(2026, 1, 31))",
    "async functions": "import asyncio\nasync def f(n): return n\nasync def main(): return await asyncio.gather(f(1), f(2))\n"
    "print(asyncio.run(main()))",
    "assignments": "a, *b = [1, 2, 3]\nd = {'a': 1}\nd['a'] += 1\nb[0:1] = [9, 9]\nif (n := 5) > 3: print(a, b, d, n)",
}  # fmt: skip
_AS_MEASURED = pytest.mark.skipif(
    monty.installed_version() != monty.MEASURED_FOR, reason=f"the list is for Monty {monty.MEASURED_FOR}"
)


def _on_cpython(source: str) -> str:
    return subprocess.run([sys.executable, "-I", "-c", source], capture_output=True, text=True, check=True).stdout


def _runs_alike(bench: Bench, source: str) -> bool:
    outcome = bench.run(source)
    return outcome.status == "ok" and outcome.stdout == _on_cpython(source)


@_AS_MEASURED
def test_the_list_of_gaps_is_the_list_that_is_measured_here() -> None:
    assert set(monty.GAPS) == GAPS.keys() | SDK_GAPS.keys()


@_AS_MEASURED
@pytest.mark.parametrize("gap", GAPS)
def test_a_gap_that_is_listed_is_one(small: Bench, gap: str) -> None:
    assert [source for source in GAPS[gap] if _runs_alike(small, source)] == []


@_AS_MEASURED
@pytest.mark.parametrize("gap", SDK_GAPS)
def test_a_gap_of_the_sdk_is_one(small: Bench, gap: str) -> None:
    assert [source for source in SDK_GAPS[gap] if small.run(source).status == "ok"] == []


@pytest.mark.parametrize("construct", RUNS)
def test_a_construct_that_is_not_listed_prints_what_cpython_prints(small: Bench, construct: str) -> None:
    outcome = small.run(RUNS[construct])
    assert (outcome.status, outcome.stdout) == ("ok", _on_cpython(RUNS[construct])), outcome.error


@_AS_MEASURED
def test_the_modules_that_are_listed_as_missing_are_those_that_are(small: Bench) -> None:
    missing = {module for module in ALLOWED if small.run(f"import {module}").status != "ok"}
    assert missing == set(monty.MISSING_MODULES) & set(ALLOWED)
