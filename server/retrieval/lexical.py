"""BM25 vectors of chunks and queries (Robertson & Zaragoza 2009), and the text analysis behind them. Pure.

A chunk's vector holds the part of BM25 that depends on the chunk alone (term frequency, saturated and normalised
by length); a query's vector holds the counts of its terms; the store multiplies by the inverse document frequency,
so that a new chunk changes no other chunk's vector.

Terms, in this order::

    unicode          NFKC, so that full-width and compatibility forms are equal
    words            runs of letters, digits, marks and underscores
    identifiers      getUserName, max_open_files, os.path.join: the whole and each part
    scripts          CJK and others written without spaces: overlapping pairs
    languages        the rest: the Snowball stemmer of the text's language, or of the script's usual language
    stopwords        English stop words are removed if the text is in English or in another script

A chunk has the terms of its document's language. A query has those of every language in its project, because short
queries do not reveal their language; a form that no document has matches nothing.
"""

from __future__ import annotations

import re
import threading
import zlib
from collections import Counter
from collections.abc import Collection, Iterator
from functools import cache, lru_cache, reduce
from operator import or_
from typing import Any

from winnow.server.storage.base import SparseVector
from winnow.server.text.forms.normal_forms import normalize
from winnow.server.text.markup.possessive import compile_possessive
from winnow.server.text.words.stop_words import STOPWORDS

# The usual constants of BM25 (Robertson & Zaragoza 2009).
K1, B = 1.2, 0.75
# Lengths are normalised by fixed averages, so that a vector does not depend on other chunks: terms in a chunk of
# 150-200 tokens with its heading prefix, and terms in a title. 80 to 150 give the same quality.
AVERAGE_TERMS = 110.0
AVERAGE_TITLE_TERMS = 6.0
# The weight of the title's BM25. 0.3 adds 1.5 points of nDCG@10; 1.0 is worse for long titles.
TITLE_BOOST = 0.3
# Longer words are keys, hashes and encoded data, which queries do not contain.
_MAX_WORD_CHARS = 64
_MIN_CONTENT_CHARS = 2

# Marks belong to the letters they follow, but Python's \w leaves them out.
_MARKS = r"\u0300-\u036f\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0900-\u0963\u0966-\u0dff"
_NAME = re.compile(rf"[\w{_MARKS}]+(?:\.[\w{_MARKS}]+)*")
_PART = re.compile(rf"[^\W\d_][\w{_MARKS}]*|\d+")
# Letters of some scripts are among the marks: without "++" a word has two readings for each of them.
_PLAIN = compile_possessive(rf"(?:[^\W\d_]|[{_MARKS}])++")
_CAMEL = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
# Scripts without spaces between words: kana, Han, Hangul, Thai to Khmer.
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff]+"
)

