"""``winnow claims`` over a real store: what the people who own a notebook see, check, approve and move."""

from __future__ import annotations

import json
import sqlite3
import time
from contextlib import closing
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.ingesting import ingest_paths
from winnow.server.backends.opening import open_backends
from winnow.server.claims.records import Claim, ClaimVerdict, Entry, Evidence, claim_id, new_entry_id
from winnow.server.claims.sqlite_store import SqliteClaimStore, claims_path
from winnow.server.claims.store import Notebook, View
from winnow.server.commands.claims.notebooks import app
from winnow.server.jobs.target import target_of
from winnow.server.settings.loading import load_settings
from winnow.server.storage.keys.key_file import add_key, new_key

QUOTE = "Backups are kept for ninety days on a second machine."
BOOK = Notebook("default")


@dataclass(frozen=True, slots=True)
class Place:
    """A store over a folder with one document, and the ids of an entry about it and of one that waits."""

    store: Path
    document: Path
    entry_id: str
    waiting_id: str

    def ingest(self) -> None:
        settings = load_settings(store=self.store, embedding="off", graph="off")
        with closing(open_backends(settings, wait_for_model=False)) as backends:
            ingest_paths(target_of(settings, backends, None), [self.document.parent])

    def run(self, *arguments: str) -> tuple[int, Any]:
        done = CliRunner().invoke(app, [*arguments, "--store", str(self.store), "--json"])
        return done.exit_code, json.loads(done.stdout)

    def text(self, *arguments: str) -> str:
        return CliRunner().invoke(app, [*arguments, "--store", str(self.store)]).stdout


def _entry(topic: str, text: str, **more: Any) -> Entry:
    entry_id = new_entry_id()
    evidence = Evidence(quote=QUOTE, document="backups.md")
    claims = (Claim(id=claim_id(entry_id, 1), text=text, confidence=0.9, evidence=(evidence,)),)
    return Entry(id=entry_id, project="default", topic=topic, claims=claims, author="ada", **more)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    document = tmp_path / "files" / "backups.md"
    document.parent.mkdir()
    document.write_text(f"# Backups\n\n{QUOTE}\n", "utf-8")
    (document.parent / "other.md").write_text("# Other\n\nThe gateway listens on port 8443.\n", "utf-8")
    store = tmp_path / "store"
    entry, waiting = _entry("backups", "Backups stay 90 days."), _entry("backups", "Evil.", needs_review=True)
    made = Place(store, document, entry.id, waiting.id)
    made.ingest()  # before the entries are there, or it would check their quotes
    with closing(SqliteClaimStore(claims_path(store))) as claims:
        for each in (entry, waiting):
            claims.add(BOOK, each)
    return made


def test_a_check_finds_quotes_and_follows_the_document(place: Place) -> None:
    """One ingest each time."""
    assert place.run("check") == (
        0,
        {
            "notebooks": [
                {
                    "notebook": "default",
                    "entries": 2,
                    "changed": 2,
                    "evidence": {"verified": 2},
                    "lost": [],
                    "standings": [],
                    "altered_at": None,
                }
            ]
        },
    )
    place.document.write_text("# Backups\n\nBackups are kept for sixty days on a second machine.\n", "utf-8")
    place.ingest()
    found = place.run("check")[1]["notebooks"][0]
    assert (found["changed"], found["evidence"]) == (0, {"drifted": 2})  # the ingest has noted it
    assert found["lost"][0] == {
        "claim_id": f"{place.entry_id}.1",
        "status": "drifted",
        "document": "backups.md",
        "quote": QUOTE,
    }
    assert f'{place.entry_id}.1: drifted in backups.md: "{QUOTE}"' in place.text("check")
    history = place.run("show", place.entry_id)[1]["history"]
    assert [change["kind"] for change in history] == ["written", "drifted"]
    place.document.unlink()
    place.ingest()
    assert place.run("check")[1]["notebooks"][0]["evidence"] == {"missing": 2}
    assert "MISSING" in place.text("report")


def test_a_check_of_a_project_checks_its_notebooks_alone(place: Place) -> None:
    with closing(SqliteClaimStore(claims_path(place.store))) as claims:
        for notebook in (Notebook("other"), Notebook("other", "0" * 8)):
            claims.add(notebook, _entry("b", "Backups stay.").model_copy(update={"project": "other"}))
    names = {
        project: [row["notebook"] for row in place.run("check", *project)[1]["notebooks"]]
        for project in ((), ("--project", "default"), ("--project", "other"))
    }
    other = ["other", f"other --key {'0' * 8}"]
    assert names == {
        (): ["default", *other],
        ("--project", "default"): ["default"],
        ("--project", "other"): other,
    }


