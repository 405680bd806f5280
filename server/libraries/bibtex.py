"""Reads BibTeX and BibLaTeX: entries with macros, cross references, LaTeX and lists of files.

The library splits the file into blocks; values, macros and names are resolved here, because its own step knows no
concatenation (``jan # "~1"``). A macro has the value it was given before in the file, and at most
``_VALUE_CHARS``, so that macros which name one another cannot grow without end.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bibtexparser.entrypoint import parse_string
from bibtexparser.middlewares.names import (
    InvalidNameError,
    parse_single_name_into_parts,
    split_multiple_persons_names,
)
from bibtexparser.model import (
    DuplicateBlockKeyBlock,
    DuplicateFieldKeyBlock,
    Entry,
    ParsingFailedBlock,
    String,
)

from server.libraries.attachment_fields import read_file_field
from server.libraries.item_types import OF_BIBTEX, UNKNOWN_TYPE
from server.libraries.latex import decode, strip_markup
from server.libraries.records import Creator, EntryFlaw, LibraryItem, plain_doi, year_of

# The library logs what it reports in its result.
logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)

_VALUE_CHARS = 100_000
_MOST_NAMES = 1_000
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ROLES = ("author", "editor", "translator")
_SECTIONS = re.compile(r'(?<!\\)[{}"#]')
_LIST = re.compile(r"[,;]")
_ISO_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?")
_NAME_PART = re.compile(r"\s*(family|given|prefix|suffix)\s*=\s*(.*?)\s*", re.S)
# The field of an item: fields of BibTeX that have it, the first that is there.
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "title": ("title",),
    "container": ("journal", "journaltitle", "booktitle", "maintitle", "eventtitle"),
    "publisher": ("publisher", "institution", "school", "organization"),
    "volume": ("volume",),
    "issue": ("number", "issue"),
    "pages": ("pages",),
    "language": ("langid", "language"),
    "abstract": ("abstract",),
}
# The name in CSL of a field of BibTeX that is a further fact; other fields keep their names.
_MORE: Mapping[str, str] = {
    "edition": "edition",
    "address": "publisher-place",
    "location": "publisher-place",
    "isbn": "ISBN",
    "issn": "ISSN",
    "pmid": "PMID",
    "series": "collection-title",
    "version": "version",
    "urldate": "accessed",
    "note": "note",
    "type": "genre",
    "chapter": "chapter-number",
    "volumes": "number-of-volumes",
    "pagetotal": "number-of-pages",
    "shorttitle": "title-short",
    "eventtitle": "event-title",
    "venue": "event-place",
    "origdate": "original-date",
    "pubstate": "status",
}
# What thesis an entry of this type is, where it does not say it; and that of words for it in BibLaTeX.
_GENRES: Mapping[str, str] = {
    "phdthesis": "PhD thesis",
    "mastersthesis": "Master's thesis",
    "mathesis": "Master's thesis",
    "bathesis": "Bachelor's thesis",
    "techreport": "Technical report",
    "techrep": "Technical report",
    "resreport": "Research report",
}
# Types whose number is that of the work, not the issue of a journal.
_NUMBERED = frozenset({"report", "techreport", "patent", "manual", "standard", "book", "inbook", "incollection"})
# Fields that are read above, or that steer programs.
_NO_FACTS = frozenset(
    {name for names in _TEXTS.values() for name in names}
    | {"author", "editor", "translator", "year", "date", "month", "day", "doi", "url", "keywords", "groups"}
    | {"file", "subtitle", "crossref", "xref", "xdata", "ids", "options", "related", "execute", "presort"}
)
# What an entry has from its parent under another name; all other fields keep theirs.
_INHERITED_AS: Mapping[str, str] = {"title": "booktitle", "subtitle": "booksubtitle", "author": "bookauthor"}
_NOT_INHERITED = frozenset({"crossref", "file", "abstract", "keywords", "groups", "doi", "pages", "xref", "ids"})

Fields = Mapping[str, str]


@dataclass(slots=True)
class _Blocks:
    """The blocks of a file: entries in their order, values of macros, and flaws."""

    entries: dict[str, Entry] = field(default_factory=dict)
    macros: dict[str, str] = field(default_factory=lambda: {month: month for month in _MONTHS})
    flaws: list[EntryFlaw] = field(default_factory=list)

    def add(self, block: object) -> None:
        """Sort in a block."""
        match block:
            case String():
                self.macros[block.key.casefold()] = _resolve(block.value, self.macros)
            case Entry() if block.key.strip():
                self.entries[block.key] = block
            case Entry():
                self._add_flaw(block, block.entry_type, "the entry has no key")
            case DuplicateBlockKeyBlock() if isinstance(block.ignore_error_block, String):
                self.add(block.ignore_error_block)
            case DuplicateBlockKeyBlock():
                self._add_twice(block, block.key)
            case DuplicateFieldKeyBlock():
                self._add_repeated(block)
            case ParsingFailedBlock():
                self._add_flaw(block, _name_block(block.raw or ""), _describe(block.error))
            case _:
                pass

    def _add_repeated(self, block: DuplicateFieldKeyBlock) -> None:
        """Keep an entry that states fields twice, with the first of each."""
        entry = block.ignore_error_block
        if not isinstance(entry, Entry):
            return
        names = ", ".join(sorted(block.duplicate_keys))
        self._add_flaw(block, entry.key, f"fields that are stated twice, of which the first counts: {names}")
        if entry.key in self.entries:
            self._add_twice(block, entry.key)
        elif entry.key.strip():
            self.entries[entry.key] = entry

    def _add_twice(self, block: object, key: str) -> None:
        first = self.entries[key].start_line or 0
        self._add_flaw(block, key, f"the key is used twice; the entry of line {first + 1} is kept")

    def _add_flaw(self, block: object, name: str, reason: str) -> None:
        line = (getattr(block, "start_line", None) or 0) + 1
        self.flaws.append(EntryFlaw(line, name, reason))


def read(text: str) -> tuple[list[LibraryItem], list[EntryFlaw]]:
    """The entries of a file, each key once, and what could not be read."""
    blocks = _Blocks()
    for block in parse_string(text, parse_stack=[]).blocks:
        blocks.add(block)
    fields = {key: _fields_of(entry, blocks.macros) for key, entry in blocks.entries.items()}
    parents = {key.casefold(): parent for key, parent in fields.items()}
    items = [
        _item(key, blocks.entries[key].entry_type, _inherit(own, parents.get(own.get("crossref", "").casefold())))
        for key, own in fields.items()
    ]
    return items, blocks.flaws


def _name_block(raw: str) -> str:
    """The key of a block that could not be read, or its beginning."""
    head, _, rest = raw.partition("{")
    key = rest.partition(",")[0].strip()
    return key if key and len(key.split()) == 1 else head.strip()


def _describe(error: Exception) -> str:
    stated = str(getattr(error, "abort_reason", "") or error)
    return f"not read: {' '.join(stated.split()).rstrip('.')}"


# --- values


def _fields_of(entry: Entry, macros: Mapping[str, str]) -> dict[str, str]:
    """The fields by name in lower case, without quotation marks and macros; LaTeX stays."""
    values: dict[str, str] = {}
    for each in entry.fields:
        values.setdefault(each.key.casefold(), _resolve(str(each.value), macros))
    return values


def _resolve(value: str, macros: Mapping[str, str]) -> str:
    """A value without its enclosing braces or quotation marks, its macros replaced, its parts joined."""
    return "".join(_resolve_part(part.strip(), macros) for part in _parts(value))[:_VALUE_CHARS]


def _parts(value: str) -> Iterator[str]:
    """The parts of a value between ``#`` that no braces or quotation marks enclose."""
    depth, in_quotes, start = 0, False, 0
    for match in _SECTIONS.finditer(value):
        sign = match[0]
        depth += (sign == "{") - (sign == "}")
        in_quotes ^= sign == '"' and not depth
        if sign == "#" and not depth and not in_quotes:
            yield value[start : match.start()]
            start = match.end()
    yield value[start:]


