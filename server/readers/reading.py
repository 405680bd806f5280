"""Readers of files: one function per kind of file, and the table of the names and suffixes of each kind.

A reader takes a file's text and its uri and yields documents. It raises ``UnreadableFile`` if it cannot read the
file; an unreadable part (a broken line) is yielded as a ``ReadFlaw``, and the reader continues. HTML,
reStructuredText and manual pages are converted to Markdown, which is then the document's text: headings, lists,
tables and code are kept, navigation and other markup are not. Files of the formats in ``readers/formats`` are read
by a ``DocumentParser`` in a child process, never here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path, PurePosixPath
from types import MappingProxyType
from typing import Any, Protocol

from winnow.server.models import DocumentType
from winnow.server.readers.bounded_files import open_file, read_lines, read_whole
from winnow.server.readers.decoding import check_text_signature, decode
from winnow.server.readers.documents import RawDocument, UnreadableFile, apply_facts, clean_text
from winnow.server.readers.formats.format_table import Format, format_of
from winnow.server.readers.manuals.manual import is_manual, manual_to_markdown
from winnow.server.readers.markup import html_to_markdown, rst_to_markdown
from winnow.server.text.markup.front_matter import FrontMatterRefused, NotFrontMatter, read_front_matter
from winnow.server.text.markup.markdown_signs import is_markdown
from winnow.server.text.markup.template_code import resolve_template_code

# A megabyte of text is a book; more than sixteen in one file are data or a mistake. Collections are read line by
# line and have no limit, except for each record.
LARGEST_FILE_BYTES = 16 * 1024 * 1024
LARGEST_RECORD_BYTES = 8 * 1024 * 1024
# A record's id is part of its uri. Every chunk stores the uri, and each folder of it.
_LONGEST_ID_CHARS = 500
# Broken records per file that are reported one by one; the others are counted.
_MOST_FLAWS = 100
_BINARY_SAMPLE_BYTES = 8192
_MANUAL = re.compile(r"\.(?:[1-9][a-z]{0,4}|man|mdoc)")
_MAY_BE_TEXT, _KEY = re.compile(r"|\.[1-9][a-z]{0,4}"), "-----BEGIN "


@dataclass(frozen=True, slots=True)
class ReadFlaw:
    """A part of a file that could not be read, and the reason; the rest of the file was read."""

    name: str
    reason: str


ReaderOutput = Iterator[RawDocument | ReadFlaw]
Reader = Callable[[str, str], ReaderOutput]


class DocumentParser(Protocol):
    """Protocol of a parser of files that are not read line by line; each method raises ``UnreadableFile``."""

    def parse(self, kind: DocumentType, text: str, uri: str) -> ReaderOutput:
        """Parse the text of a file of this kind into documents."""

    def read(self, path: Path, uri: str, form: Format) -> ReaderOutput:
        """Read a file of this format into documents; raises ``OSError`` as well."""


class _TextParser:
    """Parses texts in this process, and reads no other format."""

    def parse(self, kind: DocumentType, text: str, uri: str) -> ReaderOutput:
        return parse(kind, text, uri)

    def read(self, path: Path, uri: str, form: Format) -> ReaderOutput:
        raise UnreadableFile("not text; its format is read by winnow ingest")


_TEXT_PARSER = _TextParser()


def parse(kind: DocumentType, text: str, uri: str) -> ReaderOutput:
    """Parse a text of this kind into documents. Raises ``UnreadableFile``."""
    return READERS[kind](text, uri)


def read(path: Path, uri: str, parser: DocumentParser = _TEXT_PARSER) -> ReaderOutput:
    """Read the documents in the file at ``path``; ``uri`` is its name in the index.

    ``parser`` parses files that are not collections; an ingest passes the one of ``ingest/children``, which
    survives hostile files. Raises ``UnreadableFile`` with the reason, or ``OSError``.
    """
    kind = kind_of(path)
    if form := format_of(path.name):
        yield from parser.read(path, uri, form)
    elif kind == "record":
        yield from _read_records(path, uri)
    else:
        text = decode(read_whole(path, LARGEST_FILE_BYTES))
        yield from parser.parse("manual" if may_be_manual(path) and is_manual(text) else kind, text, uri)


def kind_of(path: Path) -> DocumentType:
    """The kind of a file by its suffix or name; "text" if both are unknown."""
    if form := format_of(path.name):
        return form.type
    return _KINDS.get(path.name.lower()) or _KINDS.get(path.suffix.lower()) or "text"


def is_known(path: Path) -> bool:
    """Whether the file's name or suffix is that of a kind of text, or of a format."""
    return path.name.lower() in _KINDS or path.suffix.lower() in _KINDS or format_of(path.name) is not None


def is_document(path: Path) -> bool:
    """Whether a file is of a known kind by its name, or a text by its content.

    The content decides for names without a suffix and for sections of manuals ("apt.8"). A key is no document.
    """
    if is_known(path):
        return True
    return _MAY_BE_TEXT.fullmatch(path.suffix.lower()) is not None and _begins_as_text(path)


def may_be_manual(path: Path) -> bool:
    """Whether a file of this name is a manual page if its content is one: "apt.8", "open.3pm", "page.man"."""
    return _MANUAL.fullmatch(path.suffix.lower()) is not None


