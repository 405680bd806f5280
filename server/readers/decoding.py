"""Text from bytes, in the first of these encodings that fits: the only place where readers decode text.

1. the one of its byte order mark;
2. the one that its container states (a part of a mail);
3. UTF-8: text in another encoding is almost never valid UTF-8, while many pages were converted to UTF-8 and still
   state their old encoding;
4. the one that it states itself: ``meta``, XML declaration, or a line for Emacs, Vim, Python or JabRef;
5. the likeliest by its letters, where there is enough evidence;
6. Windows-1252, as in browsers.

An encoding fits if hardly any byte is invalid in it. In UTF-8, each such byte is read as Windows-1252.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from collections.abc import Mapping
from types import MappingProxyType

from chardetng_py.detector import EncodingDetector  # type: ignore[import-untyped]

from winnow.server.readers.documents import UnreadableFile

_BINARY_SAMPLE_BYTES = 8192
_BINARY = "binary, not text"
# Signatures of binary formats, which no text begins with; other binary data is recognised by its bytes.
_SIGNATURES = tuple(
    (re.compile(signature), name)
    for signature, name in (
        (rb"%PDF-\d\.\d[ \t]*[\r\n]", "PDF"),
        (rb"PK(\x03\x04|\x05\x06)", "a ZIP archive or an office document"),
        (rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old office document"),
        (rb"\x89PNG\r\n\x1a\n|\xff\xd8\xff[\xc0-\xfe]|GIF8[79]a[^\n]?\0", "an image"),
        (
            rb"\x1f\x8b\x08|BZh[1-9]1AY&SY|\xfd7zXZ\0|7z\xbc\xaf\x27\x1c|Rar!\x1a\x07|\x28\xb5\x2f\xfd",
            "an archive",
        ),
        (rb"\x7fELF|\xca\xfe\xba\xbe|\xcf\xfa\xed\xfe|\0asm", "a program"),
        (rb"SQLite format 3\0", "a database"),
    )
)
# Control characters that do not occur in text; those of terminals and the separators of tables do.
_CONTROLS = "".join(map(chr, (*range(8), *range(14, 27), 127)))
_UNDECODABLE = "\ufffd"
# Any text may have this many control characters. If it has more, and more than the shares below, it is binary. Of
# compressed data, 9 % are control characters and 3 % are not decodable as UTF-16; it is hardly ever valid UTF-8.
_TOLERATED_MARKS = 256
_MOST_IN_UTF_8, _MOST_IN_UTF_16, _MOST_IN_OTHERS = 0.3, 0.01, 0.03
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", _MOST_IN_UTF_8),
    (codecs.BOM_UTF32_LE, "utf-32", _MOST_IN_UTF_8),
    (codecs.BOM_UTF32_BE, "utf-32", _MOST_IN_UTF_8),
    (codecs.BOM_UTF16_LE, "utf-16", _MOST_IN_UTF_16),
    (codecs.BOM_UTF16_BE, "utf-16", _MOST_IN_UTF_16),
)

FALLBACK = "cp1252"
# An encoding fits if it has at least this many characters outside ASCII for each invalid byte.
_LEAST_FOR_EACH_INVALID = 4
_INVALID_IN_UTF_8 = re.compile("[\udc80-\udcff]+")
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
# The beginning of ISO-2022-JP, in which a Japanese text is ASCII.
_JAPANESE_ESCAPE = b"\x1b$"

# --- what a text states

_HEAD_BYTES = 4096
_LABEL = rb"""[ \t]*["']?[ \t]*([A-Za-z0-9][\w.:-]{1,39})"""
_STATEMENTS = tuple(
    re.compile(pattern + _LABEL, re.I)
    for pattern in (
        rb"""\A\s*<\?xml\s[^<>]{0,200}?\bencoding[ \t]*=""",
        rb"""\A\s*<(?s:.)*?<meta\s[^<>]{0,300}?\bcharset[ \t]*=""",
        rb"""\A@charset\b""",
        rb"""\A(?:[^\n]{0,400}\n){0,1}?[^\n]{0,200}?coding[ \t]?[:=]""",
    )
)
# Encodings that texts may state, by Python's name of their codec; each is read as browsers do, by a superset.
_CODECS: Mapping[str, str] = MappingProxyType(
    {
        "iso8859-1": "cp1252",
        "iso8859-9": "cp1254",
        "iso8859-11": "cp874",
        "tis-620": "cp874",
        "shift_jis": "cp932",
        "euc_kr": "cp949",
        "gb2312": "gb18030",
        "gbk": "gb18030",
        "big5": "big5hkscs",
        "iso2022_jp": "iso2022_jp_ext",
        **{
            name: name
            for name in (
                *("koi8-r", "koi8-u", "kz1048", "ptcp154", "hp-roman8", "cp949", "cp932", "euc_jp"),
                *("gb18030", "big5hkscs", "iso2022_jp_ext", "iso2022_kr", "hz", "johab", "cp950", "cp874"),
                *(f"cp125{digit}" for digit in range(9)),
                *("cp437", "cp737", "cp775", "cp850", "cp852", "cp855", "cp857", "cp858", "cp860", "cp861"),
                *("cp862", "cp863", "cp865", "cp866", "cp1125"),
                *(f"iso8859-{part}" for part in (2, 3, 4, 5, 6, 7, 8, 10, 13, 14, 15, 16)),
                *("mac-roman", "mac-cyrillic", "mac-greek", "mac-latin2", "mac-iceland", "mac-turkish"),
            )
        },
    }
)
# Names of UTF-16 and others that a text in them cannot state itself; mails do.
_OF_PARTS = frozenset({"utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-7"})
# What names have beside those that Python knows: of private use, and with the line ends that Emacs adds.
_AROUND_LABEL = re.compile(r"^x-|-(?:unix|dos|mac)$")

# --- what its letters are

_EXAMINED_BYTES = 256 * 1024
_BEFORE_FIRST_BYTES = 64
# Encodings of the detector, and their codecs. ISO-8859-4 and ISO-8859-13 are left out: it names them for Dutch.
_LATIN_CODECS: Mapping[str, str] = MappingProxyType(
    {
        "ISO-8859-2": "iso8859-2",
        "windows-1250": "cp1250",
        "windows-1254": "cp1254",
        "windows-1257": "cp1257",
        "windows-1258": "cp1258",
    }
)
_OTHER_CODECS: Mapping[str, str] = MappingProxyType(
    {
        "KOI8-U": "koi8-u",
        "windows-1251": "cp1251",
        "ISO-8859-5": "iso8859-5",
        "IBM866": "cp866",
        "windows-1253": "cp1253",
        "ISO-8859-7": "iso8859-7",
        "windows-1255": "cp1255",
        "ISO-8859-8": "iso8859-8",
        "windows-1256": "cp1256",
        "ISO-8859-6": "iso8859-6",
        "windows-874": "cp874",
        "Shift_JIS": "cp932",
        "EUC-JP": "euc_jp",
        "EUC-KR": "cp949",
        "Big5": "big5hkscs",
        "GBK": "gb18030",
        "gb18030": "gb18030",
    }
)
# Letters that an encoding needs as evidence. Fewer are mistaken for those of another one: a degree sign or a name
# in an English text is as likely a Czech letter, and the detector has no notion of too little.
_LEAST_LETTERS = 3
# In these, a list of German or French letters is a few characters.
_OF_TWO_BYTES, _LEAST_OF_TWO_BYTES = frozenset({"cp932", "euc_jp", "cp949", "big5hkscs", "gb18030"}), 5
_BEYOND_LATIN = re.compile("[\u0250-\U0010ffff]+")


def decode(data: bytes) -> str:
    """Decode a file of text. Raises ``UnreadableFile`` for binary data."""
    check_text_signature(data)
    for mark, encoding, most in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            text = data.decode(encoding, "replace")
            return _check_text(text, _CONTROLS + _UNDECODABLE, most)
    if b"\0" in data[:_BINARY_SAMPLE_BYTES]:
        raise UnreadableFile(_BINARY)
    text, is_utf_8 = _decode(data)
    return _check_text(text, _CONTROLS, _MOST_IN_UTF_8 if is_utf_8 else _MOST_IN_OTHERS)


def decode_part(data: bytes, stated: str) -> str:
    """Decode a text in a container that states its encoding, "" for none; any bytes are text here."""
    name = _codec_name(stated)
    return _decode_as(name if name in _OF_PARTS else _CODECS.get(name, ""), data) or _decode(data)[0]


def check_text_signature(data: bytes) -> None:
    """Raise ``UnreadableFile`` for data that begins with the signature of a binary format."""
    for signature, name in _SIGNATURES:
        if signature.match(data):
            raise UnreadableFile(f"not text (looks like {name})")


def _check_text(text: str, marks: str, most: float) -> str:
    """Return the text. Raises ``UnreadableFile`` if its ``marks`` exceed the tolerated number and this share."""
    count = sum(map(text.count, marks))
    if count > max(_TOLERATED_MARKS, most * len(text)):
        raise UnreadableFile(_BINARY)
    return text


def _decode(data: bytes) -> tuple[str, bool]:
    """The text, and whether it is valid UTF-8."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return (
            _decode_mostly_utf_8(data)
            or _decode_as(_stated_codec(data), data)
            or _decode_as(_likely_codec(data), data)
            or data.decode(FALLBACK, "replace")
        ), False
    return (_decode_escapes(data) if _JAPANESE_ESCAPE in data else "") or text, True


def _decode_mostly_utf_8(data: bytes) -> str:
    """The text of UTF-8 with a few bytes of another encoding, as where files were joined; "" for others."""
    valid = data.decode("utf-8", "ignore")
    invalid = len(data) - len(valid.encode("utf-8"))
    if _LEAST_FOR_EACH_INVALID * invalid > _count_beyond_ascii(valid):
        return ""
    return _INVALID_IN_UTF_8.sub(_read_as_fallback, data.decode("utf-8", "surrogateescape"))


def _read_as_fallback(invalid: re.Match[str]) -> str:
    return invalid[0].encode("utf-8", "surrogateescape").decode(FALLBACK, "replace")


def _decode_escapes(data: bytes) -> str:
    """The text of ISO-2022-JP; "" for others."""
    try:
        return data.decode("iso2022_jp_ext") if data.isascii() else ""
    except UnicodeDecodeError:
        return ""


def _decode_as(codec: str, data: bytes) -> str:
    """The text in this encoding; "" where it does not fit, or where there is none."""
    text = data.decode(codec, "replace") if codec else ""
    invalid = text.count(_UNDECODABLE)
    return text if _LEAST_FOR_EACH_INVALID * invalid <= _count_beyond_ascii(text) - invalid else ""


def _count_beyond_ascii(text: str) -> int:
    return len(text) - len(text.encode("ascii", "ignore"))


def _stated_codec(data: bytes) -> str:
    """The codec of the encoding that a text states at its beginning; "" where it states none that is known."""
    head = data[:_HEAD_BYTES]
    found = (pattern.search(head) for pattern in _STATEMENTS)
    names = (_codec_name(match[1].decode("ascii", "replace")) for match in found if match)
    return next(filter(None, (_CODECS.get(name, "") for name in names)), "")


def _codec_name(label: str) -> str:
    """Python's name of the codec of an encoding; "" for one that it does not know."""
    try:
        return codecs.lookup(_AROUND_LABEL.sub("", label.strip().lower())).name
    except (LookupError, ValueError):
        return ""


def _likely_codec(data: bytes) -> str:
    """The codec of the encoding that the letters of a text are likeliest in; "" where the evidence is weak.

    What is examined begins where letters other than ASCII do.
    """
    first = _BEYOND_ASCII.search(data)
    start = max(first.start() - _BEFORE_FIRST_BYTES, 0) if first else 0
    examined = data[start : start + _EXAMINED_BYTES]
    detector = EncodingDetector()
    detector.feed(examined, last=start + len(examined) == len(data))
    name = detector.guess(tld=None, allow_utf8=False)
    if codec := _LATIN_CODECS.get(name, ""):
        return codec if _has_latin_evidence(examined, codec) else ""
    codec = _OTHER_CODECS.get(name, "")
    least = _LEAST_OF_TWO_BYTES if codec in _OF_TWO_BYTES else _LEAST_LETTERS
    return codec if codec and _has_other_evidence(examined.decode(codec, "replace"), least) else ""


def _has_latin_evidence(data: bytes, codec: str) -> bool:
    """Whether there are letters within words that the fallback reads otherwise, and few signs that stand alone."""
    text, otherwise = data.decode(codec, "replace"), data.decode(FALLBACK, "replace")
    places = (found.start() for found in _BEYOND_ASCII.finditer(data, 1, len(data) - 1))
    around = [[*map(_is_letter, text[at - 1 : at + 2])] for at in places if text[at] != otherwise[at]]
    within = around.count([True, True, True])
    alone = sum(not (is_letter and (before or after)) for before, is_letter, after in around)
    return within >= max(_LEAST_LETTERS, alone)


def _has_other_evidence(text: str, least: int) -> bool:
    """Whether there are letters side by side that are no Latin ones, and few that stand alone.

    In an English text, signs of formulas that a program wrote in an encoding of its own stand alone.
    """
    runs = [sum(map(_is_letter, run)) for run in _BEYOND_LATIN.findall(text)]
    pairs, alone = sum(letters - 1 for letters in runs if letters), runs.count(1)
    return pairs >= max(least, alone)


def _is_letter(character: str) -> bool:
    return unicodedata.category(character)[0] in "LM"
