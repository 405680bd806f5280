"""Distils the content of an entry that came without claims: its most central declarative sentences, word for word.

No model writes here. A sentence is taken if it looks as if it states something, by these rules:

    it is prose            no code, row of a table, heading or question; mostly letters; 4 words or more, and short
                           enough for a claim; of a list item, the text after its mark
    it has a verb          English alone: a form of a table of frequent verbs
    it has a subject       English alone: a word before the verb that can be one
    it is no request       English alone: it does not begin with a verb that asks for something

The rules for English are not applied to other languages, nor to a text in which no sentence satisfies them; the
result says whether they were applied. Sentences are ranked by centrality, their mean similarity to all others: of
vectors if the model is available, otherwise of words. A sentence that begins with a pronoun counts for less,
because its subject is elsewhere. A sentence that repeats a better sentence is left out.

The text may be hostile. A sentence that asks a model for something is data like any other: its markup and
invisible characters are removed, and nothing in it is followed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import log, sqrt

from winnow.server.claims.language.sentence_words import IMPERATIVES, NO_SUBJECTS, PRONOUNS, VERBS
from winnow.server.claims.records import CLAIM_CHARS, MAX_CLAIMS
from winnow.server.storage.base import Vector
from winnow.server.text.markup.template_code import resolve_template_code
from winnow.server.text.printable import one_line
from winnow.server.text.words.spans import split_spans, terms

# Texts to rows of unit length (``Embedder.embed``).
Embed = Callable[[Sequence[str]], Vector]
# The confidence of a sentence that the server took and nobody has judged.
EXTRACTED_CONFIDENCE = 0.5
# Only the beginning of a long content is read, because the model takes a few milliseconds for each sentence.
_MOST_SENTENCES, _MOST_EMBEDDED = 500, 64
_LEAST_WORDS, _LEAST_CHARS = 4, 8
_LEAST_LETTERS = 0.6
_PRONOUN_FACTOR = 0.7
# Sentences that have this share of their words in common say the same.
_REPEATED = 0.8

_OTHER_THAN_PROSE = re.compile(r"[ \t>]*(?:`{3,}|~{3,}|\||#{1,6}\s|([-=*_~+])\1{2,}\s*\Z)")
_ITEM_MARK = re.compile(r"^(?:[\s>]*(?:[-*+•◦‣▪·–]|\(?\d{1,3}[.)]|\[[ xX]\])\s+)+|^[\s>]+")
_LINK = re.compile(r"!?\[([^\[\]\n]{1,200})\]\([^\s()]{1,500}(?:\s+\"[^\"\n]{0,200}\")?\)")
_EMPHASIS = re.compile(r"(\*\*|__|\*|`|~~)(?=\S)([^*`\n]{1,200}?)(?<=\S)\1")
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,400}>|<!--.{0,400}?-->", re.DOTALL)
_END = re.compile(r"[.!…。！।։።۔]['\"’”»)\]]*\Z")
_QUESTION = re.compile(r"[?？؟;]['\"’”»)\]]*\Z")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")


@dataclass(frozen=True, slots=True)
class ExtractedSentence:
    """A sentence without markup, and its source: characters ``start`` to ``end`` of the content.

    ``centrality`` is its mean similarity to the other sentences, 0 to 1.
    """

    text: str
    start: int
    end: int
    centrality: float


@dataclass(frozen=True, slots=True)
class Distillation:
    """The sentences taken from a content, the most central first, and the methods that were used.

    ``has_grammar``: whether verbs and subjects were looked for. ``has_vectors``: whether the model ranked them.
    """

    sentences: tuple[ExtractedSentence, ...]
    has_grammar: bool
    has_vectors: bool


def distil(
    content: str, *, language: str = "en", embed: Embed | None = None, limit: int = MAX_CLAIMS
) -> Distillation:
    """At most ``limit`` sentences of a content that state something; () for a content without words.

    If no sentence does, the result is the beginning of the content. ``language`` (ISO 639-1) is the content's, ""
    if unknown. ``embed`` is called once, with at most 64 sentences.

    >>> distil("See the guide. Backups are kept for ninety days. Who pays?").sentences[0].text
    'Backups are kept for ninety days.'
    """
    prose = list(_prose(content))
    stating = (
        [sentence for sentence in prose if _states_something(sentence.text)] if language in ("", "en") else []
    )
    has_grammar = bool(stating)
    read = stating or prose or list(_beginning(content))
    ranked = _rank_by_words(read)[:_MOST_EMBEDDED]
    if embed is not None and len(ranked) > 1:
        ranked = _rank_by_vectors(ranked, embed)
    return Distillation(tuple(_without_repetitions(ranked, limit)), has_grammar, embed is not None)


def _prose(content: str) -> Iterator[ExtractedSentence]:
    """The sentences of prose, in order, without markup; short or long ones are left out."""
    count = 0
    for span in split_spans(content):
        piece = content[span.start : span.end]
        if _OTHER_THAN_PROSE.match(piece) or _QUESTION.search(piece):
            continue
        text = _plain(piece)
        if len(text) <= CLAIM_CHARS and _is_sentence(text):
            yield ExtractedSentence(text, span.start, span.end, 0.0)
            count += 1
            if count == _MOST_SENTENCES:
                return


def _plain(piece: str) -> str:
    """A sentence on one line, without the marks of lists, links, emphasis, tags and template code."""
    text = _ITEM_MARK.sub("", piece)
    text = _LINK.sub(r"\1", text)
    text = _TAG.sub("", resolve_template_code(_EMPHASIS.sub(r"\2", text)))
    return one_line(text, 2 * CLAIM_CHARS)


def _is_sentence(text: str) -> bool:
    if not _END.search(text):
        return False
    solid = [character for character in text if not character.isspace()]
    if not solid or sum(map(str.isalpha, solid)) < _LEAST_LETTERS * len(solid):
        return False
    if _UNSPACED.search(text):
        return len(solid) >= _LEAST_CHARS
    return len(_WORD.findall(text)) >= _LEAST_WORDS


def _states_something(text: str) -> bool:
    """Whether an English sentence has a subject before a verb and does not begin with a request."""
    words = [word.casefold().replace("’", "'") for word in _WORD.findall(text)]
    if words[0] in IMPERATIVES and words[1] not in ("of", "is", "are", "was", "were"):
        return False
    verb = next((at for at, word in enumerate(words) if at and word.partition("'")[0] in VERBS), 0)
    return any(word not in NO_SUBJECTS for word in words[:verb])


def _beginning(content: str) -> Iterator[ExtractedSentence]:
    """The beginning of a content in which no sentence was found."""
    for span in split_spans(content)[:1]:
        if text := one_line(_plain(content[span.start : span.end]) or content, CLAIM_CHARS):
            yield ExtractedSentence(text, span.start, span.end, 0.0)


# --- ranking


def _rank_by_words(sentences: Sequence[ExtractedSentence]) -> list[ExtractedSentence]:
    """The sentences by the mean cosine of their words (TF-IDF) to those of all others, the largest first."""
    words = [terms(sentence.text) for sentence in sentences]
    spread = Counter(word for each in words for word in each)
    rows = [_unit({word: log(1 + len(sentences) / spread[word]) for word in each}) for each in words]
    total: Counter[str] = Counter()
    for row in rows:
        total.update(row)
    others = max(1, len(sentences) - 1)
    scores = [sum(weight * (total[word] - weight) for word, weight in row.items()) / others for row in rows]
    return _order(sentences, scores)


def _unit(row: Mapping[str, float]) -> dict[str, float]:
    length = sqrt(sum(weight * weight for weight in row.values())) or 1.0
    return {word: weight / length for word, weight in row.items()}


def _rank_by_vectors(sentences: Sequence[ExtractedSentence], embed: Embed) -> list[ExtractedSentence]:
    rows = embed([sentence.text for sentence in sentences])
    scores = ((rows @ rows.sum(axis=0) - 1) / (len(sentences) - 1)).tolist()
    return _order(sentences, scores)


def _order(sentences: Sequence[ExtractedSentence], scores: Sequence[float]) -> list[ExtractedSentence]:
    rated = [
        ExtractedSentence(each.text, each.start, each.end, min(1.0, max(0.0, score * _factor(each.text))))
        for each, score in zip(sentences, scores, strict=True)
    ]
    return sorted(rated, key=lambda each: (-each.centrality, each.start))


def _factor(text: str) -> float:
    first = _WORD.search(text)
    return _PRONOUN_FACTOR if first and first[0].casefold() in PRONOUNS else 1.0


def _without_repetitions(ranked: Sequence[ExtractedSentence], limit: int) -> Iterator[ExtractedSentence]:
    taken: list[frozenset[str]] = []
    for sentence in ranked:
        words = terms(sentence.text)
        if all(_overlap(words, other) < _REPEATED for other in taken):
            taken.append(words)
            yield sentence
            if len(taken) == limit:
                return


def _overlap(words: frozenset[str], other: frozenset[str]) -> float:
    """The share of the words of both that they have in common; texts without words have nothing in common."""
    return len(words & other) / max(1, len(words | other))
