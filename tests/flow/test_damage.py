"""Truncated and overwritten files of a store: reported by the doctor and by searches, and repaired."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tests.ingesting import ingest_paths
from tests.plain_store import copy_store
from tests.tiny_models import write_model
from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.opening import open_backends
from winnow.server.backends.vectors.edge import EdgeStore
from winnow.server.backends.vectors.edge_files import list_files
from winnow.server.backends.vectors.index_build import _copy_with_holes
from winnow.server.commands import ingest, migrate, reindex, search, stats
from winnow.server.commands.backups import backup
from winnow.server.commands.entry.app import open_application
from winnow.server.commands.entry.knowledge import make_knowledge_base
from winnow.server.commands.health import _integrity
from winnow.server.commands.projects import project
from winnow.server.commands.terminal.findings import Finding
from winnow.server.errors import WinnowError
from winnow.server.ingest.report import Progress
from winnow.server.jobs.target import target_of
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.storage.files import seal
from winnow.server.storage.sqlite import damage_error

ASKED: list[tuple[str, dict[str, Any]]] = [
    ("semantic_search", {"query": "how are backups encrypted", "response_mode": "full", "top_k": 30}),
    ("semantic_search", {"query": "case 7", "filters": {"tags": ["networking"]}, "top_k": 30}),
    ("find_vendor_info", {"vendor_name": "acme"}),
]
# Only an ingest reads it.
UNASKED = ("ledger.sqlite3",)
# Searches go on without it, and say so.
GRAPH = "graph.sqlite3"
# These hold locks and records; no search result depends on them.
BESIDE = ("holder", "writer", "audit/executions.jsonl", "engine.log", "reindexing.json")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    return f"onnx:{write_model(tmp_path_factory.mktemp('model') / 'tiny')}"


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory, corpus: Path) -> Path:
    return shutil.copytree(corpus, tmp_path_factory.mktemp("texts") / "corpus")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, texts: Path, model: str) -> Settings:
    """A store of the corpus after an ingest of changes, so that the engine's log has entries to replay."""
    settings = load_settings(store=tmp_path_factory.mktemp("whole"), project="handbook", embedder=model)
    backends = open_backends(settings, wait_for_model=True)
    try:
        target = target_of(settings, backends, backends.embedder.ready())
        ingest_paths(target, [texts])
        for page in texts.rglob("*.md"):
            page.write_text(f"{page.read_text('utf-8')}\nA line that came later, about {page.stem}.\n", "utf-8")
        ingest_paths(target, [texts])
    finally:
        backends.close()
    return settings


@pytest.fixture(scope="module")
def healthy(whole: Settings) -> str:
    return answers(whole)


@pytest.fixture
def copied_store(whole: Settings, tmp_path: Path) -> Settings:
    copy_store(whole.store, tmp_path / "store")
    return whole.model_copy(update={"store": tmp_path / "store"})


def answers(settings: Settings) -> str:
    """Search results without fields that differ from call to call."""

    async def asked() -> list[Any]:
        kb = make_knowledge_base(settings, wait_for_model=True)
        try:
            return [(await kb.call(name, arguments, kb.caller("x"))).payload for name, arguments in ASKED]
        finally:
            await kb.aclose()

    told = json.dumps(asyncio.run(asked()), sort_keys=True)
    told = re.sub(r'"(session_id|passage_id|scratch_uri|trace_id)": "[^"]*"', "", told)
    return re.sub(r'"[a-z_]*_ms": (\{[^}]*\}|[0-9.]+)', "", told)


def integrity(settings: Settings) -> list[Finding]:
    return list(_integrity(settings))


def vectors(settings: Settings) -> Path:
    """The folder of the embedded vectors."""
    return next(settings.store.glob("vectors*"))