def test_a_check_fails_where_the_history_was_altered(place: Place) -> None:
    with closing(sqlite3.connect(claims_path(place.store))) as connection, connection:
        connection.execute("UPDATE history SET body = replace(body, '90 days', '9 days')")
    code, found = place.run("check")
    assert (code, found["notebooks"][0]["altered_at"]) == (1, 1)


def test_an_entry_is_listed_shown_and_approved(place: Place) -> None:
    _, listed = place.run("list")
    assert [row["entry_id"] for row in listed["entries"]] == [place.entry_id, place.waiting_id]
    assert place.run("list", "--topic", "back")[1]["entries"] == []
    assert place.run("approve", place.waiting_id) == (0, {"entry_id": place.waiting_id, "approved": True})
    _, shown = place.run("show", place.waiting_id)
    assert [each["kind"] for each in shown["history"]] == ["written", "approved"]
    assert not shown["needs_review"]
    with closing(SqliteClaimStore(claims_path(place.store))) as claims:
        assert claims.read(View(BOOK), [place.waiting_id])
    code, refused = place.run("show", "0" * 12)
    assert (code, refused["error"]["details"]["reason"]) == (2, "NOT_FOUND")


def test_a_report_has_quotes_and_status_and_no_markup_of_an_agent(place: Place) -> None:
    with closing(SqliteClaimStore(claims_path(place.store))) as claims:
        claims.add(BOOK, _entry("a/b", "# [Click](http://evil.example) <img src=x>"))
    place.run("check")
    report = place.text("report")
    assert f'**verified**: "{QUOTE}" (backups.md)' in report
    assert "\n## a/b\n" in report
    assert r"\# \[Click\](http\://evil.example) \<img src=x\>" in report


def test_a_report_says_which_claims_contradict_each_other(place: Place) -> None:
    other = _entry("backups", "Backups stay for a year.")
    ours, theirs = f"{place.entry_id}.1", f"{other.id}.1"
    verdict = ClaimVerdict(claim_id=ours, other_id=theirs, judgement="contradicts", by="ada", note="90 or 365")
    with closing(SqliteClaimStore(claims_path(place.store))) as claims:
        claims.add(BOOK, other)
        claims.judge(BOOK, [verdict])
    line = "  - **contradicted** by {}, says ada: {} (90 or 365)"
    for text in (place.text("report"), place.text("show", place.entry_id)):
        assert line.format(theirs, "Backups stay for a year.") in text
    assert line.format(ours, "Backups stay 90 days.") in place.text("report")
    with closing(SqliteClaimStore(claims_path(place.store))) as claims:
        claims.judge(BOOK, [verdict.model_copy(update={"judgement": "unrelated", "created_at": 1.0})])
    assert "contradicted" not in place.text("report")


@pytest.mark.parametrize(
    ("command", "option"),
    [*product(["export", "report"], ["--project", "--key"]), ("check", "--project")],
)
def test_a_notebook_in_which_nobody_wrote_is_an_error_that_names_those_there_are(
    place: Place, command: str, option: str
) -> None:
    done = CliRunner().invoke(app, [command, option, "other", "--store", str(place.store)])
    assert (done.exit_code, done.stdout) == (2, "")
    assert "there are: default" in done.stderr


@pytest.mark.parametrize("command", ["list", "check", "report", "export"])
def test_where_no_agent_wrote_anything_the_commands_say_so_and_end_well(tmp_path: Path, command: str) -> None:
    (tmp_path / "store").mkdir()
    done = CliRunner().invoke(app, [command, "--store", str(tmp_path / "store")])
    assert (done.exit_code, f"no agent wrote claims in {tmp_path / 'store'}" in done.output) == (0, True)
    assert (command == "export") is (done.stdout == "")
    assert list((tmp_path / "store").iterdir()) == []
    SqliteClaimStore(claims_path(tmp_path / "store")).close()  # as a server does that was asked and not told
    done = CliRunner().invoke(app, [command, "--store", str(tmp_path / "store")])
    assert (done.exit_code, "no agent wrote claims" in done.output) == (0, True)
    mistyped = CliRunner().invoke(app, [command, "--store", str(tmp_path / "shop")])
    assert (mistyped.exit_code, (tmp_path / "shop").exists()) == (2, False)


