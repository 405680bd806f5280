"""Text to BM25 terms: what the lexical leg sees of a chunk and of a query. Pure.

A chunk's vector holds the part of BM25 that depends on the chunk alone (term frequency, saturated and
normalised by length); a query's holds how often it says each term; the store multiplies by the inverse
document frequency over its collection, so that a chunk added later needs no other chunk re-written.

Terms, in this order::

    unicode          NFKC, so that full-width and compatibility forms meet
    words            runs of letters, digits, marks and underscores
    identifiers      getUserName, max_open_files, os.path.join: the whole and each part
    scripts          CJK and others written without spaces: overlapping pairs
    languages        the rest: Snowball of the text's language, or of the script where that is another one
    stopwords        English words that carry no topic go, where the text is in English or in another script

A chunk has the terms of its document's language. A query has those of every language in its project, as nobody
knows which of them a name or two words are in; a form that no document has finds nothing.
"""

from __future__ import annotations

import re
import threading
import unicodedata
import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache, lru_cache, reduce
from operator import or_
from typing import Any

from server.backends.base import SparseVector
from server.text.stop_words import STOPWORDS

# BM25 as in Robertson & Zaragoza 2009, with the usual constants.
K1, B = 1.2, 0.75
# Lengths are measured against fixed averages, so that a vector does not depend on its neighbours: terms in a
# chunk of 150-200 tokens with its heading prefix, and terms in a title. 80 to 150 measure alike.
AVERAGE_TERMS = 110.0
AVERAGE_TITLE_TERMS = 6.0
# How much a title's own BM25 adds. 0.3 is worth 1.5 points; 1.0 hurts where titles are long.
TITLE_BOOST = 0.3
# Longer words are keys, hashes and encoded data: nobody asks for them whole.
_LONGEST_WORD = 64

# Marks belong to the letters they follow, but Python's \w leaves them out.
_MARKS = r"\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff"
_NAME = re.compile(rf"[\w{_MARKS}]+(?:\.[\w{_MARKS}]+)*")
_PART = re.compile(rf"[^\W\d_][\w{_MARKS}]*|\d+")
_PLAIN = re.compile(rf"(?:[^\W\d_]|[{_MARKS}])+")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
# Scripts without spaces between words: kana, Han, Hangul, Thai to Khmer.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)

# First code point after the script -> the language that its words are stemmed in unless the text is in another one
# of the script, or "" for none. In order.
_SCRIPTS = (
    (0x0250, "en"),
    (0x0370, ""),
    (0x0400, "el"),
    (0x0530, "ru"),
    (0x0590, "hy"),
    (0x0600, ""),
    (0x0700, "ar"),
    (0x0900, ""),
    (0x0980, "hi"),
    (0x0B80, ""),
    (0x0C00, "ta"),
    (0x110000, ""),
)
# Language -> the usual language of its script, and Snowball's algorithm for it.
_STEMMERS = {
    "ar": ("ar", "arabic"),
    "ca": ("en", "catalan"),
    "cs": ("en", "czech"),
    "da": ("en", "danish"),
    "de": ("en", "german"),
    "el": ("el", "greek"),
    "en": ("en", "english"),
    "es": ("en", "spanish"),
    "et": ("en", "estonian"),
    "eu": ("en", "basque"),
    "fa": ("ar", "persian"),
    "fi": ("en", "finnish"),
    "fr": ("en", "french"),
    "hi": ("hi", "hindi"),
    "hu": ("en", "hungarian"),
    "hy": ("hy", "armenian"),
    "id": ("en", "indonesian"),
    "it": ("en", "italian"),
    "lt": ("en", "lithuanian"),
    "ne": ("hi", "nepali"),
    "nl": ("en", "dutch"),
    "no": ("en", "norwegian"),
    "pl": ("en", "polish"),
    "pt": ("en", "portuguese"),
    "ro": ("en", "romanian"),
    "ru": ("ru", "russian"),
    "sr": ("ru", "serbian"),
    "sv": ("en", "swedish"),
    "ta": ("ta", "tamil"),
    "tr": ("en", "turkish"),
}
_stemming = threading.Lock()  # Snowball's stemmers keep state while they work


def document_vector(title: str, text: str, language: str = "") -> SparseVector:
    """The BM25 vector of a chunk. ``text`` is what is indexed: the heading prefix and the chunk.

    ``language``: the document's (ISO 639-1); "" is treated as English.
    """
    weights = _frequencies(text, AVERAGE_TERMS, language)
    for term, weight in _frequencies(title, AVERAGE_TITLE_TERMS, language).items():
        weights[term] = weights.get(term, 0.0) + TITLE_BOOST * weight
    return _vector(weights)


