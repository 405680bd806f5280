"""Files of every format that is read in a child, made in code, and damage to their bytes, entries and markup."""

from __future__ import annotations

import io
import json
import random
import re
import zipfile
import zlib
from collections.abc import Callable, Mapping, Sequence
from importlib.util import find_spec
from types import MappingProxyType

from tests.office_files import docx, epub, opendocument, paragraph, pptx, shape, xlsx
from tests.old_workbooks import DATE, HIDDEN, HOURS, Formula, Number, Sheet, rows, xls, xlsb
from tests.pdf_files import PdfFile, Picture, Text, build_pdf
from tests.pdf_files import paragraph as pdf_lines

if find_spec("PIL"):
    from PIL import Image

_SENTENCE = "The pump at the north gate opens at four bar and closes again."
_BINARY = {
    "Values": rows(["name", "value"], ["pump", Number(2.5)], ["day", Number(45_000, DATE)], ["sum", Formula(9.0)]),
    "Secret": Sheet({(0, 0): "hidden", (3, 2): Number(0.5, HOURS)}, HIDDEN),
}
_TABLE = (
    "<w:tbl><w:tr><w:tc><w:p><w:r><w:t>a</w:t></w:r></w:p></w:tc><w:tc><w:p><w:r><w:t>b</w:t></w:r></w:p></w:tc>"
    "</w:tr></w:tbl>"
)
_MESSAGE = (
    "Subject: =?utf-8?q?gr=C3=BCn?=\nFrom: Ann <a@example.org>\nMIME-Version: 1.0\n"
    'Content-Type: multipart/mixed; boundary="x"\n\n--x\nContent-Type: text/plain; charset=iso-8859-1\n'
    f"Content-Transfer-Encoding: quoted-printable\n\n{_SENTENCE} =E4\n--x\nContent-Type: text/html\n\n"
    f"<h1>Gate</h1><p>{_SENTENCE}</p>\n--x\nContent-Type: application/pdf; name=a.pdf\n"
    "Content-Disposition: attachment\nContent-Transfer-Encoding: base64\n\nAAAA\n--x--\n"
)
_NOTEBOOK = {
    "cells": [
        {"cell_type": "markdown", "source": ["# Gate\n", _SENTENCE], "metadata": {}},
        {"cell_type": "code", "source": "print(1)", "outputs": [{"output_type": "stream", "text": ["1\n"]}]},
    ],
    "metadata": {"kernelspec": {"language": "python"}},
    "nbformat": 4,
}
_RTF = (
    r"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 Arial;}}{\stylesheet{\s1 heading 1;}}\pard\s1 Gate\par\pard "
    rf"{_SENTENCE} \'e4\u8364?\par{{\v hidden}}\trowd\cellx100\cellx200 a\cell b\cell\row{{\*\generator x;}}}}"
)
_CUES = "1\n00:00:01,000 --> 00:00:02,500\nThe <i>pump</i>.\n\n2\n00:00:40,000 --> 00:00:41,000\nIt closes.\n"
_ODT = (
    f'<text:h text:outline-level="1">Gate</text:h><text:p>{_SENTENCE}</text:p><text:list><text:list-item><text:p>a'
    "</text:p></text:list-item></text:list><table:table><table:table-row><table:table-cell><text:p>a</text:p>"
    "</table:table-cell></table:table-row></table:table>"
)
_ODP = (
    f'<draw:page draw:name="one"><draw:frame><draw:text-box><text:p>{_SENTENCE}</text:p></draw:text-box>'
    "</draw:frame></draw:page>"
)
_PDF = PdfFile(
    [
        [Text(72, 760, "1 Gate", size=18, bold=True), *pdf_lines(72, 700, [_SENTENCE] * 4)],
        [*pdf_lines(72, 700, [_SENTENCE] * 3), Text(72, 90, "hidden", mode=3)],
        [Picture()],
    ],
    labels="0 << /S /r >> 2 << /S /D >>",
)
_PAGE = (
    f"<html><body><h1>Gate</h1><p>{_SENTENCE}</p><ol><li>a</li></ol><table><tr><td>b</td></tr></table></body>"
    "</html>"
)

