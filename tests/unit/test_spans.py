"""Spans: the units of previews and quotes."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from winnow.server.text.words.spans import Span, matches, preview, scored_spans, split_spans, terms

# "‖" marks the boundary between two sentences.
SENTENCES = (
    "Dr. A. Smith agreed.‖ Fine.",
    "See Fig. 3 and Eq. 4.‖ Both hold.",
    "Ask for No. 5.‖ It is better.",
    "He said No.‖ I did not.",
    "Use v1.2 of conf.py, e.g. on Linux.‖ Then stop.",
    "Copy keys, tokens, etc. to the vault.‖ Delete the rest.",
    "Copy keys, tokens, etc.‖ The vault holds them.",
    "Acme Inc. runs it.‖ Globex Ltd.‖ The rest do not.",
    "It opens at 9 a.m. on Mondays.‖ It closes at 5 p.m.‖ The rest is silence.",
    "The U.S. Army uses it.‖ So does the U.K.‖ They agreed.",
    "J. R. R. Tolkien wrote it.‖ C. S. Lewis read it.",
    "This is Plan B.‖ It failed.",
    "So am I.‖ Nobody minds.",
    "Smith et al. (2019) disagree.‖ We do not.",
    "Mr. and Mrs. Jones vs. the State, cf. Art. 5.‖ Lost.",
    "He holds a Ph.D. in physics.‖ She does not.",
    "It happened in Jan. 2020, i.e. long ago.‖ Nobody knew.",
    "He moved to St. Petersburg approx. ten years ago.‖ He stayed.",
    "Python 3.11.‖ It is fast.",
    "Version 2.0.‖ Nothing changed.",
    "Upgrade to v1.24.0.‖ Restart kubelet.",
    "Edit weka.conf.‖ Then run setup.py.‖ Done.",
    "See https://example.com/a.b?c=d.‖ It explains.",
    "Write to ops@example.com.‖ We answer.",
    "Node.js and .NET work.‖ Rust does too.",
    "Port 8443 is used.‖ 443 is not.",
    "kubectl is a client.‖ kubelet is an agent.",
    "Call obj.method().‖ It returns None.",
    "Use `a.b.`‖ Then `c`.",
    "The value is 3.14.‖ Not 22/7.",
    "It shipped in 2024.‖ 30 people came.",
    "Wait... what?‖ Yes.",
    "He waited…‖ Then he left.",
    "“Really?” he asked.‖ “Yes.”‖ She left.",
    'He said "stop."‖ Then he left.',
    "It works (see below.)‖ It fails (rarely).‖ Good.",
    "Stop!!!‖ Why?!‖ Because.",
    "**Note.**‖ Back up first.",
    "Paris is in France.[1]‖ Rome is in Italy.[2][3]‖ Yes.",
    "What?‖ No!‖ Go.",
    "Am 3. Mai 2024 kam z. B. niemand.‖ Am 4. schon.",
    "Das gilt bzw. galt im 19. Jahrhundert.‖ Heute nicht.",
    "Das ist gut, d.h. besser.‖ Ende.",
    "M. Dupont arrive.‖ « Bonjour ! » dit-il.‖ Fin.",
    "Vraiment ?‖ Oui !",
    "¿Qué pasa?‖ ¡Nada!‖ El Sr. García llegó.",
    "La Sra. Pérez vive en la Av. Central.‖ Es grande.",
    "Il dott. Rossi è qui.‖ Bene.",
    "Это т. е. так.‖ В 2020 г. всё изменилось.‖ Да.",
    "А. С. Пушкин родился в Москве.‖ Он поэт.",
    "最初の文です。‖次の文です！‖本当？‖はい。",
    "「行こう！」と彼は言った。‖終わり。",
    "他说：“你好。”‖然后走了。",
    "版本3.5已发布。‖请升级到v2.0。‖谢谢！",
    "你好……我来了。‖走吧。",
    "サーバーは１．５倍速い．‖次に進む．",
    "안녕하세요.‖ 반갑습니다!‖ 네.",
    "هل هذا صحيح؟‖ نعم.‖ شكرا!",
    "یہ ایک جملہ ہے۔‖ یہ دوسرا ہے۔‖ ختم",
    "שלום עולם.‖ מה שלומך?‖ טוב.",
    "यह पहला वाक्य है।‖ यह दूसरा है।‖ क्या?‖ हाँ।",
    "Բարեւ ձեզ։‖ Ինչպես եք։",
    "ሰላም።‖ እንዴት ነህ፧‖ ደህና።",
    "ဒါကပထမ။‖ဒုတိယ။",
    "নমস্কার।‖ কেমন আছেন?‖ ভালো।",
    "The node runs kube-proxy v1.30.‖ kube-scheduler runs elsewhere.",
    "Set spec.replicas to 3.‖ The Deployment scales.",
    "Run `kubectl get pods -o wide`.‖ You see three.",
    "Open /etc/hosts.‖ Add a line, e.g. 127.0.0.1 localhost.‖ Save.",
    "The film by A. V. Bramble and P. Jairaj ran.‖ So did Op. 22.",
    "Contents . . . . . . . . 12 and more.‖ Then.",
    "Ibn Saud (b. Fawzan, d. 1827) ruled.‖ He fell.",
    "We left at 6 p.m.‖ Mr. Jones stayed.",
    "Ça va ?‖ oui.",
)
# Parts of generated texts: blocks, marks and scripts in every order.
PIECES = (
    *(
        "```",
        "````py",
        "~~~",
        "```js x",
        "> ```",
        "- ",
        "1. ",
        "| a | b |",
        "# ",
        "---",
        "\n",
        "\n\n",
        "\r\n",
        "  ",
        "\t",
    ),
    *(".", "...", "…", "?!", "。", "؟", "۔", "।", '"', "”", ")", "[1]", "」", "と"),
    *(
        "Dr",
        "e.g",
        "v1",
        "U.S",
        "A",
        "backup",
        "Restore",
        "数据库",
        "備份",
        "백업",
        "नमस्ते",
        "שלום",
        "😀",
        "\x00",
        "\ud800",
        "\u200f",
    ),
)
TEXTS = st.one_of(
    st.text(st.characters(), max_size=300), st.lists(st.sampled_from(PIECES), max_size=60).map("".join)
)
QUESTIONS = st.one_of(st.text(max_size=60), st.lists(st.sampled_from(PIECES), max_size=8).map(" ".join))
# A pattern that backtracks, or looks back without a bound, takes minutes for the long ones: few spans, no terms.
LONG, MANY_SPANS = 400_000, 30_000
ENDLESS = {
    name: (piece * size)[:size] + tail
    for name, piece, tail, size in (
        ("one word", "a", "", LONG),
        ("spaces", " ", "x", LONG),
        ("blank lines", "\n ", "x", LONG),
        ("full stops", ".", "x", LONG),
        ("full stops and brackets", ".)", "x", LONG),
        ("brackets", ")", "x", LONG),
        ("quotation marks", '"', "", LONG),
        ("pipes", "|", "", LONG),
        ("dashes", "-", "x", LONG),
        ("backticks", "`", "x", LONG),
        ("growing quotation", "> > ", "x", LONG),
        ("combining marks", "\u0301", "", LONG),
        ("surrogates", "\ud800", "", LONG),
        ("footnotes", ".[1]", "", LONG),
        ("list marks", "- ", "", LONG),
        ("abbreviations", "e.g. ", "", LONG // 5),
        ("numbers", "1. ", "", MANY_SPANS),
        ("questions", "? ", "", MANY_SPANS),
        ("open fences", "```\n~~~~\n", "", MANY_SPANS),
        ("ideographs", "漢", "", MANY_SPANS),
    )
}


def texts_of(text: str, spans: list[Span]) -> list[str]:
    return [text[span.start : span.end] for span in spans]


def fold(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def spans_of(text: str) -> list[str]:
    return texts_of(text, split_spans(text))


def holds_everything(text: str) -> bool:
    spans = split_spans(text)
    in_order = all(a.end <= b.start for a, b in pairwise(spans))
    trimmed = all(piece == piece.strip() != "" for piece in texts_of(text, spans))
    return in_order and trimmed and "".join("".join(texts_of(text, spans)).split()) == "".join(text.split())


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("One. Two! Three?", ["One.", "Two!", "Three?"]),
        ("Intro\n- one\n- two words", ["Intro", "- one", "- two words"]),
        ("* one\n  goes on\n* two. And more.", ["* one\n  goes on", "* two.", "And more."]),
        ("1. First\n2. Second", ["1. First", "2. Second"]),
        ("(a) first\n(b) second\na) third", ["(a) first", "(b) second", "a) third"]),
        ("> quoted. Again.\n> - item", ["> quoted.", "Again.", "> - item"]),
        ("| a | b |\n| 1. x | 2 |\nAfter", ["| a | b |", "| 1. x | 2 |", "After"]),
        ("# What? Why.\nBecause. So.", ["# What? Why.", "Because.", "So."]),
        ("Title\n=====\nText", ["Title", "=====", "Text"]),
        ("para one\n\npara two\r\n \r\npara three", ["para one", "para two", "para three"]),
        ("soft\nwrapped. Next\nline", ["soft\nwrapped.", "Next\nline"]),
        ("Before.\n\n```py\nx = 1. y\n\nz\n```\nAfter.", ["Before.", "```py\nx = 1. y\n\nz\n```", "After."]),
        ("~~~\na. B\n```\n~~~\nAfter.", ["~~~\na. B\n```\n~~~", "After."]),
        ("````\n```\na. B\n```\n````\nAfter.", ["````\n```\na. B\n```\n````", "After."]),
        ("1. Run:\n   ```sh\n   a. B\n   ```\n2. Then", ["1. Run:", "```sh\n   a. B\n   ```", "2. Then"]),
        ("Open.\n```\nx = 1. y\n\nto the end. Yes.", ["Open.", "```\nx = 1. y\n\nto the end. Yes."]),
        ("```not a fence``` here. Next.", ["```not a fence``` here.", "Next."]),
        ("最初の文です。次の文です！", ["最初の文です。", "次の文です！"]),
        ("   \n \t", []),
        ("", []),
    ],
)
def test_a_text_splits_into_sentences_items_rows_headings_and_whole_code_blocks(
    text: str, expected: list[str]
) -> None:
    assert spans_of(text) == expected


@pytest.mark.parametrize("marked", SENTENCES)
def test_sentences_end_where_their_writers_end_them(marked: str) -> None:
    assert spans_of(marked.replace("‖", "")) == [sentence.strip() for sentence in marked.split("‖")]


@given(TEXTS)
def test_spans_never_overlap_and_lose_nothing_but_white_space(text: str) -> None:
    assert holds_everything(text)


@pytest.mark.parametrize("text", ENDLESS.values(), ids=ENDLESS.keys())
def test_a_long_line_of_anything_is_split_scored_and_previewed(text: str) -> None:
    """Quadratic work on 400,000 characters exceeds the time limit of a test."""
    assert holds_everything(text)
    assert len(preview(text, terms("backup e.g. 漢漢 1 aaa"), 280)) <= 280


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("How do I open a FILE-handle, v2?", {"how", "open", "file", "handle"}),
        ("max_open_files, os.path", {"max", "open", "files", "path"}),
        ("STRASSE straße", {"strasse"}),
        ("ΣΊΣΥΦΟΣ σίσυφος", {"σίσυφοσ"}),
        ("ПРИВЕТ, мир", {"привет", "мир"}),
        ("re\u0301sume\u0301 résumé", {"résumé"}),
        ("ＷＩＤＥ ﬁle", {"wide", "file"}),
        ("数据库 v8", {"数据", "据库"}),
        ("Kubernetes备份", {"kubernetes", "备份"}),
        ("백업은 매일", {"백업", "업은", "매일"}),
        ("नमस्ते", {"नमस्ते"}),
        ("a of 12 水", set()),
    ],
)
def test_terms_are_folded_words_of_three_characters_or_pairs_where_no_spaces_are(
    text: str, expected: set[str]
) -> None:
    assert terms(text) == expected


@given(TEXTS, QUESTIONS)
def test_matches_are_the_places_of_the_questions_terms_in_order(text: str, question: str) -> None:
    found = matches(text, terms(question))
    assert {match.term for match in found} <= terms(question)
    assert all(match.term in fold(text[match.start : match.end]) for match in found)
    assert found == sorted(found, key=lambda match: (match.start, match.end))


@given(TEXTS, QUESTIONS)
def test_a_word_of_another_alphabet_changes_no_match_of_the_others(text: str, question: str) -> None:
    asked = terms(question)
    beside = [match for match in matches(f"{text} ы", asked) if match.start < len(text)]
    assert matches(text, asked) == beside


@given(
    st.text(st.characters(max_codepoint=126), max_size=300), st.text(st.characters(max_codepoint=126), max_size=60)
)
def test_a_score_is_the_share_of_the_terms_that_stand_in_the_span(text: str, question: str) -> None:
    asked = terms(question)
    assert [span.score for span in scored_spans(text, asked)] == [
        sum(term in span.lower() for term in asked) / max(1, len(asked)) for span in spans_of(text)
    ]


@given(TEXTS, QUESTIONS)
def test_a_score_is_the_same_whether_a_span_stands_alone(text: str, question: str) -> None:
    asked = terms(question)
    assert [span.score for span in scored_spans(text, asked)] == [
        len({match.term for match in matches(span, asked)}) / max(1, len(asked)) for span in spans_of(text)
    ]


@pytest.mark.parametrize(
    ("question", "text", "said"),
    [
        ("encrypt", "Backups are Encrypted.", {"Encrypt"}),
        ("straße", "An der Hauptstraße: HAUPTSTRASSE", {"Hauptstraße", "STRASSE"}),
        ("数据", "数据库数据", {"数据"}),
        ("file", "open ﬁles, profile", {"ﬁles", "file"}),
        ("encrypted", "encrypt", set()),
    ],
)
def test_a_term_is_said_by_each_word_that_it_is_part_of(question: str, text: str, said: set[str]) -> None:
    assert {text[match.start : match.end] for match in matches(text, terms(question))} == said


PAGE = (
    "Backups exist. Nothing here. They are encrypted. So are restores, of course, at any time. Encrypted backups."
)


@pytest.mark.parametrize(
    ("question", "size", "expected"),
    [
        ("encrypted backups", 280, "Encrypted backups."),
        ("encrypted exist", 280, "Backups exist. … Encrypted backups."),
        ("exist nothing", 280, "Backups exist. Nothing here."),
        (
            "exist nothing restores time",
            280,
            "Backups exist. Nothing here. … So are restores, of course, at any time.",
        ),
        ("exist nothing encrypted restores", 60, "Backups exist. Nothing here. … Encrypted backups."),
        ("exist restores", 40, "Backups exist."),
        ("unheard", 20, "Backups exist.…"),
        ("", 280, PAGE),
    ],
)
def test_a_preview_adds_spans_that_say_more_while_they_fit(question: str, size: int, expected: str) -> None:
    assert preview(PAGE, terms(question), size) == expected


def test_a_long_preview_is_cut_around_its_match() -> None:
    text = "filler " * 200 + "needle " + "tail " * 200
    cut = preview(text, terms("needle"), 80)
    assert "needle" in cut
    assert cut.startswith("…filler")
    assert cut.endswith("tail…")


def test_a_long_preview_is_cut_around_most_of_its_matches() -> None:
    text = "kept " + "filler " * 200 + "encrypted backups are kept " + "tail " * 200 + "backups"
    assert "encrypted backups are kept" in preview(text, terms("kept encrypted backups"), 80)


@given(TEXTS, QUESTIONS, st.integers(min_value=0, max_value=400))
def test_a_preview_never_exceeds_its_size(text: str, question: str, size: int) -> None:
    assert len(preview(text, terms(question), size)) <= size


@given(TEXTS, st.sampled_from(["backup", "restore", "数据", "백업"]), TEXTS)
def test_a_preview_shows_a_match_where_there_is_one(before: str, term: str, after: str) -> None:
    text = f"{before} {term} {after}"
    assert matches(preview(text, terms(term), 60), terms(term))
