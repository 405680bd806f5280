"""Filters by path and field, kb.documents, kb.read and kb.repeats over real files."""

from __future__ import annotations

import fnmatch
from collections import Counter
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.plain_store import index_by_words
from winnow.server.commands.entry.knowledge import make_knowledge_base
from winnow.server.errors import WinnowError
from winnow.server.operations.corpus import documents, repeats
from winnow.server.operations.knowledge import DIRECT, SCRIPT, Answer, KnowledgeBase
from winnow.server.retrieval import hybrid
from winnow.server.settings.settings import Settings

pytestmark = pytest.mark.anyio

NOTICE = "This page is kept by the team of the archive.\n\nWrite to the archive before you change a word of it."
STAGES = ("alpha", "beta", "stable")


def _page(number: int) -> str:
    stage = STAGES[number % 3]
    front = f"title: Page {number // 2}\nstage: {stage}\nlevels: [one, {number % 4}]\nweight: {number}\n"
    if number % 7 == 0:
        front += f"owner: {('Al', 'Bo')[number % 2]}\n"
    notice = f"\n\n{NOTICE}\n\n" if number % 5 == 0 else "\n\n"
    return (
        f"---\n{front}---\n\n# Page {number}\n\nThe lantern of room {number} burns oil.{notice}End of {number}.\n"
    )


def _write_files(folder: Path) -> dict[str, str]:
    """Flat names and folders; the texts by path."""
    names = [f"{('tasks_', 'concepts_', 'guide/net/', 'guide/')[n % 4]}page{n:02}.md" for n in range(40)]
    texts = {name: _page(number) for number, name in enumerate(names)}
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return texts


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


async def _ask(kb: KnowledgeBase, operation: str, *, direct: bool = False, **arguments: Any) -> Answer:
    return await kb.call(
        operation, arguments, kb.caller("test", DIRECT if direct else SCRIPT, "" if direct else "r")
    )


async def _files(kb: KnowledgeBase, operation: str = "kb.documents", **arguments: Any) -> list[str]:
    return [row["file"] for row in (await _ask(kb, operation, **arguments)).payload["results"]]


PATHS = (
    "tasks_*", "tasks_", "tasks", "guide", "guide/", "guide/net", "guide/n", "*net*", "*.md", "*", "[tc]*1?.md",
    "*[!0-4].md", "GUIDE/*", "guide/net/page02.md", "nothing*",
)  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
async def test_documents_lists_every_path_that_matches_and_no_other(
    kb: KnowledgeBase, texts: dict[str, str], path: str
) -> None:
    is_glob = any(special in path for special in "*?[")
    expected = sorted(t for t in texts if (fnmatch.fnmatchcase(t, path) if is_glob else t.startswith(path)))
    answer = await _ask(kb, "kb.documents", path=path)
    assert [row["file"] for row in answer.payload["results"]] == expected
    assert answer.payload["total"]["documents"] == len(expected)
    assert answer.payload["complete"]
    assert await _files(kb, filters={"path": path}) == expected


@pytest.mark.parametrize("path", PATHS)
async def test_a_search_finds_within_a_path_what_it_finds_without_it_there(
    kb: KnowledgeBase, texts: dict[str, str], path: str
) -> None:
    is_glob = any(special in path for special in "*?[")
    expected = {t for t in texts if (fnmatch.fnmatchcase(t, path) if is_glob else t.startswith(path))}
    found = await _files(kb, "semantic_search", query="lantern oil", top_k=100, filters={"path": path})
    assert set(found) == expected


