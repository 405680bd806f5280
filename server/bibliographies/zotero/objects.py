"""Objects of a Zotero library as its API has them in JSON, checked and bounded, from either transport.

An object that is not as expected is kept as a flaw, so that one bad entry does not hide the others; an entry
without a key says that the answer as a whole is not from Zotero.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import TypeAdapter, ValidationError

from winnow.server.bibliographies.records import Creator
from winnow.server.text.printable import one_line, printable

USER_LIBRARY, USER_LIBRARY_NAME = "library", "My Library"
# Four times the largest libraries that their owners write about.
MOST_OBJECTS = 500_000
_KEY = re.compile(r"[A-Z0-9]{8}")
_ISO_DATE = re.compile(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?")
_TEXT_CHARS, _NOTE_CHARS, _LABEL_CHARS = 20_000, 1_000_000, 1_000
# Zotero writes at most 65,000 characters of a position.
_POSITION_CHARS, _MOST_PAGES = 100_000, 1_000_000
_MOST_PARTS = 1_000

# The fields that become facts, and the names that some types of items have for them.
_FIELDS: Mapping[str, tuple[str, ...]] = {
    "title": ("title", "caseName", "subject", "nameOfAct"),
    "abstract": ("abstractNote",),
    "container": (
        *("publicationTitle", "bookTitle", "proceedingsTitle", "encyclopediaTitle", "dictionaryTitle"),
        *("blogTitle", "websiteTitle", "forumTitle", "programTitle", "sessionTitle", "reporter", "code"),
        *("conferenceName", "meetingName"),
    ),
    "publisher": (
        *("publisher", "university", "institution", "label", "company", "distributor", "studio", "network"),
        "repository",
    ),
    "volume": ("volume", "codeVolume", "reporterVolume", "codeNumber"),
    "issue": ("issue",),
    "pages": ("pages", "codePages", "firstPage"),
    "language": ("language",),
    "doi": ("DOI",),
    "url": ("url",),
    "date": ("date", "dateDecided", "issueDate", "dateEnacted"),
    "citation_key": ("citationKey",),
    "extra": ("extra",),
}
# What an item has beside the facts of its work.
_NO_FACTS = frozenset(
    {"key", "version", "itemType", "parentItem", "creators", "tags", "collections", "relations", "deleted"}
    | {"dateAdded", "dateModified", "inPublications", "linkMode", "path", "filename", "note", "md5", "mtime"}
    | {"contentType", "charset", "lastProcessedModificationTime", "lastRead"}
)
_ANNOTATION = "annotation"
# The form in which objects are kept between runs; objects of another form are read anew.
_FORM = 2


class NotZotero(ValueError):
    """Data that Zotero does not write; the message says what is wrong with it."""


@dataclass(frozen=True, slots=True)
class AnnotationMark:
    """The fields of an annotation beside its key. ``page`` is the physical one from 1, 0 without one."""

    text: str = ""
    comment: str = ""
    color: str = ""
    page: int = 0
    sort_index: str = ""


@dataclass(frozen=True, slots=True)
class ZoteroObject:
    """An item, attachment, note or annotation.

    ``parent`` is a key. ``fields`` has the fields of a work under one name for all types: ``container`` is
    "publicationTitle", "bookTitle" and others; ``date`` in it is as the user wrote it, ``date`` of the object is
    what Zotero read from that, in ISO 8601. ``further`` has all other fields, under Zotero's names. The role of a
    creator is Zotero's name for it. ``link_mode`` is "imported_file", "linked_file" and others; ``path`` is the
    name of a stored file, or the stated path of a linked one. ``flaw`` says why an object could not be read; it
    has no other values then.
    """

    key: str
    version: int
    item_type: str = ""
    parent: str = ""
    fields: dict[str, str] = field(default_factory=dict)
    further: dict[str, str] = field(default_factory=dict)
    date: str = ""
    creators: tuple[Creator, ...] = ()
    tags: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()
    link_mode: str = ""
    path: str = ""
    note: str = ""
    mark: AnnotationMark = AnnotationMark()
    flaw: str = ""


@dataclass(frozen=True, slots=True)
class ZoteroCollection:
    """A collection; ``parent`` is a key, "" at the top."""

    key: str
    name: str
    parent: str = ""


@dataclass(frozen=True, slots=True)
class LibraryName:
    """``id`` is "library" for the user's own library, "groups/123" for one of a group."""

    id: str
    name: str


