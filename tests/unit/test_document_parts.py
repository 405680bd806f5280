"""Parts of Markdown as scripts see them, compared with a parser of CommonMark and read in linear time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.common.normalize_url import normalizeLink

from winnow.client_sdk.reading.document_parts import find_links, read_parts

ROOT = Path(__file__).parents[2]
PAGES = sorted((ROOT / "docs").rglob("*.md"))
PARSER = MarkdownIt("commonmark").enable("table")


def read_by_parser(text: str) -> dict[str, Any]:
    """Headings of the document itself, fenced code, tables and targets of links, as CommonMark has them."""
    found: dict[str, Any] = {"headings": [], "codes": [], "tables": [], "targets": []}
    tokens = PARSER.parse(text)
    for number, token in enumerate(tokens):
        match token.type:
            case "heading_open" if token.level == 0:
                found["headings"].append((int(token.tag[1]), " ".join(tokens[number + 1].content.split())))
            case "fence":
                found["codes"].append(((token.info.split() or [""])[0], token.content))
            case "table_open":
                found["tables"].append([])
            case "tr_open":
                found["tables"][-1].append([])
            case "th_open" | "td_open":
                found["tables"][-1][-1].append(tokens[number + 1].content)
            case "inline":
                opened = [child for child in token.children or () if child.type == "link_open"]
                found["targets"] += [child.attrs["href"] for child in opened]
    return found


def read_by_scanner(text: str) -> dict[str, Any]:
    """The same as the SDK has it, without addresses that are written out, which CommonMark does not link."""
    parts = read_parts(text)
    links = find_links(text, parts)
    return {
        "headings": [(level, words) for _, level, words in parts.headings],
        "codes": [(language, code) for _, _, language, code in parts.codes],
        "tables": [[table["header"], *table["rows"]] for table in parts.tables],
        "targets": [normalizeLink(target) for start, _, words, target in links if text[start] in "[<"],
    }


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_the_pages_of_this_project_have_the_parts_that_commonmark_finds(page: Path) -> None:
    text = page.read_text("utf-8")
    assert read_by_scanner(text) == read_by_parser(text)


_WORDS = st.sampled_from(
    ["keys", "a b", "*x*", "`c | d`", "[to](t.md)", "![i](p.png)", "\\[no\\](n)", "<https://a.b/c>"]
)
_LINES = st.lists(_WORDS, min_size=1, max_size=4).map(" ".join)
_CELLS = st.lists(st.sampled_from(["a", "`b`", "\\|", "[l](m)", "c d"]), min_size=2, max_size=2)
_TABLES = st.lists(_CELLS, min_size=1, max_size=3).map(
    lambda rows: "\n".join(["| h | i |", "|---|:-:|", *(f"| {' | '.join(row)} |" for row in rows)])
)
_FENCES = st.builds(
    lambda sign, info, body: f"{sign}{info}\n{body}\n{sign}",
    st.sampled_from(["```", "~~~~"]),
    st.sampled_from(["", "py", "yaml title=x"]),
    st.sampled_from(["# no heading", "[no](link)\n\n| a | b |\n|---|---|", "    deep", ""]),
)
_HEADINGS = st.builds(
    lambda sign, words: f"{sign} {words} {sign}" if len(sign) % 2 else f"{sign} {words}",
    st.sampled_from(["#", "##", "####"]),
    _LINES,
)
_UNDERLINED = st.builds(lambda words, sign: f"{words}\n{sign}", _LINES, st.sampled_from(["===", "---"]))
_PLAIN = st.lists(_LINES, min_size=1, max_size=3).map("\n".join)
_REFERENCES = st.sampled_from(
    ["see [there][one], [Two][], [two] and [none][]", "[one]: one.md 'T'\n[two]: <two two.md>"]
)
_HIDDEN = st.sampled_from(["<!-- # no\n\n[no](no) -->", "<div>\n# no\n</div>", "    # code\n    [no](no)"])
_BLOCKS = st.one_of(_PLAIN, _TABLES, _FENCES, _HEADINGS, _UNDERLINED, _REFERENCES, _HIDDEN)


def _indent(block: str, mark: str) -> str:
    """A block within a list item or a quote."""
    rest = "> " if mark == "> " else " " * len(mark)
    return "\n".join((mark if not number else rest) + line for number, line in enumerate(block.split("\n")))


_NESTED = st.recursive(
    _BLOCKS,
    lambda inner: st.builds(
        lambda mark, blocks: _indent("\n\n".join(blocks), mark),
        st.sampled_from(["- ", "1. ", "> ", "10) ", "*   "]),
        st.lists(inner, min_size=1, max_size=3),
    ),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None)
@given(st.lists(_NESTED, max_size=5).map("\n\n".join))
def test_blocks_within_lists_and_quotes_have_the_parts_that_commonmark_finds(text: str) -> None:
    assert read_by_scanner(text) == read_by_parser(text)


@settings(max_examples=300, deadline=None)
@given(st.text(alphabet="[]()!<>`\\ \n\"'ab:/|-#>~1.é\t", max_size=60))
def test_every_part_of_any_signs_is_where_it_says_and_within_the_text(text: str) -> None:
    parts = read_parts(text)
    spans = [(start, end) for start, end, *_ in (*parts.codes, *find_links(text, parts))]
    spans += [(table["start"], table["end"]) for table in parts.tables]
    spans += [span for table in parts.tables for span in map(tuple, table["spans"])]
    assert [span for span in spans if not 0 <= span[0] < span[1] <= len(text)] == []
    for table in parts.tables:
        assert [len(row) for row in table["rows"]] == [len(table["header"])] * len(table["rows"])
    for start, level, _ in parts.headings:
        assert text[start] == "#" * (level > 0) or "\n" in text[start:]


def test_addresses_that_are_written_out_are_links_without_the_punctuation_of_the_sentence() -> None:
    text = "See https://a.b/c_(d). Or (https://e.f/g), `https://no.no`, [it](https://h.i) and <https://j.k>!"
    found = find_links(text, read_parts(text))
    assert [target for *_, target in found] == ["https://a.b/c_(d)", "https://e.f/g", "https://h.i", "https://j.k"]
    assert [text[start:end] for start, end, *_ in found][:2] == ["https://a.b/c_(d)", "https://e.f/g"]


@pytest.mark.parametrize(
    ("text", "captions"),
    [
        ("Table 2: Limits\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", ["Table 2: Limits"]),
        ("| a | b |\n|---|---|\n| 1 | 2 |\n\n**Table 3** Limits\n", ["**Table 3** Limits"]),
        ('{{< table caption = "Limits" >}}\n\n| a | b |\n|---|---|\n| 1 | 2 |\n{{< /table >}}\n', ["Limits"]),
        ("The table has limits.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n", [""]),
        ("Table 2: Limits\n\nText between.\n\n| a | b |\n|---|---|\n", [""]),
    ],
)
def test_a_caption_stands_beside_its_table(text: str, captions: list[str]) -> None:
    parts = read_parts(text)
    assert [table["caption"] for table in parts.tables] == captions
    assert all(row[0] in ("1",) for table in parts.tables for row in table["rows"])


def test_an_anchor_is_no_part_of_a_heading() -> None:
    assert [words for *_, words in read_parts("## Keys {#the-keys}\n\n### {#x}\n").headings] == ["Keys", ""]


# Signs that open what nothing closes, or close it all at the end, by the number of their repetitions.
HOSTILE: Mapping[str, Callable[[int], str]] = {
    "brackets": lambda n: "[" * n + "]" * n,
    "images": lambda n: "![" * n + "]" * n,
    "targets": lambda n: "[a](" * n,
    "targets in brackets": lambda n: "[a]((((" * n,
    "titles": lambda n: '[a](b "' * n,
    "pointed targets": lambda n: "[a](<b" * n,
    "long targets": lambda n: ("[a](" * 170 + " ") * (n // 170),
    "labels": lambda n: "[a]: b\n\n" + "[a][b" * n,
    "definitions": lambda n: "[a]: b\n\n" * n + "[a] " * n,
    "backticks": lambda n: " ".join("`" * length for length in range(1, int((2 * n) ** 0.5))),
    "tags": lambda n: "<a" * n,
    "quotes": lambda n: ">" * n + "\n" + ">\n" * n,
    "items": lambda n: "- " * n + "\n" + "\n" * n,
    "items again and again": lambda n: ("- " * 40 + "a\n") * (n // 40) + "\n" * n,
    "items below items": lambda n: "\n".join(" " * 2 * depth + "- a" for depth in range(int(n**0.5))),
    "rules": lambda n: "* " * n + "a",
    "bars": lambda n: "|" * n + "\n" + "|-" * n + "|",
    "delimiters": lambda n: "a|b\n" + "-|" * n + "x",
    "rows": lambda n: "a|b\n-|-\n" + "|\n" * n,
    "fences": lambda n: "- ```\n" * n,
    "underlines": lambda n: "a\n" * n + "===",
    "closing signs": lambda n: "# " + "#" * n + " a",
    "blanks": lambda n: (" " * 300 + "[a](" + " " * 300) * (n // 300),
    "addresses": lambda n: "https://a" + ")" * n,
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_text_made_to_be_slow_is_read_to_its_end(name: str) -> None:
    """Time that grows with the square of these lengths would be hours."""
    text = HOSTILE[name](150_000)
    parts = read_parts(text)
    assert all(start < end <= len(text) for start, end, *_ in find_links(text, parts))
