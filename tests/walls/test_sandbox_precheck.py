"""The check before a script runs: certain errors are reported, all else is left to run."""

from __future__ import annotations

import ast
import difflib
import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.client_sdk import graph_calls, kb_calls
from winnow.client_sdk.requests import CHOICES
from winnow.client_sdk.rows import FIELDS
from winnow.sandbox import CallError, Reply
from winnow.sandbox.child.diagnosis import precheck
from winnow.sandbox.child.language import compiler, policy, refusals
from winnow.sandbox.child.language.allow_list import WITHHELD_MEMBERS
from winnow.server import contracts
from winnow.server.contracts import evidence, excerpts, graph, kb, search
from winnow.server.contracts.claims import answers as claims
from winnow.server.contracts.claims.arguments import ClaimSearch, RelatedEntries

FOLDER = Path(__file__).parent / "scripts"
SCRIPTS = {f"{path.parent.name}/{path.stem}": path.read_text("utf-8") for path in sorted(FOLDER.glob("*/*.py"))}

# Certain errors -> the exception, its line, and the suggested name.
CERTAIN = {
    "print('before')\npritn('x')": ("NameError", 2, "did you mean 'print'?"),
    "value = 1\nreturn vlaue": ("NameError", 2, "did you mean 'value'?"),
    "print(Counter('a'))": ("NameError", 1, "from collections import Counter first"),
    "return json.dumps(1)": ("NameError", 1, "import json first"),
    "def main():\n    return totl\ntotal = 1\nmain()": ("NameError", 2, "did you mean 'total'?"),
    "def main():\n    return nothing_here\nif __name__ == '__main__':\n    main()": ("NameError", 2, ""),
    "import asyncio\nasync def main():\n    return nothing_here\nasyncio.run(main())": ("NameError", 3, ""),
    "async def main():\n    return nothing_here\nreturn await main()": ("NameError", 2, ""),
    "for q in ['a', 'b']:\n    print(qq)": ("NameError", 2, ""),
    "for q in []:\n    pass\nundefined_name": ("NameError", 3, ""),
    "if nothing_here: pass": ("NameError", 1, ""),
    "x = nothing_here and 1": ("NameError", 1, ""),
    "class A:\n    x = nothing_here": ("NameError", 2, ""),
    "try:\n    nothing_here\nfinally:\n    print(1)": ("NameError", 2, ""),
    "def f(x=nothing_here): pass": ("NameError", 1, ""),
    "kb.serach('retry')": ("AttributeError", 1, "did you mean 'search'?"),
    "rows = kb.search('retry', topk=5)": ("TypeError", 1, "did you mean 'top_k'?"),
    "from winnow import kb\nrows = kb.search('retry', limit=5)": ("TypeError", 2, "It takes: query, top_k"),
    "async with MCPClient() as client:\n    semantic_search('a', topk=1)": (
        "TypeError",
        2,
        "did you mean 'top_k'?",
    ),
    "fetch()": ("TypeError", 1, "it takes: fetch(ids, level='full', max_tokens=None, *, missing="),
    "semantic_search('retry', 5)": ("TypeError", 1, "it takes: semantic_search(query=None, *"),
    "semantic_search('retry', response_mode='ful')": ("SDKError", 1, "did you mean 'full'?"),
    "fetch('doc1', level='everything')": ("SDKError", 1, "one of 'auto', 'ids'"),
    "rows = semantic_search('retry')\nfor row in rows:\n    print(row.titel)": ("MissingField", 3, "'title'"),
    "rows = await kb.search('retry')\nreturn [r.scroe for r in rows]": ("MissingField", 2, "'score'"),
    "rows = kb.search('retry')\nreturn rows[0].titel": ("MissingField", 2, "'title'"),
    "rows = kb.search('retry')\nreturn rows[-1]['conten']": ("MissingField", 2, "'content'"),
    "best = kb.search('retry')[0]\nprint(best.titel)": ("MissingField", 2, "'title'"),
    "kb.retrieve('how')": ("AttributeError", 1, "did you mean 'retrieve_evidence'?"),
    "kb.evidence('how')": ("AttributeError", 1, "did you mean 'retrieve_evidence'?"),
    "kb.excerpt('how')": ("AttributeError", 1, "did you mean 'read_excerpt'?"),
    "kb_search('how')": ("NameError", 1, "write kb.search(...)"),
    "graph_expand('Pod')": ("NameError", 1, "write graph.expand(...)"),
    "entities_for_sections('a')": ("NameError", 1, "write graph.entities_for_sections(...)"),
    "graph.neighbors('Pod')": ("AttributeError", 1, "did you mean 'expand'?"),
    "graph.path('a', 'b')": ("AttributeError", 1, "did you mean 'paths'?"),
    "graph.expand('Pod', depth=2)": ("TypeError", 1, "did you mean 'hops'?"),
    "graph.paths('a')": ("TypeError", 1, "it takes: graph.paths(from_ids, to_ids, max_hops=3, *"),
    "graph.expand('Pod', direction='outward')": ("SDKError", 1, "one of 'out'"),
    "for row in graph.expand('Pod'):\n    print(row.section_id, row.wieght)": ("MissingField", 2, "'weight'"),
    "find_vendor_info(vendor='acme')": ("TypeError", 1, "did you mean 'vendor_name'?"),
    "from winnow import expand": ("CodeRejected", 1, "write graph.expand(...)"),
    "retrieve_evidence('how')": ("NameError", 1, "write kb.retrieve_evidence(...)"),
    "kb.retrieve_evidence('how', max_quote=2)": ("TypeError", 1, "did you mean 'max_quotes'?"),
    "kb.retrieve_evidence(query='how')": ("TypeError", 1, "did you mean 'question'?"),
    "kb.search(question='how')": ("TypeError", 1, "did you mean 'query'?"),
    "kb.search('how', page_size=3)": ("TypeError", 1, "did you mean 'top_k'?"),
    "kb.extract_evidence('how', rows=[])": ("TypeError", 1, "did you mean 'passage_ids'?"),
    "kb.read_excerpt(id='x')": ("TypeError", 1, "did you mean 'passage_id'?"),
    "from winnow import retrieve_evidence": ("CodeRejected", 1, "write kb.retrieve_evidence(...)"),
    "kb.extract_evidence('how')": ("TypeError", 1, "it takes: kb.extract_evidence(question, passage_ids, *"),
    "kb.read_excerpt('x', format='bullet')": ("SDKError", 1, "did you mean 'bullets'?"),
    "for q in kb.retrieve_evidence('how'):\n    print(q.qoute)": ("MissingField", 2, "'quote'"),
    "for q in kb.retrieve_evidence('how')['quotes']:\n    print(q.confidense)": (
        "MissingField",
        2,
        "'confidence'",
    ),
    "page = kb.extract_evidence('how', ['a'])\nprint(page.quotes[0].tittle)": ("MissingField", 2, "'title'"),
    "part = kb.read_excerpt('a')\nprint(part.exerpt)": ("MissingField", 2, "'excerpt'"),
    "part = await kb.expand_excerpt('a')\nprint(part['trunkated'])": ("MissingField", 2, "'truncated'"),
    "rerank('how', kb.search('how'), limit=3)": ("TypeError", 1, "did you mean 'top_k'?"),
    "rerank(question='how', rows=[])": ("TypeError", 1, "did you mean 'query'?"),
    "rerank('how', documents=[])": ("TypeError", 1, "did you mean 'rows'?"),
    "rerank('how', [], min_score=0.5)": ("TypeError", 1, "did you mean 'threshold'?"),
    "hybrid_search('how', bm25=0.5)": ("TypeError", 1, "did you mean 'bm25_weight'?"),
    "hybrid_search('how', dense_weight=0.5)": ("TypeError", 1, "did you mean 'vector_weight'?"),
    "filter_rows([], score=0.5)": ("TypeError", 1, "did you mean 'min_score'?"),
    "filter_rows([], path_include='x')": ("TypeError", 1, "did you mean 'include'?"),
    "filter_rows([], match='some')": ("SDKError", 1, "one of 'all', 'any'"),
    "group_by([], by='file')": ("TypeError", 1, "did you mean 'key'?"),
    "dedupe([], key='file')": ("TypeError", 1, "did you mean 'by'?"),
    "summarize([], max_length=10)": ("TypeError", 1, "did you mean 'max_content_length'?"),
    "format_for_agent([], format='table')": ("TypeError", 1, "did you mean 'style'?"),
    "format_for_agent([], style='tabel')": ("SDKError", 1, "did you mean 'table'?"),
    "fetch('a', tokens=500)": ("TypeError", 1, "did you mean 'max_tokens'?"),
    "fetch('a', level='meta')": ("SDKError", 1, "'metadata'"),
    "fetch('a', missing='ignore')": ("SDKError", 1, "one of 'raise', 'skip'"),
    "quotes()": ("TypeError", 1, "it takes: quotes(rows, max_chars=400)"),
    "budget(1)": ("TypeError", 1, "it takes: budget()"),
    "formatforagent([])": ("NameError", 1, "did you mean 'format_for_agent'?"),
    "from winnow import rerankk": ("CodeRejected", 1, "did you mean 'rerank'?"),
    "for r in rerank('how', kb.search('how')):\n    print(r.rerank_scroe)": ("MissingField", 2, "'rerank_score'"),
    "for r in filter_rows(kb.search('how')):\n    print(r.titel)": ("MissingField", 2, "'title'"),
    "rows = dedupe(semantic_search('how'))\nreturn rows[0].scroe": ("MissingField", 2, "'score'"),
    "for r in kb.search('how').all():\n    print(r.previw)": ("MissingField", 2, "'preview'"),
    "for r in hybrid_search('how'):\n    print(r.sectoin)": ("MissingField", 2, "'section'"),
    # Another word for a parameter, a function or the module.
    "semantic_search('how', path='tasks*')": ("TypeError", 1, 'write filters={"path": ...}'),
    "kb.search('how', url='x')": ("TypeError", 1, 'write filters={"path": ...}'),
    "kb.retrieve_evidence('how', where={'stage': 'beta'})": ("TypeError", 1, 'write filters={"where": ...}'),
    "semantic_search('how', limit=3)": ("TypeError", 1, "'top_k'"),
    "rerank('how', [], topk=3)": ("TypeError", 1, "'top_k'"),
    "documents(topk=3)": ("TypeError", 1, "'limit'"),
    "filter_rows([], path='x')": ("TypeError", 1, "'include'"),
    "kb.read(path='guide/backups.md')": ("TypeError", 1, "did you mean 'document'?"),
    "read(title='Backups')": ("TypeError", 1, "did you mean 'document'?"),
    "read(id='0123456789ab')": ("TypeError", 1, "did you mean 'document'?"),
    "get_document('x')": ("NameError", 1, "write read(...)"),
    "kb.get_document('x')": ("AttributeError", 1, "'read'"),
    "notes = []\nnote": ("NameError", 2, "'notes'"),
    "from winnow.sdk import kb": ("CodeRejected", 1, "from winnow import kb"),
    "import sdk": ("CodeRejected", 1, "from winnow import kb"),
}

