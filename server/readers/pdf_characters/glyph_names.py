"""Letters of bitmap fonts that only the names of their drawings tell, written where the parsers look for them.

Old files of TeX have fonts (Type 3) whose drawings are named by the characters of TeX's own encodings: "/," and
"/5", or "/#0C" for "fi". Acrobat gave those that are no letters other codes. No standard has such names, so
parsers give the codes: a comma becomes a control character or a hyphen. A font may have a table (ToUnicode) of the
texts of its codes, and here it gets what the names tell.
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator, Mapping
from itertools import islice, pairwise
from types import MappingProxyType

from winnow.server.readers.pdf_characters.letters import TEX_LETTERS

# In bytes: what one object, all packed objects of a file, the table of a font and its names may have. A table of
# 256 codes has 6 KiB. Files with hundreds of fonts exist.
_MOST_BYTES, _MOST_PACKED, _MOST_OF_TABLE, _MOST_OF_NAMES = 1 << 20, 1 << 26, 1 << 15, 1 << 12
_MOST_FONTS = 2_000
# In bytes: each packed part of a file counts as so many at least, which bounds how many are looked at.
_LEAST_OF_PART = 1 << 14
_DIFFERENCES = re.compile(rb"/Differences\s{0,8}\[")
# A name of one sign, or of its escape; a file of the first versions of PDF, which had none, has them in its names.
_SIGN = re.compile(rb"/(?:[^\sA-Za-z/]|#(?:23)?[0-9A-Fa-f]{2})(?=[\s/]|\Z)")
_NAME_OR_CODE, _ESCAPED = re.compile(rb"/([^\s/\[\]()<>{}%]*)|(\d+)"), re.compile(rb"#([0-9A-Fa-f]{2})")
_PACKED = re.compile(rb"/ObjStm\b[^>]{0,400}>>\s{0,8}stream\r?\n")
# A file as PDFium writes it: its last words, its table of objects, and fonts with what they refer to.
_END, _ENTRY = re.compile(rb"startxref\r\n(\d{1,10})\r\n%%EOF\s*\Z"), re.compile(rb"(\d{10}) \d{5} n")
_NUMBER, _TRAILER = re.compile(rb"(\d{1,10}) 0 obj\r\n"), re.compile(rb"trailer\r\n<<(.*?)>>\r\nstartxref", re.S)
_TYPE_3, _SIZE = b"/Subtype/Type3", re.compile(rb"/Size (\d{1,10})")
_ENCODING, _TABLE = re.compile(rb"/Encoding (\d{1,10}) 0 R"), re.compile(rb"/ToUnicode (\d{1,10}) 0 R")
_STREAM = re.compile(rb"<<(?P<entries>.*?)>>\s*stream\r?\n(?P<data>.*?)\r?\nendstream", re.S)
# The codes of a table: one, or the first and the last.
_MAPPED = re.compile(rb"<([0-9A-Fa-f]{2})>\s*(?:<([0-9A-Fa-f]{2})>\s*)?[<\[]")
_NEW_TABLE = (
    b"/CIDInit /ProcSet findresource begin 12 dict begin begincmap /CMapName /Names def /CMapType 2 def\n"
    b"1 begincodespacerange <00> <FF> endcodespacerange\nendcmap end end\n"
)
# A font of text has so many letters, and some of these signs, which fonts of formulas have at other places.
_FEWEST_LETTERS, _FEWEST_SIGNS, _OF_TEXT = 10, 2, frozenset(".,-()'0123456789")
# A font of numbers has so many digits; a font of symbols seldom has as many signs at their places.
_FEWEST_DIGITS, _DIGITS, _OF_NUMBERS = 6, frozenset("0123456789"), frozenset("0123456789+-=/.,:()[]")
_ASCII = {sign: sign for sign in map(chr, range(0x21, 0x7F))}
_QUOTES = {"'": "\u2019", "`": "\u2018"}
# TeX's encodings of text: OT1, which lacks some signs of ASCII, and T1 (Cork).
_OT1: Mapping[str, str] = MappingProxyType(
    {sign: sign for sign in "0123456789!#$%&()*+,-./:;=?@[]"}
    | {**_QUOTES, "\\": "\u201c", '"': "\u201d", "{": "\u2013", "|": "\u2014"}
    | {"\x0b": "ff", "\x0c": "fi", "\x0d": "fl", "\x0e": "ffi", "\x0f": "ffl"}
)
_T1: Mapping[str, str] = MappingProxyType(
    _ASCII | _QUOTES | {chr(code): text for code, text in TEX_LETTERS.items()}
)
_OT1_LIGATURES, _T1_LIGATURES = frozenset("\x0b\x0c\x0d\x0e\x0f"), frozenset("\x1b\x1c\x1d\x1e\x1f")
_UNKNOWN = "\ufffd"


def may_name_signs(data: bytes) -> bool:
    """Whether a file has a font that names a sign by itself; it is cheap to ask, and few have one."""
    names = (_up_to(b"]", part, found.end()) for part in _parts(data) for found in _DIFFERENCES.finditer(part))
    return any(_SIGN.search(some) for some in islice(names, _MOST_FONTS))


def _up_to(end: bytes, data: bytes, start: int) -> bytes:
    """The bytes between a place and the next end; none if that is far."""
    stop = data.find(end, start, start + _MOST_OF_NAMES)
    return data[start:stop] if stop >= 0 else b""


def _parts(data: bytes) -> Iterator[bytes]:
    """The file, and its packed objects."""
    yield data
    left, seen = _MOST_PACKED, memoryview(data)
    for start in (found.end() for found in _PACKED.finditer(data)):
        if left <= 0:
            return
        objects = _unpack(seen[start : start + _MOST_BYTES], 4 * _MOST_BYTES) or b""
        left -= max(len(objects), _LEAST_OF_PART)
        yield objects


def _unpack(data: bytes | memoryview, most: int) -> bytes | None:
    try:
        return zlib.decompressobj().decompress(data, most)
    except zlib.error:
        return None


def with_named_letters(data: bytes) -> bytes | None:
    """The file, which PDFium has written, with the letters that the names of its fonts tell; None without any."""
    end = _END.search(data)
    if end is None:
        return None
    objects = _Objects(data, int(end[1]))
    changes = dict(objects.changes())
    return data + objects.update(changes) if changes else None


class _Font:
    """A bitmap font: its entries, and the names of its codes."""

    def __init__(self, entries: bytes, names: Mapping[int, str]) -> None:
        self.entries = entries
        self.names = names
        self.is_mono = _is_mono(entries)


class _Objects:
    """The objects of a file by number, and what is added to it."""

    def __init__(self, data: bytes, table: int) -> None:
        self._data = data
        self._table = table
        starts = sorted({int(entry[1]) for entry in _ENTRY.finditer(data, table)})
        self._ends = dict(pairwise([*starts, table]))
        numbers = {start: _NUMBER.match(data, start) for start in starts}
        self._starts = {int(found[1]): found.end() for found in numbers.values() if found}
        self._stops = {int(found[1]): self._ends[start] for start, found in numbers.items() if found}
        trailer = _TRAILER.search(data, table)
        self._trailer = trailer[1] if trailer else b""
        size = _SIZE.search(self._trailer)
        self._size = int(size[1]) if size else 0

    def changes(self) -> Iterator[tuple[int, bytes]]:
        """The fonts whose names tell letters, and their tables, by number."""
        fonts = dict(islice(self._fonts(), _MOST_FONTS)) if self._size else {}
        if not any(is_text(font.names) for font in fonts.values()):
            return
        for free, (number, font) in enumerate(fonts.items(), self._size):
            letters = letters_of(font.names, is_mono=font.is_mono)
            if letters and (table := self._table_with(font.entries, letters)):
                yield number, b"<<%s/ToUnicode %d 0 R>>" % (_TABLE.sub(b"", font.entries)[2:-2], free)
                yield free, b"<</Length %d>>stream\r\n%s\r\nendstream" % (len(table), table)

    def _fonts(self) -> Iterator[tuple[int, _Font]]:
        for number in self._starts:
            entries = self._read(number).rpartition(b"\r\nendobj")[0]
            if _TYPE_3 in entries and entries.startswith(b"<<") and entries.endswith(b">>"):
                held = _ENCODING.search(entries)
                names = _array("Differences", self._read(int(held[1])) if held else entries)
                yield number, _Font(entries, dict(_names(names)))

    def _read(self, number: int) -> bytes:
        """An object; none that is too large to be a font or a table."""
        start, stop = self._starts.get(number, 0), self._stops.get(number, 0)
        return self._data[start:stop] if stop - start < _MOST_BYTES else b""

    def _table_with(self, font: bytes, letters: Mapping[int, str]) -> bytes | None:
        """The table of a font with these letters; those that it has stay."""
        held = _TABLE.search(font)
        table = _content(self._read(int(held[1]))) if held else _NEW_TABLE
        end = table.rfind(b"endcmap") if table else -1
        if table is None or end < 0:
            return None
        known = set(_mapped(table))
        added = {
            code: text.encode("utf-16-be").hex().encode() for code, text in letters.items() if code not in known
        }
        lines = b"".join(b"<%02X> <%s>\n" % entry for entry in added.items())
        return (
            table[:end] + b"%d beginbfchar\n%sendbfchar\n" % (len(added), lines) + table[end:] if added else None
        )

    def update(self, changes: Mapping[int, bytes]) -> bytes:
        """The bytes to add at the end of the file to change these objects."""
        out, entries = bytearray(b"\r\n"), bytearray()
        for number, value in changes.items():
            entries += b"%d 1\r\n%010d 00000 n\r\n" % (number, len(self._data) + len(out))
            out += b"%d 0 obj\r\n%s\r\nendobj\r\n" % (number, value)
        trailer = _SIZE.sub(b"/Size %d" % (max(self._size, *changes) + 1), self._trailer)
        words = (bytes(entries), trailer, self._table, len(self._data) + len(out))
        return bytes(out) + b"xref\r\n%strailer\r\n<<%s/Prev %d>>\r\nstartxref\r\n%d\r\n%%%%EOF\r\n" % words


def is_text(names: Mapping[int, str]) -> bool:
    """Whether a font with these names is one of text: it has letters at their own codes, and stops or digits."""
    letters = sum(
        name.isascii() and name.islower() and [code] == [*map(ord, name)] for code, name in names.items()
    )
    return letters >= _FEWEST_LETTERS and len(_OF_TEXT.intersection(names.values())) >= _FEWEST_SIGNS


def letters_of(names: Mapping[int, str], *, is_mono: bool) -> dict[int, str]:
    """The texts of codes that are named by a single sign, where they are not those of the codes.

    U+FFFD stands for an unknown one: a sign of a formula.
    """
    known = _texts(names, is_mono=is_mono)
    single = {code: name for code, name in names.items() if len(name) == 1 and not name.isalpha()}
    texts = {
        code: known.get(name, name if ord(name) == code > 0x20 else _UNKNOWN) for code, name in single.items()
    }
    return {code: text for code, text in texts.items() if text != chr(code)}


def _texts(names: Mapping[int, str], *, is_mono: bool) -> Mapping[str, str]:
    """The texts of signs in a font with these names."""
    signs = set(names.values())
    if is_text(names):
        is_cork = _T1_LIGATURES & signs and not _OT1_LIGATURES & signs
        return _ASCII if is_mono else _T1 if is_cork else _OT1
    is_numbers = len(signs & _DIGITS) >= _FEWEST_DIGITS and signs <= _OF_NUMBERS
    return {sign: sign for sign in _OF_NUMBERS} if is_numbers else {}


def _is_mono(font: bytes) -> bool:
    """Whether all letters of a font are equally wide, as those of a typewriter."""
    return len({width for width in _array("Widths", font).split() if width != b"0"}) == 1


def _array(name: str, entries: bytes) -> bytes:
    """The items of an array as PDFium writes it; none without it."""
    before = f"/{name}[".encode()
    start = entries.find(before)
    return _up_to(b"]", entries, start + len(before)) if start >= 0 else b""


def _names(differences: bytes) -> Iterator[tuple[int, str]]:
    code = 0
    for found in _NAME_OR_CODE.finditer(differences):
        if found[2]:
            code = int(found[2][:4])
        elif code < 256:
            yield code, _decode(_decode(found[1])).decode("latin-1")
            code += 1


def _decode(name: bytes) -> bytes:
    """A name without its escapes; one of the first versions of PDF has them twice."""
    return _ESCAPED.sub(lambda sign: bytes([int(sign[1], 16)]), name)


def _mapped(table: bytes) -> Iterator[int]:
    """The codes whose text a table has."""
    for first, last in _MAPPED.findall(table.rpartition(b"endcodespacerange")[2]):
        yield from range(int(first, 16), int(last or first, 16) + 1)


def _content(stream: bytes) -> bytes | None:
    """The bytes of a stream; None if they are packed in an unknown way."""
    found = _STREAM.match(stream)
    if found is None or b"/Filter" not in found["entries"]:
        return found["data"][:_MOST_OF_TABLE] if found else None
    return _unpack(found["data"], _MOST_OF_TABLE) if b"/Filter/FlateDecode" in found["entries"] else None
