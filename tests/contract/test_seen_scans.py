"""Scans find a phrase and a word as a reader sees them, and name the characters that the file has there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tests.plain_store import index_by_words
from winnow.server.commands.entry.knowledge import make_knowledge_base
from winnow.server.errors import WinnowError
from winnow.server.operations.knowledge import SCRIPT, KnowledgeBase

pytestmark = pytest.mark.anyio

MARKED = "It *is kept for* **ninety\ndays** by\n\n```\nits owner here\n```"
TEXTS = {
    "marked.md": f"# Rule\n\nAll backups. {MARKED}\n\nIt is kept for ninety days by its owner here.\n",
    "long.txt": f"Long text. {'So it goes on. ' * 100}",
    "huge.txt": "Huge\n" + f"{'word ' * 19_000}\n" * 5,
    "japanese.txt": "一覧\n\nこれは単一の パー\nティションを使う文です。\n",
    "accents.md": "# Places\n\nThe Cafe\u0301 is an o\ufb03ce, and the Café is infor\u00admation.\n",
}


@pytest.fixture(scope="module")
async def kb(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[KnowledgeBase]:
    folder: Path = tmp_path_factory.mktemp("files")
    for name, text in TEXTS.items():
        (folder / name).write_text(text, "utf-8")
    base = make_knowledge_base(index_by_words(folder, tmp_path_factory.mktemp("store")), wait_for_model=False)
    await base.open()
    yield base
    await base.aclose()


async def _found(kb: KnowledgeBase, pattern: str, **options: Any) -> list[str]:
    asked = {"pattern": pattern, **options}
    payload = (await kb.call("kb.scan", asked, kb.caller("test", SCRIPT, "run"))).payload
    counted = (await kb.call("kb.count", asked, kb.caller("test", SCRIPT, "run"))).payload
    assert payload["total"]["matches"] == counted["matches"] == len(payload["results"])
    return [TEXTS[row["file"]][row["start"] : row["end"]] for row in payload["results"]]


async def test_a_phrase_is_found_across_marks_and_ends_of_lines_and_once_where_it_stands_as_it_is(
    kb: KnowledgeBase,
) -> None:
    phrase = "is kept for ninety days by its owner here"
    (marked, plain) = await _found(kb, phrase, literal=True)
    assert (marked.split()[0], marked.split()[-1], plain) == ("is", "here", phrase)
    assert await _found(kb, phrase.upper(), literal=True, case=False) == [marked, plain]
    assert await _found(kb, phrase.replace("ninety", "sixty"), literal=True) == []


async def test_a_sentence_of_japanese_is_found_over_the_ends_of_lines_within_its_words(kb: KnowledgeBase) -> None:
    assert await _found(kb, "これは単一のパーティションを使う", literal=True) == [
        "これは単一の パー\nティションを使う"
    ]
    assert await _found(kb, "これは複数のパーティションを使う", literal=True) == []


@pytest.mark.parametrize("pattern", ["Café", "Cafe\u0301", "Caf\\w", "C[a-z]+é"])
async def test_a_letter_with_a_mark_is_found_in_either_form_of_unicode(kb: KnowledgeBase, pattern: str) -> None:
    assert await _found(kb, pattern) == ["Cafe\u0301", "Café"]


async def test_ligatures_and_soft_hyphens_are_the_letters_that_are_read(kb: KnowledgeBase) -> None:
    assert await _found(kb, "office") == ["o\ufb03ce"]
    assert await _found(kb, "information", literal=True) == ["infor\u00admation"]
    assert await _found(kb, "\ufb03") == ["\ufb03"]
    assert await _found(kb, r"\p{Mn}") == ["\u0301"]


@pytest.mark.parametrize(
    ("pattern", "group_by", "unit"),
    [
        (r"(?s)\ALong.+", None, "1 of these matches are cut after 500"),
        (r"(?s)\A(L)ong(.+)", None, "1 of these matches are cut after 500"),
        (r"(?s)\ALong.+", "match", "1 of these keys are cut after 480"),
        (r"(?s)\A(L)ong(.+)", 2, "1 of these keys are cut after 480"),
        (r"Long \w+", None, ""),
        (r"Long \w+", "match", ""),
    ],
)
async def test_a_match_that_is_cut_is_marked_and_counted_and_whole_for_scripts(
    kb: KnowledgeBase, pattern: str, group_by: str | None, unit: str
) -> None:
    asked = {"pattern": pattern, "group_by": group_by}
    direct = await kb.call("kb.scan", asked, kb.caller("test"))
    (row,) = direct.payload["results"]
    assert row.get("truncated", False) == bool(unit)
    assert [each for each in direct.warnings if unit in each] == list(direct.warnings)
    assert bool(direct.warnings) == bool(unit)
    whole = await kb.call("kb.scan", asked, kb.caller("test", SCRIPT, "run"))
    (row,) = whole.payload["results"]
    texts = [row["key"]] if group_by else [row["match"], *row["groups"]]
    assert ("truncated" in row, whole.warnings, any("…" in text for text in texts)) == (False, (), False)
    assert (len(max(texts, key=len)) > 1_000) == bool(unit)


async def test_a_script_says_how_much_of_a_match_it_takes(kb: KnowledgeBase) -> None:
    asked = {"pattern": r"(?s)\ALong (.+)", "max_match": 8}
    answer = await kb.call("kb.scan", asked, kb.caller("test", SCRIPT, "run"))
    (row,) = answer.payload["results"]
    assert (row["match"], row["groups"], row["truncated"]) == ("Long te…", ["text. S…"], True)
    assert ["cut after 8 characters" in each for each in answer.warnings] == [True]
    assert (await kb.call("kb.scan", asked, kb.caller("test"))).payload["results"] == [row]


async def test_more_of_a_match_than_an_answer_holds_is_refused_and_never_cut(kb: KnowledgeBase) -> None:
    huge = {"pattern": r"(?s)\AHuge.+"}
    script = kb.caller("test", SCRIPT, "run")
    for asked in (
        huge,
        {**huge, "group_by": "match"},
        {"pattern": r"(?m)^((word.+))$", "max_match": 150_000},
    ):
        with pytest.raises(WinnowError, match="a row has at most 200,000") as refused:
            await kb.call("kb.scan", asked, script)
        assert (refused.value.reason, "give max_match=500" in refused.value.message) == ("INVALID_REQUEST", True)
    (row,) = (await kb.call("kb.scan", {**huge, "max_match": 500}, script)).payload["results"]
    assert (len(row["match"]), row["truncated"], row["end"]) == (500, True, len(TEXTS["huge.txt"]))
    with pytest.raises(WinnowError, match="more than 500 characters of a match are for scripts"):
        await kb.call("kb.scan", {**huge, "max_match": 501}, kb.caller("test"))


async def test_long_matches_come_page_after_page(kb: KnowledgeBase) -> None:
    asked: dict[str, Any] = {"pattern": r"(?m)^(word.+)$"}
    lengths = []
    while True:
        payload = (await kb.call("kb.scan", asked, kb.caller("test", SCRIPT, "run"))).payload
        lengths.append([len(row["match"]) for row in payload["results"]])
        assert (payload["total"]["matches"], payload["complete"]) == (5, True)
        if payload["next_cursor"] is None:
            break
        asked["cursor"] = payload["next_cursor"]
    assert lengths == [[95_000] * 4, [95_000]]
