"""The benchmark of citations: what it counts as right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.bench.citations import Question, choose, squeeze, verify
from tests.bench.pdf_truth import Paper

ASKED = Question("The lantern resists the current of", "ohm")
TRUTH = {"ohm": squeeze("Before it. The lantern resists the current of the pile. After it.")}
PAGES = {"ohm": [squeeze("Before it."), squeeze("The lantern resists the current of the pile. After it.")]}


def _verify(quote: str = "The lantern resists the current of the pile.1 After it.", **changed: Any) -> Any:
    answer = {"citations": ["[@ohm, p. 2]"], "citekeys": ["ohm"], **changed}
    return verify(ASKED, quote, answer, TRUTH, PAGES)


def test_a_citation_with_key_words_page_and_a_closed_list_is_right() -> None:
    assert _verify().is_right
    assert _verify("Before it. The lantern resists the current of the pile.").is_right


@pytest.mark.parametrize(
    ("quote", "changed", "flaw"),
    [
        ("The lantern resists the current of the sea.", {}, "has_words"),
        ("After it.", {}, "has_page"),
        (None, {"citations": ["[@ohm, p. 1]"]}, "has_page"),
        (None, {"citations": ["[@volta, p. 2]"], "citekeys": ["volta"]}, "has_key"),
        (None, {"citekeys": ["ohm", "volta"]}, "has_closed_list"),
        (None, {"citations": [""]}, "has_page"),
    ],
)
def test_what_differs_is_named(quote: str | None, changed: dict[str, Any], flaw: str) -> None:
    verdict = _verify(quote, **changed) if quote else _verify(**changed)
    assert (verdict.is_right, getattr(verdict, flaw)) == (False, False)


def test_questions_are_sentences_of_one_paper_alone() -> None:
    both = "This sentence is long enough to be asked for and it stands in two of the papers, so it is not chosen."
    own = "This sentence is long enough as well, but it stands in one of the papers only, so that it is chosen."
    known = [
        Paper(name, Path(name), {"gt": [["p", text]]}) for name, text in (("a", f"{both} {own}"), ("b", both))
    ]
    assert choose(known, 10, 1) == [Question(" ".join(own.split()[:-4]), "a")]
