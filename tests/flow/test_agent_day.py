"""An agent's day with the notebook of claims, over MCP: what it reports is held against the files themselves."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pypdfium2
import pytest
from mcp import Client, StdioServerParameters
from typer.testing import CliRunner

from tests.patience import LIMIT
from tests.pdf_files import PdfFile, build_pdf, paragraph
from winnow.server.backends.models.installed.weights import find_installed_carrier
from winnow.server.commands.claims.notebooks import app as claims_command
from winnow.server.commands.ingest import app as ingest_command

pytestmark = [
    pytest.mark.anyio,
    pytest.mark.skipif(find_installed_carrier() is None, reason="the model's carrier is not installed"),
]

WINNOW = Path(sys.executable).with_name("winnow")
METALS = ("copper", "zinc", "nickel", "silver", "cobalt")
MANUAL = """\
# Manual of the hall

## Doors

The doors of the hall open at seven and close at six.

## Kilns

The kiln for nickel is kept at 540 degrees, as the fire brigade demands.

## Waste

Slag is collected every Friday by two carts.
"""
_SENTENCE = re.compile(r"[A-Z](?:[^.!?#\n]|\n(?!\n))+[.!?]")
_CITATION = re.compile(r'^  - (?P<stance>\w+), \*\*(?P<status>[^*]+)\*\*: "(?P<quote>.*)" \((?P<place>.*)\)$')


@dataclass(frozen=True, slots=True)
class Citation:
    """A quote of a report: its status, its document, and its page, 0 for a document without pages."""

    status: str
    quote: str
    document: str
    page: int


@dataclass(frozen=True, slots=True)
class Desk:
    """Files, the store over them, and a client of the server that the agent works with."""

    files: Path
    store: Path
    client: Client

    async def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """Call a tool; the structured answer, which is no error."""
        result = await self.client.call_tool(tool, arguments)
        assert not result.is_error, result.structured_content
        assert result.structured_content is not None
        return result.structured_content

    async def find(self, question: str, word: str, title: str) -> dict[str, str]:
        """Evidence for ``question``: the sentence with ``word`` in an excerpt of the document with this title."""
        found = await self.call("kb_search", query=question)
        row = next(row for row in found["results"] if row["title"] == title)
        read = await self.call("kb_read_excerpt", passage_id=row["passage_id"])
        sentences = [" ".join(each.split()) for each in _SENTENCE.findall(read["excerpt"])]
        return {"section_id": row["section_id"], "quote": next(each for each in sentences if word in each)}

    def run(self, *arguments: str) -> tuple[int, Any]:
        """The exit code and the answer of ``winnow claims``."""
        done = CliRunner().invoke(claims_command, [*arguments, "--store", str(self.store), "--json"])
        return done.exit_code, json.loads(done.stdout)

    def citations(self) -> list[Citation]:
        """The citations of the report."""
        lines = self.run("report")[1]["markdown"].splitlines()
        return [_citation(found) for line in lines if (found := _CITATION.match(line))]


def _citation(found: re.Match[str]) -> Citation:
    quote, place = (re.sub(r"\\(.)", r"\1", found[name]) for name in ("quote", "place"))
    document, _, page = place.partition(", p. ")
    return Citation(found["status"], quote, document, int(page or 0))


def page_text(files: Path, document: str, page: int) -> str:
    """What a file says, or one page of it, with single blanks: read without winnow."""
    path = files / document
    if not page:
        return " ".join(path.read_text("utf-8").split())
    opened = pypdfium2.PdfDocument(path)
    try:
        return " ".join(opened[page - 1].get_textpage().get_text_bounded().split())
    finally:
        opened.close()


def write_pdf(path: Path, pages: Sequence[Sequence[str]]) -> None:
    path.write_bytes(build_pdf(PdfFile([paragraph(72, 760, lines) for lines in pages])))


def ingest(files: Path, store: Path) -> None:
    done = CliRunner().invoke(ingest_command, [str(files), "--store", str(store), "--allow-weaker-reader"])
    assert done.exit_code == 0, done.output


def server(store: Path) -> StdioServerParameters:
    arguments = ["serve", "--store", str(store), "--tools", "all,claims", "--enable-writes", "--no-execute-code"]
    return StdioServerParameters(command=str(WINNOW), args=arguments, env=dict(os.environ))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two PDF files with a page for each metal, and a manual that contradicts them about nickel."""
    folder = tmp_path / "files"
    folder.mkdir()
    degrees = {metal: 600 + 37 * page for page, metal in enumerate(METALS, 1)}
    write_pdf(
        folder / "kilns.pdf",
        [
            [
                f"The furnace number {page} melts {metal}.",
                f"The kiln for {metal} is kept at {degrees[metal]} degrees.",
                "The hall is closed while it is lit.",
            ]
            for page, metal in enumerate(METALS, 1)
        ],
    )
    write_pdf(
        folder / "inspection.pdf",
        [
            [f"Visit to the furnace for {metal}.", f"We read {degrees[metal]} degrees at the {metal} kiln."]
            for metal in reversed(METALS)
        ],
    )
    (folder / "manual.md").write_text(MANUAL, "utf-8")
    return folder


