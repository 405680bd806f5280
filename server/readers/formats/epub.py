"""Reads EPUB: the chapters of the spine as Markdown, each a place with its title from the table of contents."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, BinaryIO
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from winnow.server.models import Reading
from winnow.server.readers.common.archives import Archive, open_archive
from winnow.server.readers.common.bounded_xml import attribute, children, descendants, find, local_name, parse_xml
from winnow.server.readers.common.markdown_draft import MarkdownDraft, one_line
from winnow.server.readers.common.open_xml import facts_of, texts
from winnow.server.readers.decoding import decode
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions
from winnow.server.readers.markup import html_to_markdown

_CONTAINER, _ENCRYPTION = "META-INF/container.xml", "META-INF/encryption.xml"
_LARGEST_CHAPTER_BYTES = 16 * 1024 * 1024
_MOST_CHAPTERS = 10_000
_TEXTS = frozenset({"application/xhtml+xml", "text/html", "text/x-oeb1-document", "application/xml"})
# Obfuscation of fonts, which occurs also in books without copy protection.
_FONTS = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_ISBN = re.compile(r"(?:urn:)?(?:isbn:?)?[ ]*([0-9][0-9 -]{8,15}[0-9Xx])", re.IGNORECASE)
_HEADING = re.compile(r"^#{1,6} (\S[^\n]*)", re.M)
_XML_START = re.compile(r"^\s*<\?xml[^>]{0,200}\?>")
_VOID = "area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr"
# In HTML, an empty element of XML would contain all that follows it. A chapter may have several articles. Links
# lead to notes and other chapters, which have no addresses here.
_AS_HTML = (
    (re.compile(rf"<(?!(?:{_VOID})\b)([A-Za-z][\w:-]{{0,50}})(\s[^<>]*)?/>", re.IGNORECASE), r"<\1\2></\1>"),
    (re.compile(r"(</?)(?:main|article)\b", re.IGNORECASE), r"\1section"),
    (re.compile(r"""\shref\s*=\s*(?:"[^"<>]*"|'[^'<>]*')"""), ""),
)


@dataclass(frozen=True, slots=True)
class _Item:
    """A file of the book: the name of its entry, its type, and its properties ("nav")."""

    name: str
    type: str
    properties: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Book:
    """A package: its folder, its files by id, and the ids in reading order."""

    root: Element
    items: Mapping[str, _Item]
    spine: tuple[str, ...]
    contents: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)


def read(file: BinaryIO, options: ReadOptions) -> ParsedFile:
    """Read a book. Raises ``UnreadableFile``, also for a book that is protected against copying."""
    archive = open_archive(file, "EPUB")
    book = _open_book(archive)
    _check_rights(archive)
    labels = _labels(archive, book)
    draft = MarkdownDraft()
    unread = []
    for number, name in enumerate(_chapters(archive, book), 1):
        try:
            text = _chapter_text(archive, name)
        except UnreadableFile as error:
            unread.append(f"chapter {number} was not read: {error}")
            continue
        if text.strip():
            draft.begin("chapter", number, labels.get(name, "") or _first_heading(text))
            draft.add(text)
    title, facts = _metadata(book.root)
    return ParsedFile(draft.text, Reading("epub", notes=tuple(unread[:20])), title, draft.places, facts)


def _open_book(archive: Archive) -> _Book:
    folder = _folder(archive)
    roots = descendants(parse_xml(archive.read(folder + _CONTAINER)), "rootfile")
    package = next((path for root in roots if archive.has(path := folder + attribute(root, "full-path"))), "")
    if not package:
        raise UnreadableFile("is damaged: it does not say where its book is")
    root = parse_xml(archive.read(package))
    manifest, spine = find(root, "manifest"), find(root, "spine")
    items = {
        attribute(item, "id"): _Item(
            _resolve(package, attribute(item, "href")),
            attribute(item, "media-type"),
            tuple(attribute(item, "properties").split()),
        )
        for item in (() if manifest is None else children(manifest, "item"))
    }
    listed = () if spine is None else tuple(attribute(entry, "idref") for entry in children(spine, "itemref"))
    return _Book(root, items, listed, "" if spine is None else attribute(spine, "toc"))


def _resolve(base: str, reference: str) -> str:
    """The name of the entry that a reference in the file ``base`` refers to."""
    path = unquote(reference.partition("#")[0])
    return posixpath.normpath(posixpath.join("/", posixpath.dirname(base), path)).lstrip("/")


