"""Warnings about numbers, dates, units and negations of a claim that its quotes do not have."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.claims.language.wording import check_wording

# Pieces that the rules of numbers, dates and negations depend on.
WORDS = (
    "not no only n't does work 5 -5 1,000 1.5 mg % $ March may 6 2024 2024-03-06 06/03/2024 ninety hundred "
    "million CD4 1.2.3 the ' k 3rd"
)
PIECES = st.lists(st.sampled_from(WORDS.split()), max_size=12).map(" ".join)
ANY_TEXT = st.text(max_size=100) | PIECES


def kinds(claim: str, *quotes: str, language: str = "en") -> list[str]:
    return [warning.kind for warning in check_wording(claim, quotes, language)]


@pytest.mark.parametrize(
    ("claim", "quote"),
    [
        ("Backups are kept 90 days.", "Backups are kept for ninety days."),
        ("The timeout is 1 s.", "The timeout is 1000 ms by default."),
        ("It was released on 6 March 2024.", "Released: 2024-03-06."),
        ("It was released in 2024.", "Released: 2024-03-06."),
        ("It was released in March 2024.", "It was released on March 6, 2024."),
        ("12% of 1,000 patients answered.", "Twelve percent of 1 000 patients answered."),
        ("It costs $5 million.", "It costs 5 million dollars."),
        ("It holds 10k rows.", "It holds 10,000 rows."),
        ("It is not only fast.", "It is fast."),
        ("The proxy isn’t started.", "The proxy is not started."),
        ("One of the pods waits.", "The pods wait."),
        ("It froze at -5 °C.", "It froze at minus 5 °C."),
    ],
)
def test_a_claim_in_other_words_than_its_quote_has_no_warning(claim: str, quote: str) -> None:
    assert check_wording(claim, [quote]) == ()


@pytest.mark.parametrize(
    ("claim", "quote", "kind"),
    [
        ("Backups are kept 30 days.", "Backups are kept for ninety days.", "number"),
        ("It has -5 degrees.", "It has 5 degrees.", "number"),
        ("It charged at 5 °C.", "It charged at minus 5 °C.", "number"),
        ("CD4 cells were counted.", "CD8 cells were counted.", "number"),
        ("It needs version 1.2.3.", "It needs version 1.2.4.", "number"),
        ("The dose is 5 mg.", "The dose is 5 g.", "unit"),
        ("5 % answered.", "5 answered.", "unit"),
        ("It was released on 7 March 2024.", "Released: 2024-03-06.", "date"),
        ("It was released in April 2024.", "Released: 2024-03-06.", "date"),
        ("The kubelet does not restart pods.", "The kubelet restarts pods.", "negation"),
        ("The kubelet restarts pods, and no others.", "The kubelet doesn't restart pods.", "negation"),
        ("It works without a key.", "It works with a key.", "negation"),
    ],
)
def test_what_the_quote_lacks_is_warned_of(claim: str, quote: str, kind: str) -> None:
    assert kinds(claim, quote) == [kind]


def test_one_of_several_quotes_is_enough() -> None:
    quotes = ["Backups are kept for ninety days.", "The key has 256 bits."]
    assert kinds("Backups are kept 90 days.", *quotes) == []
    assert kinds("Backups are kept 91 days.", *quotes) == ["number"]
    assert kinds("Backups are kept 90 days.") == []


def test_a_warning_names_the_words_and_what_the_quote_says() -> None:
    (warning,) = check_wording("The dose is 5 mg.", ["The dose is 5 g."])
    assert (warning.words, warning.message) == ("5 mg", 'the claim says "5 mg" and the quote "5 g"')


def test_german_french_and_spanish_have_tables_and_others_say_that_they_have_none() -> None:
    assert kinds("Die Sicherung läuft nicht.", "Die Sicherung läuft.", language="de") == ["negation"]
    assert kinds("Sie bleibt neunzig Tage.", "Sie bleibt 90 Tage.", language="de") == []
    assert kinds("Il n'est jamais effacé.", "Il est effacé.", language="fr") == ["negation"]
    assert kinds("El 6 de marzo de 2024 terminó.", "Terminó 2024-03-06.", language="es") == []
    assert kinds("Il backup dura 90 giorni.", "Il backup dura 30 giorni.", language="it") == ["number", "language"]
    assert kinds("Kept 30 days.", "Kept 90 days.", language="") == ["number"]


@given(text=ANY_TEXT)
def test_a_text_has_no_warning_beside_itself(text: str) -> None:
    assert check_wording(text, [text]) == ()


@given(
    claim=ANY_TEXT, quotes=st.lists(ANY_TEXT, max_size=3), language=st.sampled_from(["", "en", "de", "fr", "xx"])
)
def test_any_text_gives_a_few_short_warnings(claim: str, quotes: list[str], language: str) -> None:
    warnings = check_wording(claim, quotes, language)
    assert len(warnings) <= 20
    assert all(len(warning.message) <= 300 for warning in warnings)


@given(number=st.integers(2, 10**9), other=st.integers(2, 10**9))
def test_an_altered_number_is_always_warned_of(number: int, other: int) -> None:
    found = kinds(f"It takes {number} steps.", f"It takes {other} steps.")
    assert found == ([] if number == other else ["number"])


@given(number=st.integers(1, 10**9))
def test_separators_of_thousands_do_not_matter(number: int) -> None:
    for mark in (",", " ", "'", "\u202f"):
        assert kinds(f"It takes {number} steps.", f"It takes {number:,} steps.".replace(",", mark)) == []