# Scripts that may succeed in some run.
UNCERTAIN = [
    "if condition_of_nothing if False else False: pass",
    "def never(): return nothing_here",
    "lambda: nothing_here",
    "if False:\n    nothing_here",
    "while False:\n    nothing_here",
    "for x in []:\n    nothing_here",
    "x = True or nothing_here",
    "x = 1 if True else nothing_here",
    "print(1 < 0 < nothing_here)",
    "try:\n    nothing_here\nexcept NameError:\n    print('fine')",
    "from contextlib import suppress\nwith suppress(NameError):\n    nothing_here",
    "rows = kb.search('retry')\nif rows:\n    return 1\nnothing_here",
    "return 1\nnothing_here",
    "exit()\nnothing_here",
    "import sys\nsys.exit()\nnothing_here",
    "def stop(): raise SystemExit\nstop()\nnothing_here",
    "def f():\n    if True: return 1\n    nothing_here\nf()",
    "def gen():\n    nothing_here\n    yield 1\ngen()",
    "async def f(): nothing_here\nc = f()\nc.close()",
    "def g():\n    global made\n    made = 1\ng()\nprint(made)",
    "from math import *\nprint(floor(2.5))",
    "[x for x in range(3) if x > 5 and nothing_here]",
    "(nothing_here for x in [])",
    "class kb:\n    serach = 1\nprint(kb.serach)",
    "def semantic_search(**options): return options\nprint(semantic_search(topk=1))",
    "rows = kb.search('retry')\nfor row in rows:\n    row.titel = 1\n    print(row.titel)",
    "rows = kb.search('retry')\nfor row in rows:\n    row['titel'] = 1\n    print(row.titel, row['titel'])",
    "rows = kb.search('retry')\nrows = [type('x') for row in rows]\nprint(rows[0].titel if False else 1)",
    "rows = kb.search('retry')\nfor row in rows:\n    print(row.get('titel'), 'titel' in row)",
    "options = {'topk': 1}\ndef ask(**o): return o\nprint(ask(**options))",
    "for i in [1]:\n    if i: continue\n    nothing_here",
    "match 1:\n    case 2: nothing_here\n    case _: pass",
    "try:\n    import numpy_missing\nexcept ImportError:\n    numpy_missing = None\nprint(numpy_missing)",
    "import json\njson = {'dumpz': 1}\nprint(json)",
    "print(__name__, help is None, exit is None)",
    "for q in kb.retrieve_evidence('how'):\n    print(q.text, q.content, q.id, q.quote, q.passage_id)",
    "part = kb.read_excerpt('a')\nprint(part.text, part.title, part.citation.uri, part.section_id)",
    "rows = kb.search('how', max_per_doc=2)\nprint(rows.next_cursor, rows.partial, rows[0].scratch_uri)",
    "kb.extract_evidence('how', kb.search('how'))",
    "graph.expand(kb.search('how'), 2, direction='in')[0].section_ids",
    "graph = {'a': ['b']}\nprint(graph.get('a'), graph.keys())",
    "for path in graph.paths('a', 'b'):\n    print(path.hops, path.nodes[0].title, path.edges[0].relation)",
    "page = find_vendor_info('acme')\nprint(page.relationships, [row.title for row in page.entities])",
    "def kb_search(): return 1\nprint(kb_search())",
    "for r in filter_rows([{'titel': 1}]):\n    print(r['titel'])",
    "for r in dedupe({'a': n} for n in [1]):\n    print(r.titel if False else r)",
    "for q in quotes(kb.search('how')):\n    print(q.source, q.quote)",
    "for name, rows in group_by(kb.search('how'), 'file').items():\n    print(name, len(rows))",
    "left = budget()\nprint(left.calls, left.rows.previews)\nprogress('half way')",
    "rows = summarize(kb.search('how'), fields=['titel'])\nprint(rows[0].get('titel'))",
    "budget = {'calls': 3}\nprint(budget.get('calls'), [tokens for tokens in [1]])",
]


