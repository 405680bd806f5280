"""``winnow backup`` and ``winnow restore``: all primary data of a store in one file, and back."""

from __future__ import annotations

import json
import os
import sqlite3
import stat
import threading
import zipfile
from collections.abc import Callable
from contextlib import closing
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.flow.test_ingest_references import Library, library
from tests.ingesting import ingest_paths
from winnow.server.backends.catalogue import Catalogue
from winnow.server.claims.records import Claim, Entry, Evidence, claim_id, new_entry_id
from winnow.server.claims.sqlite_store import SqliteClaimStore, claims_path
from winnow.server.claims.store import Notebook
from winnow.server.commands.backups import backup, restore
from winnow.server.commands.health.primary_data import CHECKS
from winnow.server.commands.terminal.findings import Finding
from winnow.server.ingest.children import parser
from winnow.server.ingest.children.reader_pool import StartedChildren
from winnow.server.ingest.pipeline import RawDocument, Target, ingest_documents
from winnow.server.jobs.job_files import JobFiles
from winnow.server.jobs.records import JobRequest, new_job
from winnow.server.jobs.watching.sources import WatchedSource, change_sources, read_sources
from winnow.server.models import Reading
from winnow.server.projects.backup.archive import MANIFEST, BackupManifest, JobsPart
from winnow.server.settings.loading import load_settings
from winnow.server.settings.project_settings import ProjectSettings
from winnow.server.storage.files.lock import ENGINE, StoreLock
from winnow.server.storage.files.store_folder import CATALOGUE
from winnow.server.storage.keys.key_file import (
    add_key,
    new_key,
    read_key_names,
    read_keys,
    remove_key,
    revoke_key,
    rotate_key,
)

pytestmark = pytest.mark.both_users

__all__ = ["library"]  # a fixture

BOOK, OTHER_BOOK = Notebook("notes"), Notebook("team/papers")
SETTINGS = {"notes": ProjectSettings(top_k=9), "team/papers": ProjectSettings(citation_style="apa")}


def run(app: Any, *arguments: object) -> tuple[int, dict[str, Any]]:
    done = CliRunner().invoke(app, [*map(str, arguments), "--json"])
    assert done.exception is None or isinstance(done.exception, SystemExit)
    return done.exit_code, json.loads(done.stdout)


def entry(notebook: Notebook, text: str) -> Entry:
    entry_id = new_entry_id()
    evidence = Evidence(quote="Backups are kept for ninety days.", document="backups.md")
    claims = (Claim(id=claim_id(entry_id, 1), text=text, confidence=0.9, evidence=(evidence,)),)
    return Entry(id=entry_id, project=notebook.project, topic="backups", claims=claims, author="ada")


def write_claims(store: Path, notebook: Notebook, *texts: str) -> None:
    with closing(SqliteClaimStore(claims_path(store))) as claims:
        for text in texts:
            claims.add(notebook, entry(notebook, text))


def data_of(store: Path) -> dict[str, Any]:
    """All that a backup must bring back."""
    with closing(Catalogue(store / CATALOGUE)) as catalogue:
        settings = {name: catalogue.project_settings(name) for name in SETTINGS}
    with closing(SqliteClaimStore(claims_path(store))) as claims:
        history = {notebook: claims.history(notebook) for notebook in claims.notebooks()}
    return {
        "settings": settings,
        "claims": history,
        "sources": read_sources(store),
        "keys": read_keys(store),
        "jobs": JobFiles(store).list_jobs().jobs,
    }


@pytest.fixture
def store(tmp_path: Path) -> Path:
    store = tmp_path / "store"
    store.mkdir(mode=0o700)
    with closing(Catalogue(store / CATALOGUE)) as catalogue:
        for name, settings in SETTINGS.items():
            catalogue.save_project_settings(name, settings)
    write_claims(store, BOOK, "Backups are kept for ninety days.", "Backups are not kept for a year.")
    write_claims(store, OTHER_BOOK, "Old backups are deleted.")
    change_sources(
        store,
        lambda before: [
            *before,
            WatchedSource(
                id="notes", paths=(str(tmp_path),), project="notes", references=f"{tmp_path}/library.bib"
            ),
        ],
    )
    add_key(store, new_key("ann", 1_000)[0], 1_000)
    JobFiles(store).write(new_job(JobRequest(project="notes", path="/srv/a", root="/srv")))
    return store


