"""Rows of works in a bibliography, filters by their facts, and citations made from rows."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from server.app import make_knowledge_base
from server.errors import WinnowError
from server.ingest.pipeline import ingest_paths
from server.ingest.target import target_of
from server.knowledge import DIRECT, SCRIPT, Answer, KnowledgeBase
from server.opening import open_backends
from server.settings import Settings, load_settings
from tests.pdf_files import PdfFile, build_pdf, paragraph

pytestmark = [pytest.mark.anyio, pytest.mark.walls]

ENTRIES = r"""
@article{ohm1827, title={The galvanic circuit}, author={Ohm, Georg}, year={1827}, journal={Annals}, volume={8},
 keywords={current, law}, groups={Physics}, doi={10.1000/ohm}, file={:papers/ohm.pdf:PDF}}
@book{volta1800, title={On the electricity of piles}, author={Volta, Alessandro and Banks, Joseph}, year={1800},
 keywords={current}, file={papers/piles.md}}
@misc{many2001, title={Lanterns of many hands}, author={A, A and B, B and C, C and D, D and E, E and F, F},
 year={2001}, abstract={A lantern burns oil for many hands.}}
"""
PAGES = ("The first page names the lantern.", "The lantern resists the current on page two.")
WORK = ("citekey", "authors", "year", "doi")
OHM = {"citekey": "ohm1827", "authors": ["Ohm, Georg"], "year": 1827, "doi": "10.1000/ohm"}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("library")
    papers = folder / "papers"
    papers.mkdir()
    (papers / "ohm.pdf").write_bytes(build_pdf(PdfFile([paragraph(72, 700, [line]) for line in PAGES])))
    (papers / "piles.md").write_text("# Piles\n\nA lantern beside the pile of silver and zinc.\n", "utf-8")
    (papers / "plain.md").write_text("# Plain\n\nA lantern without an entry.\n", "utf-8")
    (folder / "library.bib").write_text(ENTRIES, "utf-8")
    settings = load_settings(store=tmp_path_factory.mktemp("store"), embedding="off", graph="off")
    backends = open_backends(settings, wait_for_model=False)
    try:
        report = ingest_paths(target_of(settings, backends, None), [papers], references=folder / "library.bib")
    finally:
        backends.close()
    assert report.failures == ()
    return settings


@pytest.fixture(scope="module")
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
    assert works == {
        "ohm.pdf": OHM,
        "piles.md": {"citekey": "volta1800", "authors": ["Volta, Alessandro", "Banks, Joseph"], "year": 1800},
        "library.bib#many2001": {
            "citekey": "many2001",
            "authors": ["A, A", "B, B", "C, C", "et al."],
            "year": 2001,
        },
        "plain.md": {},
    }


async def test_quotes_candidates_and_excerpts_have_the_work_too(kb: KnowledgeBase) -> None:
    quotes = (await _ask(kb, "kb.retrieve_evidence", question="what resists the current?", direct=True)).payload
    first = quotes["quotes"][0]
    assert (_work_of(first), first["page_span"]) == (OHM, [2, 2])
    found = (await _ask(kb, "kb.search", query="lantern current resists", direct=True)).payload["results"]
    assert _work_of(next(row for row in found if row["title"] == "The galvanic circuit")) == OHM
    excerpt = await _ask(kb, "kb.read_excerpt", passage_id=first["passage_id"], direct=True)
    assert _work_of(excerpt.payload) == OHM


@pytest.mark.parametrize(
    ("narrowed", "files"),
    [
        ({"where": {"citekey": "ohm1827"}}, ["ohm.pdf"]),
        ({"where": {"citekey": ["ohm1827", "many2001"]}}, ["library.bib#many2001", "ohm.pdf"]),
        ({"where": {"author": "volta"}}, ["piles.md"]),
        ({"where": {"authors": "Banks, Joseph"}}, ["piles.md"]),
        ({"where": {"item_type": "book"}}, ["piles.md"]),
        ({"where": {"collections": "physics"}}, ["ohm.pdf"]),
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
