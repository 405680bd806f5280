"""kb.scan and kb.count over real files: exactly what a plain program over the same files finds."""

from __future__ import annotations

import random
import re
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from tests.ingesting import ingest_paths
from tests.plain_store import index_by_words
from winnow.server.backends import trigrams
from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.opening import catalogue_path, open_backends
from winnow.server.commands.entry.knowledge import make_knowledge_base
from winnow.server.errors import WinnowError
from winnow.server.jobs.target import target_of
from winnow.server.models import ExcludedText, Filters
from winnow.server.operations.corpus import walking
from winnow.server.operations.knowledge import SCRIPT, Answer, KnowledgeBase
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings

pytestmark = pytest.mark.anyio

WORDS = [
    "kubectl", "--dry-run", "--dry-run=client", "PodDisruptionBudget", "pod", "Pod", "pods", "podium", "v1.2",
    "v1.30", "v2.0", "defaults", "to", "30", "seconds", "Default", "to", "none.", "naïve", "café", "Straße",
    "中文", "😀", "état", "retry-limit", "retry_limit", "x86_64", "\t", "http://a.b/c?d=e", "(see", "below)",
    "[1]",
]  # fmt: skip
PATTERNS: Mapping[str, Mapping[str, Any]] = {
    r"--dry-run\b": {},
    "PodDisruptionBudget": {"literal": True},
    r"v1\.\d+": {},
    r"(?i)defaults? to (\S+)": {},
    r"\w+": {},
    r"[^\W\d_]{5,}": {},
    r"(?m)^## (.+)$": {},
    r"(?i)pod": {},
    "pod": {"word": True, "case": False},
    "é": {},
    "état": {"word": True},
    r"\d+": {},
    r"(?P<host>https?://[^/\s]+)/(\w)?": {},
    r"(?s)pod.{0,200}?café": {},
    r"[.(]": {},
    ".": {"literal": True},
    "😀": {"literal": True},
    r"retry[-_]limit": {},
    r"(?m)^$\n": {},
    r"\s{2,}": {},
    "straße": {"case": False},
    r"rule \d+ of (café|中文)": {},
    "nothing like this": {},
}


def _flags(options: Mapping[str, Any]) -> int:
    return 0 if options.get("case", True) else re.IGNORECASE


def _compile(pattern: str, options: Mapping[str, Any]) -> re.Pattern[str]:
    plain = re.escape(pattern) if options.get("literal") else pattern
    return re.compile(rf"(?<!\w)(?:{plain})(?!\w)" if options.get("word") else plain, _flags(options))


def _write_files(folder: Path) -> dict[str, str]:
    """Pages with long paragraphs, so that their chunks overlap; the texts by path."""
    draw = random.Random(7)
    texts = {}
    for number in range(30):
        name = f"{('guide/', 'notes/deep/', '')[number % 3]}page{number:02}.{('md', 'txt')[number % 2]}"
        sections = [
            f"## Rule {section}\n\nrule {section} of {' '.join(draw.choices(WORDS, k=150))}.\n\n"
            for section in range(draw.randrange(1, 6))
        ]
        texts[name] = f"# Page {number}\n\n{''.join(sections)}end\n"
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(texts[name], "utf-8")
    return dict(sorted(texts.items()))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, dict[str, str]]:
    folder = tmp_path_factory.mktemp("files")
    texts = _write_files(folder)
    return index_by_words(folder, tmp_path_factory.mktemp("store")), texts


@pytest.fixture(scope="module")
async def kb(files: tuple[Settings, dict[str, str]]) -> AsyncIterator[KnowledgeBase]:
    base = make_knowledge_base(files[0], wait_for_model=False)
    await base.open()
    yield base
    await base.aclose()


@pytest.fixture(scope="module")
def texts(files: tuple[Settings, dict[str, str]]) -> dict[str, str]:
    return files[1]


async def _ask(kb: KnowledgeBase, operation: str, **arguments: Any) -> Answer:
    return await kb.call(operation, arguments, kb.caller("test", SCRIPT, "run"))