# First code point after the script -> the language in which its words are stemmed, unless the text is in another
# language of the script; "" for none. In order.
_SCRIPT_LANGUAGES = (
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
_stemmer_lock = threading.Lock()  # Snowball's stemmers are not thread-safe


def build_document_vector(title: str, text: str, language: str = "") -> SparseVector:
    """Build the BM25 vector of a chunk. ``text`` is the indexed text: the heading prefix and the chunk.

    ``language`` is the document's (ISO 639-1); "" is treated as English.
    """
    weights = _saturate_frequencies(text, AVERAGE_TERMS, language)
    for term, weight in _saturate_frequencies(title, AVERAGE_TITLE_TERMS, language).items():
        weights[term] = weights.get(term, 0.0) + TITLE_BOOST * weight
    return _build_vector(weights)


def build_query_vector(query: str, languages: Collection[str] = ("",), *, is_english: bool = True) -> SparseVector:
    """Build the vector of a query; empty if it consists of stop words.

    ``languages`` are those of the documents. ``is_english``: the query is English, so English stop words are
    removed in every language.
    """
    counts = count_query_terms(query, languages, is_english=is_english)
    return _build_vector({term: float(count) for term, count in counts.items()})


def count_query_terms(query: str, languages: Collection[str] = ("",), *, is_english: bool = True) -> Counter[str]:
    """Count the terms of a query, in the form that each has in each of these languages."""
    stemmed = {_stemmed_language(language) for language in languages or ("",)}
    counts: Counter[str] = Counter()
    for name in _split_names(query):
        if is_english and name.lower() in STOPWORDS:
            continue
        counts += reduce(or_, (Counter(_terms_of_name(name, language)) for language in stemmed))
    return counts


def find_content_words(
    query: str, languages: Collection[str] = ("",), *, is_english: bool = True
) -> dict[str, frozenset[str]]:
    """The words of a query that are no stop words, in order, each with its terms in any of these languages.

    A document has the word if it has one of its terms. Names with dots are split at the dots; other identifiers
    are one word. Words of one letter or digit are left out; a run of a script without spaces is one word, whose
    terms are its pairs of characters.

    >>> find_content_words("How does os.getUserName work?")
    {'os': frozenset({'os'}), 'getUserName': frozenset({'getusernam'}), 'work': frozenset({'work'})}
    """
    stemmed = {_stemmed_language(language) for language in languages or ("",)}
    words = {}
    for name in _split_names(query):
        for word in _split_scripts(name):
            if is_english and (word.lower() in STOPWORDS or name.lower() in STOPWORDS):
                continue
            forms = frozenset(form for language in stemmed for form in _whole_forms(word, language))
            if forms:
                words[word] = forms
    return words


def _whole_forms(word: str, language: str) -> tuple[str, ...]:
    """The terms that stand for the whole of a word; none for stop words and single characters."""
    if _UNSPACED.fullmatch(word):
        return tuple(_bigrams(word))
    whole = word.lower().strip("_")
    if len(whole) < _MIN_CONTENT_CHARS or (whole in STOPWORDS and _has_english_latin(language)):
        return ()
    return (_stem(whole, language),)


def build_term_vector(terms: Collection[str]) -> SparseVector:
    """Build the vector of a query for any of these terms."""
    return _build_vector(dict.fromkeys(terms, 1.0))


def split_terms(text: str, language: str = "") -> Iterator[str]:
    """Split a text into terms, in reading order, with repetitions.

    >>> list(split_terms("How does getUserName work?"))
    ['getusernam', 'get', 'user', 'name', 'work']
    """
    language = _stemmed_language(language)
    for name in _split_names(text):
        yield from _terms_of_name(name, language)


def has_same_stemmer(language: str, other: str) -> bool:
    """Whether texts in these languages are stemmed alike."""
    return _stemmed_language(language) == _stemmed_language(other)


def _split_names(text: str) -> Iterator[str]:
    for match in _NAME.finditer(normalize("NFKC", text)):
        name = match.group()
        if len(name) <= _MAX_WORD_CHARS or _UNSPACED.search(name):
            yield name


def _stemmed_language(language: str) -> str:
    """The language whose stemmer and stop words apply: English for languages without a stemmer."""
    return language if language in _STEMMERS else "en"


@lru_cache(maxsize=30_000)
def _terms_of_name(name: str, language: str) -> tuple[str, ...]:
    if name.lower() in STOPWORDS and _has_english_latin(language):
        return ()  # in any case: its parts would not be searched for
    words: list[str] = []
    for piece in _split_scripts(name):
        words += _bigrams(piece) if _UNSPACED.fullmatch(piece) else _split_identifier(piece)
    if "." in name:
        words.insert(0, name.lower())
    return tuple(
        _stem(word, language) for word in words if not (word in STOPWORDS and _has_english_latin(language))
    )


def _has_english_latin(language: str) -> bool:
    """Whether words in Latin script are treated as English in texts of this language."""
    return language == "en" or _STEMMERS[language][0] != "en"


def _split_scripts(name: str) -> Iterator[str]:
    for dotted in name.split("."):
        last = 0
        for run in _UNSPACED.finditer(dotted):
            yield from filter(None, (dotted[last : run.start()], run.group()))
            last = run.end()
        if last < len(dotted):
            yield dotted[last:]


def _split_identifier(word: str) -> list[str]:
    parts = [part for run in _PART.findall(word) for part in _split_case(run)]
    whole = word.lower().strip("_")
    return [word for word in dict.fromkeys((whole, *parts)) if word]


def _split_case(run: str) -> list[str]:
    """Split ``run`` at underscores and, if it is ASCII, at changes of case."""
    return [
        part.lower()
        for word in run.split("_")
        for part in (_CAMEL.findall(word) if word.isascii() else [word])
        if part
    ]


def _bigrams(run: str) -> list[str]:
    return [run] if len(run) == 1 else [run[start : start + 2] for start in range(len(run) - 1)]


def _stem(word: str, language: str) -> str:
    script_language = next(name for limit, name in _SCRIPT_LANGUAGES if ord(word[0]) < limit)
    if not script_language or not _PLAIN.fullmatch(word):
        return word
    script, algorithm = _STEMMERS.get(language, ("", ""))
    if script != script_language:
        _, algorithm = _STEMMERS[script_language]
    with _stemmer_lock:
        return str(_load_stemmer(algorithm).stemWord(word))


@cache
def _load_stemmer(algorithm: str) -> Any:
    # Forty modules: imported lazily to keep the start of the server fast.
    import snowballstemmer  # type: ignore[import-untyped]

    return snowballstemmer.stemmer(algorithm)


def _saturate_frequencies(text: str, average: float, language: str) -> dict[str, float]:
    counts = Counter(split_terms(text, language))
    length = 1 - B + B * counts.total() / average
    return {term: count * (K1 + 1) / (count + K1 * length) for term, count in counts.items()}


def _build_vector(weights: dict[str, float]) -> SparseVector:
    # 32 bits for a vocabulary of 100,000 terms: about one pair of terms collides.
    numbered: dict[int, float] = {}
    for term, weight in weights.items():
        number = zlib.crc32(term.encode("utf-8", "surrogatepass"))
        numbered[number] = numbered.get(number, 0.0) + weight
    ordered = sorted(numbered.items())
    return SparseVector(tuple(number for number, _ in ordered), tuple(weight for _, weight in ordered))
