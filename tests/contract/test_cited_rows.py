"""Rows of works in a bibliography, filters by their facts, and citations made from rows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest
from mcp import Client
from typer.testing import CliRunner

from tests.ingesting import ingest_paths
from tests.pdf_files import PdfFile, build_pdf, paragraph
from winnow.server.backends.opening import open_backends
from winnow.server.commands.corpus import cite as cite_command
from winnow.server.commands.entry.app import open_application
from winnow.server.commands.entry.knowledge import make_knowledge_base
from winnow.server.errors import WinnowError
from winnow.server.jobs.target import target_of
from winnow.server.operations.knowledge import DIRECT, SCRIPT, Answer, KnowledgeBase
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.transports.dispatch import Dispatcher
from winnow.server.transports.protocol import build_server

pytestmark = [pytest.mark.anyio, pytest.mark.walls]

ENTRIES = r"""
@article{ohm1827, title={The galvanic circuit}, author={Ohm, Georg}, year={1827}, journal={Annals}, volume={8},
 keywords={current, law}, groups={Physics/Currents}, doi={10.1000/ohm}, file={:papers/ohm.pdf:PDF}}
@book{volta1800, title={On the electricity of piles}, author={Volta, Alessandro and Banks, Joseph}, year={1800},
 keywords={current}, file={papers/piles.md}}
@misc{many2001, title={Lanterns of many hands}, author={A, A and B, B and C, C and D, D and E, E and F, F},
 year={2001}, abstract={A lantern burns oil for many hands.}}
