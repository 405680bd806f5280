"""Files to documents: one function per kind of file, and the table that says which file is of which kind.

A reader gets a file's text and its uri and yields documents. It raises ``Unreadable`` where it cannot; what a
person should know about one part of a file (a broken line) it yields as a ``Flaw`` and goes on. HTML and
reStructuredText are re-written as Markdown, which is then their text: headings, lists, tables and code
survive, navigation and markup do not.
"""

from __future__ import annotations

import codecs
import json
import re
import tomllib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any

import yaml

from server.ingest.documents import RawDocument, Unreadable, described
from server.ingest.markup import html_to_markdown, rst_to_markdown
from server.models import DocumentType

# A megabyte of text is a book. More than sixteen in one file is data or a mistake; collections are read line
# by line and may be as large as the disk, but no single record may.
LARGEST_FILE_BYTES = 16 * 1024 * 1024
LARGEST_RECORD_CHARS = 8 * 1024 * 1024
_BINARY_SAMPLE_BYTES = 8192
_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, slots=True)
class Flaw:
    """A part of a file that could not be read, and why; the rest of the file was."""

    name: str
    reason: str


Read = Iterator[RawDocument | Flaw]
Reader = Callable[[str, str], Read]


def read(path: Path, uri: str) -> Read:
    """The documents in the file at ``path``, which is called ``uri``.

    Raises ``Unreadable`` with the reason, or ``OSError``.
    """
    kind = kind_of(path)
    if kind == "record":
        yield from _records(path, uri)
        return
    if path.stat().st_size > LARGEST_FILE_BYTES:
        raise Unreadable(f"larger than {LARGEST_FILE_BYTES // 1024 // 1024} MiB")
    yield from READERS[kind](decoded(path.read_bytes()), uri)


def kind_of(path: Path) -> DocumentType:
    """The kind of a file by its name; "text" where the name says nothing."""
    return _KINDS.get(path.name.lower()) or _KINDS.get(path.suffix.lower()) or "text"


def is_known(path: Path) -> bool:
    """Whether the file's name says that it is text."""
    return path.name.lower() in _KINDS or path.suffix.lower() in _KINDS


def decoded(data: bytes) -> str:
    """The text in ``data``: by byte order mark, else UTF-8, else Windows-1252, which old files are in.

    Raises ``Unreadable`` for binary data.
    """
    for mark, encoding in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data.decode(encoding, "replace")
    if b"\0" in data[:_BINARY_SAMPLE_BYTES]:
        raise Unreadable("binary, not text")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _markdown(text: str, uri: str) -> Read:
    facts, body = _front_matter(text)
    yield described(RawDocument(uri, "markdown", _first_heading(body) or _stem(uri), body), facts)


def _text(text: str, uri: str) -> Read:
    yield RawDocument(uri, "text", _stem(uri), text)


def _code(text: str, uri: str) -> Read:
    yield RawDocument(uri, "code", PurePosixPath(uri).name, text)


def _html(text: str, uri: str) -> Read:
    title, body = html_to_markdown(text)
    yield RawDocument(uri, "html", title or _first_heading(body) or _stem(uri), body)


def _rst(text: str, uri: str) -> Read:
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


def _records(path: Path, uri: str) -> Read:
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            if line.strip():
                yield _record(line, uri, number)


def _record(line: bytes, uri: str, number: int) -> RawDocument | Flaw:
    name = f"{uri}:{number}"
    if len(line) > LARGEST_RECORD_CHARS:
        return Flaw(name, f"larger than {LARGEST_RECORD_CHARS // 1024 // 1024} MiB")
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        return Flaw(name, f"not JSON: {error}")
    if not isinstance(record, dict) or not isinstance(record.get("text"), str) or "_id" not in record:
        return Flaw(name, "not a record: it needs _id and text")
    title, metadata = record.get("title"), record.get("metadata")
    raw = RawDocument(f"{uri}#{record['_id']}", "record", title if isinstance(title, str) else "", record["text"])
    return described(raw, metadata) if isinstance(metadata, dict) else raw


# --- front matter and titles

_FRONT_MATTER = re.compile(
    r"\A\ufeff?(?P<fence>---|\+\+\+)[ \t]*\n(?P<facts>.*?)^(?P=fence)[ \t]*(?:\n|\Z)", re.S | re.M
)
_LARGEST_FRONT_MATTER_CHARS = 64 * 1024
_HEADING = re.compile(r"^ {0,3}#{1,2}[ \t]+(?P<title>.*?)[ \t]*#*[ \t]*(?:\{[^}]*\})?[ \t]*$", re.M)


def _front_matter(text: str) -> tuple[Mapping[str, Any], str]:
    """What stands between the fences, and the text after it. What does not parse is text."""
    text = text.replace("\r\n", "\n")
    match = _FRONT_MATTER.match(text)
    if match is None or len(match["facts"]) > _LARGEST_FRONT_MATTER_CHARS:
        return {}, text
    try:
        facts = yaml.safe_load(match["facts"]) if match["fence"] == "---" else tomllib.loads(match["facts"])
    except (yaml.YAMLError, tomllib.TOMLDecodeError, ValueError, RecursionError):
        return {}, text
    return (facts, text[match.end() :]) if isinstance(facts, dict) else ({}, text)


def _first_heading(text: str) -> str:
    match = _HEADING.search(text)
    return match["title"].replace("`", "") if match else ""


def _stem(uri: str) -> str:
    return PurePosixPath(uri).stem
