"""Reads BibTeX and BibLaTeX: entries with macros, cross references, LaTeX and lists of files.

The library splits the file into blocks; values, macros and names are resolved here, because its own step knows no
concatenation (``jan # "~1"``). A macro has the value it was given before in the file, and at most
``_VALUE_CHARS``, so that macros which name one another cannot grow without end.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from bibtexparser.entrypoint import parse_string
from bibtexparser.middlewares.names import (
    InvalidNameError,
    parse_single_name_into_parts,
    split_multiple_persons_names,
)
from bibtexparser.model import (
    Block,
    DuplicateBlockKeyBlock,
    DuplicateFieldKeyBlock,
    Entry,
    ParsingFailedBlock,
    String,
)

from winnow.server.bibliographies.attachment_fields import read_file_field
from winnow.server.bibliographies.formats.latex import CLOSE, OPEN, decode, decode_marked, strip_markup
from winnow.server.bibliographies.item_types import OF_BIBTEX, UNKNOWN_TYPE
from winnow.server.bibliographies.records import OTHERS, Creator, EntryFlaw, LibraryItem, plain_doi, year_of
from winnow.server.bibliographies.stated_language import stated_language
from winnow.server.text.forms.title_case import Kept

# The library logs what it reports in its result.
logging.getLogger("bibtexparser").setLevel(logging.CRITICAL)

_VALUE_CHARS = 100_000
_MOST_NAMES = 1_000
# A part of a volume of a larger work has two; a chain without end would exceed the stack.
_MOST_PARENTS = 8
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# The roles in CSL of the fields that name people.
_ROLES: Mapping[str, str] = {
    "author": "author",
    "editor": "editor",
    "translator": "translator",
    "bookauthor": "container-author",
}
_SECTIONS = re.compile(r'(?<!\\)[{}"#]')
_LIST = re.compile(r"[,;]")
_LINK = re.compile(r"\\href\s*\{([^{}]*)\}\s*\{[^{}]*\}")
_ADDRESS = re.compile(r"(?:https?|ftp)://\S+", re.IGNORECASE)
_LEADING_LINK = re.compile(r"\s*\{?\s*\\href\s*\{([^{}]+)\}")
_ISO_DATE = re.compile(r"\d{4}(?:-\d\d(?:-\d\d)?)?(?:/\d{4}(?:-\d\d(?:-\d\d)?)?)?")
_AND_OTHERS = re.compile(r"[\s{]*(?:et\.?[\s~]+al\.?|al\.?,\s*et\.?)[\s}]*", re.IGNORECASE)
_NAME_PART = re.compile(r"\s*(family|given|prefix|suffix)\s*=\s*(.*?)\s*", re.S)
# The field of an item: fields of BibTeX that have it, the first that is there.
_TEXTS: Mapping[str, tuple[str, ...]] = {
    "title": ("title",),
    "container": ("journal", "journaltitle", "booktitle", "maintitle", "eventtitle"),
    "publisher": ("publisher", "institution", "school", "organization", "howpublished"),
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
    "origyear": "original-date",
    "origpublisher": "original-publisher",
    "origlocation": "original-publisher-place",
    "origtitle": "original-title",
    "eventdate": "event-date",
    "part": "part-number",
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
_NUMBERED = frozenset(
    {"report", "techreport", "patent", "manual", "standard", "online", "misc", "dataset", "software"}
)
_OF_JOURNALS = frozenset({"article", "suppperiodical", "periodical"})
# Fields that are lists of places or publishers, joined by "and".
_LISTS = frozenset(
    {"publisher", "institution", "school", "organization", "address", "location", "venue", "origlocation"}
    | {"origpublisher"}
)
# Fields by which an entry is one of BibLaTeX, not of BibTeX.
_OF_BIBLATEX = frozenset(
    {"date", "journaltitle", "location", "langid", "subtitle", "maintitle", "eventtitle", "origdate", "eprinttype"}
)
_SUBTITLES: Mapping[str, tuple[str, str]] = {
    "title": ("subtitle", "titleaddon"),
    "journal": ("journalsubtitle", ""),
    "journaltitle": ("journalsubtitle", "journaltitleaddon"),
    "booktitle": ("booksubtitle", "booktitleaddon"),
    "maintitle": ("mainsubtitle", "maintitleaddon"),
    "eventtitle": ("", "eventtitleaddon"),
}
# Archives of texts by their names in ``eprinttype`` and ``archiveprefix``: what comes before the number there.
_ARCHIVES: Mapping[str, str] = {
    "arxiv": "https://arxiv.org/abs/",
    "jstor": "https://www.jstor.org/stable/",
    "pubmed": "https://www.ncbi.nlm.nih.gov/pubmed/",
    "googlebooks": "https://books.google.com?id=",
    "hdl": "https://hdl.handle.net/",
}
# What languages are called in LaTeX, as CSL has them.
_LANGUAGES: Mapping[str, str] = {
    **dict.fromkeys(("english", "american", "usenglish"), "en-US"),
    **dict.fromkeys(("british", "ukenglish"), "en-GB"),
    **dict.fromkeys(("german", "ngerman"), "de-DE"),
    **dict.fromkeys(("austrian", "naustrian"), "de-AT"),
    **dict.fromkeys(("french", "francais"), "fr-FR"),
    **dict.fromkeys(("portuguese", "portuges"), "pt-PT"),
    **dict.fromkeys(("brazilian", "brazil"), "pt-BR"),
    **dict.fromkeys(("norsk", "norwegian"), "nb-NO"),
    "italian": "it-IT",
    "spanish": "es-ES",
    "latin": "la",
    "dutch": "nl-NL",
    "danish": "da-DK",
    "swedish": "sv-SE",
    "finnish": "fi-FI",
    "polish": "pl-PL",
    "czech": "cs-CZ",
    "russian": "ru-RU",
    "greek": "el-GR",
    "hungarian": "hu-HU",
    "turkish": "tr-TR",
    "japanese": "ja-JP",
    "chinese": "zh-CN",
    "catalan": "ca-AD",
    "romanian": "ro-RO",
    "slovak": "sk-SK",
    "slovene": "sl-SI",
    "ukrainian": "uk-UA",
    "croatian": "hr-HR",
    "nynorsk": "nn-NO",
    "canadian": "en-US",
    "australian": "en-GB",
}
# Words of BibLaTeX that stand for others in every language.
_WORDS: Mapping[str, str] = {
    "newseries": "New series",
    "oldseries": "Old series",
    "patent": "Patent",
    "patentus": "U.S. patent",
    "patentuk": "British patent",
    "patenteu": "European patent",
    "patentde": "German patent",
    "patentfr": "French patent",
    "patreq": "Patent request",
    "patrequs": "U.S. patent request",
    "patreqeu": "European patent request",
    "patreqde": "German patent request",
    "patreqfr": "French patent request",
    "patrequk": "British patent request",
    "countryde": "Germany",
    "countryeu": "European Union",
    "countryfr": "France",
    "countryuk": "United Kingdom",
    "countryus": "United States of America",
    "countryep": "European Union",
    "inpreparation": "in preparation",
    "submitted": "submitted",
    "forthcoming": "forthcoming",
    "inpress": "in press",
    "prepublished": "pre-published",
}
# Fields that are read above, or that steer programs.
_NO_FACTS = frozenset(
    {
        "author",
        "editor",
        "translator",
        "bookauthor",
        "year",
        "date",
        "month",
        "day",
        "doi",
        "url",
        "keywords",
        "groups",
    }
    | {name for names in _SUBTITLES.values() for name in names if name}
    | {"file", "crossref", "xref", "xdata", "ids", "options", "related", "execute", "presort"}
)
# What parts of books, articles, and volumes of larger works have from their parent under another name; all other
# fields keep theirs.
_OF_BOOKS: Mapping[str, str] = {
    "title": "booktitle",
    "subtitle": "booksubtitle",
    "titleaddon": "booktitleaddon",
    "author": "bookauthor",
}
_OF_PERIODICALS: Mapping[str, str] = {
    "title": "journaltitle",
    "subtitle": "journalsubtitle",
    "titleaddon": "journaltitleaddon",
}
_OF_VOLUMES: Mapping[str, str] = {
    "title": "maintitle",
    "subtitle": "mainsubtitle",
    "titleaddon": "maintitleaddon",
}
_BY_ITS_AUTHOR = frozenset({"inbook", "bookinbook", "suppbook"})
_PARTS_OF_BOOKS = _BY_ITS_AUTHOR | {
    "incollection",
    "inproceedings",
    "conference",
    "inreference",
    "suppcollection",
}
_NOT_INHERITED = frozenset({"crossref", "file", "abstract", "keywords", "groups", "doi", "pages", "xref", "ids"})
# Works that are in no other: their ``booktitle`` is there for entries that refer to them by ``crossref``.
_WHOLE_WORKS = frozenset(
    {"book", "mvbook", "collection", "mvcollection", "reference", "mvreference", "proceedings", "mvproceedings"}
    | {"manual", "booklet", "thesis", "phdthesis", "mastersthesis"}
)
_TEXTS_OF_WHOLE: Mapping[str, tuple[str, ...]] = {
    **_TEXTS,
    "title": ("title", "booktitle"),
    "container": ("journal", "journaltitle", "maintitle"),
}

Fields = Mapping[str, str]


@dataclass(slots=True)
class _Blocks:
    """The blocks of a file: entries in their order, values of macros, and flaws."""

    entries: dict[str, Entry] = field(default_factory=dict)
    macros: dict[str, str] = field(default_factory=lambda: {month: month for month in _MONTHS})
    flaws: list[EntryFlaw] = field(default_factory=list)
    lines: dict[str, int] = field(default_factory=dict)
    before: int = 0  # lines of the file before the text of the next block

    def add(self, block: object) -> None:
        """Sort in a block."""
        match block:
            case String():
                self.macros[block.key.casefold()] = _resolve(block.value, self.macros)
            case Entry() if block.key in self.entries:
                self._add_twice(block, block.key)
            case Entry() if block.key.strip():
                self._keep(block)
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
            self._keep(entry)

    def _keep(self, entry: Entry) -> None:
        self.entries[entry.key] = entry
        self.lines[entry.key] = self._line(entry)

    def _add_twice(self, block: object, key: str) -> None:
        self._add_flaw(block, key, f"the key is used twice; the entry of line {self.lines[key]} is kept")

    def _add_flaw(self, block: object, name: str, reason: str) -> None:
        self.flaws.append(EntryFlaw(self._line(block), name, reason))

    def _line(self, block: object) -> int:
        return self.before + (getattr(block, "start_line", None) or 0) + 1


def read(text: str) -> tuple[list[LibraryItem], list[EntryFlaw]]:
    """The entries of a file, each key once, and what could not be read."""
    blocks = _Blocks()
    for block in parse_string(text, parse_stack=[]).blocks:
        parts = _without_comments(block)
        blocks.before = 0 if parts == [block] else block.start_line or 0
        for part in parts:
            blocks.add(part)
    entries = _Entries(blocks)
    return [_item(key, entries.kinds[key], entries.inherit(key)) for key in entries.fields], blocks.flaws


def _without_comments(block: Block) -> list[Block]:
    """A block, or what it is without comments between its fields, which the library takes for names."""
    is_read = not isinstance(block, ParsingFailedBlock) or isinstance(block, DuplicateBlockKeyBlock)
    fields = block.fields if isinstance(block, Entry) else ()
    raw = block.raw or ""
    bare = _strip_comments(raw)
    if bare == raw or (is_read and not any("%" in each.key for each in fields)):
        return [block]
    parts = parse_string(bare, parse_stack=[]).blocks
    return parts if any(isinstance(part, Entry) for part in parts) else [block]


def _strip_comments(entry: str) -> str:
    """An entry without the comments that no braces or quotation marks of a value enclose."""
    kept, start, in_quotes = list[str](), 0, False
    outside = 1 if "{" in entry.partition("(")[0] else 0
    depth = 0
    for match in _SIGNS.finditer(entry):
        sign = match[0]
        if match.start() < start:  # within a comment
            continue
        depth += (sign == "{") - (sign == "}")
        in_quotes ^= sign == '"' and depth == outside
        if sign == "%" and depth == outside and not in_quotes:
            kept.append(entry[start : match.start()])
            start = _LINE_END.search(entry, match.start()).start()  # type: ignore[union-attr]
    return "".join((*kept, entry[start:]))


_SIGNS, _LINE_END = re.compile(r'(?<!\\)[{}"%]'), re.compile(r"$", re.MULTILINE)


class _Entries:
    """The entries of a file, with what each has from others."""

    def __init__(self, blocks: _Blocks) -> None:
        self.kinds = {key: entry.entry_type.casefold() for key, entry in blocks.entries.items()}
        self.fields = {key: _fields_of(entry, blocks.macros) for key, entry in blocks.entries.items()}
        self._keys = {key.casefold(): key for key in self.fields}
        self._inherited: dict[str, Fields] = {}

    def inherit(self, key: str, depth: int = 0) -> Fields:
        """The fields of an entry, those of its ``xdata``, and those of its parent. Circles end at once."""
        if depth > _MOST_PARENTS:
            return self.fields[key]
        if key not in self._inherited:
            fields: Fields = self.fields[key]
            self._inherited[key] = fields
            for name in fields.get("xdata", "").split(","):
                if data := self._keys.get(name.strip().casefold()):
                    fields = {**self.inherit(data, depth + 1), **fields}
            if parent := self._keys.get(fields.get("crossref", "").strip().casefold()):
                fields = _inherit(self.kinds[key], fields, self.kinds[parent], self.inherit(parent, depth + 1))
            self._inherited[key] = fields
        return self._inherited[key]


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


def _inherit(kind: str, own: Fields, parent_kind: str, parent: Fields) -> Fields:
    """The fields of an entry with those of its parent, as BibLaTeX has them; parts of books have its author."""
    names = _renamed(kind, parent_kind)
    kept = {name: value for name, value in parent.items() if name not in _NOT_INHERITED}
    renamed = {names[name]: value for name, value in kept.items() if name in names}
    same = {name: value for name, value in kept.items() if name not in names}
    author = {"author": parent["author"]} if kind in _BY_ITS_AUTHOR and "author" in parent else {}
    return {**renamed, **same, **author, **own}


def _renamed(kind: str, parent_kind: str) -> Mapping[str, str]:
    if kind in _OF_JOURNALS:
        return _OF_PERIODICALS
    if kind in _PARTS_OF_BOOKS:
        return {**_OF_BOOKS, **_OF_VOLUMES} if parent_kind.startswith("mv") else _OF_BOOKS
    return _OF_VOLUMES if parent_kind.startswith("mv") else {}


# --- items


def _item(key: str, kind: str, fields: Fields) -> LibraryItem:
    texts = {name: _first(fields, names) for name, names in _names_of_texts(kind).items()}
    date, address = _date(fields), _address(fields)
    if address and _is_only_address(texts["publisher"], fields):
        texts["publisher"] = ""
    item = LibraryItem(
        title=texts["title"],
        container=texts["container"],
        publisher=texts["publisher"],
        volume=texts["volume"],
        issue=texts["issue"] if _has_issue(kind, fields) else "",
        pages=texts["pages"],
        language=_language(texts["language"], fields),
        abstract=texts["abstract"],
        key=key,
        citekey=key,
        item_type=_type(kind, texts["container"]),
        creators=tuple(_creators(fields)),
        year=year_of(decode(fields.get("year", "")) or date),
        date=date,
        doi=plain_doi(_plain(fields.get("doi", ""))),
        url=_plain(fields.get("url", "")) or _archived_at(fields) or address,
        tags=_list(fields.get("keywords", "")),
        collections=_list(fields.get("groups", "")),
        attachments=read_file_field(fields.get("file", "")),
        more=tuple(_more(kind, fields)),
    )
    return replace(item, cased=tuple(_cased(item, kind, fields))) if _is_english(item.language, fields) else item


def _is_english(language: str, fields: Fields) -> bool:
    """Whether titles are in English: in BibTeX, those of which no language is stated are."""
    stated = language or decode(fields.get("hyphenation", ""))
    return not stated or stated_language(stated) == "en"


def _cased(item: LibraryItem, kind: str, fields: Fields) -> Iterator[tuple[str, Kept]]:
    """The titles of an entry in title case, each with the places that braces protect; journals have names."""
    titles, texts = item.titles, _names_of_texts(kind)
    stated = {"title": texts["title"], "container-title": texts["container"], **_FURTHER_TITLES}
    for name, names in stated.items():
        field = next((each for each in names if decode(fields.get(each, ""))), "")
        if not field or field.startswith("journal"):
            continue
        text, kept = _unmark(_first(fields, names, decode_marked))
        if text and text == titles.get(name):
            yield name, kept


_FURTHER_TITLES: Mapping[str, tuple[str, ...]] = {
    "collection-title": ("series",),
    "title-short": ("shorttitle",),
    "event-title": ("eventtitle",),
    "original-title": ("origtitle",),
}


def _unmark(marked: str) -> tuple[str, Kept]:
    """A text without its marks, in one line, and where it stood between marks."""
    text, kept, depth, start = "", list[tuple[int, int]](), 0, 0
    for sign in marked:
        if sign == OPEN:
            start, depth = start if depth else len(text), depth + 1
        elif sign == CLOSE:
            depth -= 1
            if not depth and any(map(str.isalpha, text[start:])):
                kept.append((start, len(text)))
        elif sign != " " or (text and not text.endswith(" ")):
            text += sign
    return text.rstrip(), tuple(kept)


def _names_of_texts(kind: str) -> Mapping[str, tuple[str, ...]]:
    return _TEXTS_OF_WHOLE if kind in _WHOLE_WORKS else _TEXTS


def _type(kind: str, container: str) -> str:
    """The type in CSL. In BibTeX, a part of a book that names no other title than its own has that of the book."""
    return "book" if kind == "inbook" and not container else OF_BIBTEX.get(kind, UNKNOWN_TYPE)


def _address(fields: Fields) -> str:
    r"""The address that is how a work was published, or its note: ``\url{...}``, or the aim of ``\href``."""
    for value in (fields.get("howpublished", ""), fields.get("note", "")):
        if link := _LEADING_LINK.match(value):
            return _plain(link[1])
        if _is_address(text := decode(value)):
            return text
    return ""


def _is_only_address(publisher: str, fields: Fields) -> bool:
    """Whether the publisher is an address; within a link it may be set with spaces."""
    is_link = _LEADING_LINK.match(fields.get("howpublished", "")) is not None
    return _is_address(publisher) or (is_link and _ADDRESS.match(publisher) is not None)


def _is_address(text: str) -> bool:
    return _ADDRESS.fullmatch(text) is not None


def _language(stated: str, fields: Fields) -> str:
    """The language as CSL has it; that of Britain is an option of LaTeX's English."""
    if stated.casefold() == "english" and "british" in fields.get("langidopts", ""):
        return "en-GB"
    return _LANGUAGES.get(stated.casefold(), stated)