"""
TWICE = "This paragraph stands in two of the papers."
PAGES = ("The first page names the lantern.", "The lantern resists the current on page two.")
WORK = ("citekey", "authors", "year", "doi")
OHM = {"citekey": "ohm1827", "authors": ["Ohm, Georg"], "year": 1827, "doi": "10.1000/ohm"}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("library")
    papers = folder / "papers"
    papers.mkdir()
    (papers / "ohm.pdf").write_bytes(build_pdf(PdfFile([paragraph(72, 700, [line]) for line in PAGES])))
    (papers / "piles.md").write_text(
        f"# Piles\n\nA lantern beside the pile of silver and zinc.\n\n{TWICE}\n", "utf-8"
    )
    (papers / "plain.md").write_text(f"# Plain\n\nA lantern without an entry.\n\n{TWICE}\n", "utf-8")
    (folder / "library.bib").write_text(ENTRIES, "utf-8")
    settings = load_settings(store=tmp_path_factory.mktemp("store"), embedding="off")
    backends = open_backends(settings, wait_for_model=False)
    try:
        report = ingest_paths(target_of(settings, backends, None), [papers], references=folder / "library.bib")
    finally:
        backends.close()
    assert report.failures == ()
    return settings


@pytest.fixture
async def kb(library: Settings) -> AsyncIterator[KnowledgeBase]:
    base = make_knowledge_base(library, wait_for_model=False)
    await base.open()
    yield base
    await base.aclose()


async def _ask(kb: KnowledgeBase, operation: str, *, direct: bool = False, **arguments: Any) -> Answer:
    return await kb.call(
        operation, arguments, kb.caller("test", DIRECT if direct else SCRIPT, "" if direct else "r")
    )


def _work_of(row: dict[str, Any]) -> dict[str, Any]:
    return {name: row[name] for name in WORK if name in row}


@pytest.mark.parametrize("mode", ["metadata", "preview", "full"])
async def test_rows_of_a_work_have_its_key_authors_year_doi_and_page(kb: KnowledgeBase, mode: str) -> None:
    answer = await _ask(kb, "semantic_search", query="lantern", response_mode=mode, direct=True)
    works = {row.get("file") or row["metadata"]["file"]: _work_of(row) for row in answer.payload["results"]}
    assert works == WORKS


async def test_quotes_candidates_and_excerpts_have_the_work_too(kb: KnowledgeBase) -> None:
    quotes = (await _ask(kb, "kb.retrieve_evidence", question="what resists the current?", direct=True)).payload
    first = quotes["quotes"][0]
    assert (_work_of(first), first["page_span"]) == (OHM, [2, 2])
    found = (await _ask(kb, "kb.search", query="lantern current resists", direct=True)).payload["results"]
    assert _work_of(next(row for row in found if row["title"] == "The galvanic circuit")) == OHM
    excerpt = await _ask(kb, "kb.read_excerpt", passage_id=first["passage_id"], direct=True)
    assert _work_of(excerpt.payload) == OHM


MANY = {"citekey": "many2001", "authors": ["A, A", "B, B", "C, C", "et al."], "year": 2001}
VOLTA = {"citekey": "volta1800", "authors": ["Volta, Alessandro", "Banks, Joseph"], "year": 1800}
WORKS = {"ohm.pdf": OHM, "piles.md": VOLTA, "library.bib#many2001": MANY, "plain.md": {}}


@pytest.mark.parametrize("direct", [True, False])
@pytest.mark.parametrize(
    ("operation", "arguments"),
    [
        ("kb.scan", {"pattern": "lantern"}),
        ("kb.scan", {"pattern": "antern", "group_by": "document"}),
        ("kb.documents", {}),
    ],
)
async def test_matches_counts_and_lists_of_documents_have_the_work(
    kb: KnowledgeBase, operation: str, arguments: dict[str, Any], direct: bool
) -> None:
    rows = (await _ask(kb, operation, direct=direct, **arguments)).payload["results"]
    assert {row["file"]: _work_of(row) for row in rows} == WORKS


async def test_a_list_of_documents_states_a_work_once_and_all_of_more_than_five_authors(kb: KnowledgeBase) -> None:
    rows = (await _ask(kb, "kb.documents")).payload["results"]
    stated = {row["file"]: [name for name in WORK if name in row["fields"]] for row in rows}
    assert stated == {"ohm.pdf": [], "piles.md": [], "library.bib#many2001": ["authors"], "plain.md": []}
    many = next(row for row in rows if row["file"] == "library.bib#many2001")
    assert len(many["fields"]["authors"]) == 6


async def test_a_list_of_documents_has_the_title_of_the_file_without_the_places_that_braces_protect(
    kb: KnowledgeBase,
) -> None:
    rows = (await _ask(kb, "kb.documents")).payload["results"]
    many = next(row for row in rows if row["file"] == "library.bib#many2001")
    assert (many["title"], many["fields"]["work.title"]) == ("Lanterns of many hands", "Lanterns of many hands")
    assert {name for row in rows for name in row["fields"] if name.startswith("work.title")} == {"work.title"}


async def test_copies_of_a_text_pieces_and_sections_have_the_work(kb: KnowledgeBase) -> None:
    repeats = (await _ask(kb, "kb.repeats", min_chars=20)).payload["results"]
    places = {place["file"]: _work_of(place) for row in repeats for place in row["places"]}
    assert places == {"piles.md": VOLTA, "plain.md": {}}
    assert _work_of((await _ask(kb, "kb.read", document="piles.md")).payload) == VOLTA
    assert _work_of((await _ask(kb, "kb.read", document="plain.md")).payload) == {}
    sections = (await _ask(kb, "search_sections", direct=True, query="lantern")).payload["results"]
    section_ids = [row["section_id"] for row in sections]
    texts = await _ask(kb, "get_section_text", direct=True, section_ids=section_ids)
    works = [VOLTA, OHM, MANY, {}]
    for rows in (sections, texts.payload["results"]):
        assert all(work in map(_work_of, rows) for work in works)


async def test_nodes_and_steps_of_the_graph_have_the_work_of_their_first_passage(kb: KnowledgeBase) -> None:
    described = (await _ask(kb, "graph.describe", ids=["Piles", "Plain"])).payload["results"]
    assert {row["title"]: _work_of(row) for row in described} == {"Piles": VOLTA, "Plain": {}}


@pytest.mark.parametrize(
    ("narrowed", "files"),
    [
        ({"where": {"citekey": "ohm1827"}}, ["ohm.pdf"]),
        ({"where": {"citekey": ["ohm1827", "many2001"]}}, ["library.bib#many2001", "ohm.pdf"]),
        ({"where": {"author": "volta"}}, ["piles.md"]),
        ({"where": {"authors": "Banks, Joseph"}}, ["piles.md"]),
        ({"where": {"item_type": "book"}}, ["piles.md"]),
        ({"where": {"collections": "physics"}}, ["ohm.pdf"]),
        ({"where": {"collections": "Physics/Currents"}}, ["ohm.pdf"]),
        ({"filters": {"tags": ["current"]}}, ["ohm.pdf", "piles.md"]),
        ({"filters": {"tags": ["current", "law"]}}, ["ohm.pdf"]),
        ({"where": {"year": {"from": 1800, "to": 1827}}}, ["ohm.pdf", "piles.md"]),
        ({"where": {"year": {"from": 1801}}}, ["library.bib#many2001", "ohm.pdf"]),
        ({"where": {"year": {"to": 1800}}}, ["piles.md"]),
        ({"where": {"year": 1827}}, ["ohm.pdf"]),
        ({"where": {"year": {"from": 1800, "to": 1827}, "author": "ohm"}}, ["ohm.pdf"]),
        ({"where": {"citekey": ""}}, ["plain.md"]),
    ],
)
async def test_filters_by_facts_of_works_narrow_lists_and_searches_alike(
    kb: KnowledgeBase, narrowed: dict[str, Any], files: list[str]
) -> None:
    listed = (await _ask(kb, "kb.documents", **narrowed)).payload["results"]
    assert [row["file"] for row in listed] == files
    filters = {**narrowed.get("filters", {}), **({"where": narrowed["where"]} if "where" in narrowed else {})}
    found = (await _ask(kb, "semantic_search", query="lantern", filters=filters)).payload["results"]
    assert sorted({row["file"] for row in found}) == files


@pytest.mark.parametrize(
    "bad",
    [
        {"from": 2020, "to": 2019},
        {"since": 2019},
        {},
        {"from": "2019"},
        {"from": 2019, "to": None},
        {"from": True},
        {"from": 1e300},
    ],
)
async def test_a_bad_range_is_an_error_that_says_how_a_range_is_written(kb: KnowledgeBase, bad: Any) -> None:
    with pytest.raises(WinnowError, match='"from"') as caught:
        await _ask(kb, "kb.documents", where={"year": bad})
    assert caught.value.reason == "INVALID_REQUEST"


@pytest.mark.parametrize(
    ("where", "near"),
    [
        ({"year": {"from": 2020}}, "no document in reach has year '2020..'; its numbers are from 1800 to 2001"),
        ({"citekey": "ohm1828"}, "no document in reach has citekey 'ohm1828'; nearest: 'ohm1827'"),
        ({"author": "Volt"}, "no document in reach has author 'volt'; nearest: 'Volta'"),
        (
            {"yaer": {"from": 2020}},
            "no document in reach has yaer '2020..'; no document in reach has a field 'yaer'",
        ),
        ({"author": {"from": 1}}, "no document in reach has author '1..'; this field has no numbers"),
    ],
)
async def test_a_filter_that_matches_nothing_names_the_nearest(
    kb: KnowledgeBase, where: dict[str, Any], near: str
) -> None:
    warnings = (await _ask(kb, "kb.documents", where=where)).warnings
    assert [warning for warning in warnings if warning.startswith(near)] != []


# --- citations


async def _rows(kb: KnowledgeBase) -> list[dict[str, Any]]:
    found = (await _ask(kb, "semantic_search", query="lantern")).payload["results"]
    order = ["ohm.pdf", "piles.md", "library.bib#many2001", "plain.md"]
    return sorted(found, key=lambda row: order.index(row["file"]))


@pytest.mark.parametrize(
    ("style", "citations"),
    [
        ("pandoc", ["[@ohm1827, pp. 1-2]", "[@volta1800]", "[@many2001]", ""]),
        ("apa", ["(Ohm, 1827, pp. 1–2)", "(Volta & Banks, 1800)", "(A et al., 2001)", ""]),
        ("bibtex", [r"\cite[pp.~1--2]{ohm1827}", r"\cite{volta1800}", r"\cite{many2001}", ""]),
    ],
)
async def test_each_row_has_its_citation_and_the_keys_are_those_of_the_rows(
    kb: KnowledgeBase, style: str, citations: list[str]
) -> None:
    rows = await _rows(kb)
    answer = await _ask(kb, "kb.cite", rows=[{"id": row["id"]} for row in rows], style=style)
    assert answer.payload["citations"] == citations
    assert answer.payload["citekeys"] == ["ohm1827", "volta1800", "many2001"]
    assert answer.payload["uncited"] == ["plain.md"]
    assert answer.warnings == (
        "documents without a citekey, which no bibliography has: plain.md; their citations are empty",
    )
    only = await _ask(kb, "kb.cite", rows=[{"id": rows[1]["id"]}], style=style)
    assert (only.payload["citekeys"], only.warnings) == (["volta1800"], ())


async def test_entries_name_each_work_once_in_the_order_of_names(kb: KnowledgeBase) -> None:
    rows = [{"id": row["id"]} for row in (await _rows(kb))[:2]]
    entries = (await _ask(kb, "kb.cite", rows=rows * 3, style="apa")).payload["entries"]
    assert entries == [
        "Ohm, G. (1827). The galvanic circuit. Annals, 8. https://doi.org/10.1000/ohm",
        "Volta, A., & Banks, J. (1800). On the electricity of piles.",
    ]


@pytest.mark.parametrize(
    ("span", "cited"),
    [([2, 2], "p. 2"), ([1, 1], "p. 1"), ([1, 2], "pp. 1-2"), ([7, 9], "pp. 1-2"), ([2, 1], "pp. 1-2")],
)
async def test_only_pages_of_the_passage_are_cited(kb: KnowledgeBase, span: list[int], cited: str) -> None:
    (row, *_) = await _rows(kb)
    answer = await _ask(kb, "kb.cite", rows=[{"id": row["id"], "page_span": span}])
    assert answer.payload["citations"] == [f"[@ohm1827, {cited}]"]


async def test_quotes_and_documents_are_cited_by_their_own_ids(kb: KnowledgeBase) -> None:
    quotes = (await _ask(kb, "kb.retrieve_evidence", question="what resists the current?")).payload["quotes"]
    (document,) = (await _ask(kb, "kb.documents", where={"citekey": "ohm1827"})).payload["results"]
    rows = [
        {"id": quotes[0]["passage_id"], "page_span": quotes[0]["page_span"]},
        {"id": document["document_id"]},
        {"id": "ohm.pdf"},
    ]
    answer = await _ask(kb, "kb.cite", rows=rows)
    assert answer.payload["citations"] == ["[@ohm1827, p. 2]", "[@ohm1827]", "[@ohm1827]"]


@pytest.mark.parametrize("id", ["nowhere.pdf", "0" * 12, "0" * 16, "\x1b[31m", "The galvanic circuit"])
async def test_an_unknown_row_is_not_cited_but_named(kb: KnowledgeBase, id: str) -> None:
    with pytest.raises(WinnowError, match="no passage or document") as caught:
        await _ask(kb, "kb.cite", rows=[{"id": id}])
    assert caught.value.reason == "NOT_FOUND"


SCRIPT_OF_CITATIONS = """
rows = kb.retrieve_evidence("what resists the current?", max_quotes=1)
cited, whole = cite(rows, style="pandoc"), cite(semantic_search("lantern"), style="csl-json")
return [cited.citations, cited.citekeys, sorted(whole.citekeys), cite(rows[0], style="apa").citations,
        isinstance(cite(rows[0]), str), cite([]).citekeys, rows[0].citekey, rows[0].year,
        semantic_search("without an entry", top_k=1)[0].citekey]