def _check(source: str) -> refusals.Rejected | None:
    try:
        compiler.compile_script(source, precheck.check)
    except refusals.Rejected as error:
        return error
    return None


@pytest.mark.parametrize("source", CERTAIN)
def test_what_is_certain_is_told_with_its_place_and_what_was_meant(source: str) -> None:
    type, line, meant = CERTAIN[source]
    found = _check(source)
    assert found is not None
    assert (found.type, found.line, meant in f"{found.message} {found.hint}") == (type, line, True), found.hint


@pytest.mark.parametrize("source", UNCERTAIN)
def test_what_may_go_well_is_left_to_run(source: str) -> None:
    assert _check(source) is None


@pytest.mark.filterwarnings("ignore::SyntaxWarning")
@pytest.mark.parametrize("name", SCRIPTS)
def test_a_script_that_runs_is_not_complained_of(name: str) -> None:
    if "# python 3.12" not in SCRIPTS[name] or hasattr(ast, "TypeAlias"):
        assert _check(SCRIPTS[name]) is None


# Names that are read on the way from the first line on, in whichever script: after a misspelling there is no such
# name, and the check says so, unless an exit, a handler or a condition stands in between.
STRAIGHT = [name for name in SCRIPTS if name.startswith("everyday/")]


def _misspelt(source: str, pick: random.Random) -> tuple[str, str] | None:
    """The source with one letter of a name doubled in a print at the top, and that name."""
    prints = [node for node in ast.parse(source).body if isinstance(node, ast.Expr)]
    calls = [node.value for node in prints if isinstance(node.value, ast.Call) and node.value.args]
    names = [arg for call in calls for arg in call.args if isinstance(arg, ast.Name) and len(arg.id) > 3]
    if not names:
        return None
    node = pick.choice(names)
    place = pick.randrange(1, len(node.id))
    wrong = node.id[:place] + node.id[place] + node.id[place:]
    lines = source.splitlines(keepends=True)
    line = lines[node.lineno - 1].encode()
    lines[node.lineno - 1] = (line[: node.col_offset] + wrong.encode() + line[node.end_col_offset :]).decode()
    return "".join(lines), wrong