@pytest.fixture
def file(store: Path, tmp_path: Path) -> Path:
    path = tmp_path / "winnow.backup"
    assert run(backup.app, path, "--store", store)[0] == 0
    return path


def test_a_store_that_is_lost_is_restored_from_its_backup(store: Path, file: Path, tmp_path: Path) -> None:
    """Claims with their history, settings, sources with their bibliography, keys and jobs are as they were."""
    code, report = run(restore.app, file, "--store", tmp_path / "new")
    assert (code, report["projects"], report["notebooks"], report["kept"]) == (0, 2, 2, [])
    assert data_of(tmp_path / "new") == data_of(store)


def _forget_references(file: Path) -> None:
    """Leave out of a backup what versions before did not note."""
    with zipfile.ZipFile(file) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    facts = json.loads(entries["projects.json"])
    for project in facts["projects"]:
        del project["references"]
    part = entries["projects.json"] = json.dumps(facts).encode()
    manifest = json.loads(entries[MANIFEST])
    manifest["entries"]["projects.json"] = {"bytes": len(part), "digest": sha256(part).hexdigest()}
    entries[MANIFEST] = json.dumps(manifest).encode()
    with zipfile.ZipFile(file, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)


def _next_after(file: Path, place: Path, new: Path) -> Any:
    """The commands that a restore into a new store names; ``file`` is the backup of the store ``place``."""
    assert run(backup.app, file, "--store", place)[0] == 0
    return run(restore.app, file, "--store", new)[1]["next"]


def test_each_next_command_has_the_bibliography_of_its_source_and_the_store(
    target: Target, library: Library, tmp_path: Path
) -> None:
    """Followed as they are, papers keep their citekeys; a collection in JSON is no bibliography."""
    library.ingest(target)
    plain, data, new = tmp_path / "plain words", tmp_path / "data.json", tmp_path / "new store"
    plain.mkdir()
    (plain / "a.md").write_text("# A\n\nA text.\n", "utf-8")
    data.write_text('[{"_id": "1", "title": "One", "text": "The first text."}]', "utf-8")
    ingest_paths(target, [plain, data])
    sources = [str(data), str(library.file), str(library.papers), str(plain)]
    assert target.catalogue.sources("p") == sources
    ends = f"--project p --store '{new}'"
    papers = f"winnow ingest {library.papers} --references {library.file} {ends}"
    steps = [f"winnow ingest {data} {ends}", papers, f"winnow ingest '{plain}' {ends}"]
    assert _next_after(tmp_path / "1.backup", tmp_path / "store", new) == steps
    _forget_references(tmp_path / "1.backup")
    assert papers in run(restore.app, tmp_path / "1.backup", "--store", new)[1]["next"]


def test_a_bibliography_that_left_no_document_is_asked_for_and_a_watched_one_named(
    target: Target, library: Library, tmp_path: Path
) -> None:
    """Where every entry has a file, only the files tell that there was one."""
    library.write("ohm", "volt")
    library.ingest(target)
    new = tmp_path / "new"
    command = f"winnow ingest {library.papers} --references {{}} --project p --store {new}"
    note = " (FILE: the bibliography of these documents)"
    assert _next_after(tmp_path / "1.backup", tmp_path / "store", new) == [command.format("FILE") + note]
    other = WatchedSource(id="o", paths=(str(tmp_path / "o"),), project="p", references=str(library.file))
    change_sources(tmp_path / "store", lambda before: [*before, other])
    steps = [command.format(library.file), f"winnow watch --store {new}"]
    assert _next_after(tmp_path / "2.backup", tmp_path / "store", new) == steps