async def _scan(kb: KnowledgeBase, pattern: str, **arguments: Any) -> dict[str, Any]:
    return (await _ask(kb, "kb.scan", pattern=pattern, **arguments)).payload


@pytest.mark.parametrize("pattern", PATTERNS)
async def test_a_scan_is_what_a_plain_program_finds(
    kb: KnowledgeBase, texts: dict[str, str], pattern: str
) -> None:
    options = PATTERNS[pattern]
    expected = [
        (file, match.start(), match.end(), match[0][:500] == match[0], list(match.groups()))
        for file, text in texts.items()
        for match in _compile(pattern, options).finditer(text)
    ]
    rows: list[dict[str, Any]] = []
    page = await _scan(kb, pattern, **options)
    while True:
        rows += page["results"]
        if page["next_cursor"] is None:
            break
        page = await _scan(kb, pattern, **options, cursor=page["next_cursor"])
    found = [(row["file"], row["start"], row["end"], "…" not in row["match"], row["groups"]) for row in rows]
    assert found == expected
    assert page["complete"] is True
    assert page["total"]["matches"] == len(expected)
    assert page["total"]["documents"] == len({file for file, *_ in expected})
    assert page["scanned"]["documents"] == len(texts)
    assert page["scanned"]["characters"] == sum(map(len, texts.values()))
    counted = (await _ask(kb, "kb.count", pattern=pattern, **options)).payload
    assert {name: counted[name] for name in page["total"]} == page["total"]


async def test_each_match_names_the_first_chunk_that_has_its_start(
    kb: KnowledgeBase, texts: dict[str, str], files: tuple[Settings, dict[str, str]]
) -> None:
    with closing(Catalogue(catalogue_path(files[0]))) as catalogue:
        documents = {one.uri: one.id for one in catalogue.documents(files[0].project)}
        chunks = {uri: catalogue.chunks(id, files[0].project) for uri, id in documents.items()}
    page = await _scan(kb, "naïve", limit=10_000)
    for row in page["results"]:
        holding = [chunk.id for chunk in chunks[row["file"]] if chunk.start <= row["start"] < chunk.end]
        assert row["passage_id"] == holding[0]
        assert texts[row["file"]][row["start"] : row["end"]] == row["match"]
    assert page["total"]["passages"] == len({row["passage_id"] for row in page["results"]})
    assert sum(len(each) for each in chunks.values()) == page["scanned"]["passages"]


@pytest.mark.parametrize("group_by", ["document", "file", "folder", "match", "1", "part"])
async def test_groups_are_counted_as_a_plain_program_counts(
    kb: KnowledgeBase, texts: dict[str, str], group_by: str
) -> None:
    pattern = r"(?P<part>pod|v\d)(\.\d+)?"
    keys: Counter[str] = Counter()
    documents: dict[str, set[str]] = {}
    for file, text in texts.items():
        for match in re.finditer(pattern, text):
            folder = file.rpartition("/")[0] or "."
            named = {"document": file, "file": file, "folder": folder, "match": match[0], "part": match[1]}
            key = named.get(group_by, match[1])
            keys[key] += 1
            documents.setdefault(key, set()).add(file)
    page = await _scan(kb, pattern, group_by=group_by)
    expected = sorted(keys.items(), key=lambda pair: (-pair[1], pair[0]))
    assert [(row["key"], row["matches"]) for row in page["results"]] == expected
    assert [row["documents"] for row in page["results"]] == [len(documents[key]) for key, _ in expected]


async def test_groups_come_in_pages_without_gaps(kb: KnowledgeBase) -> None:
    whole = await _scan(kb, r"\w+", group_by="match")
    rows, cursor = [], None
    while True:
        page = await _scan(kb, r"\w+", group_by="match", limit=7, **({"cursor": cursor} if cursor else {}))
        rows += page["results"]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert rows == whole["results"]


async def test_sections_are_named_by_document_and_headings(kb: KnowledgeBase) -> None:
    page = await _scan(kb, r"rule 0 of", group_by="section", path="guide/*.md")
    assert [row["key"] for row in page["results"]] == [
        f"guide/page{number:02}.md > Rule 0" for number in range(0, 30, 6)
    ]