def faults(file: Path) -> Iterator[str]:
    """Damage the file in one way after the other; it is restored at the end."""
    kept = file.with_name(f"{file.name}.kept")
    _copy_with_holes(str(file), str(kept))
    size = file.stat().st_size
    for name, at in (("cut to nothing", 0), ("cut in the middle", size // 2)):
        os.truncate(file, at)
        yield name
        os.replace(kept, file)
        _copy_with_holes(str(file), str(kept))
    for at in sorted({_first_byte(file), size // 2, size - 1} if size else ()):
        with file.open("r+b", buffering=0) as opened:
            byte = os.pread(opened.fileno(), 1, at)
            os.pwrite(opened.fileno(), bytes([byte[0] ^ 0xFF]), at)
            yield f"byte {at} overwritten"
            os.pwrite(opened.fileno(), byte, at)
    kept.unlink()


def _first_byte(file: Path) -> int:
    with file.open("rb") as opened:
        try:
            return os.lseek(opened.fileno(), 0, os.SEEK_DATA)
        except OSError:
            return 0


def kinds(store: Path) -> list[Path]:
    """One file of every kind: the first of several equal parts of an index."""
    found: dict[str, Path] = {}
    for file in sorted(store.rglob("*")):
        if file.is_file():
            name = re.sub(r"[0-9a-f-]{36}|[0-9a-z]{25,}-[a-z_]+", "*", str(file.relative_to(store)))
            found.setdefault(name, file)
    return list(found.values())


def blamed_file(settings: Settings, healthy: str) -> str:
    """The file that a search reports as damaged; "" for a correct answer."""
    try:
        found = answers(settings)
    except WinnowError as error:
        is_clear = error.reason == "INDEX_UNAVAILABLE" and "winnow" in error.message
        return error.message.split(" is damaged")[0].split(" cannot be used: it")[0] if is_clear else error.message
    return "" if found == healthy else "a wrong answer"


def test_damage_is_named_and_never_searched_in_silence(copied_store: Settings, healthy: str) -> None:
    tried, silent = 0, []
    for file in kinds(copied_store.store):
        name = str(file.relative_to(copied_store.store))
        if name in BESIDE or name.endswith(seal.NAME):
            continue
        for fault in faults(file):
            if not file.stat().st_size and fault.startswith("cut in"):
                continue  # it was empty before
            tried += 1
            assert (name, fault, blamed_file(copied_store, healthy)) == (
                name,
                fault,
                "" if name in UNASKED else str(file),
            )
            told = [finding for finding in integrity(copied_store) if not finding.ok and name in finding.detail]
            if not (told and told[0].essential and "winnow" in told[0].advice):
                silent.append((name, fault))
    assert (silent, tried > 100) == ([], True)
    assert answers(copied_store) == healthy


@pytest.mark.parametrize("name", [*BESIDE, seal.NAME, "vectors"])
def test_damage_to_what_only_tells_of_the_store_changes_no_answer(
    name: str, copied_store: Settings, healthy: str
) -> None:
    file = vectors(copied_store) / seal.NAME if name == "vectors" else copied_store.store / name
    file.parent.mkdir(exist_ok=True)
    if not file.exists():
        file.write_text('{"a": 1}\n', encoding="utf-8")
    for fault in faults(file):
        assert (fault, answers(copied_store)) == (fault, healthy)
        if file.name == seal.NAME:
            assert [finding.detail for finding in integrity(copied_store)] == [f"{file}: it cannot be read"]


def _damage(settings: Settings, pattern: str) -> Path:
    file = min(settings.store.glob(pattern))
    with file.open("r+b") as opened:
        opened.seek(_first_byte(file) + 64)
        opened.write(b"damaged!")
    return file


def _run(app: Any, *arguments: object) -> str:
    done = CliRunner().invoke(app, [*map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize(
    "pattern",
    [
        "catalogue.sqlite3",
        "graph.sqlite3",
        "ledger.sqlite3",
        "vectors*/segments/*/mutable_id_tracker.mappings",
        "vectors*/segments/*/vector_storage-dense/vectors/chunk_0.mmap",
    ],
)
def test_an_ingest_that_repairs_makes_anew_what_is_damaged(
    pattern: str, copied_store: Settings, texts: Path, model: str, healthy: str
) -> None:
    _damage(copied_store, pattern)
    place = ("--store", copied_store.store, "--project", "handbook", "--embedder", model)
    refused = CliRunner().invoke(ingest.app, [str(texts), *map(str, place)])
    is_derived = pattern in (*UNASKED, GRAPH)
    assert (refused.exit_code, "winnow" in refused.output) == (0 if is_derived else 4, True)
    _run(ingest.app, "--repair", texts, *place)
    assert answers(copied_store) == healthy
    assert [finding.detail for finding in integrity(copied_store)] == ["every file is as it was written"]


def test_a_reindex_makes_damaged_vectors_anew(copied_store: Settings, model: str, healthy: str) -> None:
    _damage(copied_store, "vectors*/segments/*/segment.json")
    _run(reindex.app, "--store", copied_store.store, "--embedder", model)
    assert answers(copied_store) == healthy


def test_vectors_that_are_gone_are_told_and_the_next_ingest_makes_them(
    copied_store: Settings, texts: Path, model: str, healthy: str
) -> None:
    shutil.rmtree(folder := vectors(copied_store))
    assert [finding.detail for finding in integrity(copied_store)] == [f"{folder}: it is missing"]
    with pytest.raises(WinnowError, match=r"the vectors hold 0 of \d+ chunks.*winnow reindex"):
        answers(copied_store)
    _run(ingest.app, texts, "--store", copied_store.store, "--project", "handbook", "--embedder", model)
    assert answers(copied_store) == healthy


def test_a_search_leaves_the_loss_of_the_vectors_in_sight(copied_store: Settings) -> None:
    """The folder is not made anew, so the doctor names it afterwards as before, with the command that mends it."""
    shutil.rmtree(folder := vectors(copied_store))
    with pytest.raises(WinnowError, match=r"the vectors hold 0 of \d+ chunks.*winnow reindex"):
        answers(copied_store)
    (finding,) = integrity(copied_store)
    assert (folder.exists(), finding.ok, finding.essential, finding.detail) == (
        False,
        False,
        True,
        f"{folder}: it is missing",
    )
    assert "winnow reindex" in finding.advice


def test_metrics_say_that_a_server_cannot_answer_without_its_vectors(copied_store: Settings) -> None:
    """Where `/health/ready` is a 503, the metrics have a figure for an alert."""
    settings = copied_store.model_copy(update={"execute_code": "off", "daemon": "off"})

    async def ready() -> bool:
        async with open_application(settings, wait_for_model=False) as application:
            return bool((await application.health())["ready"])

    assert asyncio.run(ready())
    shutil.rmtree(vectors(copied_store))
    assert not asyncio.run(ready())


def test_the_doctor_compares_the_number_of_vectors_with_the_chunks(copied_store: Settings) -> None:
    """As a search does: an empty folder of vectors is a loss, however well it is sealed."""
    folder = vectors(copied_store)
    with closing(Catalogue(copied_store.store / "catalogue.sqlite3")) as catalogue:
        binding = catalogue.binding
    shutil.rmtree(folder)
    EdgeStore(copied_store.store, binding.dimension, vectors=binding.vectors).close()
    seal.write(folder, list_files(folder))
    (finding,) = integrity(copied_store)
    assert (finding.ok, finding.essential, "the vectors hold 0 of" in finding.detail) == (False, True, True)
    assert "winnow reindex" in finding.advice


def test_the_doctor_says_nothing_against_vectors_that_a_server_holds(copied_store: Settings) -> None:
    """The server compared them when it opened them."""
    backends = open_backends(copied_store, wait_for_model=False)
    try:
        assert [finding.detail for finding in integrity(copied_store)] == ["every file is as it was written"]
    finally:
        backends.close()


def test_the_doctor_says_first_how_to_mend_a_store_without_its_catalogue(copied_store: Settings) -> None:
    """All that the error advises, not its last part alone."""
    for path in [*copied_store.store.glob("catalogue.sqlite3*"), copied_store.store / "seal.json"]:
        path.unlink()
    (finding,) = integrity(copied_store)
    assert (finding.ok, finding.advice.startswith("bring it back, or ")) == (False, True), finding


@pytest.mark.skipif(os.geteuid() != 0, reason="only root reads the store of another user")
def test_the_doctor_makes_no_file_in_the_store_of_another_user(copied_store: Settings) -> None:
    """Its user could not open the store afterwards."""
    (copied_store.store / "holder").unlink(missing_ok=True)
    for path in (copied_store.store, *copied_store.store.rglob("*")):
        os.chown(path, 65534, 65534)
    vectors_told, files_told = integrity(copied_store)
    assert (vectors_told.check, vectors_told.essential) == ("vectors", False)
    assert (files_told.detail, files_told.ok) == ("every file is as it was written", True)
    assert [path for path in copied_store.store.rglob("*") if path.stat().st_uid == 0] == []


def test_lost_vectors_are_not_moved_to_another_place(copied_store: Settings, tmp_path: Path) -> None:
    """The moved store would lack them, and both would hold the same number."""
    shutil.rmtree(vectors(copied_store))
    done = CliRunner().invoke(migrate.app, ["--store", str(copied_store.store), "--to", str(tmp_path / "moved")])
    assert (done.exit_code, "the vectors hold 0 of" in done.output.replace("\n", " ")) == (4, True), done.output


def test_a_store_that_a_killed_ingest_left_is_opened_and_told(copied_store: Settings, healthy: str) -> None:
    for folder in (copied_store.store, vectors(copied_store)):
        assert seal.unseal(folder)
    assert answers(copied_store) == healthy
    (finding,) = integrity(copied_store)
    assert (finding.ok, finding.essential, "winnow ingest" in finding.advice) == (False, False, True)


def _held_on(watch: seal.SealCheck) -> None:
    until = time.monotonic() + 120
    while time.monotonic() < until:
        watch.raise_damage()
        time.sleep(0.01)


def test_large_files_are_compared_while_searches_go_on(
    copied_store: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(seal, "IMMEDIATE_BYTES", 0)
    monkeypatch.setattr(seal, "_LATER_SECONDS", 0.0)
    file = _damage(copied_store, "catalogue.sqlite3")
    watch = seal.SealCheck(copied_store.store, damage_error)
    watch.start()
    with pytest.raises(WinnowError, match=re.escape(str(file))):
        _held_on(watch)
    watch.close()


def test_what_opening_changes_is_no_damage(copied_store: Settings, healthy: str) -> None:
    for _ in range(3):
        assert answers(copied_store) == healthy
        assert [finding.detail for finding in integrity(copied_store)] == ["every file is as it was written"]


def test_a_copy_that_fills_holes_is_as_it_was_written(whole: Settings, tmp_path: Path) -> None:
    shutil.copytree(whole.store, tmp_path / "copy")
    copy = whole.model_copy(update={"store": tmp_path / "copy"})
    assert [seal.find_flaws(folder) for folder in (copy.store, vectors(copy))] == [[], []]


LINE = "The height of the tower is 42 metres."


@pytest.fixture
def towers(tmp_path: Path) -> Settings:
    """A store of three projects, each with a page."""
    settings = load_settings(store=tmp_path / "store", project="one", embedding="off")
    for name in ("one", "two", "three"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "tower.md").write_text(f"# Tower of {name}\n\n{LINE}\n", "utf-8")
        _run(ingest.app, folder, "--store", settings.store, "--project", name)
    return settings


def _alter(settings: Settings, before: bytes, after: bytes, *, most: int = 1) -> None:
    """Change text in the file of the catalogue, as a failing disk does: no size changes, SQLite finds no fault."""
    file = settings.store / "catalogue.sqlite3"
    data = file.read_bytes()
    assert (before in data, len(before)) == (True, len(after))
    file.write_bytes(data.replace(before, after, most))


def _ingest(settings: Settings, project: str) -> tuple[int, str]:
    folder = settings.store.parent / project
    done = CliRunner().invoke(
        ingest.app,
        [str(folder), "--store", str(settings.store), "--project", project],
        env={"WINNOW_DAEMON": "off"},
    )
    return done.exit_code, done.output


def test_a_short_write_leaves_the_store_sealed(towers: Settings) -> None:
    """Settings of a project are changed, and a byte that changes afterwards is found, not served."""
    _run(project.app, "set", "one", "--top-k", "9", "--store", towers.store)
    assert [finding.detail for finding in integrity(towers)] == ["every file is as it was written"]
    _alter(towers, b"is 42 metres", b"is 92 metres", most=9)
    with pytest.raises(WinnowError, match="its content is not what was written"):
        make_knowledge_base(towers, wait_for_model=True).store()
    assert _ingest(towers, "one")[0] == 4


def test_an_ingest_of_one_project_makes_the_lost_vectors_of_all(towers: Settings) -> None:
    """And says so; before, it sealed a store that no search could open."""
    shutil.rmtree(vectors(towers))
    code, told = _ingest(towers, "one")
    assert (code, "the vectors of 3 chunks were lost" in " ".join(told.split())) == (0, True), told
    assert [finding.detail for finding in integrity(towers)] == ["every file is as it was written"]
    make_knowledge_base(towers, wait_for_model=True).store().close()


def test_an_ingest_makes_the_lost_vectors_of_a_deleted_project_too(towers: Settings) -> None:
    """It can be restored then; a reindex, which purges it, is not what the loss takes."""
    _run(project.app, "delete", "two", "--yes", "--store", towers.store)
    shutil.rmtree(vectors(towers))
    code, told = _ingest(towers, "one")
    assert (code, "the vectors of 3 chunks were lost" in " ".join(told.split())) == (0, True), told
    _run(project.app, "restore", "two", "--store", towers.store)
    make_knowledge_base(towers, wait_for_model=True).store().close()


def test_an_ingest_that_makes_lost_vectors_again_can_be_cancelled(towers: Settings) -> None:
    """It reports what it makes, so a job ends there; the next ingest makes the rest."""
    shutil.rmtree(vectors(towers))

    class Cancelled(Exception):
        pass

    def cancel(progress: Progress) -> None:
        raise Cancelled

    settings = load_settings(store=towers.store, project="one")  # with the model of the ingests before
    backends = open_backends(settings, wait_for_model=True, repairs_vectors=True)
    try:
        target = target_of(settings, backends, backends.embedder.ready())
        with pytest.raises(Cancelled):
            ingest_paths(target, [towers.store.parent / "one"], progress=cancel)
        assert backends.store.count() == 1
    finally:
        backends.close()
    assert [finding.ok for finding in integrity(towers)] == [False]
    assert _ingest(towers, "one")[0] == 0
    assert [finding.detail for finding in integrity(towers)] == ["every file is as it was written"]


def test_an_ingest_refuses_a_store_whose_lost_vectors_another_model_made(towers: Settings, model: str) -> None:
    """It says which command mends it, and the doctor goes on reporting the loss."""
    folder = towers.store.parent / "four"
    folder.mkdir()
    (folder / "tower.md").write_text(f"# Tower of four\n\n{LINE}\n", "utf-8")
    _run(reindex.app, "--store", towers.store, "--embedder", model)
    for made in towers.store.glob("vectors*"):
        shutil.rmtree(made)
    done = CliRunner().invoke(
        ingest.app,
        [str(folder), "--store", str(towers.store), "--project", "four"],
        env={"WINNOW_DAEMON": "off", "WINNOW_EMBEDDING": "off"},
    )
    assert (done.exit_code, "winnow reindex" in " ".join(done.output.split())) == (4, True), done.output
    assert [finding.ok for finding in integrity(towers)] == [False]


def test_a_writer_does_not_seal_what_others_changed(towers: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where a file is so large that opening does not compare all of it."""
    monkeypatch.setattr(seal, "IMMEDIATE_BYTES", 0)
    _alter(towers, b"is 42 metres", b"is 92 metres", most=9)
    done = CliRunner().invoke(project.app, ["set", "one", "--top-k", "9", "--store", str(towers.store)])
    assert (done.exit_code, "is damaged" in done.output) == (4, True)
    assert [finding.ok for finding in integrity(towers)] == [False]


def test_vectors_are_compared_whole_before_the_first_write_and_not_sealed_as_they_are(
    copied_store: Settings, tmp_path: Path, model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where they are so large that most of them is compared later."""
    monkeypatch.setattr(seal, "IMMEDIATE_BYTES", 0)
    monkeypatch.setattr(seal, "_LATER_SECONDS", 600.0)
    file = _damage(copied_store, "vectors*/segments/*/vector_storage-dense/vectors/chunk_0.mmap")
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "more.md").write_text("# More\n\nThe tower of more is closed.\n", "utf-8")
    place = ("--store", copied_store.store, "--project", "handbook", "--embedder", model)
    done = CliRunner().invoke(ingest.app, [*map(str, (tmp_path / "more", *place))])
    assert (done.exit_code, str(file) in done.output.replace("\n", "")) == (4, True)
    assert [each.file for each in seal.find_flaws(file.parents[4])] == [str(file.relative_to(file.parents[4]))]


def test_texts_are_compared_with_their_digests_before_an_unsealed_store_is_sealed(towers: Settings) -> None:
    """After a kill there is no seal: what differs is read again, or named until it is."""
    _alter(towers, b"is 42 metres", b"is 92 metres", most=99)
    assert seal.unseal(towers.store)
    code, told = _ingest(towers, "one")
    assert (code, "winnow ingest" in told, "--project two" in told, "--project one" in told) == (
        0,
        True,
        True,
        False,
    )
    assert not seal.is_sealed(towers.store)
    assert (_ingest(towers, "two")[0], _ingest(towers, "three")[0]) == (0, 0)
    assert [finding.detail for finding in integrity(towers)] == ["every file is as it was written"]
    with closing(Catalogue(towers.store / "catalogue.sqlite3")) as catalogue:
        texts = [
            catalogue.text(each.id, name) for name in ("one", "two", "three") for each in catalogue.documents(name)
        ]
    assert [LINE in (text or "") for text in texts] == [True] * 3


def test_the_doctor_compares_the_texts_of_an_unsealed_store(towers: Settings) -> None:
    """It names the document and how to read it again."""
    _alter(towers, b"is 42 metres", b"is 92 metres", most=99)
    assert seal.unseal(towers.store)
    found = [finding for finding in integrity(towers) if finding.essential]
    assert ["tower.md" in finding.detail and "--project" in finding.detail for finding in found] == [True]


def _texts(settings: Settings) -> dict[str, list[str]]:
    with closing(Catalogue(settings.store / "catalogue.sqlite3")) as catalogue:
        return {
            info.name: [catalogue.text(each.id, info.name) or "" for each in catalogue.documents(info.name)]
            for info in catalogue.existing_projects()
        }


def _repair(settings: Settings, name: str) -> str:
    words = (settings.store.parent / name, "--store", settings.store, "--project", name, "--repair")
    return _run(ingest.app, *words)


def test_a_repair_keeps_other_projects_and_their_settings(towers: Settings) -> None:
    """One document of one project is damaged: that one is named as lost, and nothing else is."""
    for name in ("one", "two", "three"):
        _run(project.app, "set", name, "--top-k", "9", "--store", towers.store)
    data = (towers.store / "catalogue.sqlite3").read_bytes()
    page = f"# Tower of two\n\n{LINE}".encode()
    _alter(towers, page, page.replace(b"42", b"92"), most=data.count(page))
    told = _repair(towers, "one")
    for words in ("lost of project two: 1 document of", "kept of project three: 1 document and its settings"):
        assert words in told
    texts = _texts(towers)
    assert [len(texts[name]) for name in ("one", "three", "two")] == [1, 1, 0]
    with closing(Catalogue(towers.store / "catalogue.sqlite3")) as catalogue:
        assert [catalogue.project_settings(name).top_k for name in texts] == [9, 9, 9]
    assert _ingest(towers, "two")[0] == 0
    assert [LINE in text for name in texts for text in _texts(towers)[name]] == [True] * 3
    assert [finding.detail for finding in integrity(towers)] == ["every file is as it was written"]


@pytest.mark.parametrize("share", [0.05, 0.2, 0.35, 0.5, 0.65, 0.8, 0.95])
def test_a_repair_loses_what_is_on_a_destroyed_page_alone(
    share: float, copied_store: Settings, texts: Path, model: str, healthy: str
) -> None:
    """4 KiB of the catalogue are overwritten: after the repair and an ingest all is as before."""
    file = copied_store.store / "catalogue.sqlite3"
    with file.open("r+b") as opened:
        opened.seek(int(file.stat().st_size * share) // 4096 * 4096)
        opened.write(b"\xff" * 4096)
    _run(
        ingest.app, "--repair", texts, "--store", copied_store.store, "--project", "handbook", "--embedder", model
    )
    assert answers(copied_store) == healthy
    assert [finding.detail for finding in integrity(copied_store)] == ["every file is as it was written"]


def test_a_catalogue_of_which_nothing_can_be_read_is_named_as_lost(towers: Settings) -> None:
    """Its first page is gone; it is kept beside the new one, and a second repair does not replace it."""
    file = towers.store / "catalogue.sqlite3"
    for number in (1, 2):
        with file.open("r+b") as opened:
            opened.write(bytes(4096))
        told = _repair(towers, "one")
        assert "nothing of the former catalogue could be read" in told
        assert len([*towers.store.glob("catalogue.sqlite3.damaged*")]) == number


@pytest.mark.parametrize(
    ("is_sealed", "is_gone", "why"), [(True, True, "gone"), (False, True, "gone"), (False, False, "empty")]
)
def test_a_catalogue_that_is_gone_or_empty_is_a_loss_and_no_store_without_documents(
    towers: Settings, tmp_path: Path, is_sealed: bool, is_gone: bool, why: str
) -> None:
    """Also for a backup, which would be one without the settings of projects."""
    file, store = towers.store / "catalogue.sqlite3", ("--store", str(towers.store))
    if not is_sealed:
        seal.unseal(towers.store)
    file.unlink()
    if not is_gone:
        file.touch()
    commands = ((project.app, "list"), (search.app, "tower"), (stats.app,), (backup.app, str(tmp_path / "backup")))
    for command, *arguments in commands:
        done = CliRunner().invoke(command, [*arguments, *store])
        assert (done.exit_code, f"{file} is {why}, and with it all documents" in done.stderr) == (4, True)
    assert (file.exists() and file.stat().st_size > 0, (tmp_path / "backup").exists()) == (False, False)
    assert [finding.ok for finding in integrity(towers)] == [False]
    _repair(towers, "one")
    assert [len(texts) for texts in _texts(towers).values()] == [1]


def test_a_damaged_graph_stops_no_search_and_is_named(copied_store: Settings, texts: Path, model: str) -> None:
    """Answers by words and meaning say that the graph is missing; an ingest goes on, and seals no damage."""
    file = _damage(copied_store, GRAPH)

    async def ask(name: str, arguments: dict[str, Any]) -> Any:
        kb = make_knowledge_base(copied_store, wait_for_model=True)
        try:
            return await kb.call(name, arguments, kb.caller("x"))
        finally:
            await kb.aclose()

    found = asyncio.run(ask("kb.search", {"query": "how are backups encrypted"}))
    is_said = any(f"{file} cannot be used: it is damaged" in warning for warning in found.warnings)
    assert (bool(found.payload["results"]), is_said) == (True, True)
    assert asyncio.run(ask("kb.scan", {"pattern": "backup"})).payload
    with pytest.raises(WinnowError, match=r"graph.sqlite3 cannot be used: it is damaged.*--repair"):
        asyncio.run(ask("graph.expand", {"ids": ["backups"]}))
    (texts / "new.md").write_text("# New\n\nA page that came later.\n", "utf-8")
    try:
        place = ("--store", copied_store.store, "--project", "handbook", "--embedder", model)
        assert f"{file} cannot be used: it is damaged" in _run(ingest.app, texts, *place)
        assert [finding.detail.split(": ")[0] for finding in integrity(copied_store)] == [str(file)]
    finally:
        (texts / "new.md").unlink()


def test_a_project_is_shown_although_the_file_of_sources_is_damaged(towers: Settings) -> None:
    """What cannot be read is said, the rest is shown."""
    (towers.store / "sources.json").write_text("{", "utf-8")
    shown = _run(project.app, "show", "one", "--store", towers.store)
    assert ("1 document" in shown, "watched: unknown: " in shown, "sources.json is not used" in shown) == (
        True,
        True,
        True,
    )