def test_each_next_command_reads_the_files_as_they_were_read(
    target: Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Run as it was printed, a command without the option left six of ten files out where walls are missing."""
    readings = {
        "scans": Reading("liteparse", 2, needs_ocr=(1,), ocr_pages=1),
        "plain": Reading("liteparse", 2, hidden_runs=1),
        "seen": Reading("liteparse", 2, hidden_runs=1, hidden_kept=True),
        "text": None,
    }
    for name, reading in readings.items():
        raw = RawDocument(f"{name}.pdf", "pdf", name, "A text.", reading=reading)
        ingest_documents(target, f"/docs/{name}", [raw])
    monkeypatch.setattr(
        parser, "start_walled_children", lambda options, tasks: StartedChildren(options, None, "landlock")
    )
    assert run(backup.app, tmp_path / "b", "--store", tmp_path / "store")[0] == 0
    told = run(restore.app, tmp_path / "b", "--store", tmp_path / "new")[1]
    assert told["next"] == [
        f"winnow ingest /docs/{name} --project p{options} --store {tmp_path}/new"
        for name, options in (
            ("plain", " --allow-weaker-reader"),
            ("scans", " --ocr --allow-weaker-reader"),
            ("seen", " --hidden keep --allow-weaker-reader"),
            ("text", ""),
        )
    ]
    assert ["a harmful file could then read" in note for note in told["notes"]] == [False, True]
    monkeypatch.setenv("WINNOW_ALLOW_WEAKER_READER", "on")
    told = run(restore.app, tmp_path / "b", "--store", tmp_path / "new")[1]
    assert ([" --allow" in step for step in told["next"]], len(told["notes"])) == ([False] * 4, 1)


def test_both_commands_say_what_is_not_in_the_file_and_how_to_copy_it(store: Path, tmp_path: Path) -> None:
    made = CliRunner().invoke(backup.app, [str(tmp_path / "b"), "--store", str(store)]).stdout
    done = CliRunner().invoke(restore.app, [str(tmp_path / "b"), "--store", str(tmp_path / "new")]).stdout
    line = (
        "not in it: documents, passages and vectors, which winnow ingest makes again from your files; to copy "
        "them too: winnow migrate --to DIR, while the store is not in use"
    )
    assert [line in shown.splitlines() for shown in (made, done)] == [True, True]


def test_a_next_command_of_the_default_store_names_no_store(
    store: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    assert _next_after(tmp_path / "b", store, tmp_path / "data" / "winnow") == ["winnow watch"]


def test_both_commands_count_the_same_in_the_same_words(store: Path, tmp_path: Path) -> None:
    """Also projects without settings of their own."""
    with closing(Catalogue(store / CATALOGUE)) as catalogue:
        catalogue.begin_write("plain")
        catalogue.finish_write("plain")
    file = tmp_path / "b"
    counts = "3 projects, 1 watched source, 1 key, 1 job, 2 notebooks of claims"
    for app, place in ((backup.app, store), (restore.app, tmp_path / "new")):
        assert counts in CliRunner().invoke(app, [str(file), "--store", str(place)]).stdout


def test_a_backup_is_for_its_owner_alone_and_replaces_nothing(store: Path, file: Path, tmp_path: Path) -> None:
    """It holds digests of keys. A second backup of the same name, or through a link, is refused."""
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    before = file.read_bytes()
    (tmp_path / "link").symlink_to(tmp_path / "target")
    codes = [run(backup.app, path, "--store", store)[0] for path in (file, tmp_path / "link")]
    assert (codes, file.read_bytes(), (tmp_path / "target").exists()) == ([2, 2], before, False)


def test_nothing_of_a_store_is_replaced_unless_that_is_asked_for(store: Path, file: Path) -> None:
    """Whatever differs is named, and nothing is written; with --replace it is kept under another name."""
    with closing(Catalogue(store / CATALOGUE)) as catalogue:
        catalogue.save_project_settings("notes", ProjectSettings(top_k=3))
    change_sources(store, lambda before: [])
    change_sources(store, lambda before: [WatchedSource(id="other", paths=("/srv",), project="notes")])
    add_key(store, new_key("bob", 2_000)[0], 2_000)
    changed = data_of(store)
    code, answer = run(restore.app, file, "--store", store)
    assert (code, data_of(store) == changed) == (2, True)
    for part in ("settings of projects", "watched sources", "access keys"):
        assert part in answer["error"]["message"]
    code, report = run(restore.app, file, "--store", store, "--replace")
    assert (code, len(report["kept"])) == (0, 3)
    assert all(Path(path).exists() for path in report["kept"])
    assert (data_of(store)["settings"], len(read_keys(store))) == (SETTINGS, 1)


def test_what_the_store_ended_of_its_keys_stays_ended(store: Path, tmp_path: Path) -> None:
    """A key that was revoked, one that was removed, and a secret that was rotated; the report names the keys."""
    for number, name in enumerate(("bob", "cleo", "dan")):
        add_key(store, new_key(name, 2_000 + number)[0], 2_000)
    assert run(backup.app, tmp_path / "b", "--store", store)[0] == 0
    revoke_key(store, "ann", 3_000)
    revoke_key(store, "bob", 3_000)
    remove_key(store, "bob", 3_000)
    rotated = rotate_key(store, "cleo", 3_000)[0]
    add_key(store, new_key("eve", 4_000)[0], 4_000)
    for options in (["--replace"], []):  # as after a kill
        code, report = run(restore.app, tmp_path / "b", "--store", store, *options)
        assert (code, report["revoked"], report["reactivated"]) == (0, ["ann", "bob"], [])
        ann, bob, cleo, dan = read_keys(store)
        assert [key.state(5_000) for key in (ann, bob, cleo, dan)] == ["revoked", "revoked", "active", "active"]
        assert (ann.revoked_at, cleo) == (3_000, rotated)
        assert {"ann", "bob", "cleo", "dan", "eve"} == {*read_key_names(store).values()}  # for the audit


def test_a_rotated_secret_does_not_come_back_where_the_clock_was_set_back(store: Path, tmp_path: Path) -> None:
    add_key(store, new_key("cleo", 2_000)[0], 2_000)
    rotate_key(store, "cleo", 2_500)
    assert run(backup.app, tmp_path / "b", "--store", store)[0] == 0
    rotated = rotate_key(store, "cleo", 2_400)[0]
    assert run(restore.app, tmp_path / "b", "--store", store, "--replace")[0] == 0
    assert {key.name: key for key in read_keys(store)}["cleo"] == rotated


def test_a_file_of_keys_without_former_secrets_and_removed_names_is_read_and_restored(
    store: Path, tmp_path: Path
) -> None:
    """An earlier version wrote such files, and backups of them."""
    path = store / "keys.json"
    content = json.loads(path.read_text("utf-8"))
    del content["removed"]
    for key in content["keys"]:
        del key["former"]
    path.write_text(json.dumps(content), "utf-8")
    earlier = read_keys(store)
    assert run(backup.app, tmp_path / "b", "--store", store)[0] == 0
    rotated = rotate_key(store, "ann", 3_000)[0]
    assert [each.digest for each in rotated.former] == [earlier[0].digest]
    assert run(restore.app, tmp_path / "b", "--store", store, "--replace")[0] == 0
    assert read_keys(store) == (rotated,)


@pytest.mark.parametrize("loss", [Path.unlink, lambda path: path.write_text("{", "utf-8")])
def test_keys_that_are_active_again_after_a_loss_are_named(
    loss: Callable[[Path], object], store: Path, file: Path
) -> None:
    """Nothing tells any more which of them were revoked."""
    revoke_key(store, "ann", 3_000)
    loss(store / "keys.json")
    code, report = run(restore.app, file, "--store", store, "--replace")
    assert (code, report["revoked"], report["reactivated"]) == (0, [], ["ann"])
    assert [key.state(5_000) for key in read_keys(store)] == ["active"]


def test_jobs_that_went_on_stay_and_others_are_kept_beside_the_restored_ones(store: Path, file: Path) -> None:
    """A job that ended after the backup does not wait again; one of another request is kept in a file."""
    files = JobFiles(store)
    (job,) = files.list_jobs().jobs
    done = job.model_copy(update={"state": "done", "ended_at": 9.0})
    files.write(done)
    assert run(restore.app, file, "--store", store)[1]["kept"] == []
    assert files.read(job.id) == done
    other = job.model_copy(update={"request": JobRequest(project="notes", path="/srv/b", root="/srv")})
    files.write(other)
    assert "jobs" in run(restore.app, file, "--store", store)[1]["error"]["message"]
    code, report = run(restore.app, file, "--store", store, "--replace")
    (kept,) = map(Path, report["kept"])
    assert (code, files.read(job.id)) == (0, job)
    assert JobsPart.model_validate_json(kept.read_bytes()).jobs == (other,)


def test_claims_that_went_on_differently_are_kept_beside_the_restored_ones(store: Path, file: Path) -> None:
    """What came after the backup stays; a damaged file is kept, and the claims come from the backup."""
    write_claims(store, BOOK, "Written after the backup.")
    later = data_of(store)
    assert run(restore.app, file, "--store", store)[0] == 0
    assert data_of(store) == later
    claims_path(store).write_bytes(b"no database" * 500)
    code, report = run(restore.app, file, "--store", store, "--replace")
    assert (code, [Path(path).is_dir() for path in report["kept"]]) == (0, [True])
    with closing(SqliteClaimStore(claims_path(store))) as claims:
        assert len(claims.history(BOOK)) == 2


def test_a_restore_can_be_repeated(file: Path, tmp_path: Path) -> None:
    """As after a kill: what is restored already is no conflict."""
    for _ in range(2):
        code, report = run(restore.app, file, "--store", tmp_path / "new")
        assert (code, report["kept"]) == (0, [])


def test_a_store_that_is_in_use_is_not_restored_into(file: Path, store: Path) -> None:
    """A server would go on with what it has read."""
    lock = StoreLock(store, ENGINE)
    try:
        code, answer = run(restore.app, file, "--store", store)
    finally:
        lock.release()
    assert (code, answer["error"]["details"]["reason"]) == (4, "INDEX_HELD")


def test_a_backup_taken_while_claims_are_written_is_a_state_that_there_was(store: Path, tmp_path: Path) -> None:
    """Each notebook of the backup is a beginning of the notebook, with an unbroken chain."""
    until = threading.Event()

    def write() -> None:
        while not until.is_set():
            write_claims(store, BOOK, "Written meanwhile.")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        codes = [run(backup.app, tmp_path / f"{number}", "--store", store)[0] for number in range(5)]
    finally:
        until.set()
        writer.join()
    assert codes == [0] * 5
    with closing(SqliteClaimStore(claims_path(store))) as claims:
        whole = [change.digest for change in claims.history(BOOK)]
    for number in range(5):
        assert run(restore.app, tmp_path / f"{number}", "--store", tmp_path / f"s{number}")[0] == 0
        with closing(SqliteClaimStore(claims_path(tmp_path / f"s{number}"))) as claims:
            restored = [change.digest for change in claims.history(BOOK)]
        assert restored == whole[: len(restored)]


def test_a_damaged_part_of_the_store_is_no_empty_backup(store: Path, tmp_path: Path) -> None:
    """Keys that cannot be read or are gone, and a history that was altered, are errors."""
    kept = (store / "keys.json").read_bytes()
    (store / "keys.json").write_text("{", "utf-8")
    assert run(backup.app, tmp_path / "b", "--store", store)[0] == 2
    (store / "keys.json").unlink()
    code, answer = run(backup.app, tmp_path / "b", "--store", store)
    assert (code, "had keys" in answer["error"]["message"]) == (2, True)
    (store / "keys.json").write_bytes(kept)
    (store / "keys.json").chmod(0o600)
    with closing(SqliteClaimStore(claims_path(store))) as claims, claims.database.transaction() as connection:
        connection.execute("UPDATE history SET at = 1.0 WHERE sequence = 1")
    code, answer = run(backup.app, tmp_path / "b", "--store", store)
    assert (code, "is not as it was written" in answer["error"]["message"]) == (4, True)
    assert os.listdir(tmp_path).count("b") == 0


def test_a_job_that_cannot_be_read_is_named_as_not_in_the_backup(store: Path, tmp_path: Path) -> None:
    (path,) = (store / "jobs").iterdir()
    path.write_text("{", "utf-8")
    code, report = run(backup.app, tmp_path / "b", "--store", store)
    assert (code, report["jobs"], report["damaged_jobs"]) == (0, 0, [path.name])


def _flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(data)


def test_a_byte_that_differs_anywhere_in_the_parts_is_found(file: Path, tmp_path: Path) -> None:
    """Of every part one byte is changed; each time the file is refused and no store made."""
    with zipfile.ZipFile(file) as archive:
        places = [entry.header_offset + 30 + len(entry.filename) + 40 for entry in archive.infolist()]
    whole = file.read_bytes()
    for at in places:
        _flip(file, at)
        assert run(restore.app, file, "--store", tmp_path / "new")[0] == 2
        file.write_bytes(whole)
    for size in (0, 10, len(whole) // 2, len(whole) - 1):
        file.write_bytes(whole[:size])
        assert run(restore.app, file, "--store", tmp_path / "new")[0] == 2
    assert not (tmp_path / "new").exists()


def _later_version(entries: dict[str, bytes]) -> None:
    facts = json.loads(entries[MANIFEST])
    entries[MANIFEST] = json.dumps({**facts, "version": 2}).encode()


def _other_entry(entries: dict[str, bytes]) -> None:
    entries["../keys.json"] = b"{}"


def _listed_other_entry(entries: dict[str, bytes]) -> None:
    manifest = BackupManifest.model_validate_json(entries[MANIFEST]).model_dump()
    entries["../keys.json"] = b"{}"
    manifest["entries"]["../keys.json"] = {"bytes": 2, "digest": sha256(b"{}").hexdigest()}
    entries[MANIFEST] = json.dumps(manifest).encode()


def _unlisted_part(entries: dict[str, bytes]) -> None:
    del entries["keys.json"]


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_later_version, "it has version 2 of the format"),
        (_other_entry, "its entries are not those that its manifest names"),
        (_listed_other_entry, "which no backup has"),
        (_unlisted_part, "its entries are not those that its manifest names"),
    ],
)
def test_a_backup_of_another_form_is_refused_with_its_reason(
    change: Callable[[dict[str, bytes]], None], why: str, file: Path, tmp_path: Path
) -> None:
    """A later version, more entries or fewer: nothing is restored of it."""
    with zipfile.ZipFile(file) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    change(entries)
    with zipfile.ZipFile(tmp_path / "made", "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    code, answer = run(restore.app, tmp_path / "made", "--store", tmp_path / "new")
    assert (code, why in answer["error"]["message"]) == (2, True)
    assert not (tmp_path / "new").exists()


def _doctor(store: Path) -> dict[str, list[Finding]]:
    settings = load_settings(store=store)
    return {check.__name__: [*check(settings)] for check in CHECKS}


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def _zero(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _alter_text(path: Path) -> None:
    data = path.read_bytes()
    text = b"Backups are not kept for a year."
    assert text in data
    path.write_bytes(data.replace(text, b"Backups are yes kept for a year."))


def _whole_claims(store: Path) -> Path:
    """The file of claims, with all that its write-ahead log has."""
    path = claims_path(store)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return path


def test_the_doctor_finds_what_no_ingest_makes_again_as_it_was_written(store: Path) -> None:
    """Claims with their chain of digests, keys, jobs and audit files."""
    (store / "audit").mkdir()
    (store / "audit" / "calls.jsonl").write_text('{"time":"2026-01-01T00:00:00Z"}\n', "utf-8")
    found = [finding for findings in _doctor(store).values() for finding in findings]
    assert [(one.check, one.ok) for one in found] == [("claims", True), ("keys", True)]


@pytest.mark.parametrize("damage", [_cut, _zero, _empty, _alter_text])
def test_the_doctor_names_damaged_claims(damage: Callable[[Path], None], store: Path) -> None:
    """Half a file, zeros, nothing, or another text: never "as it was written"."""
    damage(_whole_claims(store))
    found = _doctor(store)["_claims"]
    assert found
    assert {(one.ok, one.essential, str(claims_path(store)) in one.detail) for one in found} == {
        (False, True, True)
    }


@pytest.mark.parametrize("damage", [_cut, _zero, _empty])
def test_the_doctor_names_damaged_keys_and_jobs(damage: Callable[[Path], None], store: Path) -> None:
    """A file that is not as winnow writes it is a finding of its own."""
    damage(store / "keys.json")
    damage(next((store / "jobs").glob("*.json")))
    found = _doctor(store)
    assert [[one.ok for one in found[name]] for name in ("_keys", "_jobs")] == [[False], [False]]


def test_the_doctor_names_lines_of_the_audit_that_were_altered(store: Path) -> None:
    """The line is named; one that is being written is no fault."""
    (store / "audit").mkdir()
    lines = '{"time":"2026-01-01T00:00:00Z"}\n{"ti\n{"time":'
    (store / "audit" / "executions.jsonl").write_text(lines, "utf-8")
    assert ["line 2" in one.detail for one in _doctor(store)["_audit"]] == [True]