async def test_an_agent_researches_claims_judges_revises_and_reports_what_the_files_say(
    files: Path, tmp_path: Path
) -> None:
    """A question, claims with quotes, a contradiction, a verdict, a revision, a report; then a file is edited."""
    store = tmp_path / "store"
    ingest(files, store)
    async with Client(server(store)) as client:
        desk = Desk(files, store, client)
        with anyio.fail_after(LIMIT):  # candidates are found by the model, which is loaded beside the calls
            while not (await desk.call("wild_status"))["semantic"]:
                await anyio.sleep(0.05)
        first, second = await write_claims(desk)
        await judge(desk, first, second)
        await revise(desk, first)
        await report(desk, first, second)
    follow_an_edit(desk, first, second)


async def write_claims(desk: Desk) -> tuple[str, str]:
    """The ids of an entry with what the first document says, and of one with what another says against it."""
    question = "at how many degrees is the kiln for nickel kept"
    prompt = await desk.client.get_prompt("research", {"question": question})
    assert "wild_search" in str(prompt.messages[0].content)
    assert (await desk.call("wild_search", query=question, mode="semantic"))["results"] == []
    evidence = await desk.find(question, "nickel is kept", "kilns")
    doors = await desk.find("when do the doors of the hall close", "close", "Manual of the hall")
    first = await desk.call(
        "wild_write",
        topic="hall/kilns",
        author="ada",
        claims=[
            {"text": evidence["quote"], "evidence": [evidence]},
            {"text": "The doors of the hall close at nine.", "evidence": [doors]},
        ],
    )
    kiln, door = first["claims"]
    assert [row["status"] for claim in (kiln, door) for row in claim["evidence"]] == ["verified", "verified"]
    assert "warnings" not in kiln
    assert door["warnings"] == ['the claim says "nine", which the quote does not']
    other = await desk.find(question, "nickel", "Manual of the hall")
    assert other["quote"] != evidence["quote"]
    second = await desk.call(
        "wild_write", topic="hall/kilns", author="ada", claims=[{"text": other["quote"], "evidence": [other]}]
    )
    pairs = {(pair["claim"], pair["other"]): pair["other_text"] for pair in second["candidates"]}
    assert pairs[f"{second['entry_id']}.1", f"{first['entry_id']}.1"] == evidence["quote"]
    return first["entry_id"], second["entry_id"]


async def judge(desk: Desk, first: str, second: str) -> None:
    """Record that the two contradict each other, with what a third document says."""
    third = await desk.find("what did the visit read at the nickel kiln", "nickel kiln", "inspection")
    judged = await desk.call(
        "wild_revise",
        entry_id=first,
        author="ada",
        evidence=[{"claim": 1, **third}],
        verdicts=[
            {"claim": 1, "other": f"{second}.1", "judgement": "contradicts", "note": "the visit read the first"}
        ],
    )
    # Two documents for the claim and one for that against it: 2 * 1 / 3.
    assert (judged["integration_status"], judged["max_friction"]) == ("contested", 0.667)
    assert judged["candidates"] == []
    contested = await desk.call("wild_friction", topic_prefix="hall", integration_status="contested")
    assert {row["entry_id"] for row in contested["results"]} == {first, second}
    related = await desk.call("wild_related", entry_id=second, direction="contradicts")
    (row,) = related["results"][0]["contradictions"]
    assert (row["claim"], row["other"], row["by"]) == (f"{second}.1", f"{first}.1", "ada")