def _has_issue(kind: str, fields: Fields) -> bool:
    """Whether the number of an entry is that of an issue; in a book it is that of the series."""
    return kind.casefold() in _OF_JOURNALS or "journal" in fields or "journaltitle" in fields or "issue" in fields


def _archived_at(fields: Fields) -> str:
    """The address of a text in an archive that is known; "" for none."""
    archive = decode(fields.get("eprinttype", "") or fields.get("archiveprefix", "")).casefold()
    number = _plain(fields.get("eprint", ""))
    return f"{_ARCHIVES[archive]}{number}" if number and archive in _ARCHIVES else ""


def _more(kind: str, fields: Fields) -> Iterator[tuple[str, str]]:
    """All facts of an entry that are no field of an item, under the names of CSL where it has one."""
    if "type" not in fields and kind in _GENRES:
        yield "genre", _GENRES[kind]
    if (number := decode(fields.get("number", ""))) and not _has_issue(kind, fields):
        yield ("number" if kind in _NUMBERED else "collection-number"), number
    year = decode(fields.get("year", "") or fields.get("date", ""))
    if year and not year_of(year) and "pubstate" not in fields:  # "in press"
        yield "status", year
    read = {name for names in _names_of_texts(kind).values() for name in names}
    for name, value in fields.items():
        text = _plain(value) if name in _VERBATIM else decode(value)
        if name not in _NO_FACTS and name not in read and text:
            text = _in_words(value) if _is_list(name, fields) else _WORDS.get(text, text)
            yield _name_of(kind, name), _GENRES.get(text.casefold(), text) if name == "type" else text
    yield from _shadowed(kind, fields)


