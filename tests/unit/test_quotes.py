"""Quotes are checked word for word: what folding ignores, what it keeps, and which text is closest to a quote."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from winnow.server.readers.markup import html_to_markdown
from winnow.server.text.quotes.finding import (
    MOST_OMITTED_CHARS,
    ClosestText,
    Difference,
    QuoteMatch,
    SourceText,
    closest,
    find_phrase,
    find_quote,
    has_words,
)
from winnow.server.text.quotes.folding import fold

# The same sentence as a person copies it, and as a file has it.
SAME = (
    ("kept for ninety days", "kept\tfor \n\n ninety\u00a0days"),
    ("information is kept", "infor-\n   mation is kept"),
    ("information is kept", "infor\u00admation is kept"),
    ("a well-known rule", "a well-\nknown rule"),
    ("a well-known rule", "a well\u2010known rule"),
    ("pages 10-20 of it", "pages 10–20 of it"),
    ("at −5 degrees", "at -5 degrees"),
    ("kept — for now — there", "kept—for now---there"),
    ("other therapies—and surely", "other therapies-and surely"),
    ("other therapies-and surely", "other therapies—and surely"),
    ("a well-known rule—and more", "a well-known rule-and more"),
    ("a well-known rule-and more", "a well-known rule — and more"),
    ("tail association/dissociation here", "tail association/ dissociation here"),
    ("tail association/\ndissociation here", "tail association/dissociation here"),
    ("of XRCC4/XLF complexes", "of XRCC4/ XLF complexes"),
    ("a non-exclusive, worldwide license", "a non-exclusive,worldwide license"),
    ("of x1 , · · · , (xt , yt )", "of x1, · · · ,(xt, yt)"),
    ("if it is (always negative) here", "if it is(always negative)here"),
    ("coefficients from GF (2) is", "coefficients from GF(2) is"),
    ("coefficients from GF(2) is", "coefficients from GF (2) is"),
    ("the 'first' rule", "the “first” rule"),
    ('the "first" rule', "the ``first'' rule"),
    ("it’s kept", "it's kept"),
    ("at (\u00b5, 2) of it", "at (\u03bc, 2) of it"),
    ("the office file", "the oﬃce ﬁle"),
    ("ＡＢＣ is kept", "ABC is kept"),
    ("caf\u00e9 rules", "cafe\u0301 rules"),
    ("the a\u0323\u0302 rule", "the a\u0302\u0323 rule"),
    ("wait... and see", "wait… and see"),
    ("wait . . . and see", "wait… and see"),
    ("Kept for ninety days.", "Kept for ninety days, then deleted"),
    ("“Kept for ninety days”", "Kept for ninety days"),
    ("Kept \x15 for \x10ninety\x11 days", "Kept – for “ninety” days"),
    ("…kept for ninety days…", "They are kept for ninety days, then deleted"),
    ("資料庫備份", "所有資料庫備份保存九十天"),
    ("of size vertlocnbr + 1, and", "are of size vertlocnbr+ 1, and so on"),
    ("in bytes is: 2l \u2217 (2k = r + 1)", "in bytes is: 2l\u2217(2k=r+ 1)/8"),
    ("C++ is fast", "says that C++\nis fast"),
    ("すべてのパーティション", "すべての パー\nティションの一覧"),
    ("すべての パー ティション", "すべてのパーティションの一覧"),
    ("of GX (mod P ) using", "of GX (mod P) using"),
    ("a Map<K,V> of them", "a Map<K,\u200bV> of them"),
    ("a Map<K,\u200bV> of them", "a Map<K,V> of them"),
    ("are rewarded 2,400.", "they are rewarded 2,400 USD"),
    ("5 seconds pass", "in a minute 5 seconds pass, not 1.5"),
)
# Texts that say something else, however alike they look.
DIFFERENT = (
    ("kept for ninety days", "kept for nineteen days"),
    ("is kept", "is not kept"),
    ("10-20", "1020"),
    ("a + b", "a b"),
    ("C++ 17", "C 17"),
    ("are rewarded 2", "they are rewarded 2,400 USD"),
    ("5 seconds pass", "1.5 seconds pass"),
    ("at most version 1", "at most version 1.2 of it"),
    ("therapies—and more", "therapies and more"),
    ("therapies—and mo", "therapies-and more"),
    ("rapies—and more", "therapies-and more"),
    ("on/off is kept", "on off is kept"),
    ("of 1/2 is kept", "of 1/ 2 is kept"),
    ("of 1, 200 rows", "of 1,200 rows"),
    ("a table of 2 (3)", "a table of 2(3)"),
    ("kept, for days", "kept for days"),
    ("x2 is kept", "x² is kept"),
    ("run it with -f", "run it with --f"),
    ("Kept for days", "kept for days"),
    ("crypt", "encrypted"),
    ("encrypt…", "encrypted"),
    ("max", "max_tokens"),
    ("cafe", "cafe\u0301"),
    ("क", "कि"),
    ("dose of 1.5", "dose of 15"),
    ("f'(x) = 0", "f''(x) = 0"),
    ("f'(x) = 0", "f\u2033(x) = 0"),
    ("y' = 0 here", "y\u2033 = 0 here"),
)


@pytest.mark.parametrize(("quote", "text"), SAME)
def test_a_quote_is_found_whatever_copying_and_typesetting_changed(quote: str, text: str) -> None:
    assert find_quote(quote, SourceText(text)) != []


@pytest.mark.parametrize(("quote", "text"), DIFFERENT)
def test_a_quote_is_not_found_where_the_text_says_something_else(quote: str, text: str) -> None:
    assert find_quote(quote, SourceText(text)) == []


def test_a_match_names_the_characters_of_the_text_and_not_of_its_folded_form() -> None:
    text = "The “ﬁrst”  infor-\nmation — is kept."
    (match,) = find_quote("first information - is", SourceText(text.replace("”", "")))
    assert text.replace("”", "")[match.start : match.end] == "ﬁrst  infor-\nmation — is"


def test_every_place_of_a_quote_is_found_in_order_up_to_a_limit() -> None:
    text = SourceText("one rule. another. one rule. one rule.")
    assert find_quote("one rule", text, 2) == [QuoteMatch(0, 8), QuoteMatch(19, 27)]


@pytest.mark.parametrize("mark", ["…", "...", "[…]", "[...]", "(…)"])
def test_a_quote_may_leave_out_text_and_the_match_says_how_much(mark: str) -> None:
    text = "Backups are not kept for ninety days."
    assert find_quote(f"Backups are {mark} kept", SourceText(text)) == [QuoteMatch(0, 20, len(" not "))]
    assert find_quote(f"kept {mark} Backups", SourceText(text)) == []


def test_the_parts_of_a_quote_are_near_each_other() -> None:
    far = SourceText(f"It begins. {'x' * (MOST_OMITTED_CHARS + 20)} It ends.")
    assert find_quote("begins … ends", far) == []


@pytest.mark.parametrize("quote", ["", " ", "…", "...", '"', "[...]", "-", " . , "])
def test_a_quote_without_words_is_nowhere(quote: str) -> None:
    text = SourceText('… - "it" is [...] kept.')
    assert (has_words(quote), find_quote(quote, text), closest(quote, text)) == (False, [], None)


def test_the_closest_text_and_its_differences_are_named() -> None:
    text = SourceText("All backups are encrypted. Backups are kept for ninety days, then deleted. Days pass.")
    near = closest("Backups are kept for sixty days, then deleted", text)
    assert near is not None
    assert text.text[near.start : near.end] == "Backups are kept for ninety days, then deleted"
    assert (near.is_altered_quote, near.differences) == (True, (Difference("sixty", "ninety"),))


def test_a_quote_in_another_case_is_altered_and_the_difference_is_the_case() -> None:
    near = closest("backups ARE kept", SourceText("Backups are kept."))
    assert near == ClosestText(0, 16, 1.0, (Difference("backups ARE", "Backups are"),))


def test_a_quote_that_shares_a_word_with_a_text_is_not_an_altered_form_of_it() -> None:
    near = closest("the moon is made of cheese", SourceText("Backups are kept by the owner of the machine."))
    assert near is not None
    assert not near.is_altered_quote


@pytest.mark.parametrize(
    ("quote", "text"),
    [("in the year of 1999", "In the example of Speex"), ("it is as old as the sea", "it is as new as the one")],
)
def test_an_invented_quote_is_not_an_altered_form_of_a_text_that_shares_only_short_words(
    quote: str, text: str
) -> None:
    near = closest(quote, SourceText(text))
    assert near is not None
    assert not near.is_altered_quote


def test_a_quote_without_a_word_in_common_has_no_closest_text() -> None:
    assert closest("moon cheese", SourceText("Backups are kept.")) is None


_TOKENS = (
    "kept",
    "data",
    "ﬁle",
    "infor-mation",
    "“so”",
    "não",
    "10–20",
    "U.S.",
    "e.g.",
    "x²",
    "資料",
    "-f",
    "naïve",
)
_WORDS = st.lists(st.sampled_from(_TOKENS), min_size=4, max_size=40)
_BLANKS = st.sampled_from([" ", "\n", "  ", "\t", "\u00a0", " \n\n"])


@given(_WORDS, _BLANKS, st.data())
def test_whole_words_of_a_text_are_found_in_it_with_other_white_space(
    words: list[str], blank: str, data: st.DataObject
) -> None:
    first = data.draw(st.integers(0, len(words) - 2))
    last = data.draw(st.integers(first + 2, len(words)))
    quote, text = blank.join(words[first:last]), " ".join(words)
    matches = find_quote(quote, SourceText(text), most=len(words))
    if not has_words(quote):
        return
    # One of the places is where the words were taken from, up to marks at the ends.
    begin = len(" ".join(words[:first])) + bool(first)
    end = begin + len(" ".join(words[first:last]))
    assert any(begin <= match.start <= begin + 2 and end - 2 <= match.end <= end for match in matches)


@given(_WORDS, st.data())
def test_a_quote_with_a_word_that_the_text_lacks_is_never_found(words: list[str], data: st.DataObject) -> None:
    at = data.draw(st.integers(0, len(words)))
    quote = " ".join([*words[:at], "unsaid", *words[at:]])
    assert find_quote(quote, SourceText(" ".join(words))) == []


@given(st.text(max_size=200))
def test_accents_in_either_form_fold_to_one(text: str) -> None:
    latin = "".join(char for char in text if char < "\u0530" and char not in "-\u00b4\u0344")
    composed, decomposed = (unicodedata.normalize(form, latin) for form in ("NFC", "NFD"))
    assert fold(composed).text == fold(decomposed).text


@given(st.text(st.sampled_from("ab1 \n\t-–—…“”'ﬁ\u00ad\u0301é.資`"), max_size=60), st.data())
def test_every_part_of_a_folded_text_has_its_place_in_the_original(text: str, data: st.DataObject) -> None:
    folded = fold(text)
    if not folded.text:
        return
    start = data.draw(st.integers(0, len(folded.text) - 1))
    middle = data.draw(st.integers(start + 1, len(folded.text)))
    end = data.draw(st.integers(middle, len(folded.text)))
    (begin, halfway), (same, stop) = folded.span(start, middle), folded.span(start, end)
    assert 0 <= begin == same < halfway <= stop <= len(text)


@given(st.text(max_size=80), st.text(max_size=300))
def test_any_quote_and_any_text_have_an_answer(quote: str, text: str) -> None:
    source = SourceText(text)
    for match in find_quote(quote, source):
        assert 0 <= match.start < match.end <= len(text)
    if (near := closest(quote, source)) is not None:
        assert 0 <= near.start < near.end <= len(text)
        assert 0 < near.likeness <= 1


# A sentence as a person copies it from the page, and as the Markdown of a reader of files has it.
SEEN = (
    ("It is kept for ninety days by its owner", "It *is kept* for **ninety\ndays** by\n\n```\nits owner\n```"),
    ("by nocite{*} \u2022 If it", "is used by nocite{*}\n- If it is all{*} of it"),
    ("as follows:\t\x88\nFirst the unit", "as follows:\n\n- First the unit"),
    ("run `one then run `two of it", "run `one\n- then run `two of it"),
    ("the `first sign and then `the second", "the `first sign and\n\n> then `the second"),
    ("a glob *.py or\n*.txt of them", "# a glob *.py or\n- *.txt of them"),
    ("the owner, in the room", "the [owner](https://a.example/x_(y) 'no'), in the room"),
    ("the owner, in the room", "the [owner](https://a.example/x_(y)), in the room"),
    ("Price per day 20 euros", "| Price per day | 20 euros |\n|---|---|"),
    ("Price per day 20 euros", "| Price per day |\n|---|\n| 20 euros |"),
    (r"\bibitem is a command", r"\\bibitem is a command"),
    ("First rule then this", "# First rule\n\n- then this"),
    ("first • second thing here", "first\n- second thing here"),
    ("it identifies the entry", "**it identi-** fies the entry"),
    ("it identifies the entry", "*it identi-* *fies the* entry"),
    ("Kept for now, they say", "18Kept for now, they say"),
    ("call f here & there", "call `f` here &amp; there"),
    ("Kept for now. They say", "Kept for now.[^2] They say"),
    ("the version 2 , which", "the version 2, which"),
    ("Price per day 20 euros", "| Price | per day |\n|:-|:-:|\n| 20 | euros |"),
    ("the sign ` and then b of it", r"the sign \` and then `b` of it"),
    ("the sign `b' of it", r"the sign \``b`' of it"),
    ("write a `div` b or c here", "write `` a `div` b `` or `c` here"),
    ("the owner of it", '<p align=center>the <a\n href="https://a.example" hidden>owner</a> of it</p>'),
)


class WholeText(SourceText):
    """A text that is folded whole for every quote."""

    def parts(self, quote: str, omitted: int = 0, *, case: bool = True) -> Sequence[tuple[int, int]]:
        return [(0, len(self.text))]


# A word as a file may have it: before it, in it, after it; and other letters in place of its own.
DIVIDED = st.sampled_from(
    [
        *(("", "", ""), ("", "-\n  ", ""), ("", "\u00ad", ""), ("", "\u200b", ""), ("", "\u2010\n", "")),
        *(("**", "**", ""), ("", "`", "`"), ("<b>", "</b>", ""), ("", "<!-- no -->", ""), ("", "&shy;", "")),
        *(("[", "](a.html)", ""), ("", "[^1]", ""), ("", "\\\n", ""), ("_", "", "_")),
        *(("", " ", ""), ("", "x", ""), ("", "\u0301", "")),
    ]
)
SHAPED = st.sampled_from(
    [str, str.upper, lambda word: word.replace("fi", "\ufb01"), lambda word: word.replace("k", "&#107;")]
)
QUOTED = ("office", "kept", "finds", "letters", "information", "книги", "Wörter", "storage")
WRITTEN = st.tuples(st.sampled_from(QUOTED), st.integers(1, 5), DIVIDED, SHAPED)


def _write(word: str, at: int, divided: tuple[str, str, str], shape: Callable[[str], str]) -> str:
    return divided[0] + shape(word[:at]) + divided[1] + shape(word[at:]) + divided[2]


@given(
    st.lists(st.lists(WRITTEN, min_size=1, max_size=8), min_size=1, max_size=2),
    st.lists(st.sampled_from(QUOTED), min_size=1, max_size=4),
    st.sampled_from(["", "\u00ad", "\ufb02", "\uff21"]),
    st.booleans(),
)
def test_a_text_that_is_folded_in_parts_has_what_it_has_whole(
    written: list[list[tuple[str, int, tuple[str, str, str], Callable[[str], str]]]],
    quote: list[str],
    elsewhere: str,
    case: bool,
) -> None:
    filler = f"{elsewhere} Other words, and the letters of them.\n\n" * 100
    text = filler.join(["", *(" ".join(_write(*word) for word in words) for words in written), ""])
    asked = " ".join(quote)
    assert find_phrase(asked, SourceText(text), case=case) == find_phrase(asked, WholeText(text), case=case)
    assert find_quote(asked, SourceText(text)) == find_quote(asked, WholeText(text))


PAGE_PARTS = st.tuples(st.sampled_from(["", "code", "b", "q"]), st.text(st.sampled_from("ab `\\"), max_size=6))


@given(st.lists(PAGE_PARTS, max_size=8))
def test_a_sentence_of_html_is_found_whatever_backticks_it_has(parts: list[tuple[str, str]]) -> None:
    parts = [(tag, text.strip() if tag == "code" else text) for tag, text in parts]
    page = "".join(f"<{tag}>{text}</{tag}>" if tag else text for tag, text in parts)
    written = SourceText(html_to_markdown(f"<p>First {page} last <code>end</code>.</p>")[1])
    sentence = f"First {''.join(text for _, text in parts)} last end."
    # Three backticks of a quote may be a fence, and a backslash before another one an escape.
    assume("```" not in sentence and "\\\\" not in sentence)
    assert len(find_quote(sentence, written)) == 1
    assert len(find_phrase(sentence, written)) == 1


# What looks like a mark and is none, or changes what is said.
NOT_SEEN = (
    ("limit of 52 m", "limit of 5<sub>2</sub> m"),
    ("is log28 here", "is log<sub>2</sub>8 here"),
    ("of 10^25 m", "of 10<sup>2</sup>5 m"),
    ("234 units", "2*3*4 units"),
    ("snakecase names", "snake_case names"),
    ("cat a grep b", "cat a | grep b"),
    ("the name is", "the <name> is"),
    ("18 kept for now", "1 8kept for now"),
    ("it is kept", "it is ~~not~~ kept"),
    ("10 m of it", "10 m2 of it"),
    ("[docs](https://evil.example) here", "[docs](https://good.example) here"),
    ("the tenant owes rent", "the [tenant][who stays] owes rent"),
    ("the tenant owes rent", "the tenant [^not] owes rent"),
    ("holds if a d", "holds if a <b and c> d"),
    ("the contract is not void", "the contract is ~~not~~ void"),
    ("the contract is not void", "the contract is <del>not</del> void"),
    ("the contract is void", "the contract is <s>not</s> void"),
    ("about 109 units", "about 10<sup>9</sup> units"),
    ("about 109 units", "about 10⁹ units"),
    ("the low was 5 degrees", "the low was\n- 5 degrees"),
    ("more than 5 mg is toxic", "more than\n> 5 mg is toxic"),
    ("> 5 mg is toxic", "5 mg is toxic"),
    ("- 5 degrees in winter", "It was 5 degrees in winter"),
    ("- [ ] Approved", "- [x] Approved"),
    ("■ approved □ rejected", "□ approved ■ rejected"),
    ("safe for children", "un**safe for children**"),
    ("safe for children", "un<b>safe for children</b>"),
    ("the board approved it", "<!-- the board approved it -->"),
    ("6' wide", '6" wide'),
    ("6′ wide", "6″ wide"),
    ("valid in May", "in`valid` in May"),
    ("`valid` in May, it says", "in`valid` in May,\n> it says"),
    ("*valid* in May, it says", "in*valid* in May,\n> it says"),
    ("2*3*4 is it", "234 is it"),
    ("valid in May", "in[valid](https://a.example) in May"),
    ("valid in May", "in&shy;valid in May"),
    ("valid in May", "in\u200dvalid in May"),
    ("ताब है", "किताब है"),
    ("10-6 m", "10<sup>-6</sup> m"),
    ("if a holds", "if a<b and c=d> holds"),
    ("if a holds", "if a<b x=1 and c> holds"),
    ("if a holds", "if a <p = 0.05 and q> holds"),
)
# What is a part of a number, or a number without what changes its value.
CUT_NUMBERS = (
    ("5 mg of it", "0.5 mg of it"),
    (".5 mg of it", "5 mg of it"),
    (".5 mg of it", "0.5 mg of it"),
    ("500 people died", "1,500 people died"),
    ("500 people died", "1 500 people died"),
    ("it is 1", "it is 1.5 million"),
    ("it is 1", "it is 1 500 000"),
    ("5 degrees in May", "a mean of -5 degrees in May"),
    ("5 degrees in May", "a mean of \u22125 degrees in May"),
    ("2 of all users", "1/2 of all users"),
    ("5 mg is used", "<5 mg is used"),
    ("5 mg is used", "\u2264 5 mg is used"),
    ("it grew by 5", "it grew by 5 %"),
    ("it grew by 5", "it grew by 5\u20137 points"),
    ("it is 10", "it is 10^9"),
    ("it is 10", "it is 10⁹"),
    ("it starts at 5", "it starts at 5:30"),
    ("it … 5", "it is now 5.5"),
    ("it … 5 of them", "it is now 2.5 of them"),
    ("5 mg is used", "1·5 mg is used"),
    ("5 mg is used", "1\u066b5 mg is used"),
    ("5 mg is used", "3\u22155 mg is used"),
    ("5 mg is used", "≠ 5 mg is used"),
    ("5 mg is used", "∼5 mg is used"),
    ("5 mg is used", "⩽ 5 mg is used"),
    ("5 mg is used", "2 – 5 mg is used"),
    ("5 mg is used", "1 ± 5 mg is used"),
    ("5 mg is used", "&lt; 5 mg is used"),
    ("5 mg is used", r"1\.5 mg is used"),
    ("1/2 cup of it", "1 1/2 cup of it"),
    ("½ cup of it", "1 ½ cup of it"),
    ("000 people died", "1’000 people died"),
    ("000 people died", "1\u2009000 people died"),
    ("it is 1", "it is 1’000"),
    ("it is 1", "it is 1\u2009000"),
    ("it is 1", "it is 1·5"),
    ("it is 1", r"it is 1\.5"),
    ("it is 1", "it is 1<b>.5</b>"),
    ("it is 1", "it is 1**.5**"),
    ("it is 1", "it is 1&#46;5"),
    ("it is 1", "it is 1&#37;"),
    ("it is 1", "it is 1 × 10⁶"),
    ("it is 1", "it is 1 × 10^6"),
    ("it is 1", "it is 1 1/2"),
    ("it is 1", "it is 1 ℃"),
    ("it is 5", "it is 5 - 7 m"),
    ("it was in 2024-03", "it was in 2024\u201103\u201112"),
    ("it is 5", "it is 5-\n10 m"),
    ("it is 5", "it is 5 ± 3 m"),
    ("it is 5", "it is 5±3 m"),
    ("it is 5", r"it is 5 \times 10^9 m"),
    ("it is 5", r"it is 5\% of it"),
    ("it is 5", "it is 5％ of it"),
    ("it is 5", "it is 5 ‱ of it"),
    ("it is 5", "it is 5．5 m"),
    ("it is 5", "it is 5，000 m"),
    ("500 m wide", "1{,}500 m wide"),
    ("500 m wide", "1\u205f500 m wide"),
    ("500 m wide", "1\u3000500 m wide"),
    ("5 m wide", "√5 m wide"),
    ("5 m wide", "⁻5 m wide"),
    ("5 m wide", "➖5 m wide"),
    ("5 m wide", "≶ 5 m wide"),
    ("5 m wide", "⋜5 m wide"),
)
WHOLE_NUMBERS = (
    ("it is 5", "it is 5 \u2013\n which is odd"),
    ("it is 5", "it is 5 times ten"),
    ("5 mg of it", "Take 5 mg of it."),
    (".5 mg of it", "Take .5 mg of it."),
    ("it is 1", "it is 1, and 500 others"),
    ("5 items are due", "- 5 items are due"),
    ("5 items are due", "Then:\n\n- 4 items are here\n- 5 items are due"),
    ("in 1990", "in 1990. It"),
    ("2015 500 people", "In 2015 500 people came"),
    ("10⁹ units", "about 10<sup>9</sup> units"),
    ("10^9 units", "about 10⁹ units"),
    ('6" wide', "6″ wide"),
    ("6' wide", "6’ wide"),
    ("'since 1990', they say", "“since 1990’, they say"),
    ("5 mg of it", "is ~~1~~ 5 mg of it"),
    ("5 people came", "the end – 5 people came"),
    ("10–20 mg", "10 – 20 mg"),
    ("1 1/2 cup", "1 1/2 cup"),
    ("2 10 m", "ropes of 2 10 m"),
    ("10⁻⁶ m", "10<sup>-6</sup> m"),
    ("10⁻⁶ m", "10<sup>−6</sup> m"),
)


@pytest.mark.parametrize(("quote", "text"), SEEN)
def test_a_quote_is_found_in_the_text_that_a_reader_of_its_markdown_sees(quote: str, text: str) -> None:
    for lead in ("", "A long paragraph of other words.\n\n" * 1_000):
        (match,) = find_quote(quote, SourceText(f"{lead}Before.\n\n{text}\n\nAfter."))
        assert len(lead) + len("Before.\n\n") <= match.start < match.end <= len(f"{lead}Before.\n\n{text}")


@pytest.mark.parametrize(("quote", "text"), CUT_NUMBERS)
def test_a_quote_of_a_part_of_a_number_is_not_found(quote: str, text: str) -> None:
    assert find_quote(quote, SourceText(text)) == []


@pytest.mark.parametrize(("quote", "text"), WHOLE_NUMBERS)
def test_a_quote_of_a_whole_number_is_found(quote: str, text: str) -> None:
    assert len(find_quote(quote, SourceText(text))) == 1


@pytest.mark.parametrize(("quote", "text"), NOT_SEEN)
def test_a_mark_hides_no_number_word_or_sign(quote: str, text: str) -> None:
    assert find_quote(quote, SourceText(text)) == []


@given(_WORDS, st.data())
def test_a_quote_of_a_long_text_is_found_as_in_a_short_one(words: list[str], data: st.DataObject) -> None:
    first = data.draw(st.integers(0, len(words) - 1))
    last = data.draw(st.integers(first + 1, len(words)))
    quote, text = " ".join(words[first:last]), " ".join(words)
    lead, tail = "Lamps burn.\n" * 800, "\nLamps burn." * 800
    short = find_quote(quote, SourceText(f"\n{text}\n"), most=50)
    long = find_quote(quote, SourceText(f"{lead}{text}{tail}"), most=50)
    moved = [QuoteMatch(each.start - len(lead) + 1, each.end - len(lead) + 1, each.omitted) for each in long]
    assert moved == short


# Words of which each half is in few places.
_NAMES = ["".join(chr(ord("A") + int(digit)) for digit in f"{n * 7_919 % 10_007:05}") * 2 for n in range(600)]
_LONG_TEXT = "\n\n".join(
    f"Copy {name} is *kept* for {number * 7 % 90} days, the `first` infor-\nmation—and copy {name}, of it."
    for number, name in enumerate(_NAMES)
)


def test_quotes_of_a_long_text_are_found_alike_first_and_after_many_others() -> None:
    quotes = [
        *(f"Copy {_NAMES[number]} is kept for {number * 7 % 90} days" for number in range(0, 600, 9)),
        *(f"the first information-and copy {_NAMES[number]},of it" for number in range(0, 600, 9)),
        *(f"Copy {_NAMES[number]} is never kept for 5 days" for number in range(0, 600, 9)),
    ]
    one = SourceText(_LONG_TEXT)
    for quote in quotes:
        of_its_own = SourceText(_LONG_TEXT)
        assert (found := find_quote(quote, one)) == find_quote(quote, of_its_own)
        assert bool(found) == ("never" not in quote)
        assert closest(quote, one) == closest(quote, of_its_own)


def test_many_quotes_of_a_long_text_fold_it_once() -> None:
    text = SourceText(_LONG_TEXT)
    first = text.as_is(0, 200)
    for number in range(0, 600, 4):
        assert len(find_quote(f"Copy {_NAMES[number]} is kept for {number * 7 % 90} days", text)) == 1
    assert text.as_is(0, 200).folded is text.as_is(4_000, 4_200).folded
    assert text.as_is(0, 200).folded is not first.folded
    assert text.as_is(0, 200).text == first.text


@pytest.mark.parametrize("lead", ["", "Lamps burn at night. " * 1_000])
def test_the_closest_text_is_named_in_short_and_long_texts(lead: str) -> None:
    text = SourceText(f"{lead}\n\nBackups are kept for ninety days, then deleted.\n\n{lead}")
    near = closest("Backups are kept for sixty days, then deleted", text)
    assert near is not None
    assert text.text[near.start : near.end] == "Backups are kept for ninety days, then deleted"


def test_code_beside_the_number_of_an_item_ends_where_its_fence_does() -> None:
    text = "1. ```\n   one\n   ```\n\nThe `name` of a file is **its** path.\n"
    assert SourceText(text).as_seen(0, len(text)).text.strip().endswith("The name of a file is its path.")


@pytest.mark.parametrize("case", [True, False])
def test_a_phrase_with_a_dash_is_found_where_the_text_has_a_hyphen(case: bool) -> None:
    text = SourceText("The bridge of Dormagen-St\u00fcrzelberg is old.")
    phrase = "Dormagen\u2013St\u00fcrzelberg\nis old"
    assert len(find_phrase(phrase if case else phrase.upper(), text, case=case)) == 1


def test_a_phrase_that_was_cut_within_an_ellipsis_is_found() -> None:
    text = SourceText("Some tuple (h0, h1, . . . , hn), and Contents . . . . . . 2")
    assert [
        len(find_phrase(phrase, text)) for phrase in ("tuple (h0 , h1 , .", "and Contents .", "some tuple .")
    ] == [
        1,
        1,
        0,
    ]


# What marks of the quote itself would hide, beside a sentence that the text has.
HIDING_QUOTES = (
    "~~~ They were never\nkept for ninety days",
    "```never\nkept for ninety days",
    "kept for ninety days\n~~~ and sold to anybody",
    "kept ~~at no time~~ for ninety days",
    "kept for <!-- less than --> ninety days",
)


@pytest.mark.parametrize("quote", HIDING_QUOTES)
def test_no_mark_of_a_quote_hides_words_that_the_text_lacks(quote: str) -> None:
    text = SourceText("They are\n\n~~~ text\nkept for ninety days\n~~~\n\nkept ~~by us~~ for ninety days")
    assert find_quote("kept for ninety days", text) != []
    assert find_quote(quote, text) == []


@pytest.mark.parametrize("quote", ["~~~ text\nkept\n~~~\nfor ninety days", "kept *~~by us~~* for ninety days"])
def test_a_quote_has_the_hidden_words_of_the_text(quote: str) -> None:
    text = SourceText("~~~ text\nkept\n~~~\n\nfor *ninety* days, kept ~~by us~~ for ninety days")
    assert find_quote(quote, text) != []


@pytest.mark.parametrize("quote", ["kept for ninety days", "Seen … kept for ninety days … End", "kept … End"])
@pytest.mark.parametrize("pad", ["", "word " * 600, "line\n\n" * 400])
def test_a_part_of_a_quote_that_stands_in_a_comment_is_not_found(quote: str, pad: str) -> None:
    text = SourceText(f"Seen.\n<!-- {pad}kept for ninety days --> End of it.\n")
    assert find_quote("End of it", text) != []
    assert find_quote(quote, text) == []


def test_signs_of_comments_in_the_code_of_two_paragraphs_hide_nothing_between_them() -> None:
    between = "They are kept for ninety days.\n\n" * 100
    text = SourceText(f"Write `<!--` first.\n\n{between}Write `-->` last.\n")
    assert len(find_quote("kept for ninety days", text)) == 20
    assert find_quote("Write `<!--` first", SourceText("<!-- Write `<!--` first.\n")) != []


@given(st.lists(st.sampled_from(["<!--", "-->", "<!-->", "a b", "\n", "\n\n", " ", "x" * 2_000]), max_size=20))
def test_comments_are_in_order_and_begin_and_end_as_such(pieces: list[str]) -> None:
    text = "".join(pieces)
    comments = SourceText(text).comments
    assert sorted(comments) == list(comments)
    assert all(end <= then for (_, end), (then, _) in pairwise(comments))
    assert all(text[start:].startswith("<!--") and text[:end].endswith("-->") for start, end in comments)


@pytest.mark.parametrize(
    ("said", "markdown"),
    [
        ("of 5<sub>2</sub> m", "of 5₂ m"),
        ("log<sub>2</sub>8", "log₂8"),
        ("x<sub>1</sub><sub>2</sub>", "x₁₂"),
        ("H<sub>2</sub>O", "H2O"),
        ("v<sub>max</sub>5", "vmax5"),
        ('2<span style="color: red; vertical-align: super">10</span> m', "2¹⁰ m"),
        ('5<i style="vertical-align:sub">2</i>', "5₂"),
        ('5 <b style="vertical-align: middle">2</b>', "5 2"),
    ],
)
def test_a_moved_number_of_a_page_is_no_part_of_the_number_beside_it(said: str, markdown: str) -> None:
    assert html_to_markdown(f"<p>{said}</p>")[1] == markdown
