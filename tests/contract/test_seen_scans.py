"""Scans find a phrase and a word as a reader sees them, and name the characters that the file has there."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from server.app import make_knowledge_base
from server.knowledge import SCRIPT, KnowledgeBase
from tests.plain_store import index_by_words

pytestmark = pytest.mark.anyio

MARKED = "It *is kept for* **ninety\ndays** by\n\n```\nits owner here\n```"
TEXTS = {
    "marked.md": f"# Rule\n\nAll backups. {MARKED}\n\nIt is kept for ninety days by its owner here.\n",
    "long.txt": f"Long text. {'So it goes on. ' * 100}",
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


@pytest.mark.parametrize("pattern", ["Café", "Cafe\u0301", "Caf\\w", "C[a-z]+é"])
async def test_a_letter_with_a_mark_is_found_in_either_form_of_unicode(kb: KnowledgeBase, pattern: str) -> None:
    assert await _found(kb, pattern) == ["Cafe\u0301", "Café"]


async def test_ligatures_and_soft_hyphens_are_the_letters_that_are_read(kb: KnowledgeBase) -> None:
    assert await _found(kb, "office") == ["o\ufb03ce"]
    assert await _found(kb, "information", literal=True) == ["infor\u00admation"]
    assert await _found(kb, "\ufb03") == ["\ufb03"]
    assert await _found(kb, r"\p{Mn}") == ["\u0301"]


async def test_a_match_that_is_cut_is_counted_in_a_warning(kb: KnowledgeBase) -> None:
    for pattern, expected in ((r"(?s)\ALong.+", 1), (r"Long \w+", 0)):
        answer = await kb.call("kb.scan", {"pattern": pattern}, kb.caller("test", SCRIPT, "run"))
        assert len(answer.payload["results"]) == 1
        assert sum("cut after 500 characters" in each for each in answer.warnings) == expected
