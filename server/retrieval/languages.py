"""Which language is this in: for documents, once, and for queries, among the languages of their project.

py3langid (n-grams and naive Bayes, its model within its wheel) is asked only where scripts leave several answers.
It is certain of a paragraph and rarely of two words, so each of the two has a rule:

* a *document* is in the likeliest language if that is nearly certain, else nobody knows ("");
* a *query* is in one of its project's languages. The more documents speak one, the likelier it is.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Mapping
from functools import cache, lru_cache
from typing import Any

from server.retrieval.lexical import mostly_latin

# What documents are told apart by: a language that is missing here would be taken for its neighbour. The rest of
# the model's 140 only takes away from the certainty of short texts.
_LATIN = "ca cs da de en es et eu fi fr hr hu id it lt lv ms nl no pl pt ro sk sl sv tr vi"
_OTHERS = "ar bg el fa he hi hy ja ko ne ru sr ta th uk ur zh"
KNOWN = tuple(sorted(f"{_LATIN} {_OTHERS}".split()))
UNKNOWN = ""
# Texts without a language of their own are treated as English, as source code and its comments mostly are.
_NEARLY_CERTAIN = 0.9
_LIKELY = 0.5
# Bytes of UTF-8 that a document needs before anybody can tell, and characters that are looked at.
_ENOUGH_BYTES = 60
_LOOKED_AT = 2_000
# Where one word of sixteen is one of these, it is English, and the model, which takes a second and 120 MB to load,
# is not asked. No other language of those above has them.
_ENGLISH = frozenset(["the", "and", "with", "that", "this", "from", "which", "their", "been", "when", "would"])
_PLAIN_SHARE = 1 / 16
# Below this share of a project's documents a language is more likely a title in another tongue than a query's.
_RARE = 0.01

# Code, addresses and markup say nothing about the language around them.
_FOREIGN = re.compile(
    r"(?ms)^(```|~~~).*?(^\1|\Z)|`[^`\n]*`|https?://\S+|<[^>\n]{1,200}>|[\w.]{0,80}[_\d./\\](?=\w)[\w./\\]*"
)
_loading = threading.Lock()


def language_of(text: str) -> str:
    """The language (ISO 639-1) that a document is written in; "" where it is too short or too mixed to tell.

    >>> language_of("Die Sicherung läuft jede Nacht und wird auf einem zweiten Rechner aufbewahrt.")
    'de'
    """
    prose = _prose(text)
    if len(prose.encode("utf-8", "replace")) < _ENOUGH_BYTES:
        return UNKNOWN
    if _is_plainly_english(prose):
        return "en"
    language, certainty = _identifier().rank(prose)[0]
    return str(language) if certainty >= _NEARLY_CERTAIN else UNKNOWN


def query_languages(query: str, documents: Mapping[str, int]) -> dict[str, float]:
    """How likely a query is in each of its project's languages; sums to 1.

    ``documents`` counts the project's documents by language. Those without one count as English.
    """
    shares = _shares(documents)
    if len(shares) == 1:
        return dict.fromkeys(shares, 1.0)
    found = dict(_ranked(query))
    weighed = {language: share * found.get(language, 0.0) for language, share in shares.items()}
    total = sum(weighed.values())
    return {language: one / total for language, one in weighed.items()} if total else shares


def is_english(query: str, documents: Mapping[str, int]) -> bool:
    """Whether a query is more likely in English than not."""
    return query_languages(query, documents).get("en", 0.0) >= _LIKELY


def is_covered(query: str, documents: Mapping[str, int], languages: frozenset[str] | None) -> bool:
    """Whether a model of these languages (None: of all) is likely to understand a query to these documents."""
    if languages is None:
        return True
    if not mostly_latin(query) and languages.isdisjoint(_OTHERS.split()):
        return False
    found = query_languages(query, documents)
    return sum(share for language, share in found.items() if language in languages) >= _LIKELY


def is_mixed(documents: Mapping[str, int]) -> bool:
    """Whether queries to these documents have to be told apart."""
    return len(_shares(documents)) > 1


def load() -> None:
    """Load what the first text that has to be told apart would wait for."""
    _identifier()


def _shares(documents: Mapping[str, int]) -> dict[str, float]:
    counts: dict[str, int] = {}
    for language, count in documents.items():
        counts[language or "en"] = counts.get(language or "en", 0) + count
    least = _RARE * sum(counts.values())
    common = {language: count for language, count in sorted(counts.items()) if count > least}
    total = sum(common.values())
    return {language: count / total for language, count in common.items()} if total else {"en": 1.0}


def _is_plainly_english(prose: str) -> bool:
    words = prose.lower().split()
    return mostly_latin(prose) and sum(word in _ENGLISH for word in words) >= _PLAIN_SHARE * len(words)


def _prose(text: str) -> str:
    """The beginning of what is left without code and addresses."""
    return " ".join(_FOREIGN.sub(" ", text[: 4 * _LOOKED_AT]).split())[:_LOOKED_AT]


@lru_cache(maxsize=1_000)
def _ranked(query: str) -> tuple[tuple[str, float], ...]:
    return tuple(_identifier().rank(query))


def _identifier() -> Any:
    with _loading:
        return _loaded()


@cache
def _loaded() -> Any:
    # A second to load, and most projects speak one language: they never come here.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # type: ignore[import-untyped]

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(KNOWN)
    return identifier
