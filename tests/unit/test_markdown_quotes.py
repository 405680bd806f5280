"""Quotes and citations are read from Markdown, and text is written as Markdown that shows it unchanged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from winnow.server.text.markup.markdown_escaping import escape_line
from winnow.server.text.printable import printable
from winnow.server.text.quotes.markdown_quotes import read_citations

# Text -> the key, first and last page of its one quote; None for a quote without a source.
CITED = {
    '"kept for ninety days" [@ohm27]': ("ohm27", "", ""),
    '"kept for ninety days" [@ohm27, p. 3].': ("ohm27", "3", "3"),
    "“kept for ninety days” [see @ohm27, pp. 3–5; @volta00]": ("ohm27", "3", "5"),
    "«kept for ninety days» [-@ohm27, 33]": ("ohm27", "33", "33"),
    '"kept for ninety days." [@{ohm, 1827}, p. xii-xiv]': ("ohm, 1827", "xii", "xiv"),
    'As @ohm27 [p. 3] has it, "kept for ninety days" is right.': ("ohm27", "3", "3"),
    "> kept for ninety days\n> [@ohm27, p. 3]": ("ohm27", "3", "3"),
    "> kept for ninety days\n>\n> — [@ohm27, slide 3]": ("ohm27", "3", "3"),
    '"kept" [@ohm27, p. 3] and "so" on': ("ohm27", "3", "3"),
    "He says:\n> kept for ninety days [@ohm27]": ("ohm27", "", ""),
    "# Rule\n> kept for ninety days": None,
    "- > kept for ninety days [@ohm27]": ("ohm27", "", ""),
    "1. One:\n   > kept for ninety days\n   > [@ohm27]": ("ohm27", "", ""),
    "10. One:\n\n    > kept for ninety days [@ohm27]": ("ohm27", "", ""),
    "> [!NOTE]\n> kept for ninety days": None,
    "> kept for ninety days [@ohm27]\n>\n> and more [@volta00]": ("ohm27", "", ""),
    "„kept for ninety days” [@ohm27]": ("ohm27", "", ""),
    "”kept for ninety days” [@ohm27]": ("ohm27", "", ""),
    "‘kept for the owner’s ninety days’ [@ohm27]": ("ohm27", "", ""),
    "'kept for the owner's ninety days' [@ohm27]": ("ohm27", "", ""),
    "›kept for ninety days‹ [@ohm27]": ("ohm27", "", ""),
    "「kept for ninety days」 [@ohm27]": ("ohm27", "", ""),
    '“kept for ninety days" [@ohm27]': ("ohm27", "", ""),
    "“kept “for” ninety days” [@ohm27]": ("ohm27", "", ""),
    "&ldquo;kept for ninety days&rdquo; [@ohm27]": ("ohm27", "", ""),
    "<q>kept for ninety days</q> [@ohm27]": ("ohm27", "", ""),
    r"\"kept for ninety days\" [@ohm27]": ("ohm27", "", ""),
    '_"kept for ninety days"_ [@ohm27]': ("ohm27", "", ""),
    '" kept for all of ninety days " [@ohm27]': ("ohm27", "", ""),
    'A 5" pipe, "kept for ninety days" [@ohm27]': ("ohm27", "", ""),
    'A " sign, "kept for ninety days" [@ohm27]': ("ohm27", "", ""),
    f'"kept {"for ninety days " * 400}now" [@ohm27]': ("ohm27", "", ""),
    '"kept for ninety days and more" is said. Others [@ohm27] differ.': None,
    '"kept for ninety days and more" is said.\n\nOthers [@ohm27] differ.': None,
}
NO_QUOTES = (
    'The "so-called" rule, "as it is".',
    '`"kept for ninety days and more" [@ohm27]`',
    '```\n"kept for ninety days and more" [@ohm27]\n```',
    "> ",
    "write to a@b.example",
    "The ‘so-called’ rule, 'as it is', of the '90s, rock 'n' roll and the dogs' bone.",
)
MALFORMED = {
    "[@]": "no citekey follows the @",
    "[@, p. 3]": "no citekey follows the @",
    "so [@ohm27, p. 3": "its bracket is not closed",
    "[@ohm27, pp. 9-3]": "its last page comes before the first",
    "[@ohm27, p.]": "no page follows",
    "[ohm1827, p. 3]": "the citekey has no @ before it",
    "[@ohm27; p. 3]": "a part between semicolons has no citekey",
    'He says "it is so.': "its quotation mark is not closed in its paragraph, so what it quotes was not checked",
    "He says “it is so.": "its quotation mark is not closed in its paragraph, so what it quotes was not checked",
}
WELL_FORMED = (
    "[@ohm27, p. 3; @volta00, pp. 4--5]",
    "[link](http://a.example/@x)",
    "[1]: http://a.example",
    "a [note, p. 3]",
    "[x] done",
    r"\[@]",
)


@pytest.mark.parametrize("text", CITED)
def test_a_quote_has_the_source_and_the_pages_that_are_cited_for_it(text: str) -> None:
    quote, *_ = read_citations(text).quotes
    source = quote.source
    assert (source and (source.key, source.first, source.last)) == CITED[text]
    assert quote.text.startswith("kept")
    assert "@" not in quote.text


@pytest.mark.parametrize("text", NO_QUOTES)
def test_words_in_quotation_marks_and_code_are_no_quotes(text: str) -> None:
    read = read_citations(text)
    assert (read.quotes, read.citations, read.malformed) == ((), (), ())


@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_citation_is_named_with_its_line_and_what_is_wrong(text: str) -> None:
    (flaw,) = read_citations(f"one\n\n{text}\n").malformed
    assert (flaw.line, flaw.problem) == (3, MALFORMED[text])


@pytest.mark.parametrize("text", WELL_FORMED)
def test_what_is_no_malformed_citation_is_not_reported(text: str) -> None:
    assert read_citations(text).malformed == ()


def test_a_quote_is_read_as_its_author_meant_it() -> None:
    read = read_citations(r'"kept \*for\* ninety &amp; more days" [@ohm27]')
    assert read.quotes[0].text == "kept *for* ninety & more days"


@given(st.text(st.sampled_from('ab 1@[]()>"“”`~\\;,.:-\n{}p#|'), max_size=200))
def test_any_text_is_read(text: str) -> None:
    read = read_citations(text)
    lines = text.count("\n") + 1
    assert all(1 <= each.line <= lines for each in (*read.quotes, *read.citations, *read.malformed))


_MARKDOWN = MarkdownIt("commonmark").enable(["table", "strikethrough"])
_TEXTS = st.one_of(
    st.text(max_size=80), st.text(st.sampled_from("ab1i \t\n#>-+*_=`~[](){}<>!&;:.|\\@$^%'\"/xw"), max_size=60)
)


@given(_TEXTS)
def test_an_escaped_text_is_one_paragraph_that_shows_the_text(text: str) -> None:
    shown = " ".join(printable(text).split())
    for before in ("", "> ", "# "):
        tokens = _MARKDOWN.parse(before + escape_line(text))
        children = [child for token in tokens if token.type == "inline" for child in token.children or ()]
        assert {child.type for child in children} <= {"text", "text_special"}
        if before != "# ":  # where signs at the end of the line would close the heading
            assert "".join(child.content for child in children) == shown


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        (
            'It says: "use the `--force` flag at once, always" [@x, p. 3].',
            "use the `--force` flag at once, always",
        ),
        ('> Call `f("a")` and `g[@b]` of it [@x].', 'Call `f("a")` and `g[@b]` of it'),
        ("It says \"the `foo' command and the `bar' command\" [@x].", "the `foo' command and the `bar' command"),
    ],
)
def test_code_and_quotes_in_the_style_of_tex_belong_to_the_quote_around_them(text: str, quoted: str) -> None:
    read = read_citations(text)
    assert [(quote.text, quote.source.key if quote.source else "") for quote in read.quotes] == [(quoted, "x")]
    assert [each.key for each in read.citations] == ["x"]
