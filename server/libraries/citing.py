"""Writes citations of works, and entries of their lists, in five styles.

A citation is of one place in a work, an entry of the whole work. APA follows the rules of its seventh edition for
the common types of CSL: authors, date, title, source, and DOI or address.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from server.libraries.item_types import TO_BIBTEX
from server.libraries.records import Creator, LibraryItem

Style = Literal["pandoc", "apa", "bibtex", "csl-json", "markdown"]


@dataclass(frozen=True, slots=True)
class CitedPlace:
    """Where in a work a citation is: "45" or "45-46" of pages, or other words ("slide 3"); a link to it."""

    pages: str = ""
    words: str = ""
    link: str = ""

    @property
    def text(self) -> str:
        """The place in words: "p. 45", "pp. 45-46", "slide 3"; "" for the whole work."""
        return f"{'pp.' if '-' in self.pages else 'p.'} {self.pages}" if self.pages else self.words


def cite(item: LibraryItem, place: CitedPlace, style: Style) -> str:
    """A citation of a place in a work.

    >>> cite(LibraryItem("ohm27", "ohm27", "book", "The Galvanic Circuit"), CitedPlace("45"), "pandoc")
    '[@ohm27, p. 45]'
    """
    return _CITATIONS[style](item, place)


def describe(item: LibraryItem, style: Style) -> str:
    """The entry of a work in a list of works; "" for the style pandoc, which makes the list itself."""
    return _ENTRIES[style](item)


def sort_key(item: LibraryItem) -> tuple[str, int, str]:
    """The order of lists: authors, year, title."""
    return (" ".join(each.name for each in _principals(item)).casefold(), item.year, item.title.casefold())


# --- citations

_NOT_PLAIN_KEY = re.compile(r"[^\w:.#$%&+?<>~/-]|[:.#$%&+?<>~/-]{2}|[:.#$%&+?<>~/-]\Z|\A[^\w]", re.ASCII)


def _cite_pandoc(item: LibraryItem, place: CitedPlace) -> str:
    # Keys with other characters stand in braces, as pandoc has them.
    key = f"{{{item.citekey}}}" if _NOT_PLAIN_KEY.search(item.citekey) else item.citekey
    where = re.sub(r"([\\`\[\]<>@;*$^~])", r"\\\1", place.text)
    return f"[@{', '.join(filter(None, (key, where)))}]"


def _cite_apa(item: LibraryItem, place: CitedPlace) -> str:
    return f"({', '.join(filter(None, (_short_names(item), _year(item), place.text.replace('-', '–'))))})"


def _cite_bibtex(item: LibraryItem, place: CitedPlace) -> str:
    words = re.sub(r"[\[\]]", "", _to_latex(place.text))
    where = f"[{words.replace('. ', '.~').replace('-', '--')}]" if words else ""
    return f"\\cite{where}{{{_bibtex_key(item)}}}"


def _bibtex_key(item: LibraryItem) -> str:
    """The key with a hyphen for each sign that BibTeX has no keys with; a comma would separate two keys."""
    return re.sub(r"[^\w:./+*!?-]", "-", item.citekey)


def _cite_csl_json(item: LibraryItem, place: CitedPlace) -> str:
    locator = {"locator": place.pages, "label": "page"} if place.pages else {}
    return _dump({"id": item.citekey, **locator})


def _cite_markdown(item: LibraryItem, place: CitedPlace) -> str:
    text = _escape_markdown(_cite_apa(item, place)[1:-1])
    return f"[{text}](<{_link_target(place.link)}>)" if place.link else f"({text})"


def _link_target(link: str) -> str:
    """The link without signs that would end it; a path is marked as one, so that its name is no scheme."""
    target = re.sub(r"[<>\\]", lambda sign: f"%{ord(sign[0]):02X}", link)
    return target if target.startswith("zotero://") or ":" not in target.partition("/")[0] else f"./{target}"


_CITATIONS: Mapping[Style, Callable[[LibraryItem, CitedPlace], str]] = {
    "pandoc": _cite_pandoc,
    "apa": _cite_apa,
    "bibtex": _cite_bibtex,
    "csl-json": _cite_csl_json,
    "markdown": _cite_markdown,
}


def _short_names(item: LibraryItem) -> str:
    """The names of a citation: one, two with "&", the first and "et al." of more, a short title of none."""
    names = [each.family for each in _principals(item)]
    match names:
        case []:
            return f"“{item.title or item.citekey}”"
        case [one]:
            return one
        case [first, second]:
            return f"{first} & {second}"
        case _:
            return f"{names[0]} et al."


def _principals(item: LibraryItem) -> list[Creator]:
    """The authors; the editors of a work without authors."""
    return [each for each in item.creators if each.role == "author"] or [
        each for each in item.creators if each.role == "editor"
    ]


def _year(item: LibraryItem) -> str:
    return str(item.year) if item.year else "n.d."


# --- APA

_MOST_NAMES, _NAMES_BEFORE_DOTS = 20, 19
# Types whose own title is that of a part; the work that they are in has its title in italics.
_PARTS = frozenset(
    {"article", "article-journal", "article-magazine", "article-newspaper", "review", "review-book"}
)
_CHAPTERS = frozenset({"chapter", "entry", "entry-dictionary", "entry-encyclopedia", "paper-conference"})
_KINDS: Mapping[str, str] = {
    "thesis": "Thesis",
    "dataset": "Data set",
    "software": "Computer software",
    "motion_picture": "Film",
    "manuscript": "Unpublished manuscript",
}
_WITH_DAY = frozenset({"article-magazine", "article-newspaper", "webpage", "post", "post-weblog"})
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def _describe_apa(item: LibraryItem) -> str:
    return _join_apa(item, lambda title: title)


def _join_apa(item: LibraryItem, emphasize: Callable[[str], str]) -> str:
    """The parts of an entry, each with its full stop; ``emphasize`` marks what is in italics."""
    principals = _principals(item)
    names = _long_names(principals)
    if principals and principals[0].role == "editor":
        names += " (Ed.)" if len(principals) == 1 else " (Eds.)"
    date, (title, source) = f"({_date_of(item)})", _title_and_source(item, emphasize)
    head = [names, date] if names else [title, date]
    parts = [*head, title if names else "", source]
    address = f"https://doi.org/{item.doi}" if item.doi else item.url
    return " ".join([*(_end(part) for part in parts if part), *filter(None, (address,))])


def _end(part: str) -> str:
    return part if part.endswith((".", "?", "!", "?*", "!*", ".*")) else f"{part}."


def _long_names(creators: Sequence[Creator]) -> str:
    names = [_inverted_name(each) for each in creators]
    if len(names) > _MOST_NAMES:
        return f"{', '.join(names[:_NAMES_BEFORE_DOTS])}, … {names[-1]}"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])}, & {names[-1]}" if names else ""


def _inverted_name(creator: Creator) -> str:
    return ", ".join(filter(None, (creator.family, _initials(creator.given))))


def _initials(given: str) -> str:
    """The first letters of given names; parts joined by a hyphen stay joined.

    >>> _initials("Jean-Paul Marie")
    'J.-P. M.'
    """
    return " ".join("-".join(f"{part[0]}." for part in name.split("-") if part) for name in given.split())


def _date_of(item: LibraryItem) -> str:
    year, *rest = item.date.split("-") if item.date else [""]
    if item.item_type not in _WITH_DAY or not rest or not all(part.isdecimal() for part in rest):
        return _year(item)
    month = int(rest[0])
    day = f" {int(rest[1][:2])}" if len(rest) > 1 else ""
    return f"{year}, {_MONTHS[month - 1]}{day}" if 1 <= month <= len(_MONTHS) else _year(item)


def _title_and_source(item: LibraryItem, emphasize: Callable[[str], str]) -> tuple[str, str]:
    title = item.title or item.citekey
    if item.item_type in _PARTS:
        return title, _periodical(item, emphasize)
    if item.item_type in _CHAPTERS and item.container:
        return title, _collection(item, emphasize)
    kind = _KINDS.get(item.item_type, "")
    if kind == "Thesis" and item.publisher:
        return f"{emphasize(title)} [{kind}, {item.publisher}]", ""
    volume = f" (Vol. {item.volume})" if item.volume and item.item_type == "book" else ""
    return emphasize(title) + volume + (f" [{kind}]" if kind else ""), item.publisher or item.container


def _periodical(item: LibraryItem, emphasize: Callable[[str], str]) -> str:
    issue = f"({item.issue})" if item.issue else ""
    volume = (emphasize(item.volume) if item.volume else "") + issue
    container = emphasize(item.container) if item.container else item.publisher
    return ", ".join(filter(None, (container, volume, _page_range(item))))


def _collection(item: LibraryItem, emphasize: Callable[[str], str]) -> str:
    editors = [each for each in item.creators if each.role == "editor"]
    names = " & ".join(f"{_initials(each.given)} {each.family}".strip() for each in editors)
    of_editors = f"{names} ({'Ed.' if len(editors) == 1 else 'Eds.'}), " if editors and _has_author(item) else ""
    volume = [f"Vol. {item.volume}"] if item.volume else []
    pages = [f"{'pp.' if '–' in (span := _page_range(item)) else 'p.'} {span}"] if item.pages else []
    within = f" ({', '.join((*volume, *pages))})" if volume or pages else ""
    return f"In {of_editors}{emphasize(item.container)}{within}" + (
        f". {item.publisher}" if item.publisher else ""
    )


def _has_author(item: LibraryItem) -> bool:
    return any(each.role == "author" for each in item.creators)


def _page_range(item: LibraryItem) -> str:
    return re.sub(r"\s*(?:--?|–|—)\s*", "–", item.pages)


# --- other entries


def _describe_markdown(item: LibraryItem) -> str:
    # The text is escaped before italics are marked.
    marked = _join_apa(item, lambda text: f"\x00{text}\x01")
    return "- " + _escape_markdown(marked).replace("\x00", "*").replace("\x01", "*")


def _escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", text)


def _describe_bibtex(item: LibraryItem) -> str:
    kind = TO_BIBTEX.get(item.item_type, "misc")
    of_book, of_thesis = kind in ("incollection", "inproceedings"), kind == "phdthesis"
    fields = {
        "title": f"{{{_to_latex(item.title)}}}" if item.title else "",
        "author": _bibtex_names(item, "author"),
        "editor": _bibtex_names(item, "editor"),
        "year": str(item.year or ""),
        ("booktitle" if of_book else "journal"): _to_latex(item.container),
        ("school" if of_thesis else "institution" if kind == "techreport" else "publisher"): _to_latex(
            item.publisher
        ),
        "volume": _to_latex(item.volume),
        "number": _to_latex(item.issue),
        "pages": _to_latex(_page_range(item).replace("–", "--")),
        "doi": _to_latex(item.doi),
        "url": _to_latex(item.url),
        "keywords": _to_latex(", ".join(item.tags)),
    }
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    return ",\n".join((f"@{kind}{{{_bibtex_key(item)}", *lines)) + "\n}"


def _bibtex_names(item: LibraryItem, role: str) -> str:
    names = (each for each in item.creators if each.role == role)
    # Braces keep the name of an organization in one piece.
    return " and ".join(_to_latex(each.name) if each.given else f"{{{_to_latex(each.family)}}}" for each in names)


def _to_latex(text: str) -> str:
    """The text with the signs of LaTeX escaped; other letters stay, as current programs read UTF-8.

    "^" is left out: two of them and a number are any character for TeX, also the backslash of a command.
    """
    return re.sub(r"([%&#$_])", r"\\\1", re.sub(r"[{}\\^]", "", text))


def _describe_csl_json(item: LibraryItem) -> str:
    creators: dict[str, list[dict[str, str]]] = {}
    for each in item.creators:
        name = {"family": each.family, "given": each.given} if each.given else {"literal": each.family}
        creators.setdefault(each.role, []).append(name)
    parts = [int(part) for part in item.date.split("-") if part.isdecimal()] or ([item.year] if item.year else [])
    fields: dict[str, Any] = {
        "id": item.citekey,
        "type": item.item_type,
        "title": item.title,
        **creators,
        "issued": {"date-parts": [parts]} if parts else None,
        "container-title": item.container,
        "publisher": item.publisher,
        "volume": item.volume,
        "issue": item.issue,
        "page": item.pages,
        "DOI": item.doi,
        "URL": item.url,
        "keyword": ", ".join(item.tags),
    }
    return _dump({name: value for name, value in fields.items() if value})


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


_ENTRIES: Mapping[Style, Callable[[LibraryItem], str]] = {
    "pandoc": lambda item: "",
    "apa": _describe_apa,
    "bibtex": _describe_bibtex,
    "csl-json": _describe_csl_json,
    "markdown": _describe_markdown,
}