# Suffix -> a file that is read.
SEEDS: Mapping[str, bytes] = MappingProxyType(
    {
        ".pdf": build_pdf(_PDF),
        ".docx": docx(paragraph("Gate", "Heading1") + paragraph(_SENTENCE) + _TABLE).getvalue(),
        ".pptx": pptx({"one": shape("Gate", "title") + shape(_SENTENCE)}, {"one": shape("A note.")}).getvalue(),
        ".xlsx": xlsx({"S": [["name", "value"], ["pump", 2.5]], "H": [["x"]]}, ["H"]).getvalue(),
        ".xlsb": xlsb(_BINARY).getvalue(),
        ".xls": xls(_BINARY).getvalue(),
        ".csv": f'name;value\npump;2\n"{_SENTENCE}";3\n'.encode(),
        ".tsv": b"name\tvalue\npump\t2\n",
        ".epub": epub({"a": _PAGE, "b": _PAGE}).getvalue(),
        ".odt": opendocument(_ODT).getvalue(),
        ".odp": opendocument(_ODP, kind="presentation").getvalue(),
        ".rtf": _RTF.encode("latin-1"),
        ".ipynb": json.dumps(_NOTEBOOK).encode(),
        ".eml": _MESSAGE.encode(),
        ".mbox": f"From a@example.org Mon Jan  1 00:00:00 2024\n{_MESSAGE}\n".encode() * 2,
        ".srt": _CUES.encode(),
        ".vtt": f"WEBVTT\n\n{_CUES.replace(',', '.')}".encode(),
    }
)


def make_images() -> Mapping[str, bytes]:
    """An image of each format, by its suffix. Needs Pillow, which comes with the extra ``ocr``."""
    forms = {".png": "PNG", ".jpg": "JPEG", ".tif": "TIFF", ".webp": "WEBP", ".bmp": "BMP"}
    return {suffix: _make_image(form) for suffix, form in forms.items()}


def _make_image(form: str) -> bytes:
    """A small picture with some black in it; a TIFF has two pages."""
    picture, out = Image.new("RGB", (48, 32), "white"), io.BytesIO()
    picture.paste("black", (8, 8, 40, 12))
    pages = {"save_all": True, "append_images": [picture.convert("1")], "compression": "tiff_lzw"}
    picture.save(out, format=form, **(pages if form == "TIFF" else {}))
    return out.getvalue()


_NUMBERS = (b"0", b"-1", b"1", b"255", b"65535", b"4294967295", b"99999999999999999999", b"1e308", b"NaN", b"")
_WORDS = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFF_FFFF, 0xFFFF_FFFF)
_NODE = re.compile(rb"<([\w:]+)\b[^<>]*>[^<>]*(?:<[^<>]*>[^<>]*){0,6}?</\1>")
_NUMBER, _TAG = re.compile(rb"\d+"), re.compile(rb"<[^<>]*>")
_NAME = re.compile(rb"[A-Za-z][\w:-]{2,}")
_MOST_BYTES = 1 << 20
_DEEP = (2, 30, 150, 400, 5_000)


def damage(data: bytes, choices: random.Random) -> bytes:
    """The file with one to four kinds of damage; an archive mostly within one of its entries."""
    for _ in range(choices.choice((1, 1, 1, 2, 4))):
        kinds = _OF_ARCHIVES if zipfile.is_zipfile(io.BytesIO(data)) and choices.random() < 0.8 else _OF_BYTES
        data = choices.choice(kinds)(data, choices)[:_MOST_BYTES]
    return data


# --- bytes


def _flip(data: bytes, choices: random.Random) -> bytes:
    changed = bytearray(data)
    for _ in range(choices.choice((1, 1, 4, 30)) if data else 0):
        changed[choices.randrange(len(changed))] = choices.randrange(256)
    return bytes(changed)


def _set_word(data: bytes, choices: random.Random) -> bytes:
    """Put a number at the edge of its range somewhere, in either order of bytes."""
    place = choices.randrange(len(data) + 1)
    word = choices.choice(_WORDS).to_bytes(4, "big")[-choices.choice((1, 2, 4)) :]
    return data[:place] + (word if choices.random() < 0.5 else word[::-1]) + data[place + len(word) :]


def _cut(data: bytes, choices: random.Random) -> bytes:
    return data[: choices.randrange(len(data) + 1)]


def _remove(data: bytes, choices: random.Random) -> bytes:
    first, last = _span(data, choices)
    return data[:first] + data[last:]