def _shadowed(kind: str, fields: Fields) -> Iterator[tuple[str, str]]:
    """The fields hidden by the first of several for one fact: an institution beside a publisher, a title."""
    for names in _names_of_texts(kind).values():
        given = [name for name in names if decode(fields.get(name, ""))]
        for name in given[1:]:
            yield _MORE.get(name, name), decode(fields[name])


_VERBATIM = frozenset({"eprint", "pmid", "isbn", "issn"})


def _name_of(kind: str, name: str) -> str:
    """The name in CSL; the places of a patent are the countries where it holds."""
    return "jurisdiction" if kind == "patent" and name == "location" else _MORE.get(name, name)


def _first(fields: Fields, names: Sequence[str], read: Callable[[str], str] = decode) -> str:
    """The first of the fields that is there, with its subtitle and addition."""
    name = next((each for each in names if decode(fields.get(each, ""))), "")
    if name not in _SUBTITLES:
        return _in_words(fields[name]) if _is_list(name, fields) else read(fields.get(name, ""))
    title, subtitle, addition = (read(fields.get(each, "")) for each in (name, *_SUBTITLES[name]))
    if subtitle:
        title += f"{'' if _is_ended(title, '?!.:') else ':'} {subtitle}"
    return f"{title}{'' if _is_ended(title, '?!.') else '.'} {addition}" if addition else title


