"""Files to documents: one function per kind of file, and the table that says which file is of which kind.

A reader gets a file's text and its uri and yields documents. It raises ``UnreadableFile`` where it cannot; what a
person should know about one part of a file (a broken line) it yields as a ``ReadFlaw`` and goes on. HTML and
reStructuredText are re-written as Markdown, which is then their text: headings, lists, tables and code
survive, navigation and markup do not.
"""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

from server.ingest.bounded_files import read_lines, read_whole
from server.ingest.documents import RawDocument, UnreadableFile, apply_facts
from server.ingest.parsing.front_matter import FrontMatterRefused, NotFrontMatter, split_front_matter
from server.ingest.parsing.markup import html_to_markdown, rst_to_markdown
from server.models import DocumentType

# A megabyte of text is a book. More than sixteen in one file is data or a mistake; collections are read line
# by line and may be as large as the disk, but no single record may.
LARGEST_FILE_BYTES = 16 * 1024 * 1024
LARGEST_RECORD_BYTES = 8 * 1024 * 1024
# An id is part of a name that every chunk carries, with each of its folders.
_LONGEST_ID_CHARS = 500
# Broken records of one file that are named; the others are counted.
_FLAWS_NAMED = 100
_BINARY_SAMPLE_BYTES = 8192
_BINARY = "binary, not text"
# How formats begin that no text begins as; binary data of others is known by its bytes.
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
# Control characters that texts have no use for: without those of terminals and between the fields of tables.
_CONTROLS = "".join(map(chr, (*range(8), *range(14, 27), 127)))
_UNDECODABLE = "\ufffd"
# So many of them are damage in any text. Beyond, a share makes it binary. Of compressed data 9 % are control
# characters, and as UTF-16 3 % is not decodable; it hardly ever happens to be UTF-8.
_FEW = 256
_MOST_IN_UTF_8, _MOST_IN_UTF_16, _MOST_IN_OTHERS = 0.3, 0.01, 0.03
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig", _MOST_IN_UTF_8),
    (codecs.BOM_UTF32_LE, "utf-32", _MOST_IN_UTF_8),
    (codecs.BOM_UTF32_BE, "utf-32", _MOST_IN_UTF_8),
    (codecs.BOM_UTF16_LE, "utf-16", _MOST_IN_UTF_16),
    (codecs.BOM_UTF16_BE, "utf-16", _MOST_IN_UTF_16),
)


@dataclass(frozen=True, slots=True)
class ReadFlaw:
    """A part of a file that could not be read, and why; the rest of the file was."""

    name: str
    reason: str


ReaderOutput = Iterator[RawDocument | ReadFlaw]
Reader = Callable[[str, str], ReaderOutput]
# Reads the text of a file of a kind.
Parse = Callable[[DocumentType, str, str], ReaderOutput]


def parse(kind: DocumentType, text: str, uri: str) -> ReaderOutput:
    """The documents in a text of this kind. Raises ``UnreadableFile``."""
    return READERS[kind](text, uri)


def read(path: Path, uri: str, parse: Parse = parse) -> ReaderOutput:
    """The documents in the file at ``path``, which is called ``uri``.

    ``parse`` reads what is not a collection; an ingest gives the one of ``ingest/parsing``, which survives
    hostile markup. Raises ``UnreadableFile`` with the reason, or ``OSError``.
    """
    kind = kind_of(path)
    if kind == "record":
        yield from _records(path, uri)
    else:
        yield from parse(kind, decode(read_whole(path, LARGEST_FILE_BYTES)), uri)


def kind_of(path: Path) -> DocumentType:
    """The kind of a file by its name; "text" where the name says nothing."""
    return _KINDS.get(path.name.lower()) or _KINDS.get(path.suffix.lower()) or "text"


def is_known(path: Path) -> bool:
    """Whether the file's name says that it is text."""
    return path.name.lower() in _KINDS or path.suffix.lower() in _KINDS


def decode(data: bytes) -> str:
    """The text in ``data``: by byte order mark, else UTF-8, else Windows-1252, which old files are in.

    Raises ``UnreadableFile`` for binary data.
    """
    _refuse_signed(data)
    for mark, encoding, most in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            text = data.decode(encoding, "replace")
            return _readable(text, _CONTROLS + _UNDECODABLE, most)
    if b"\0" in data[:_BINARY_SAMPLE_BYTES]:
        raise UnreadableFile(_BINARY)
    try:
        return _readable(data.decode("utf-8"), _CONTROLS, _MOST_IN_UTF_8)
    except UnicodeDecodeError:
        # What Windows-1252 has no character for may be a letter of another old encoding.
        return _readable(data.decode("cp1252", "replace"), _CONTROLS, _MOST_IN_OTHERS)


def _refuse_signed(data: bytes) -> None:
    """Raise ``UnreadableFile`` for what begins as a binary format does."""
    for signature, name in _SIGNATURES:
        if signature.match(data):
            raise UnreadableFile(f"not text (looks like {name})")


def _readable(text: str, marks: str, most: float) -> str:
    """The text. Raises ``UnreadableFile`` if more than a few characters, and this share, are ``marks``."""
    count = sum(map(text.count, marks))
    if count > max(_FEW, most * len(text)):
        raise UnreadableFile(_BINARY)
    return text