async def test_a_scan_is_narrowed_by_path_and_says_what_is_near_a_path_that_is_not_there(
    kb: KnowledgeBase,
) -> None:
    whole = await _scan(kb, "pod", group_by="folder")
    for folder in ("guide", "notes/deep"):
        (row,) = (row for row in whole["results"] if row["key"] == folder)
        assert (await _scan(kb, "pod", path=f"{folder}/", group_by="folder"))["results"] == [row]
    missing = await _ask(kb, "kb.scan", pattern="pod", path="guides/")
    assert (missing.payload["total"]["matches"], missing.payload["complete"]) == (0, True)
    assert any("guide" in warning for warning in missing.warnings)


async def test_a_direct_answer_keeps_its_budget_and_says_how_many_there_are(kb: KnowledgeBase) -> None:
    direct = (await kb.call("kb.scan", {"pattern": "pod"}, kb.caller("test"))).payload
    whole = await _scan(kb, "pod", limit=10_000)
    assert direct["total"] == whole["total"]
    assert (direct["partial"], direct["limit_reason"]) == (True, "token_cap")
    assert direct["results"] == whole["results"][: direct["count"]]


async def test_a_scan_that_runs_out_of_time_goes_on_where_it_stopped(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = await _scan(kb, "podium", limit=10_000)
    monkeypatch.setattr(walking.Walk, "_is_over", _is_over_after(7), raising=True)
    rows: list[dict[str, Any]] = []
    cursor: dict[str, str] = {}
    matches, pages = 0, 0
    while True:
        answer = await _ask(kb, "kb.scan", pattern="podium", limit=10_000, **cursor)
        page = answer.payload
        rows += page["results"]
        matches, pages = matches + page["total"]["matches"], pages + 1
        if page["complete"]:
            break
        assert page["limit_reason"] == "time"
        assert any("next_cursor goes on" in warning for warning in answer.warnings)
        cursor = {"cursor": page["next_cursor"]}
    assert (rows, matches) == (whole["results"], whole["total"]["matches"])
    assert pages == 5


async def test_groups_of_a_scan_that_ran_out_of_time_add_up(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = await _scan(kb, r"\w+", group_by="match")
    monkeypatch.setattr(walking.Walk, "_is_over", _is_over_after(11), raising=True)
    keys: Counter[str] = Counter()
    cursor: dict[str, str] = {}
    while True:
        page = await _scan(kb, r"\w+", group_by="match", limit=50, **cursor)
        keys.update({row["key"]: row["matches"] for row in page["results"]})
        if page["next_cursor"] is None:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert keys == Counter({row["key"]: row["matches"] for row in whole["results"]})


def _is_over_after(documents: int) -> Any:
    """A clock that runs out before the given document of each walk."""
    return lambda walk: walk.documents >= documents


async def test_a_document_that_takes_all_the_time_is_named(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walking.Walk, "_is_over", lambda walk: True, raising=True)
    with pytest.raises(WinnowError, match=r"in the document 'guide/page00.md' alone") as refused:
        await _scan(kb, "pod")
    assert refused.value.reason == "TIMEOUT"


async def test_documents_are_counted_without_a_pattern(kb: KnowledgeBase, texts: dict[str, str]) -> None:
    counted = (await _ask(kb, "kb.count")).payload
    assert (counted["documents"], counted["complete"]) == (len(texts), True)
    assert counted["passages"] == (await _scan(kb, "pod"))["scanned"]["passages"]
    assert counted["tokens"] > counted["passages"]


@pytest.mark.parametrize(
    ("arguments", "advice"),
    [
        ({"group_by": "unknown"}, "no group"),
        ({"pattern": "(a)(?P<b>c)", "group_by": "3"}, "1 to 2, the names b"),
        ({"pattern": "(a)", "group_by": "9" * 90}, "1 to 1"),
        ({"pattern": "a*"}, "empty string"),
        ({"pattern": "a" * 20_001}, "20000"),
        ({"limit": 10_001}, "10000"),
        ({"context": 501}, "500"),
        ({"cursor": "1.2.3.4.5"}, "cursor"),
        ({"cursor": "9" * 200}, "cursor"),
    ],
)
async def test_what_cannot_be_answered_is_refused_with_what_to_send(
    kb: KnowledgeBase, arguments: dict[str, Any], advice: str
) -> None:
    with pytest.raises(WinnowError, match=advice) as refused:
        await _scan(kb, **{"pattern": "pod", **arguments})
    assert refused.value.reason in ("INVALID_REQUEST", "INVALID_CURSOR")


async def test_a_cursor_far_beyond_the_end_gives_an_empty_last_page(kb: KnowledgeBase) -> None:
    page = await _scan(kb, "pod", limit=1)
    _, _, _, asked, generation = page["next_cursor"].split(".")
    beyond = await _scan(kb, "pod", limit=1, cursor=f"{10**11}.0.0.{asked}.{generation}")
    assert (beyond["results"], beyond["next_cursor"], beyond["total"]) == ([], None, page["total"])
    past = await _scan(kb, "pod", limit=1, cursor=f"0.{10**8}.0.{asked}.{generation}")
    assert (past["results"], past["next_cursor"], past["scanned"]["documents"]) == ([], None, 0)


async def test_anchors_that_find_nothing_are_explained(kb: KnowledgeBase) -> None:
    assert any("(?m)" in warning for warning in (await _ask(kb, "kb.scan", pattern="^pod$")).warnings)
    assert (await _ask(kb, "kb.scan", pattern="^# Page")).warnings == ()


async def test_an_index_of_trigrams_changes_no_answer(
    kb: KnowledgeBase, files: tuple[Settings, dict[str, str]]
) -> None:
    async def ask() -> list[dict[str, Any]]:
        pages = [await _scan(kb, pattern, **options, limit=7) for pattern, options in PATTERNS.items()]
        grouped = [
            await _scan(kb, pattern, **options, group_by="document") for pattern, options in PATTERNS.items()
        ]
        counts = [
            (await _ask(kb, "kb.count", pattern=one, **options)).payload for one, options in PATTERNS.items()
        ]
        return [*pages, *grouped, *counts]

    without = await ask()
    with closing(Catalogue(catalogue_path(files[0]))) as catalogue:
        catalogue.index_texts(1)
        assert all(_is_ruled_out(catalogue, "nothing like this").values())
    assert await ask() == without


def _is_ruled_out(catalogue: Catalogue, text: str) -> dict[int, bool]:
    with closing(catalogue.texts_within(Filters("default"), needed=((text,),))) as documents:
        return {document.number: isinstance(document, ExcludedText) for document in documents}


def test_an_ingest_brings_the_index_of_trigrams_up_to_date(tmp_path: Path) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    for name in ("a", "b"):
        (folder / f"{name}.md").write_text(f"words of page {name}\n")
    settings = index_by_words(folder, tmp_path / "store")
    with closing(Catalogue(catalogue_path(settings))) as catalogue:
        assert _is_ruled_out(catalogue, "nothing") == {0: False, 1: False}  # too small for an index
        catalogue.index_texts(1)
    (folder / "b.md").write_text("now pods\n")
    (folder / "c.md").write_text("then pods\n")
    index_by_words(folder, tmp_path / "store")
    with closing(Catalogue(catalogue_path(settings))) as catalogue:
        assert _is_ruled_out(catalogue, "nothing") == {0: True, 1: True, 2: True}
        assert _is_ruled_out(catalogue, "pods") == {0: True, 1: False, 2: False}


def test_an_ingest_that_cannot_index_its_trigrams_is_good_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(database: object, least: int) -> None:
        raise WinnowError("INDEX_UNAVAILABLE", "the disk is full")

    monkeypatch.setattr(trigrams, "index_trigrams", fail)
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "a.md").write_text("one pod\n")
    settings = load_settings(store=tmp_path / "store", embedding="off", graph="off")
    with closing(open_backends(settings, wait_for_model=False)) as backends:
        report = ingest_paths(target_of(settings, backends, None), [tmp_path / "files"])
    assert (report.documents, report.failures) == (1, ())
    assert any("until the next ingest has indexed it: the disk is full" in one for one in report.warnings)