@given(st.sampled_from(STRAIGHT), st.randoms(use_true_random=False))
def test_a_misspelt_name_is_found_or_left_to_run_never_mistaken(name: str, pick: random.Random) -> None:
    changed = _misspelt(SCRIPTS[name], pick)
    if changed is not None:
        source, wrong = changed
        found = _check(source)
        assert found is None or (found.type, found.message) == ("NameError", f"name {wrong!r} is not defined")


def _are_twins(one: str, other: str) -> bool:
    """Whether a letter makes one field into the other: then either may be meant."""
    return one in other or other in one or difflib.SequenceMatcher(None, one, other).ratio() > 0.85


_TWINS = {one for one in FIELDS for other in FIELDS if one != other and _are_twins(one, other)}


@given(st.sampled_from([field for field in FIELDS if field not in _TWINS]), st.data())
def test_a_misspelt_field_is_found_and_the_right_one_named(field: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(field) - 1))
    wrong = field[:place] + data.draw(st.sampled_from("qxz")) + field[place + 1 :]
    found = _check(f"rows = semantic_search('retry')\nfor row in rows:\n    print(row.{wrong})")
    if len(field) > 3 and wrong != field:
        assert found is not None and (found.type, field in found.message) == ("MissingField", True)  # noqa: PT018