def _markdown(text: str, uri: str) -> ReaderOutput:
    text = text.replace("\r\n", "\n")
    facts: Mapping[str, Any] = {}
    body = text
    try:
        facts, body = split_front_matter(text)
    except FrontMatterRefused as refused:
        yield ReadFlaw(uri, f"front matter is read as text: {refused}")
    except NotFrontMatter:
        pass
    yield apply_facts(RawDocument(uri, "markdown", _first_heading(body) or _stem(uri), body), facts)


def _text(text: str, uri: str) -> ReaderOutput:
    yield RawDocument(uri, "text", _stem(uri), text)


def _code(text: str, uri: str) -> ReaderOutput:
    yield RawDocument(uri, "code", PurePosixPath(uri).name, text)


def _html(text: str, uri: str) -> ReaderOutput:
    title, body = html_to_markdown(text)
    yield RawDocument(uri, "html", title or _first_heading(body) or _stem(uri), body)


def _rst(text: str, uri: str) -> ReaderOutput:
    title, body = rst_to_markdown(text)
    yield RawDocument(uri, "rst", title or _stem(uri), body)


READERS: Mapping[DocumentType, Reader] = MappingProxyType(
    {"markdown": _markdown, "text": _text, "html": _html, "rst": _rst, "code": _code}
)

_NAMES: Mapping[DocumentType, str] = {
    "markdown": ".md .markdown .mdown .mdx .qmd",
    "html": ".html .htm .xhtml",
    "rst": ".rst .rest",
    "record": ".jsonl .ndjson",
    "text": """
        .txt .text .log .adoc .asciidoc .org .tex .csv .tsv
        readme license licence copying notice authors changelog changes news contributing install todo
    """,
    "code": """
        .py .pyi .pyx .js .mjs .cjs .jsx .ts .mts .tsx .vue .svelte .java .kt .kts .scala .groovy .go .rs
        .c .h .cc .cpp .cxx .hh .hpp .hxx .m .mm .cs .fs .vb .rb .php .pl .pm .lua .r .jl .swift .dart .ex .exs
        .erl .hrl .hs .ml .mli .clj .cljs .elm .zig .nim .d .pas .f90 .sh .bash .zsh .fish .ps1 .bat .sql
        .graphql .proto .thrift .tf .hcl .nix .cmake .gradle .css .scss .less .xml .xsd
        .yaml .yml .toml .json .ini .cfg .conf .properties
        .dockerfile dockerfile makefile cmakelists.txt jenkinsfile vagrantfile rakefile gemfile justfile
    """,
}
_KINDS: Mapping[str, DocumentType] = MappingProxyType(
    {name: kind for kind, names in _NAMES.items() for name in names.split()}
)


# --- collections


def _records(path: Path, uri: str) -> ReaderOutput:
    flaws = 0
    for number, line in enumerate(read_lines(path, LARGEST_RECORD_BYTES, _refuse_signed), 1):
        if line is not None and not line.strip():
            continue
        found = _record(line, uri, number)
        flaws += isinstance(found, ReadFlaw)
        if isinstance(found, RawDocument) or flaws <= _FLAWS_NAMED:
            yield found
    if flaws > _FLAWS_NAMED:
        yield ReadFlaw(uri, f"{flaws - _FLAWS_NAMED:,} more lines are not records")


def _record(line: bytes | None, uri: str, number: int) -> RawDocument | ReadFlaw:
    name = f"{uri}:{number}"
    if line is None:
        return ReadFlaw(name, f"larger than {LARGEST_RECORD_BYTES // 1024 // 1024} MiB")
    try:
        record = json.loads(line)
    except RecursionError:
        return ReadFlaw(name, "not JSON: nested too deeply")
    except ValueError as error:
        return ReadFlaw(name, f"not JSON: {error}")
    if not isinstance(record, dict) or not isinstance(record.get("text"), str) or "_id" not in record:
        return ReadFlaw(name, "not a record: it needs _id and text")
    if not _is_id(record["_id"]):
        return ReadFlaw(name, f"not a record: _id is no text or number of at most {_LONGEST_ID_CHARS} characters")
    title, metadata = record.get("title"), record.get("metadata")
    raw = RawDocument(f"{uri}#{record['_id']}", "record", title if isinstance(title, str) else "", record["text"])
    return apply_facts(raw, metadata) if isinstance(metadata, dict) else raw


def _is_id(value: Any) -> bool:
    return isinstance(value, str | int | float) and len(str(value)) <= _LONGEST_ID_CHARS


# --- titles

_HEADING = re.compile(r"^ {0,3}#{1,2}[ \t](?P<title>[^\n]*)", re.M)
# What follows in the line is no title.
_TITLE_LINE_CHARS = 1_000


def _first_heading(text: str) -> str:
    match = _HEADING.search(text)
    return _title(match["title"][:_TITLE_LINE_CHARS]) if match else ""


def _title(written: str) -> str:
    """What a heading says: without its closing marks, its anchor in braces, and marks of code."""
    title = written.strip(" \t")
    if title.endswith("}"):
        title = title[: title.rfind("{")].rstrip(" \t")
    marks = title.rstrip("#")
    return (marks.rstrip(" \t") if not marks or marks[-1] in " \t" else marks).replace("`", "")


def _stem(uri: str) -> str:
    return PurePosixPath(uri).stem