@dataclass(frozen=True, slots=True)
class LibraryObjects:
    """All objects of a library as they were at ``version``, those in the trash left out.

    ``server`` identifies the Zotero whose versions these are; "" where versions do not tell what changed. ``form``
    is that of objects that were kept.
    """

    name: LibraryName
    version: int
    items: tuple[ZoteroObject, ...] = ()
    collections: tuple[ZoteroCollection, ...] = ()
    server: str = ""
    form: int = 0


_PACKED: TypeAdapter[LibraryObjects] = TypeAdapter(LibraryObjects)


def pack(objects: LibraryObjects) -> str:
    """The objects as JSON, to be kept until the next run."""
    return _PACKED.dump_json(replace(objects, form=_FORM), exclude_defaults=True).decode("utf-8")


def unpack(packed: bytes) -> LibraryObjects | None:
    """The objects that ``pack`` wrote; None for anything else, with which the library is read as a whole."""
    try:
        kept = _PACKED.validate_json(packed)
    except ValidationError:
        return None
    return replace(kept, form=0) if kept.form == _FORM else None


def read_object(entry: Any) -> ZoteroObject:
    """The object in an entry of the API (``{"key", "version", "meta", "data"}``). Raises ``NotZotero``."""
    key, version, data = _head(entry)
    try:
        return _read_data(key, version, data, _object(entry, "meta"))
    except NotZotero as error:
        return ZoteroObject(key, version, flaw=str(error))


def read_collection(entry: Any) -> ZoteroCollection:
    """The collection in an entry of the API. Raises ``NotZotero``."""
    key, _, data = _head(entry)
    return ZoteroCollection(key, one_line(_text(data, "name"), _LABEL_CHARS), _key(data, "parentCollection"))


def read_versions(answer: Any) -> dict[str, int]:
    """The version of each key. Raises ``NotZotero``."""
    if not isinstance(answer, dict) or not all(map(_is_key, answer)):
        raise NotZotero("a list of versions must be an object with keys of items")
    return {key: read_version(version) for key, version in answer.items()}


def read_group(entry: Any) -> tuple[int, str]:
    """The number and the name of a group. Raises ``NotZotero``."""
    number = entry.get("id") if isinstance(entry, dict) else None
    if type(number) is not int or number <= 0:
        raise NotZotero("a group must have a number")
    return number, one_line(_text(_object(entry, "data"), "name", _LABEL_CHARS))


def read_tags(answer: Any) -> frozenset[str]:
    """The names of tags. Raises ``NotZotero``."""
    return frozenset(_text(tag, "tag", _LABEL_CHARS) for tag in _objects({"tags": answer}, "tags", MOST_OBJECTS))


def iso_date(stated: str) -> str:
    """The date at the beginning of a text, as exact as it is known; parts that are zero are unknown.

    >>> iso_date("2019-03-00 March 2019"), iso_date("0000-00-00 in press")
    ('2019-03', '')
    """
    match = _ISO_DATE.match(stated)
    if match is None or match[1] == "0000":
        return ""
    known = []
    for part in match.groups():
        if not part or part == "00":
            break
        known.append(part)
    return "-".join(known)


def _head(entry: Any) -> tuple[str, int, Mapping[str, Any]]:
    if not isinstance(entry, dict) or not _is_key(entry.get("key")):
        raise NotZotero("an entry without a key of eight letters and digits")
    return entry["key"], read_version(entry.get("version", 0)), _object(entry, "data")