def _folder(archive: Archive) -> str:
    """The folder around the book, "" for none: some programs pack the folder, not only its content."""
    if archive.has(_CONTAINER):
        return ""
    containers = [name for name in archive.names() if name.endswith(f"/{_CONTAINER}")]
    if len(containers) != 1:
        raise UnreadableFile(f"is a ZIP archive, but not an EPUB file (no {_CONTAINER})")
    return containers[0].removesuffix(_CONTAINER)


def _check_rights(archive: Archive) -> None:
    """Raise ``UnreadableFile`` if the text of the book is encrypted."""
    rights = _folder(archive) + _ENCRYPTION
    if not archive.has(rights):
        return
    for entry in descendants(parse_xml(archive.read(rights)), "EncryptedData"):
        method = find(entry, "EncryptionMethod")
        if method is None or attribute(method, "Algorithm") not in _FONTS:
            raise UnreadableFile("is protected against copying (DRM); a reader cannot open its text")


def _chapters(archive: Archive, book: _Book) -> Iterator[str]:
    """The names of the chapters in reading order, each once."""
    named = (book.items.get(id) for id in book.spine[:_MOST_CHAPTERS])
    names = (item.name for item in named if item and item.type in _TEXTS and "nav" not in item.properties)
    return filter(archive.has, dict.fromkeys(names))


def _chapter_text(archive: Archive, name: str) -> str:
    text = _XML_START.sub("", decode(archive.read(name, _LARGEST_CHAPTER_BYTES)))
    for pattern, replacement in _AS_HTML:
        text = pattern.sub(replacement, text)
    return html_to_markdown(text)[1]


def _first_heading(text: str) -> str:
    match = _HEADING.search(text)
    return one_line(match[1]) if match else ""


# --- table of contents


def _labels(archive: Archive, book: _Book) -> dict[str, str]:
    """The titles of chapters by file name, from the navigation (EPUB 3), otherwise from the NCX (EPUB 2)."""
    navigation = next((item for item in book.items.values() if "nav" in item.properties), None)
    contents = book.items.get(book.contents)
    labels: dict[str, str] = {}
    for item, collect in ((navigation, _navigation_labels), (contents, _ncx_labels)):
        if item is None or not archive.has(item.name):
            continue
        try:
            root = parse_xml(archive.read(item.name))
        except UnreadableFile:  # a book without titles is better than none
            continue
        for name, label in collect(item.name, root):
            labels.setdefault(name, label)
    return labels


def _navigation_labels(name: str, root: Element) -> Iterator[tuple[str, str]]:
    for navigation in descendants(root, "nav"):
        if attribute(navigation, "type") in {"toc", ""}:
            for link in descendants(navigation, "a"):
                yield _resolve(name, attribute(link, "href")), one_line("".join(link.itertext()))


def _ncx_labels(name: str, root: Element) -> Iterator[tuple[str, str]]:
    for point in descendants(root, "navPoint"):
        content, label = find(point, "content"), find(point, "navLabel")
        if content is not None and label is not None:
            yield _resolve(name, attribute(content, "src")), one_line(texts(label, "text"))


# --- metadata


def _metadata(root: Element) -> tuple[str, dict[str, Any]]:
    """The title, and the facts under the names of front matter."""
    metadata = find(root, "metadata")
    values: dict[str, list[str]] = {}
    for element in () if metadata is None else metadata.iter():
        if words := one_line(element.text or ""):
            values.setdefault(local_name(element), []).append(words)
    first = {name: found[0] for name, found in values.items()}
    facts = facts_of({"language": first.get("language", ""), "creator": ", ".join(values.get("creator", []))})
    facts["created"] = first.get("date", "")
    facts["publisher"] = first.get("publisher", "")
    facts["tags"] = values.get("subject", [])
    facts |= _identifiers(values.get("identifier", []))
    return first.get("title", ""), {name: value for name, value in facts.items() if value}


def _identifiers(found: list[str]) -> dict[str, str]:
    """The ISBN if there is one, otherwise the first identifier."""
    matches = (_ISBN.fullmatch(identifier) for identifier in found)
    isbn = next(
        (digits for match in matches if match and len(digits := re.sub("[ -]", "", match[1])) in (10, 13)), ""
    )
    return {"isbn": isbn.upper()} if isbn else {"identifier": found[0]} if found else {}
