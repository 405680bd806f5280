"""RTF becomes Markdown: headings, lists, tables, notes, any code page; hidden text is left out."""

from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats import rtf as reader
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions

_HEAD = (
    r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fnil Arial;}{\f1\fnil\fcharset204 Cyr;}}"
    r"{\colortbl;\red0\green0\blue0;\red255\green255\blue255;}"
    r"{\stylesheet{\s0 Normal;}{\s1\outlinelevel0 heading 1;}{\s2 heading 2;}{\s3 Title;}{\*\cs9 Strong;}}"
    r"{\info{\title Kept title}{\author Ada}{\creatim\yr2026\mo1\dy2\hr3}}"
)


def _read(body: str, *, keeps_hidden: bool = False) -> ParsedFile:
    data = f"{_HEAD}{body}}}".encode("latin-1")
    return reader.read(io.BytesIO(data), ReadOptions(keeps_hidden=keeps_hidden))


def test_headings_and_paragraphs() -> None:
    """The style sheet and the facts of the file are no text."""
    parsed = _read(
        "\\pard\\s1 First\\par\\pard\\s2 Sec\nond\\par\\pard\\plain two\\line lines\\par\\pard\\s3 Seen\\par"
    )
    assert parsed.text == "# First\n\n## Second\n\ntwo\nlines\n\nSeen"
    assert (parsed.title, parsed.facts) == ("Seen", {"author": "Ada", "created": "2026-01-02"})


def test_a_paragraph_in_bold_above_a_text_is_a_heading() -> None:
    """One that is bold in part is none; the weight of a group ends with it."""
    body = "\\pard\\s1 One\\par\\pard {\\b First start}\\par It says more.\\par {\\b Bold} in part\\par text\\par"
    assert _read(body).text.splitlines()[:3] == ["# One", "", "## First start"]
    assert "\nBold in part\n" in _read(body).text


def test_letters_of_all_scripts() -> None:
    """Code pages, Unicode with its replacement, and characters beyond the first plane."""
    text = _read(r"Gr\'fc\'dfe {\f1 \'cf\'f0} \u8364? \uc2\u-10179 xx\u-8704 xx\uc1 {\uc0\u937}end \{\}").text
    assert text == "Grüße Пр € \U0001f600Ωend {}"


def test_lists_have_their_marks() -> None:
    """The text of a mark says whether the list is numbered."""
    body = (
        r"\pard{\listtext\tab 1.\tab}\ls1 one\par{\listtext\tab\'b7\tab}\ilvl1 inner\par"
        r"\pard{\pntext 2.\tab}two\par\pard text"
    )
    assert _read(body).text == "1. one\n\n   - inner\n\n2. two\n\ntext"


def test_raised_numbers_and_struck_words_keep_what_they_say() -> None:
    numbers = r"About 10{\super 9} m, 10\super -6\nosupersub  s, 1{\super st}; "
    text = numbers + r"it is {\strike not} \striked1 late\plain  now.\par"
    assert _read(text).text == "About 10⁹ m, 10⁻⁶ s, 1st; it is ~~not~~ ~~late~~ now."


def test_tables_and_notes() -> None:
    """Paragraphs of a cell are one line; a note does not end the paragraph that it stands in."""
    row = r"\trowd\pard\intbl a|b\par c\cell d\cell\row"
    text = _read(rf"{row}{row}\pard claim{{\super\chftn{{\footnote\pard the note\par}}}} goes on\par").text
    rows = "| a\\|b c | d |\n| --- | --- |\n| a\\|b c | d |"
    assert text == f"{rows}\n\nclaim[1] goes on\n\n1. the note"


@pytest.mark.parametrize(
    ("mark", "why"), [(r"\v", "set as hidden"), (r"\fs2", "too small"), (r"\cf2", "colour of its background")]
)
def test_hidden_text_is_left_out_and_counted_unless_it_is_asked_for(mark: str, why: str) -> None:
    """Hidden by property, too small, or white on white."""
    body = rf"seen\par{{{mark} unseen}}\par"
    dropped, kept = _read(body), _read(body, keeps_hidden=True)
    assert (dropped.reading.hidden_reasons, kept.reading.hidden_reasons) == ({why: 1}, {why: 1})
    assert (dropped.text, dropped.reading.hidden_runs, dropped.reading.hidden_kept) == ("seen", 1, False)
    assert (kept.text, kept.reading.hidden_runs, kept.reading.hidden_kept) == ("seen\n\nunseen", 1, True)


def test_images_fields_comments_and_unknown_groups_are_no_text() -> None:
    """The bytes of an image may look like anything; the result of a field is text."""
    body = (
        r"{\pict\bin5 }}{\par}{\*\unknown{\b secret}}{\header head}{\v0 a}"
        r"{\field{\*\fldinst HYPERLINK x}{\fldrslt link}}{\*\annotation remark}{\deleted gone} b"
    )
    parsed = _read(body)
    assert (parsed.text, parsed.reading.notes) == ("alink b", ("1 comments were left out",))


@pytest.mark.parametrize(
    ("data", "reason"),
    [(b"", "not an RTF"), (b"text", "not an RTF"), (b"{\\rtf1" + b"{" * 5_000, "nested too deeply")],
)
def test_a_file_that_is_no_rtf_has_a_plain_reason(data: bytes, reason: str) -> None:
    """Nothing else is raised."""
    with pytest.raises(UnreadableFile, match=reason):
        reader.read(io.BytesIO(data), ReadOptions())


_WORDS = r"""
{ } \par \cell \row \intbl \u-1 \u55357 \uc9 \s1 {\stylesheet {\footnote {\listtext {\*\x {\info {\title
\'ff \f1 \fs1 \bin3 \bin-9 \cf-5 \ansicpg99999 \ansicpg-1 \fcharset204 {\fonttbl \v \* \~ a; \outlinelevel99
"""
_TOKENS = st.sampled_from(_WORDS.split())


@given(st.lists(_TOKENS, max_size=30))
def test_any_tokens_are_read_or_refused(tokens: list[str]) -> None:
    """Groups may end too early, too late or never."""
    try:
        text = _read(" ".join(tokens)).text
    except UnreadableFile:
        return
    assert text.encode().decode() == text