async def revise(desk: Desk, first: str) -> None:
    """Say of the doors what the quote says; the claim that was judged stays as it is."""
    before = (await desk.call("wild_status"))["last_sequence"]
    read = await desk.call("wild_read", entry_id=first)
    doors = {name: read["claims"][1]["evidence"][0][name] for name in ("section_id", "quote")}
    written = await desk.call(
        "wild_write",
        topic="hall/doors",
        author="ada",
        claims=[{"text": "The doors of the hall close at six.", "evidence": [doors]}],
        references=[first],
    )
    assert "warnings" not in written["claims"][0]
    kept = {"text": read["claims"][0]["text"], "confidence": 0.6}
    quotes = [
        {name: each[name] for name in ("section_id", "quote", "stance")} for each in read["claims"][0]["evidence"]
    ]
    revised = await desk.call(
        "wild_revise",
        entry_id=first,
        revision=read["revision"],
        author="ada",
        claims=[{**kept, "evidence": quotes}],
    )
    # A claim that is revised is another one, with a number of its own: the verdict was about the old one.
    assert [row["n"] for row in revised["claims"]] == [3]
    assert "warnings" not in revised["claims"][0]
    (pair,) = [
        pair for pair in revised["candidates"] if pair["claim"] == f"{first}.3" and "540" in pair["other_text"]
    ]
    judged = await desk.call(
        "wild_revise",
        entry_id=first,
        author="ada",
        verdicts=[{"claim": 3, "other": pair["other"], "judgement": "contradicts", "note": "as before"}],
    )
    assert judged["integration_status"] == "contested"
    recent = await desk.call("wild_recent", since_sequence=before)
    assert [(row["entry_id"], row["kind"]) for row in recent["changes"]] == [
        (written["entry_id"], "written"),
        (first, "judged"),
    ]


async def report(desk: Desk, first: str, second: str) -> None:
    """Every citation of the report stands in its file, on its page."""
    status = await desk.call("wild_status")
    assert status["integration"] == {"probation": 0, "integrated": 1, "contested": 2}
    citations = desk.citations()
    read = [await desk.call("wild_read", entry_id=entry_id) for entry_id in (first, second)]
    quotes = [row["quote"] for entry in read for claim in entry["claims"] for row in claim["evidence"]]
    assert len(citations) == len(quotes) + 1
    assert set(quotes) < {each.quote for each in citations}
    assert {each.document for each in citations} == {"kilns.pdf", "inspection.pdf", "manual.md"}
    for each in citations:
        assert each.status == "verified"
        assert bool(each.page) == each.document.endswith(".pdf")
        assert each.quote in page_text(desk.files, each.document, each.page)
        if each.page:
            assert each.quote not in page_text(desk.files, each.document, each.page % len(METALS) + 1)
    code, checked = desk.run("check")
    assert (code, checked["notebooks"][0]["altered_at"]) == (0, None)
    assert checked["notebooks"][0]["evidence"] == {"verified": len(citations)}


def follow_an_edit(desk: Desk, first: str, second: str) -> None:
    """The manual is corrected: within one ingest its quote drifts, and nothing is contested any more."""
    manual = desk.files / "manual.md"
    manual.write_text(MANUAL.replace("540 degrees", "711 degrees"), "utf-8")
    (quote,) = [each.quote for each in desk.citations() if "540" in each.quote]
    ingest(desk.files, desk.store)
    drifted = [each for each in desk.citations() if each.status != "verified"]
    assert drifted == [Citation("DRIFTED", quote, "manual.md", 0)]
    assert quote not in page_text(desk.files, "manual.md", 0)
    _, shown = desk.run("show", second)
    assert "which says: The kiln for nickel is kept at 711 degrees" in shown["claims"][0]["warnings"][0]
    _, listed = desk.run("list")
    statuses = {row["entry_id"]: row["integration_status"] for row in listed["entries"]}
    assert (statuses.pop(second), set(statuses.values())) == ("probation", {"integrated"})
    assert first in statuses
    code, checked = desk.run("check")
    kept = len(desk.citations()) - 1
    assert (code, checked["notebooks"][0]["evidence"]) == (0, {"verified": kept, "drifted": 1})