@given(st.sampled_from(["query", "top_k", "response_mode", "min_score", "filters", "scope"]), st.data())
def test_a_misspelt_parameter_is_found_and_the_right_one_named(parameter: str, data: st.DataObject) -> None:
    place = data.draw(st.integers(0, len(parameter) - 1))
    wrong = parameter[:place] + parameter[place + 1 :]
    found = _check(f"semantic_search({wrong}=1)")
    assert found is not None and found.type == "TypeError" and f"'{parameter}'" in str(found.hint)  # noqa: PT018


@pytest.mark.walls
def test_nothing_runs_and_nothing_is_asked_before_it_is_told(bench: Any) -> None:
    asked = []

    async def answer(method: str, params: Mapping[str, Any]) -> Reply:
        asked.append(method)
        raise CallError("NEVER", "asked")

    outcome = bench.run("print('before')\nrows = kb.search('retry')\nprint(rwos)", call=answer)
    assert (outcome.status, outcome.stdout, outcome.error.type, asked) == ("rejected", "", "NameError", [])
    assert (outcome.error.line, outcome.error.column, outcome.error.hint) == (3, 7, "did you mean 'rows'?")


def test_every_name_of_the_knowledge_base_that_is_imported_by_itself_has_its_hint() -> None:
    owners = dict.fromkeys(kb_calls.FUNCTIONS, "kb") | dict.fromkeys(graph_calls.FUNCTIONS, "graph")
    hints = {name: WITHHELD_MEMBERS.get(f"winnow.{name}") for name in owners}
    assert hints == {name: f"write {owner}.{name}(...)" for name, owner in owners.items()}