@pytest.mark.parametrize("command", ["list", "check", "report", "export"])
def test_claims_that_are_lost_are_an_error_of_each_command_and_no_empty_notebook(
    place: Place, command: str
) -> None:
    claims_path(place.store).unlink()
    done = CliRunner().invoke(app, [command, "--store", str(place.store)])
    assert (done.exit_code != 0, "is gone, and with it 2 changes" in done.stderr) == (True, True)


def test_the_advice_about_a_damaged_file_leads_to_the_claims_of_an_export(place: Place, tmp_path: Path) -> None:
    exported, path = tmp_path / "claims.jsonl", claims_path(place.store)
    exported.write_text(place.text("export"), "utf-8")
    path.write_bytes(bytes(path.stat().st_size))
    store = f"--store {place.store}"
    advice = f"move the file away and run winnow claims adopt {store}, then winnow claims import {store} FILE"
    assert advice in place.run("list")[1]["error"]["message"]
    path.rename(tmp_path / "damaged.sqlite3")
    assert place.run("import", str(exported))[0] != 0
    assert place.run("adopt") == (0, {"changes": 0})
    assert place.run("import", str(exported))[0] == 0
    assert place.text("export") == exported.read_text("utf-8")


def test_a_notebook_of_a_key_is_found_by_the_name_of_the_key(place: Place) -> None:
    key, _ = new_key("alice", int(time.time()))
    add_key(place.store, key, int(time.time()))
    with closing(SqliteClaimStore(claims_path(place.store))) as claims:
        claims.add(Notebook("default", key.id), _entry("keys", "Keys have names."))
    assert "Keys have names." in place.text("report", "--key", "alice")
    assert place.text("report", "--key", "alice") == place.text("report", "--key", key.id)


def test_a_notebook_moves_to_another_store_and_a_backup_is_one(place: Place, tmp_path: Path) -> None:
    exported = tmp_path / "claims.jsonl"
    exported.write_text(place.text("export"), "utf-8")
    other = Place(tmp_path / "other", place.document, place.entry_id, place.waiting_id)
    assert other.run("list")[0] == 2
    assert other.run("import", str(exported)) == (0, {"appended": 2, "known": 0, "refused": [], "standings": []})
    assert other.run("import", str(exported)) == (0, {"appended": 0, "known": 2, "refused": [], "standings": []})
    assert other.text("export") == place.text("export")
    copy = tmp_path / "copy.sqlite3"
    assert place.run("backup", str(copy))[0] == 0
    assert place.run("backup", str(copy))[0] == 2
    with closing(SqliteClaimStore(copy)) as claims:
        assert claims.first_flaw(BOOK) is None
        assert len(claims.listing(View(BOOK, sees_all=True), 0, 10)) == 2


def test_each_status_that_a_check_or_an_import_changes_is_named_with_its_reason(
    place: Place, tmp_path: Path
) -> None:
    with closing(SqliteClaimStore(claims_path(place.store))) as claims:
        claims.save_vectors(place.entry_id, "any model", [(f"{place.entry_id}.1", b"\0\0\x80?")])
    integrated = "compared, supported, and its friction 0.00 is below 0.3"
    changed = {
        "entry_id": place.entry_id,
        "was": "probation",
        "now": "integrated",
        "friction": 0.0,
        "why": integrated,
    }
    assert place.run("check")[1]["notebooks"][0]["standings"] == [changed]
    assert place.run("check")[1]["notebooks"][0]["standings"] == []

    exported = tmp_path / "claims.jsonl"
    exported.write_text(place.text("export"), "utf-8")
    other = Place(tmp_path / "other", place.document, place.entry_id, place.waiting_id)
    other.ingest()
    why = "it was not compared with other entries yet"
    moved = {**changed, "was": "integrated", "now": "probation", "why": why}
    assert other.run("import", str(exported))[1]["standings"] == [moved]
    assert f"  {place.entry_id}: was integrated, is now probation, friction 0.00: {why}\n" in other.text(
        "import", str(exported)
    )
    with closing(SqliteClaimStore(claims_path(other.store))) as claims:
        claims.save_vectors(place.entry_id, "any model", [(f"{place.entry_id}.1", b"\0\0\x80?")])
    assert other.run("import", str(exported))[1]["standings"] == []


def test_a_file_that_does_not_say_the_statuses_is_said_not_to(place: Place, tmp_path: Path) -> None:
    head, rest = place.text("export").split("\n", 1)
    older = {name: value for name, value in json.loads(head).items() if name != "statuses"}
    exported = tmp_path / "claims.jsonl"
    exported.write_text(f"{json.dumps(older)}\n{rest}", "utf-8")
    assert place.run("import", str(exported))[1]["standings"] is None
    assert "the file does not say which status its entries had" in place.text("import", str(exported))
