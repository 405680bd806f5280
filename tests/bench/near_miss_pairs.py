"""Near-misses for the verdict: questions with known answers, and collections from which the answers are taken out.

A pair is a question and the words of its answer. Pairs are written by hand (``near_miss_pairs.jsonl``), golden
questions, or made by rule: of a sentence that states a number, a date, a version, a port or a command, the
value is taken out, and words that ask for it are put in front. Two of five content words are left out as well,
because people do not ask in the words of the text. A collection without its answers lacks each span that has
the answer of one of its questions near the subject: in the answer's document with a fifth of the question's
words, in any other with half.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from winnow.server.retrieval.golden_questions import GoldenSet
from winnow.server.retrieval.lexical import find_content_words
from winnow.server.retrieval.nearness import SubjectWords
from winnow.server.text.answers.kinds import AskedFor, AskedKind
from winnow.server.text.answers.values import find_values
from winnow.server.text.words.spans import split_spans

_BY_HAND = Path(__file__).with_suffix(".jsonl")
# The first kind of which a sentence states a value is asked for: what is rare comes first.
_ASKING: Mapping[AskedKind, str] = {
    "port": "Which port",
    "date": "When was it",
    "version": "Which version",
    "number": "How many",
    "command": "Which parameter",
}
_PER_DOCUMENT = 2
_KEPT_SHARE = 0.6
_LEAST_WORDS, _MOST_WORDS = 8, 34
_HERE, _ELSEWHERE = 0.2, 0.5
_LONG_WORDS = 3  # an answer of so many words is one wherever its document has it
_SEED = 27
_NO_PROSE = re.compile(r"^\s*(?:[#|`]|~~~)|[{}<>|]|\n\s*\n")
_LINK = re.compile(r"\[([^\]\n]*)\]\([^)\n]*\)")
_PORT = re.compile(r"\bport", re.IGNORECASE)
# Only such values are asked for: those of one digit or of a plain word stand everywhere.
_ASKED_VALUES: Mapping[AskedKind, re.Pattern[str]] = {
    "port": re.compile(r"\d{2,5}"),
    "date": re.compile(r".*\d{4}.*"),
    "version": re.compile(r"v?\d+\.\d.*"),
    "number": re.compile(r"\d[\d.,]+.*|\d+ ?\w.*|[a-z]{4,}"),
    "command": re.compile(r"--[a-z][\w-]{2,}|/[\w.-]+/[\w./-]+|\w+_\w+|[a-z]+[A-Z]\w+"),
}
_WORD = re.compile(r"[^\W_][\w-]*")
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Pair:
    """A question over a collection, its kind, the words of its answers and the documents that state them."""

    id: str
    collection: str
    origin: str
    question: str
    answers: tuple[str, ...]
    documents: frozenset[str]


def read_pairs_by_hand() -> list[Pair]:
    """The pairs that were written for this."""
    rows = map(json.loads, _BY_HAND.read_text("utf-8").splitlines())
    return [
        Pair(
            f"hand-{number}",
            row["collection"],
            "hand",
            row["question"],
            (row["answer"],),
            frozenset([row["document"]]),
        )
        for number, row in enumerate(rows)
    ]


def read_golden_pairs(golden: GoldenSet) -> list[Pair]:
    """The golden questions of a set."""
    return [
        Pair(
            question.id,
            golden.name,
            "golden",
            question.question,
            tuple(answer.answer for answer in question.answers),
            question.documents,
        )
        for question in golden.questions
    ]


def make_pairs(collection: str, texts: Mapping[str, str]) -> list[Pair]:
    """The pairs that rules make of a collection's texts, the same in every run."""
    return [pair for document in sorted(texts) for pair in _make_pairs_of(collection, document, texts[document])]


def _make_pairs_of(collection: str, document: str, text: str) -> list[Pair]:
    chance = random.Random(f"{_SEED} {document}")
    made = [
        Pair(f"{document}-{number}", collection, "rule", question, (value,), frozenset([document]))
        for number, (question, value) in enumerate(_ask_of_sentences(text, chance))
    ]
    return chance.sample(made, min(_PER_DOCUMENT, len(made)))


