"""A store of a former layout: it opens, is migrated, answers the same, and is not written again."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.ingesting import ingest_paths
from tests.plain_store import index_by_words
from winnow.server.backends.catalogue import SCHEMA_VERSION
from winnow.server.backends.opening import catalogue_path, open_backends
from winnow.server.commands.entry.knowledge import make_knowledge_base
from winnow.server.ingest.pipeline import IngestReport
from winnow.server.jobs.target import target_of
from winnow.server.operations.knowledge import SCRIPT
from winnow.server.settings.settings import Settings
from winnow.server.storage.files import seal

pytestmark = pytest.mark.anyio

PAGES = {
    "guide/valves.md": "---\nstage: beta\n---\n# Valves\n\n## Opening\n\n"
    + "The valve of the pump opens at four bar. It is made of steel and painted grey in autumn. " * 30,
    "guide/pumps.rst": "Pumps\n=====\n\nA pump needs a valve, a pipe and oil.\n\nParts\n-----\n\n* pipe\n* oil\n",
    "page.html": "<title>Pipes</title><h1>Pipes</h1><p>A pipe carries oil to the pump.</p>",
    "open.py": "def open_valve(bar: int) -> bool:\n    return bar > 4\n\n\nclass Pump:\n    valve = None\n",
    "all.jsonl": '{"_id": "1", "title": "Oil", "text": "Oil is changed.", "metadata": {"tags": ["oil"]}}\n',
    "notes.txt": "The valve was checked in 2026.\n\nThe pump was not.\n",
}
# From the present layout to layout 6: projects have no settings of their own.
TO_LAYOUT_6 = """
DROP TABLE project_settings;
ALTER TABLE projects DROP COLUMN changed;
ALTER TABLE projects DROP COLUMN state;
ALTER TABLE projects DROP COLUMN successor;
PRAGMA user_version = 6;
"""
# From there to layout 4: places and readings are gone, and the index of chunks lacks their tokens.
TO_LAYOUT_4 = f"""
{TO_LAYOUT_6}
DROP TABLE places;
DROP TABLE readings;
DROP INDEX chunks_by_document;
CREATE INDEX chunks_by_document ON chunks (document_id, ordinal);
UPDATE files SET stamp = '1.9' || substr(stamp, instr(stamp, ':'));
PRAGMA user_version = 4;
"""
QUESTION = "when does the valve of the pump open"
CALLS: tuple[tuple[str, Mapping[str, Any]], ...] = (
    *(
        ("semantic_search", {"query": QUESTION, "response_mode": mode, "top_k": 20})
        for mode in ("ids_only", "metadata", "preview", "full")
    ),
    ("kb.scan", {"pattern": r"valve|pump"}),
    ("kb.scan", {"pattern": "oil", "group_by": "document"}),
    ("kb.count", {"pattern": "pump"}),
    ("kb.documents", {}),
    ("kb.documents", {"group_by": "type"}),
    *(("kb.read", {"document": name}) for name in ("guide/valves.md", "all.jsonl#1", "open.py")),
)


async def answers(settings: Settings) -> list[dict[str, Any]]:
    """The answers to all calls, and the quotes, without what belongs to a session."""
    base = make_knowledge_base(settings, wait_for_model=False)
    await base.open()
    try:
        caller = base.caller("test", SCRIPT, "run")
        found = [(await base.call(operation, arguments, caller)).payload for operation, arguments in CALLS]
        evidence = (await base.call("kb.retrieve_evidence", {"question": QUESTION}, caller)).payload
        quotes = [{**quote, "passage_id": "", "uri": ""} for quote in evidence["quotes"]]
        return [*found, {**evidence, "quotes": quotes}]
    finally:
        await base.aclose()


def ingest(settings: Settings, folder: Path) -> IngestReport:
    backends = open_backends(settings, wait_for_model=False)
    try:
        return ingest_paths(target_of(settings, backends, None), [folder])
    finally:
        backends.close()


def layout_of(settings: Settings) -> tuple[int, list[tuple[str, str]]]:
    with closing(sqlite3.connect(catalogue_path(settings))) as connection:
        ((version,),) = connection.execute("PRAGMA user_version").fetchall()
        return version, connection.execute(
            "SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%' ORDER BY 1, 2"
        ).fetchall()


def index_pages(tmp_path: Path) -> tuple[Path, Settings]:
    """A folder with the pages, and the settings of a store that holds them."""
    folder = tmp_path / "docs"
    for name, text in PAGES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder, index_by_words(folder, tmp_path / "store")


def go_back(settings: Settings, script: str) -> None:
    """Give the store's catalogue a former layout."""
    with closing(sqlite3.connect(catalogue_path(settings))) as connection:
        connection.executescript(script)
    (settings.store / seal.NAME).unlink()  # of the file as it was


async def test_a_store_without_settings_of_projects_opens_answers_the_same_and_is_not_read_again(
    tmp_path: Path,
) -> None:
    folder, settings = index_pages(tmp_path)
    before, layout = await answers(settings), layout_of(settings)
    go_back(settings, TO_LAYOUT_6)
    assert layout_of(settings)[0] == 6
    assert await answers(settings) == before
    assert layout_of(settings) == (SCHEMA_VERSION, layout[1])
    report = ingest(settings, folder)
    assert (report.documents, report.deleted, report.unchanged, report.failures) == (0, 0, len(PAGES), ())


async def test_a_store_without_places_opens_is_migrated_answers_the_same_and_is_not_rewritten(
    tmp_path: Path,
) -> None:
    folder, settings = index_pages(tmp_path)
    before, layout = await answers(settings), layout_of(settings)
    go_back(settings, TO_LAYOUT_4)
    assert layout_of(settings)[0] == 4
    assert layout_of(settings)[1] != layout[1]
    assert await answers(settings) == before
    assert layout_of(settings) == (SCHEMA_VERSION, layout[1])
    assert all(len(answer.get("results", answer.get("quotes", answer.get("ids", [1])))) for answer in before)
    # All files are read again, for an older reader read them, and no document is another one.
    report = ingest(settings, folder)
    assert (report.documents, report.deleted, report.unchanged, report.failures) == (0, 0, len(PAGES), ())
    assert await answers(settings) == before
