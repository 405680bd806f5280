"""The language that a person or a program states for a text: a code or a name, as bibliographies have it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType

from winnow.server.text.words.languages import KNOWN

_FIRST_WORD = re.compile(r"[^\W\d_]+")
_LONGEST = 100
# ISO 639-1 -> what else a language is called: both forms of ISO 639-2, its English name and its own.
_NAMES: Mapping[str, str] = {
    "ar": "ara arabic العربية",
    "bg": "bul bulgarian български",
    "ca": "cat catalan català",
    "cs": "cze ces czech čeština",
    "da": "dan danish dansk",
    "de": "ger deu german deutsch",
    "el": "gre ell greek ελληνικά",
    "en": "eng english",
    "es": "spa spanish español castellano",
    "et": "est estonian eesti",
    "eu": "baq eus basque euskara",
    "fa": "per fas persian farsi فارسی",
    "fi": "fin finnish suomi",
    "fr": "fre fra french français francais",
    "he": "heb hebrew עברית",
    "hi": "hin hindi",
    "hr": "hrv croatian hrvatski",
    "hu": "hun hungarian magyar",
    "id": "ind indonesian",
    "it": "ita italian italiano",
    "ja": "jpn japanese 日本語",
    "ko": "kor korean 한국어",
    "lt": "lit lithuanian lietuvių",
    "lv": "lav latvian latviešu",
    "ms": "may msa malay",
    "ne": "nep nepali",
    "nl": "dut nld dutch nederlands",
    "no": "nor nob nno nb nn norwegian norsk",
    "pl": "pol polish polski",
    "pt": "por portuguese português",
    "ro": "rum ron romanian română",
    "ru": "rus russian русский",
    "sk": "slo slk slovak slovenčina",
    "sl": "slv slovenian slovenščina",
    "sr": "srp serbian српски",
    "sv": "swe swedish svenska",
    "th": "tha thai ไทย",
    "tr": "tur turkish türkçe",
    "uk": "ukr ukrainian українська",
    "ur": "urd urdu اردو",
    "vi": "vie vietnamese",
    "zh": "chi zho chinese 中文",
}
_CODES: Mapping[str, str] = MappingProxyType(
    {code: code for code in KNOWN} | {name: code for code, names in _NAMES.items() for name in names.split()}
)


def stated_language(text: str) -> str:
    """The language (ISO 639-1) that a text names; "" for none that winnow knows.

    >>> stated_language("en-US"), stated_language("Deutsch"), stated_language("fra; eng"), stated_language("tlh")
    ('en', 'de', 'fr', '')
    """
    word = _FIRST_WORD.search(text[:_LONGEST])
    return _CODES.get(word[0].lower(), "") if word else ""