def _read_data(key: str, version: int, data: Mapping[str, Any], meta: Mapping[str, Any]) -> ZoteroObject:
    return ZoteroObject(
        key=key,
        version=version,
        item_type=_text(data, "itemType", _LABEL_CHARS),
        parent=_key(data, "parentItem"),
        fields=dict(_fields(data)),
        further=dict(_further(data)),
        date=iso_date(_text(meta, "parsedDate", _LABEL_CHARS)),
        creators=tuple(_creators(data)),
        tags=tuple(sorted(_text(tag, "tag", _LABEL_CHARS) for tag in _objects(data, "tags"))),
        collections=tuple(sorted(filter(_is_key, _list(data, "collections")))),
        link_mode=_text(data, "linkMode", _LABEL_CHARS),
        path=_text(data, "path") or _text(data, "filename"),
        note=_text(data, "note", _NOTE_CHARS),
        mark=_read_mark(data),
    )


def _fields(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for name, stated in _FIELDS.items():
        if text := next((text for each in stated if (text := _text(data, each))), ""):
            yield name, text


def _further(data: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The fields that ``_fields`` has not taken: those of other names, and those that another one hides."""
    taken = {next((each for each in names if _text(data, each)), "") for names in _FIELDS.values()}
    for name in data:
        is_fact = name not in taken and name not in _NO_FACTS and not name.startswith(_ANNOTATION)
        if is_fact and (text := _text(data, name)):
            yield name, text


def _creators(data: Mapping[str, Any]) -> Iterator[Creator]:
    for each in _objects(data, "creators"):
        family = _text(each, "name", _LABEL_CHARS) or _text(each, "lastName", _LABEL_CHARS)
        given = _text(each, "firstName", _LABEL_CHARS)
        if family or given:
            role = _text(each, "creatorType", _LABEL_CHARS)
            yield Creator(family or given, given if family else "", role)


def _read_mark(data: Mapping[str, Any]) -> AnnotationMark:
    return AnnotationMark(
        text=printable(_text(data, "annotationText")),
        comment=printable(_text(data, "annotationComment")),
        color=one_line(_text(data, "annotationColor"), _LABEL_CHARS),
        page=_page(_text(data, "annotationPosition", _POSITION_CHARS)),
        sort_index=_text(data, "annotationSortIndex", _LABEL_CHARS),
    )


def _page(position: str) -> int:
    """The physical page in the position of an annotation; 0 in a book or site, whose positions are no pages."""
    try:
        stated = json.loads(position).get("pageIndex")
    except (ValueError, AttributeError, RecursionError):
        return 0
    return stated + 1 if type(stated) is int and 0 <= stated < _MOST_PAGES else 0


# --- values of JSON


def _is_key(value: Any) -> bool:
    return isinstance(value, str) and _KEY.fullmatch(value) is not None


def read_version(value: Any) -> int:
    """The version of an object or a library. Raises ``NotZotero``."""
    if type(value) is not int or value < 0:
        raise NotZotero("a version must be a number from 0")
    return value


def _text(data: Mapping[str, Any], name: str, most: int = _TEXT_CHARS) -> str:
    match data.get(name):
        case None | False:
            return ""
        case str() as text:
            # Half a character, which JSON can have, cannot be written again.
            return text[:most] if text.isascii() else text[:most].encode("utf-8", "replace").decode("utf-8")
        case int() | float() as number:
            return str(number)
        case _:
            raise NotZotero(f"{name} must be a text")


def _key(data: Mapping[str, Any], name: str) -> str:
    value = data.get(name) or ""
    if value and not _is_key(value):
        raise NotZotero(f"{name} must be a key")
    return str(value)


def _object(data: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = data.get(name) or {}
    if not isinstance(value, dict):
        raise NotZotero(f"{name} must be an object")
    return value


def _list(data: Mapping[str, Any], name: str, most: int = _MOST_PARTS) -> list[Any]:
    value = data.get(name) or []
    if not isinstance(value, list):
        raise NotZotero(f"{name} must be a list")
    return value[:most]


def _objects(data: Mapping[str, Any], name: str, most: int = _MOST_PARTS) -> list[Mapping[str, Any]]:
    values = _list(data, name, most)
    if not all(isinstance(value, dict) for value in values):
        raise NotZotero(f"{name} must be a list of objects")
    return values