@pytest.mark.parametrize(
    ("where", "matches"),
    [
        ({"stage": "beta"}, lambda n: n % 3 == 1),
        ({"stage": "BETA"}, lambda n: n % 3 == 1),
        ({"Stage": ["alpha", "stable"]}, lambda n: n % 3 != 1),
        ({"levels": "one"}, lambda n: True),
        ({"levels": 2, "stage": "alpha"}, lambda n: n % 4 == 2 and n % 3 == 0),
        ({"weight": [1, "2", 3.0]}, lambda n: n in (1, 2, 3)),
        ({"title": "page 7"}, lambda n: n // 2 == 7),
        ({"stage": "gamma"}, lambda n: False),
        ({"owner": ""}, lambda n: n % 7),
        ({"owner": None, "stage": "beta"}, lambda n: n % 7 and n % 3 == 1),
        ({"owner": ["", "bo"]}, lambda n: n % 7 or n % 2),
        ({"vendor": ""}, lambda n: True),
        ({"stage": ""}, lambda n: False),
    ],
)
async def test_where_is_the_same_for_documents_and_searches(
    kb: KnowledgeBase, texts: dict[str, str], where: dict[str, Any], matches: Any
) -> None:
    expected = {name for number, name in enumerate(texts) if matches(number)}
    assert set(await _files(kb, where=where)) == expected
    found = await _files(kb, "semantic_search", query="lantern oil", top_k=100, filters={"where": where})
    assert set(found) == expected


async def test_the_key_without_a_value_counts_the_documents_that_where_finds_by_an_empty_text(
    kb: KnowledgeBase,
) -> None:
    for field in ("owner", "stage", "vendor", "language"):
        counted = (await _ask(kb, "kb.documents", group_by=field)).payload["results"]
        documents = next((row["documents"] for row in counted if row["key"] == ""), 0)
        found = await _ask(kb, "kb.documents", where={field: ""})
        assert (found.payload["total"]["documents"], found.payload["count"]) == (documents, documents)


async def test_a_field_with_too_many_values_is_an_error_that_says_how_to_have_fewer(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MAX_KEYS", 39)
    with pytest.raises(WinnowError, match="more than 39 keys; narrow with path"):
        await _ask(kb, "kb.documents", group_by="weight")
    assert len((await _ask(kb, "kb.documents", group_by="weight", path="guide")).payload["results"]) == 20


async def test_a_field_that_no_document_has_is_named_where_all_match(kb: KnowledgeBase) -> None:
    answer = await _ask(kb, "kb.documents", where={"stages": ""})
    assert answer.payload["total"]["documents"] == 40
    assert ["no document in reach has a field 'stages'; nearest: 'stage'" in text for text in answer.warnings] == [
        True
    ]


@pytest.mark.parametrize(
    "where",
    [{"stage": "\ud800"}, {"\udfff": "beta"}, {"stage": ["beta", "\ud800"]}, {"stage": {"a": 1}}, {"": "beta"},
     {"stage": []}, {"stage": float("nan")}, {"stage": 10**400}, {"s" * 201: "beta"}, {"stage": "b" * 501}],
)  # fmt: skip
async def test_what_no_field_has_is_refused_with_one_message(kb: KnowledgeBase, where: dict[str, Any]) -> None:
    for operation in ("kb.documents", "kb.repeats"):
        with pytest.raises(WinnowError, match=r"^where: takes at most 20 fields.*without a value") as caught:
            await _ask(kb, operation, where=where)
        assert (caught.value.reason, len(caught.value.message) < 400) == ("INVALID_REQUEST", True)


async def test_the_only_near_path_is_named_whole(tmp_path: Path) -> None:
    path = f"{'reference_of_every_option_there_is/' * 3}page.md"
    (tmp_path / "files" / path).parent.mkdir(parents=True)
    (tmp_path / "files" / path).write_text("# Page\n\nWords.\n", "utf-8")
    base = make_knowledge_base(index_by_words(tmp_path / "files", tmp_path / "store"), wait_for_model=False)
    await base.open()
    try:
        answer = await _ask(base, "kb.documents", path="*pages.md")
        assert f"'{path}'" in answer.warnings[0]
    finally:
        await base.aclose()


@pytest.mark.parametrize(
    ("filters", "words"),
    [
        ({"path": "task/*"}, ["path 'task/*'", "nearest", "'tasks_'"]),
        ({"path": "concept-page*"}, ["nearest", "concepts_"]),
        ({"path": "*page02*net.md"}, ["nearest: 'guide/net/page02.md'"]),
        ({"path_prefix": "tasks"}, ["path_prefix 'tasks'", "path 'tasks'"]),
        ({"where": {"stages": "beta"}}, ["no document in reach has a field 'stages'", "'stage'"]),
        ({"where": {"stage": "betta"}}, ["stage 'betta'", "'beta'"]),
        ({"types": ["code"]}, ["type 'code'", "'markdown'"]),
        ({"updated_after": "2025-01-01"}, ["a date after '2025-01-01'", "no document in reach states a date"]),
        ({"path": "tasks_*", "where": {"weight": 1}}, ["no document matches all filters together"]),
    ],
)
async def test_a_filter_that_matches_nothing_names_what_is_near_on_every_operation(
    kb: KnowledgeBase, filters: dict[str, Any], words: list[str]
) -> None:
    asked: Mapping[str, dict[str, Any]] = {
        "kb.documents": {},
        "kb.repeats": {},
        "semantic_search": {"query": "lantern"},
        "kb.search": {"query": "lantern"},
        "kb.retrieve_evidence": {"question": "which lantern burns"},
    }
    for operation, arguments in asked.items():
        answer = await _ask(kb, operation, **arguments, filters=filters)
        assert all(word in " ".join(answer.warnings) for word in words), (operation, answer.warnings)
        assert not answer.payload.get("results")


async def test_a_field_operator_of_a_query_takes_a_glob_and_names_what_is_near(kb: KnowledgeBase) -> None:
    found = await _files(kb, "semantic_search", query="path:tasks_* lantern", top_k=100)
    assert len(found) == 10
    assert all(name.startswith("tasks_") for name in found)
    answer = await _ask(kb, "semantic_search", query="path:taskz_* lantern", top_k=100)
    assert len(answer.payload["results"]) == 40
    assert any("read as words" in warning and "'tasks_'" in warning for warning in answer.warnings)


async def test_too_many_documents_for_a_search_are_an_error_that_names_the_cheaper_way(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, most in (("MOST_PATHS", 9), ("MOST_PATH_CHARS", 50)):
        with monkeypatch.context() as patch:
            patch.setattr(hybrid, name, most)
            with pytest.raises(WinnowError, match=rf"match 10 documents.* {most} .*path_prefix.*kb\.documents"):
                await _ask(
                    kb, "semantic_search", query="a lantern that nobody asked for", filters={"path": "tasks_*"}
                )
    assert len(await _files(kb, path="tasks_*")) == 10


async def test_path_is_given_once(kb: KnowledgeBase) -> None:
    with pytest.raises(WinnowError, match="path is given twice"):
        await _ask(kb, "kb.documents", path="a", filters={"path": "b"})


@pytest.mark.parametrize("limit", [1, 7, 39, 40, 1000])
@pytest.mark.parametrize("sort", ["path", "-path", "title", "tokens", "-tokens", "updated"])
async def test_pages_lose_and_repeat_nothing(
    kb: KnowledgeBase, texts: dict[str, str], limit: int, sort: str
) -> None:
    rows: list[dict[str, Any]] = []
    cursor = None
    while True:
        payload = (await _ask(kb, "kb.documents", sort=sort, limit=limit, cursor=cursor)).payload
        rows += payload["results"]
        assert payload["count"] == len(payload["results"]) <= limit
        cursor = payload["next_cursor"]
        assert payload["partial"] == (cursor is not None)
        if cursor is None:
            break
    assert sorted(row["file"] for row in rows) == sorted(texts)
    if sort in ("path", "-path"):
        assert [row["file"] for row in rows] == sorted(texts, reverse=sort == "-path")
    if "tokens" in sort:
        tokens = [row["tokens"] for row in rows]
        assert tokens == sorted(tokens, reverse=sort == "-tokens")


async def test_a_direct_answer_is_bounded_and_its_pages_are_whole(
    kb: KnowledgeBase, texts: dict[str, str]
) -> None:
    names: list[str] = []
    cursor = None
    while True:
        answer = await _ask(kb, "kb.documents", direct=True, cursor=cursor)
        assert answer.tokens <= 2_000
        names += [row["file"] for row in answer.payload["results"]]
        cursor = answer.payload["next_cursor"]
        if cursor is None:
            break
    assert names == sorted(texts)


async def test_rows_have_what_the_front_matter_says(kb: KnowledgeBase) -> None:
    (row,) = (await _ask(kb, "kb.documents", path="guide/net/page02.md")).payload["results"]
    assert row["id"] == row["document_id"]
    assert (row["title"], row["type"], row["passages"]) == ("Page 1", "markdown", 1)
    assert row["fields"] == {"stage": "stable", "levels": ["one", 2], "weight": 2}


async def test_counts_are_those_of_the_files(kb: KnowledgeBase, texts: dict[str, str]) -> None:
    async def counted(group_by: str, **filters: Any) -> dict[str, int]:
        answer = await _ask(kb, "kb.documents", group_by=group_by, **filters)
        return {row["key"]: row["documents"] for row in answer.payload["results"]}

    assert await counted("stage") == Counter(STAGES[number % 3] for number in range(40))
    assert await counted("levels") == {"one": 40, **{str(n): 10 for n in range(4)}}
    assert await counted("folder") == Counter(name.rpartition("/")[0] for name in texts)
    assert await counted("type", path="guide") == {"markdown": 20}
    assert await counted("vendor") == {"": 40}
    assert await counted("nonsense") == {"": 40}
    answer = await _ask(kb, "kb.documents", group_by="stages")
    assert any("'stage'" in warning for warning in answer.warnings)


@pytest.mark.parametrize("max_tokens", [8, 30, 800])
async def test_a_document_is_read_whole_piece_by_piece(
    kb: KnowledgeBase, texts: dict[str, str], max_tokens: int
) -> None:
    start: int | None = 0
    whole, ends = "", [0]
    while start is not None:
        part = (await _ask(kb, "kb.read", document="tasks_page00.md", start=start, max_tokens=max_tokens)).payload
        assert part["tokens"] <= max_tokens
        assert part["start"] == ends[-1]
        whole += part["text"]
        ends.append(part["end"])
        start = part["next"]
    assert whole == texts["tasks_page00.md"]
    assert ends[-1] == part["total_chars"] == len(whole)


@pytest.mark.parametrize(
    ("arguments", "warnings"),
    [({}, 1), ({"max_tokens": 900}, 0), ({"start": 5}, 0), ({"document": "short.md"}, 0)],
)
async def test_a_script_that_asks_for_no_length_is_warned_of_a_part(
    tmp_path: Path, arguments: dict[str, Any], warnings: int
) -> None:
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "long.md").write_text("The lantern burns oil.\n\n" * 400, "utf-8")
    (tmp_path / "files" / "short.md").write_text("The lantern burns oil.\n", "utf-8")
    base = make_knowledge_base(index_by_words(tmp_path / "files", tmp_path / "store"), wait_for_model=False)
    await base.open()
    try:
        answer = await _ask(base, "kb.read", **{"document": "long.md", **arguments})
    finally:
        await base.aclose()
    assert [text.startswith("read gave a part") for text in answer.warnings] == [True] * warnings


async def test_a_document_is_named_by_its_id_its_path_or_its_title(kb: KnowledgeBase) -> None:
    (row,) = (await _ask(kb, "kb.documents", path="guide/page03.md")).payload["results"]
    for name in (row["document_id"], "guide/page03.md"):
        assert (await _ask(kb, "kb.read", document=name)).payload["file"] == "guide/page03.md"
    with pytest.raises(
        WinnowError, match=r"2 documents have the title 'page 1'.*guide/net/page02.md.*guide/page03.md"
    ):
        await _ask(kb, "kb.read", document="page 1")


@pytest.mark.parametrize(
    ("name", "near"), [("tasks_page0.md", "tasks_page00.md"), ("Page 1x", "Page 1"), ("zzz", "zzz")]
)
async def test_an_unknown_document_is_an_error_that_names_what_is_near(
    kb: KnowledgeBase, name: str, near: str
) -> None:
    with pytest.raises(WinnowError) as caught:
        await _ask(kb, "kb.read", document=name)
    assert caught.value.reason == "NOT_FOUND"
    assert near in caught.value.message


async def test_a_passage_is_no_document_and_the_error_says_which_is(kb: KnowledgeBase) -> None:
    (row,) = (await _ask(kb, "semantic_search", query="lantern of room 7", top_k=1)).payload["results"]
    with pytest.raises(WinnowError, match=rf"is a passage.*{row['file']}"):
        await _ask(kb, "kb.read", document=row["id"])


async def test_a_start_beyond_the_end_is_an_error(kb: KnowledgeBase) -> None:
    with pytest.raises(WinnowError, match="beyond the document's"):
        await _ask(kb, "kb.read", document="tasks_page00.md", start=100_000)


async def test_repeats_are_maximal_runs_with_all_their_places(kb: KnowledgeBase, texts: dict[str, str]) -> None:
    payload = (await _ask(kb, "kb.repeats", min_chars=60)).payload
    (row,) = payload["results"]
    assert payload["complete"]
    assert row["text"] == NOTICE
    places = {place["file"]: texts[place["file"]][place["start"] : place["end"]] for place in row["places"]}
    assert places == {name: NOTICE for number, name in enumerate(texts) if number % 5 == 0}
    assert row["copies"] == len(places) == 8


async def test_repeats_beyond_the_bound_of_paragraphs_are_left_out_and_it_says_so(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = (await _ask(kb, "kb.repeats", min_chars=20)).payload
    monkeypatch.setattr(repeats, "_MOST_REPEATED", 1)
    answer = await _ask(kb, "kb.repeats", min_chars=20)
    assert answer.payload["complete"] is False
    assert "more than 1 repeated paragraphs" in answer.warnings[0]
    known = {row["text"] for row in whole["results"]}
    assert all(any(row["text"] in text for text in known) for row in answer.payload["results"])


async def test_repeats_without_the_time_for_one_document_name_it(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repeats, "_FIRST_SHARE", 0.0)
    with pytest.raises(WinnowError, match=r"the document 'concepts_page01\.md' alone takes more time") as caught:
        await _ask(kb, "kb.repeats")
    assert caught.value.reason == "TIMEOUT"


async def test_repeats_within_a_path_are_counted_there(kb: KnowledgeBase) -> None:
    payload = (await _ask(kb, "kb.repeats", min_chars=60, path="tasks_*")).payload
    assert [row["copies"] for row in payload["results"]] == [2]
    assert (await _ask(kb, "kb.repeats", min_chars=60, path="tasks_page00.md")).payload["results"] == []