def _ask_of_sentences(text: str, chance: random.Random) -> Iterator[tuple[str, str]]:
    for span in split_spans(text):
        sentence = _LINK.sub(r"\1", text[span.start : span.end])
        if _NO_PROSE.search(sentence) or not _LEAST_WORDS <= len(sentence.split()) <= _MOST_WORDS:
            continue
        values = {kind: _values_to_ask_for(sentence, kind) for kind in _ASKING}
        kinds = [kind for kind, found in values.items() if found]
        if kinds:
            value = chance.choice(values[kinds[0]])
            yield _ask(kinds[0], sentence, value, chance), value


def _values_to_ask_for(sentence: str, kind: AskedKind) -> list[str]:
    """The values that stand once in a sentence and are long enough to be found again."""
    if kind == "port" and not _PORT.search(sentence):
        return []
    return [
        value.text
        for value in find_values(sentence, AskedFor(kind))
        if _ASKED_VALUES[kind].fullmatch(value.text) and sentence.count(value.text) == 1
    ]


def _ask(kind: AskedKind, sentence: str, value: str, chance: random.Random) -> str:
    before, _, behind = sentence.partition(value)
    if kind == "number":  # "30 seconds" is asked for by "how many seconds"
        noun = _WORD.match(behind.lstrip())
        asking = f"{_ASKING[kind]} {noun[0]}:" if noun else "What is the number:"
    elif kind == "command":
        asking = (
            "Which option:" if value.startswith("-") else "Which file:" if "/" in value else f"{_ASKING[kind]}:"
        )
    else:
        asking = f"{_ASKING[kind]}:"
    rest = _SPACES.sub(" ", f"{before} {behind}".replace("`", "").replace("*", "")).strip(" .:;-")
    content = list(find_content_words(rest))
    left_out = set(chance.sample(content, round(len(content) * (1 - _KEPT_SHARE))))
    return f"{asking} {_SPACES.sub(' ', _WORD.sub(lambda word: '' if word[0] in left_out else word[0], rest))}?"


def remove_answers(texts: Mapping[str, str], pairs: Iterable[Pair]) -> dict[str, str]:
    """The texts of a collection without the spans that have an answer to one of the questions near its subject."""
    sought = [(_words_of(pair.question), [_pattern_of(answer) for answer in pair.answers], pair) for pair in pairs]
    return {document: _remove_spans(document, text, sought) for document, text in texts.items()}


def _words_of(question: str) -> SubjectWords:
    forms = find_content_words(question)
    return SubjectWords(dict.fromkeys(forms, 1.0), forms)


def _pattern_of(answer: str) -> re.Pattern[str]:
    words = r"\s+".join(map(re.escape, answer.split()))
    return re.compile(rf"(?<![\w.]){words}(?!\w)")


def _remove_spans(
    document: str, text: str, sought: Sequence[tuple[SubjectWords, list[re.Pattern[str]], Pair]]
) -> str:
    places = [
        (words, pair, [match.span() for pattern in patterns for match in pattern.finditer(text)])
        for words, patterns, pair in sought
    ]
    headings: list[str] = []
    kept = []
    last = 0
    for span in split_spans(text):
        body = text[span.start : span.end]
        if body.startswith("#"):
            level = len(body) - len(body.lstrip("#"))
            headings = [heading for heading in headings if not heading.startswith("#" * level)] + [body]
        near = (
            (words, pair)
            for words, pair, found in places
            if any(start < span.end and end > span.start for start, end in found)
        )
        if any(_is_near(f"{document} {' '.join(headings)} {body}", document, *each) for each in near):
            kept.append(text[last : span.start])
            last = span.end
    return "".join([*kept, text[last:]])


def _is_near(text: str, document: str, words: SubjectWords, pair: Pair) -> bool:
    if document in pair.documents and any(len(answer.split()) >= _LONG_WORDS for answer in pair.answers):
        return True
    here = {word for _, word in words.find(text)}
    return words.weigh(here, (), ()) >= (_HERE if document in pair.documents else _ELSEWHERE)