def _begins_as_text(path: Path) -> bool:
    try:
        with open_file(path) as file:
            head = file.read(_BINARY_SAMPLE_BYTES)
        text = decode(head)
    except (OSError, UnreadableFile):
        return False
    return bool(text.strip()) and not text.startswith(_KEY)


def _markdown(text: str, uri: str) -> ReaderOutput:
    text = clean_text(text)
    facts: Mapping[str, Any] = {}
    body_start = 0
    try:
        facts, body_start = read_front_matter(text)
    except FrontMatterRefused as refused:
        yield ReadFlaw(uri, f"front matter is read as text: {refused}")
    except NotFrontMatter:
        pass
    raw = apply_facts(RawDocument(uri, "markdown", "", text, body_start=body_start), facts)
    yield replace(raw, title=resolve_template_code(raw.title) or _first_heading(text[body_start:]) or stem(uri))


def _text(text: str, uri: str) -> ReaderOutput:
    yield RawDocument(uri, "text", stem(uri), text)


def _manual(text: str, uri: str) -> ReaderOutput:
    title, body = manual_to_markdown(clean_text(text))
    yield RawDocument(uri, "manual", title or stem(uri), body)


def _code(text: str, uri: str) -> ReaderOutput:
    yield RawDocument(uri, "code", PurePosixPath(uri).name, text)


def _html(text: str, uri: str) -> ReaderOutput:
    title, body = html_to_markdown(text)
    yield RawDocument(uri, "html", resolve_template_code(title) or _first_heading(body) or stem(uri), body)


def _rst(text: str, uri: str) -> ReaderOutput:
    title, body = rst_to_markdown(text)
    yield RawDocument(uri, "rst", title or stem(uri), body)


READERS: Mapping[DocumentType, Reader] = MappingProxyType(
    {"markdown": _markdown, "text": _text, "html": _html, "rst": _rst, "manual": _manual, "code": _code}
)

_NAMES: Mapping[DocumentType, str] = {
    "markdown": ".md .markdown .mdown .mdx .qmd",
    "html": ".html .htm .xhtml",
    "rst": ".rst .rest",
    "record": ".jsonl .ndjson",
    "text": """
        .txt .text .man .mdoc .log .adoc .asciidoc .org .tex
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


def _read_records(path: Path, uri: str) -> ReaderOutput:
    flaws = 0
    for number, line in enumerate(read_lines(path, LARGEST_RECORD_BYTES, check_text_signature), 1):
        if line is not None and not line.strip():
            continue
        record = _parse_record(line, uri, number)
        flaws += isinstance(record, ReadFlaw)
        if isinstance(record, RawDocument) or flaws <= _MOST_FLAWS:
            yield record
    if flaws > _MOST_FLAWS:
        yield ReadFlaw(uri, f"{flaws - _MOST_FLAWS:,} more lines are not records")


def _parse_record(line: bytes | None, uri: str, number: int) -> RawDocument | ReadFlaw:
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
        return ReadFlaw(name, "not a record: it needs the fields _id and text")
    if not _is_record_id(record["_id"]):
        return ReadFlaw(
            name, f"not a record: _id is not a text or number of at most {_LONGEST_ID_CHARS} characters"
        )
    title, metadata = record.get("title"), record.get("metadata")
    raw = RawDocument(f"{uri}#{record['_id']}", "record", title if isinstance(title, str) else "", record["text"])
    return _describe_record(raw, metadata if isinstance(metadata, dict) else {})


def _describe_record(raw: RawDocument, metadata: Mapping[str, Any]) -> RawDocument:
    """The record with its metadata; a text that is Markdown may have front matter and headings, as a file may."""
    text, facts, body_start = clean_text(raw.text), metadata, 0
    with suppress(FrontMatterRefused, NotFrontMatter):
        front_matter, body_start = read_front_matter(text)
        facts = {**front_matter, **metadata}
    body = text[body_start:]
    title = resolve_template_code(raw.title) or (_first_heading(body) if is_markdown(body) else "")
    described = apply_facts(replace(raw, text=text, body_start=body_start), facts)
    return replace(described, title=resolve_template_code(described.title) or title)


def _is_record_id(value: Any) -> bool:
    return isinstance(value, str | int | float) and len(str(value)) <= _LONGEST_ID_CHARS


# --- titles

_HEADING = re.compile(r"^ {0,3}#{1,2}[ \t](?P<title>[^\n]*)", re.M)
# The rest of a longer line is not part of the title.
_TITLE_LINE_CHARS = 1_000
# The number of headings that are examined, because the first ones may be only template code.
_MOST_HEADINGS = 10


def _first_heading(text: str) -> str:
    headings = (match["title"][:_TITLE_LINE_CHARS] for match in islice(_HEADING.finditer(text), _MOST_HEADINGS))
    return next(filter(None, (_heading_text(resolve_template_code(heading)) for heading in headings)), "")


def _heading_text(written: str) -> str:
    """The text of a heading without closing marks, an anchor in braces, and code marks."""
    title = written.strip(" \t")
    if title.endswith("}"):
        title = title[: title.rfind("{")].rstrip(" \t")
    marks = title.rstrip("#")
    return (marks.rstrip(" \t") if not marks or marks[-1] in " \t" else marks).replace("`", "")


def stem(uri: str) -> str:
    """The name of a file without its suffix: the title of a document that has no other."""
    return PurePosixPath(uri).stem