def test_the_fields_and_values_known_to_the_check_are_those_of_the_contract() -> None:
    rows = (
        search.SearchRow,
        search.RowMetadata,
        search.Relationship,
        kb.KbRow,
        evidence.QuoteRow,
        excerpts.ExcerptAnswer,
    )
    rows += (
        excerpts.Citation,
        graph.DescribedRow,
        graph.ReachedRow,
        graph.PathRow,
        graph.PathNode,
        graph.PathEdge,
    )
    rows += (graph.VendorEntity, graph.VendorRelationship)
    # Fields on request only, which no SDK function makes, and fields that the host keeps.
    fields = {field for row in rows for field in row.model_fields} - {"scores", "debug", "meta"}
    fields |= {"match", "matches"}  # of grep, which the SDK makes by itself
    fields |= {"rerank_score"}  # of rerank, which puts it on rows of other calls
    # Of operations over all documents.
    fields |= {"text", "path", "groups", "context", "page", "start", "end", "key", "passages", "documents"}
    # Of whole documents and their parts, which the SDK makes by itself.
    fields |= {"heading", "language", "code", "header", "rows", "caption", "spans", "target", "value", "column"}
    fields |= {"cells", "others", "places", "total_chars"}
    # Of notebooks, and of the parts of their rows.
    of_claims = (claims.FoundEntry, claims.RelatedEntry, claims.ClaimsEntry, claims.ReadEntryAnswer)
    of_claims += (claims.TopicRow, claims.FrictionRow, claims.ChangeRow, claims.NotebookStatusAnswer)
    of_claims += (claims.ReadClaim, claims.CheckedQuote)
    fields |= {field for row in of_claims for field in row.model_fields} - {"meta"}
    formats = contracts.flat_schema(contracts.ExcerptOptions)["properties"]["format"]["enum"]
    modes = contracts.flat_schema(contracts.SemanticSearch)["properties"]["response_mode"]["enum"]
    levels = contracts.flat_schema(contracts.Fetch)["properties"]["level"]["enum"]
    directions = contracts.flat_schema(contracts.GraphExpand)["properties"]["direction"]["enum"]
    choices = {"response_mode": tuple(modes), "level": tuple(levels), "format": tuple(formats)}
    syntaxes = contracts.flat_schema(contracts.SemanticSearch)["properties"]["syntax"]["enum"]
    missing = contracts.flat_schema(contracts.Fetch)["properties"]["missing"]["enum"]
    choices |= {"syntax": tuple(syntaxes), "missing": tuple(missing), "errors": ("raise", "keep")}
    styles = ("text", "table", "json", "pandoc", "apa", "chicago", "harvard", "ieee", "mla", "vancouver")
    styles += ("bibtex", "csl-json", "markdown")
    choices |= {"direction": tuple(directions), "style": styles, "match": ("all", "any")}
    searched = contracts.flat_schema(ClaimSearch)["properties"]
    choices |= {name: tuple(searched[name]["enum"]) for name in ("mode", "integration_status")}
    related = contracts.flat_schema(RelatedEntries)["properties"]["direction"]["enum"]
    choices |= {"claims.related.direction": tuple(related)}
    assert (set(FIELDS), CHOICES) == (fields, choices)


def _long(bytes: int) -> Iterator[str]:
    for name, source in SCRIPTS.items():
        if "__future__" not in source and "exit" not in source and "# python" not in source:
            bytes -= len(source.encode()) + 1
            if bytes < 0:
                return
            yield f"# {name}\n{source}"


@pytest.mark.parametrize("bytes", [12_500, 50_000])
def test_the_work_of_the_check_follows_the_length_of_the_script(bytes: int) -> None:
    """Counted in calls of functions a node, which no other work on the machine changes."""
    source = "\n".join(_long(bytes))
    looked = policy.Policy(source)
    tree = ast.parse(source)
    looked.visit(tree)
    calls = _calls(lambda: precheck.check(tree, looked.report))
    assert calls < 5 * sum(1 for _ in ast.walk(tree))


def _calls(work: Callable[[], None]) -> int:
    counted: Counter[str] = Counter()
    sys.setprofile(lambda frame, event, argument: counted.update((event,)))
    try:
        work()
    finally:
        sys.setprofile(None)
    return counted["call"]
