"""Language detection for documents and for queries.

py3langid (n-grams and naive Bayes, its model inside its wheel) is used only where the script does not decide. It
is certain about a paragraph, but rarely about two words, so there are two rules:

* a *document* is in the likeliest language if that is nearly certain, otherwise its language is unknown ("");
* a *query* is in one of its project's languages, weighted by how many documents are in each.

Loading the model needs space for temporary files. If loading fails, a query is assumed to be in the languages of
the documents, which is nearly as good. For a document, the failure is an error, because its language is stored
until the file changes: an ingest without languages would make search permanently worse, without a sign of it.
"""

from __future__ import annotations

import os
import re
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache, lru_cache
from typing import Any

from winnow.server.errors import WinnowError

# The languages that are considered. A missing one would be mistaken for its neighbour; the rest of the model's 140
# would only reduce the certainty on short texts.
_LATIN = "ca cs da de en es et eu fi fr hr hu id it lt lv ms nl no pl pt ro sk sl sv tr vi"
_OTHERS = "ar bg el fa he hi hy ja ko ne ru sr ta th uk ur zh"
KNOWN = tuple(sorted(f"{_LATIN} {_OTHERS}".split()))
# Texts of unknown language are treated as English, as source code and its comments mostly are.
UNKNOWN = ""
_NEARLY_CERTAIN = 0.9
_LIKELY = 0.5
# Bytes of UTF-8 below which a document's language is unknown, and the characters that are examined.
_MIN_BYTES = 60
_EXAMINED_CHARS = 2_000
# A text is English if at least one word in sixteen is one of these, which no other language above has. The
# shortcut avoids loading the model, which takes a second and 120 MB.
_ENGLISH = frozenset(["the", "and", "with", "that", "this", "from", "which", "their", "been", "when", "would"])
_PLAIN_SHARE = 1 / 16
# A language with a smaller share of a project's documents is ignored: it is probably that of a few foreign titles.
_RARE = 0.01
_LATIN_END = 0x0250  # the first code point after Latin Extended-B

# Code, addresses and markup say nothing about the language around them.
_FOREIGN = re.compile(
    r"(?ms)^(```|~~~).*?(^\1|\Z)|`[^`\n]*`|https?://\S+|<[^>\n]{1,200}>|[\w.]{0,80}[_\d./\\](?=\w)[\w./\\]*"
)
# The model is unpacked into a temporary file of 77 MB. After a failure, queries do not try again for this time.
_TEMPORARY_MB = 80
_AGAIN_SECONDS = 60.0
_load_lock = threading.Lock()
_failure: tuple[float, WinnowError] | None = None


def language_of(text: str) -> str:
    """The language (ISO 639-1) of a document; "" if it is too short or too mixed to tell.

    Raises ``WinnowError("MODEL_UNAVAILABLE")`` where the model does not load.

    >>> language_of("Die Sicherung läuft jede Nacht und wird auf einem zweiten Rechner aufbewahrt.")
    'de'
    """
    prose = _prose(text)
    if len(prose.encode("utf-8", "replace")) < _MIN_BYTES:
        return UNKNOWN
    if _is_plainly_english(prose):
        return "en"
    language, certainty = _identifier().rank(prose)[0]
    return str(language) if certainty >= _NEARLY_CERTAIN else UNKNOWN


def query_languages(query: str, documents: Mapping[str, int]) -> dict[str, float]:
    """The probability of each of the project's languages for a query; sums to 1.

    ``documents`` counts the project's documents by language. Those without one count as English.
    """
    shares = _shares(documents)
    if len(shares) == 1:
        return dict.fromkeys(shares, 1.0)
    try:
        probabilities = dict(_rank_languages(query))
    except WinnowError:
        return shares
    weights = {language: share * probabilities.get(language, 0.0) for language, share in shares.items()}
    total = sum(weights.values())
    return {language: weight / total for language, weight in weights.items()} if total else shares


def is_english(query: str, documents: Mapping[str, int]) -> bool:
    """Whether a query is more likely in English than not."""
    return query_languages(query, documents).get("en", 0.0) >= _LIKELY


def is_covered(query: str, documents: Mapping[str, int], languages: frozenset[str] | None) -> bool:
    """Whether a model trained on these languages (None: on all) is likely to understand the query."""
    if languages is None:
        return True
    if not is_mostly_latin(query) and languages.isdisjoint(_OTHERS.split()):
        return False
    probabilities = query_languages(query, documents)
    return sum(share for language, share in probabilities.items() if language in languages) >= _LIKELY


def is_mixed(documents: Mapping[str, int]) -> bool:
    """Whether the documents are in several languages, so that the language of a query matters."""
    return len(_shares(documents)) > 1


def load_language_model() -> None:
    """Load the model, so that the first detection does not have to wait. Errors are left to that detection."""
    with suppress(WinnowError):
        _identifier()


def is_mostly_latin(text: str) -> bool:
    """Whether at least two thirds of the letters are Latin. True for a text without letters."""
    letters = [character for character in text if character.isalpha()]
    return 3 * sum(ord(letter) < _LATIN_END for letter in letters) >= 2 * len(letters)


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
    return is_mostly_latin(prose) and sum(word in _ENGLISH for word in words) >= _PLAIN_SHARE * len(words)


def _prose(text: str) -> str:
    """The beginning of the text without code and addresses."""
    return " ".join(_FOREIGN.sub(" ", text[: 4 * _EXAMINED_CHARS]).split())[:_EXAMINED_CHARS]


@lru_cache(maxsize=1_000)
def _rank_languages(query: str) -> tuple[tuple[str, float], ...]:
    return tuple(_identifier().rank(query))


def _identifier() -> Any:
    global _failure
    with _load_lock:
        if _failure is not None and time.monotonic() < _failure[0] + _AGAIN_SECONDS:
            raise _failure[1]
        try:
            return _load_identifier()
        except (OSError, EOFError, ValueError) as error:  # numpy raises ValueError for a truncated file
            _failure = time.monotonic(), _load_error(error)
            raise _failure[1] from error


@cache
def _load_identifier() -> Any:
    # Imported late: it takes a second, and projects in one language never need it.
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # type: ignore[import-untyped]

    identifier = LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    identifier.set_languages(KNOWN)
    return identifier


def _load_error(error: Exception) -> WinnowError:
    folder = tempfile.tempdir or os.environ.get("TMPDIR") or "/tmp"
    return WinnowError(
        "MODEL_UNAVAILABLE",
        f"the language of documents cannot be detected: {type(error).__name__}: {error}. Loading the detector "
        f"needs {_TEMPORARY_MB} MB in {folder}; free some space there, or set TMPDIR "
        "to another folder, then try again",
        retryable=True,
    )