def _resolve_part(part: str, macros: Mapping[str, str]) -> str:
    if len(part) > 1 and part[0] + part[-1] in ("{}", '""'):
        return part[1:-1]
    return macros.get(part.casefold(), part)


def _inherit(own: Fields, parent: Fields | None) -> Fields:
    """The fields of an entry with those of the entry that its ``crossref`` names."""
    if parent is None:
        return own
    given = {_INHERITED_AS.get(name, name): value for name, value in parent.items() if name not in _NOT_INHERITED}
    return {**given, **own}


# --- items


def _item(key: str, kind: str, fields: Fields) -> LibraryItem:
    texts = {name: _first(fields, names) for name, names in _TEXTS.items()}
    date = _date(fields)
    item = LibraryItem(
        title=texts["title"],
        container=texts["container"],
        publisher=texts["publisher"],
        volume=texts["volume"],
        issue=texts["issue"],
        pages=texts["pages"],
        language=texts["language"],
        abstract=texts["abstract"],
        key=key,
        citekey=key,
        item_type=OF_BIBTEX.get(kind.casefold(), UNKNOWN_TYPE),
        creators=tuple(_creators(fields)),
        year=year_of(fields.get("year", "") or date),
        date=date,
        doi=plain_doi(_plain(fields.get("doi", ""))),
        url=_plain(fields.get("url", "")),
        tags=_list(fields.get("keywords", "")),
        collections=_list(fields.get("groups", "")),
        attachments=read_file_field(fields.get("file", "")),
        more=tuple(_more(kind.casefold(), fields)),
    )
    subtitle = decode(fields.get("subtitle", ""))
    return replace(item, title=f"{item.title}: {subtitle}") if subtitle else item