def query_vector(query: str, languages: Collection[str] = ("",), *, is_english: bool = True) -> SparseVector:
    """The vector of a query; empty where it consists of stopwords.

    ``languages``: those of the documents. ``is_english``: the query is, so that English stopwords go in any case.
    """
    found = query_terms(query, languages, is_english=is_english)
    return _vector({term: float(count) for term, count in found.items()})


def query_terms(query: str, languages: Collection[str] = ("",), *, is_english: bool = True) -> Counter[str]:
    """How often a query says each term, in the form that it has in each of these languages."""
    known = {_effective(language) for language in languages or ("",)}
    found: Counter[str] = Counter()
    for name in _names(query):
        if is_english and name.lower() in STOPWORDS:
            continue
        found += reduce(or_, (Counter(_terms_of(name, language)) for language in known))
    return found


def terms(text: str, language: str = "") -> Iterator[str]:
    """The terms of a text in reading order, repetitions included.

    >>> list(terms("How does getUserName work?"))
    ['getusernam', 'get', 'user', 'name', 'work']
    """
    language = _effective(language)
    for name in _names(text):
        yield from _terms_of(name, language)


def is_stemmed_alike(language: str, other: str) -> bool:
    """Whether texts in these languages have the same terms."""
    return _effective(language) == _effective(other)


def _names(text: str) -> Iterator[str]:
    for match in _NAME.finditer(unicodedata.normalize("NFKC", text)):
        name = match.group()
        if len(name) <= _LONGEST_WORD or _UNSPACED.search(name):
            yield name


def _effective(language: str) -> str:
    """The language whose stemmer and stopwords count: English for those that have none."""
    return language if language in _STEMMERS else "en"


@lru_cache(maxsize=100_000)
def _terms_of(name: str, language: str) -> tuple[str, ...]:
    if name.lower() in STOPWORDS and _is_english_here(language):
        return ()  # whatever its case: no query asks for its parts
    words: list[str] = []
    for piece in _pieces(name):
        words += _pairs(piece) if _UNSPACED.fullmatch(piece) else _identifier(piece)
    if "." in name:
        words.insert(0, name.lower())
    return tuple(_stem(word, language) for word in words if not (word in STOPWORDS and _is_english_here(language)))


def _is_english_here(language: str) -> bool:
    """Whether what is Latin in a text of this language is English."""
    return language == "en" or _STEMMERS[language][0] != "en"


def _pieces(name: str) -> Iterator[str]:
    for dotted in name.split("."):
        last = 0
        for run in _UNSPACED.finditer(dotted):
            yield from filter(None, (dotted[last : run.start()], run.group()))
            last = run.end()
        if last < len(dotted):
            yield dotted[last:]


def _identifier(word: str) -> list[str]:
    parts = [part for run in _PART.findall(word) for part in _split(run)]
    whole = word.lower().strip("_")
    return [word for word in dict.fromkeys((whole, *parts)) if word]


def _split(run: str) -> list[str]:
    """``run`` at underscores and, where it is ASCII, at changes of case."""
    return [
        part.lower()
        for word in run.split("_")
        for part in (_CAMEL.findall(word) if word.isascii() else [word])
        if part
    ]


def _pairs(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[at : at + 2] for at in range(len(run) - 1)]


def _stem(word: str, language: str) -> str:
    usual = next(name for limit, name in _SCRIPTS if ord(word[0]) < limit)
    if not usual or not _PLAIN.fullmatch(word):
        return word
    script, algorithm = _STEMMERS.get(language, ("", ""))
    if script != usual:
        _, algorithm = _STEMMERS[usual]
    with _stemming:
        return str(_stemmer(algorithm).stemWord(word))


@cache
def _stemmer(algorithm: str) -> Any:
    # Forty modules, which a handshake does not wait for.
    import snowballstemmer  # type: ignore[import-untyped]

    return snowballstemmer.stemmer(algorithm)


def _frequencies(text: str, average: float, language: str) -> dict[str, float]:
    counts = Counter(terms(text, language))
    length = 1 - B + B * counts.total() / average
    return {term: count * (K1 + 1) / (count + K1 * length) for term, count in counts.items()}


def _vector(weights: dict[str, float]) -> SparseVector:
    # 32 bits for a vocabulary of 100,000 terms: about one pair of terms shares a number.
    numbered: dict[int, float] = {}
    for term, weight in weights.items():
        number = zlib.crc32(term.encode("utf-8", "surrogatepass"))
        numbered[number] = numbered.get(number, 0.0) + weight
    ordered = sorted(numbered.items())
    return SparseVector(tuple(number for number, _ in ordered), tuple(weight for _, weight in ordered))