"""


async def test_a_script_cites_the_rows_that_it_has(library: Settings) -> None:
    async with (
        open_application(library, wait_for_model=False) as application,
        Client(build_server(Dispatcher(application.context, library), application)) as client,
    ):
        answer = await client.call_tool("execute_code", {"code": SCRIPT_OF_CITATIONS})
    assert answer.structured_content is not None
    assert answer.structured_content["result"] == [
        ["[@ohm1827, p. 2]"], ["ohm1827"], ["many2001", "ohm1827", "volta1800"], ["(Ohm, 1827, p. 2)"],
        True, [], "ohm1827", 1827, None,
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (
            ["--key", "ohm1827", "--style", "apa"],
            ["(Ohm, 1827)", "file://", "", "Ohm, G. (1827). The galvanic"],
        ),
        (["--document", "piles.md"], ["[@volta1800]", "file://"]),
        (["what resists the current on page two", "--limit", "1"], ["[@ohm1827, pp. 1-2]", "file://"]),
    ],
)
def test_the_command_cites_works_documents_and_what_a_query_finds(
    library: Settings, arguments: list[str], printed: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WINNOW_EMBEDDING", "off")
    result = CliRunner().invoke(cite_command.app, [*arguments, "--store", str(library.store)])
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert [line[: len(start)] for line, start in zip(lines, printed, strict=True)] == printed


def test_the_command_says_what_it_takes(library: Settings) -> None:
    result = CliRunner().invoke(cite_command.app, ["--store", str(library.store)])
    assert (result.exit_code, "--key CITEKEY" in result.stderr) == (2, True)


def test_a_file_that_no_bibliography_has_is_shown_with_its_place(library: Settings) -> None:
    result = CliRunner().invoke(cite_command.app, ["--document", "plain.md", "--store", str(library.store)])
    shown = result.stdout.splitlines()[0]
    assert (result.exit_code, shown.startswith("file://"), shown.endswith("/papers/plain.md")) == (0, True, True)
    assert "documents without a citekey" in result.stderr


def test_a_citekey_that_no_document_has_is_an_error(library: Settings) -> None:
    arguments = ["--key", "ohm1827", "--key", "nokey", "--store", str(library.store)]
    result = CliRunner().invoke(cite_command.app, arguments)
    assert (result.exit_code != 0, "no document has the citekey 'nokey'" in result.stderr) == (True, True)