def _more(kind: str, fields: Fields) -> Iterator[tuple[str, str]]:
    """All facts of an entry that are no field of an item, under the names of CSL where it has one."""
    if "type" not in fields and kind in _GENRES:
        yield "genre", _GENRES[kind]
    if (number := decode(fields.get("number", ""))) and kind in _NUMBERED:
        yield ("number" if kind not in ("book", "inbook", "incollection") else "collection-number"), number
    year = decode(fields.get("year", "") or fields.get("date", ""))
    if year and not year_of(year) and "pubstate" not in fields:  # "in press"
        yield "status", year
    for name, value in fields.items():
        text = _plain(value) if name in _VERBATIM else decode(value)
        if name not in _NO_FACTS and text:
            yield _MORE.get(name, name), _GENRES.get(text.casefold(), text) if name == "type" else text
    yield from _shadowed(fields)


def _shadowed(fields: Fields) -> Iterator[tuple[str, str]]:
    """What the first of several fields for one fact hides: an institution beside a publisher, an event's title."""
    for names in _TEXTS.values():
        given = [name for name in names if decode(fields.get(name, ""))]
        for name in given[1:]:
            yield _MORE.get(name, name), decode(fields[name])


_VERBATIM = frozenset({"eprint", "pmid", "isbn", "issn"})


def _first(fields: Fields, names: Sequence[str]) -> str:
    return next((text for name in names if (text := decode(fields.get(name, "")))), "")


def _plain(value: str) -> str:
    """An address or a DOI, in which signs may have a backslash before them."""
    return strip_markup(re.sub(r"\\([_&%#~$])", r"\1", value)).strip()


def _list(value: str) -> tuple[str, ...]:
    parts = (decode(part) for part in _LIST.split(value))
    return tuple(dict.fromkeys(part for part in parts if part))


def _date(fields: Fields) -> str:
    """The date in ISO 8601: the beginning of ``date``, else year and month; "" without one."""
    if match := _ISO_DATE.match(fields.get("date", "").strip()):
        return match[0]
    year = decode(fields.get("year", ""))
    if not re.fullmatch(r"\d{4}", year):
        return ""
    month = decode(fields.get("month", "")).casefold()[:3].strip()
    number = _MONTHS.index(month) + 1 if month in _MONTHS else int(month) if month in _NUMBERS else 0
    day = decode(fields.get("day", ""))
    is_day = number and day.isdecimal() and 1 <= int(day[:3]) <= _MOST_DAYS
    return f"{year}-{number:02}" + (f"-{int(day):02}" if is_day else "") if number else year


_MOST_DAYS = 31
_NUMBERS = frozenset(f"{number}" for number in range(1, 13)) | {f"{number:02}" for number in range(1, 10)}


def _creators(fields: Fields) -> Iterator[Creator]:
    for role in _ROLES:
        for name in split_multiple_persons_names(fields.get(role, ""))[:_MOST_NAMES]:
            if name.strip() and (creator := _creator(name, role)):
                yield creator


def _creator(name: str, role: str) -> Creator | None:
    if re.match(r"\s*(?:family|given)\s*=", name):
        parts = {match[1]: match[2] for part in name.split(",") if (match := _NAME_PART.fullmatch(part))}
        family = decode(" ".join(filter(None, (parts.get("prefix"), parts.get("family")))))
        return Creator(family, decode(parts.get("given", "")), role, decode(parts.get("suffix", "")))
    try:
        split = parse_single_name_into_parts(name, strict=False)
    except InvalidNameError:
        return Creator(decode(name), role=role)
    family, given = decode(" ".join((*split.von, *split.last))), decode(" ".join(split.first))
    if not (family or given):
        return None
    return Creator(family or given, given if family else "", role, decode(" ".join(split.jr)))