def _repeat(data: bytes, choices: random.Random) -> bytes:
    first, last = _span(data, choices)
    return data[:last] + data[first:last] * choices.choice((1, 3, 200)) + data[last:]


def _move(data: bytes, choices: random.Random) -> bytes:
    first, last = _span(data, choices)
    place = choices.randrange(len(data) + 1)
    return data[:place] + data[first:last] + data[place:]


def _span(data: bytes, choices: random.Random) -> tuple[int, int]:
    first = choices.randrange(len(data) + 1)
    return first, min(len(data), first + choices.choice((1, 4, 16, 64, 1_000)))


# --- markup


def _replace_number(data: bytes, choices: random.Random) -> bytes:
    return _replace(data, _NUMBER, lambda found: choices.choice(_NUMBERS), choices)


def _duplicate_node(data: bytes, choices: random.Random) -> bytes:
    return _replace(data, _NODE, lambda found: found * choices.choice((2, 2, 50)), choices)


def _nest_node(data: bytes, choices: random.Random) -> bytes:
    def nest(found: bytes) -> bytes:
        start, _, rest = found.partition(b">")
        name = rest[rest.rindex(b"</") :]
        depth = choices.choice(_DEEP)
        return (start + b">") * depth + rest + name * (depth - 1)

    return _replace(data, _NODE, nest, choices)


def _remove_tag(data: bytes, choices: random.Random) -> bytes:
    return _replace(data, _TAG, lambda found: b"", choices)


def _swap_name(data: bytes, choices: random.Random) -> bytes:
    """Give one name the place of another: elements, attributes, control words and fields change their meaning."""
    names = _NAME.findall(data) or [b"x"]
    return _replace(data, _NAME, lambda found: choices.choice(names), choices)


def _replace(
    data: bytes, pattern: re.Pattern[bytes], change: Callable[[bytes], bytes], choices: random.Random
) -> bytes:
    found = list(pattern.finditer(data))
    if not found:
        return _flip(data, choices)
    match = choices.choice(found)
    return data[: match.start()] + change(match[0]) + data[match.end() :]


Damage = Callable[[bytes, random.Random], bytes]
_OF_MARKUP: Sequence[Damage] = (_replace_number, _duplicate_node, _nest_node, _remove_tag, _swap_name)
_OF_BYTES: Sequence[Damage] = (_flip, _set_word, _cut, _remove, _repeat, _move, *_OF_MARKUP)


# --- archives


def _damage_entry(data: bytes, choices: random.Random) -> bytes:
    entries = _entries(data)
    if entries:
        place = choices.randrange(len(entries))
        name, content = entries[place]
        entries[place] = name, choices.choice((*_OF_BYTES, *_OF_MARKUP))(content, choices)
    return _zipped(entries)


def _swap_entries(data: bytes, choices: random.Random) -> bytes:
    entries = _entries(data)
    contents = [content for _, content in entries]
    choices.shuffle(contents)
    return _zipped([(name, content) for (name, _), content in zip(entries, contents, strict=True)])


def _drop_entry(data: bytes, choices: random.Random) -> bytes:
    entries = _entries(data)
    choices.shuffle(entries)
    return _zipped(entries[1:])


def _repeat_entry(data: bytes, choices: random.Random) -> bytes:
    entries = _entries(data)
    name, content = choices.choice(entries or [("a", b"")])
    return _zipped([*entries, (choices.choice((name, name.upper(), f"../{name}", f"/{name}")), content)])


_OF_ARCHIVES: Sequence[Damage] = (
    _damage_entry,
    _damage_entry,
    _damage_entry,
    _swap_entries,
    _drop_entry,
    _repeat_entry,
)


def _entries(data: bytes) -> list[tuple[str, bytes]]:
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return [(entry.filename, archive.read(entry)) for entry in archive.infolist()]
    except (
        zipfile.BadZipFile,
        NotImplementedError,
        RuntimeError,
        OSError,
        EOFError,
        ValueError,
        zlib.error,
    ):
        return []


def _zipped(entries: Sequence[tuple[str, bytes]]) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in entries:
            info = zipfile.ZipInfo(name)
            info.compress_type = zipfile.ZIP_DEFLATED
            info.flag_bits |= 0x800
            archive.NameToInfo.pop(name, None)  # it would warn of a second entry of this name
            archive.writestr(info, content)
    return out.getvalue()