def _is_ended(title: str, signs: str) -> bool:
    return title.rstrip(CLOSE).endswith(tuple(signs))


def _is_list(name: str, fields: Fields) -> bool:
    """Whether "and" joins places or publishers: in BibLaTeX; in BibTeX it is a word of a name."""
    return name in _LISTS and not _OF_BIBLATEX.isdisjoint(fields)


def _in_words(value: str) -> str:
    """A list of places or publishers; one whose "and" stands in braces is no list."""
    parts, depth = [""], 0
    for word in re.split(r"(\s+)", value.strip()):
        if word == "and" and not depth:
            parts.append("")
            continue
        depth += word.count("{") - word.count("}")
        parts[-1] += word
    decoded = (decode(part) for part in parts)
    return "; ".join(_WORDS.get(part, part) for part in decoded if part)


def _plain(value: str) -> str:
    """An address or a DOI, in which signs may have a backslash before them."""
    return strip_markup(_LINK.sub(r"\1", re.sub(r"\\([_&%#~$])", r"\1", value))).strip()


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
    months, days = _months_and_days(decode(fields.get("month", "")).casefold())
    stated = decode(fields.get("day", ""))
    days = days or ([int(stated)] if stated in _DAYS else [])
    dates = [f"{year}-{month:02}" for month in months]
    if days and months:
        dates = [f"{year}-{months[min(at, len(months) - 1)]:02}-{day:02}" for at, day in enumerate(days)]
    first, last = (dates[0], dates[-1]) if dates else (year, year)
    return f"{first}/{last}" if first < last else first


def _months_and_days(stated: str) -> tuple[list[int], list[int]]:
    """The months that a field names, and the days in them: two at most, of "jun-aug", "10 jan", "30 may-2 jun"."""
    words = [_MONTHS.index(word[:3]) + 1 for word in _WORD.findall(stated) if word[:3] in _MONTHS]
    numbers = [int(number) for number in _DIGITS.findall(stated)]
    if not words:
        return [number for number in numbers if 1 <= number <= len(_MONTHS)][:2], []
    days = [number for number in numbers if f"{number}" in _DAYS]
    return words[:2], days[:2] if len(words) == 1 or len(days) == len(words) else []


_WORD, _DIGITS = re.compile(r"[^\W\d_]{3,}"), re.compile(r"(?<!\d)\d{1,2}(?!\d)")
_DAYS = frozenset(f"{day}" for day in range(1, 32)) | {f"{day:02}" for day in range(1, 10)}


def _creators(fields: Fields) -> Iterator[Creator]:
    for field_name, role in _ROLES.items():
        for name in split_multiple_persons_names(fields.get(field_name, ""))[:_MOST_NAMES]:
            if name.strip() and (creator := _creator(name, role)):
                yield creator


def _creator(name: str, role: str) -> Creator | None:
    if _AND_OTHERS.fullmatch(name):
        return Creator(OTHERS, role=role)
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
