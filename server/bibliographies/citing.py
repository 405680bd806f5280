"""Writes citations of works, and entries of their lists.

A citation is of one place in a work, an entry of the whole work. Styles of CSL are written by its processor
(``csl_styles``); the others are the forms that pandoc, BibTeX and CSL-JSON read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

from winnow.server.bibliographies.item_types import TO_BIBTEX
from winnow.server.bibliographies.records import Creator, LibraryItem
from winnow.server.bibliographies.stated_language import stated_language
from winnow.server.models import CitationStyle
from winnow.server.text.forms.title_case import places_of_capitals, split_kept, to_sentence_case

STYLES: tuple[CitationStyle, ...] = get_args(CitationStyle)


@dataclass(frozen=True, slots=True)
class CitedPlace:
    """The place of a citation in a work: "45" or "45-46" of pages, or other words ("slide 3"); a link to it."""

    pages: str = ""
    words: str = ""
    link: str = ""

    @property
    def text(self) -> str:
        """The place in words: "p. 45", "pp. 45-46", "slide 3"; "" for the whole work."""
        return f"{'pp.' if '-' in self.pages else 'p.'} {self.pages}" if self.pages else self.words


@dataclass(frozen=True, slots=True)
class WrittenWorks:
    """A citation for each place that was asked for, and an entry for each work once, as the style orders them."""

    citations: tuple[str, ...]
    entries: tuple[str, ...]


def write_citations(cited: Sequence[tuple[LibraryItem, CitedPlace]], style: CitationStyle) -> WrittenWorks:
    """Citations of places in works, and the list of these works; works are told apart by their citekeys.

    Styles of CSL that name years tell works of the same people and year apart by letters (2024a, 2024b). There are
    no entries in the style pandoc, which makes the list itself.

    >>> work = LibraryItem("ohm27", "ohm27", "book", "The Galvanic Circuit")
    >>> write_citations([(work, CitedPlace("45"))], "pandoc").citations
    ('[@ohm27, p. 45]',)
    """
    works = {item.citekey: item for item, _ in cited}
    if style in _FORMS:
        write_citation, write_entry = _FORMS[style]
        entries = (write_entry(item) for item in sorted(works.values(), key=sort_key))
        return WrittenWorks(tuple(write_citation(*each) for each in cited), tuple(filter(None, entries)))
    return _write_markdown(works, cited) if style == "markdown" else _write_styled(works, cited, style)


def _write_styled(
    works: Mapping[str, LibraryItem],
    cited: Sequence[tuple[LibraryItem, CitedPlace]],
    style: str,
    escape: Callable[[str], str] = str,
    marks: tuple[str, str] = ("", ""),
) -> WrittenWorks:
    """Citations and entries in a style of CSL; ``marks`` are put around italics and bold."""
    from winnow.server.bibliographies.csl_styles import Citing, Markup, write

    numbers = {citekey: number for number, citekey in enumerate(works)}
    citings = [
        Citing(numbers[item.citekey], place.pages, "" if place.pages else place.words) for item, place in cited
    ]
    written = write(style, [csl_fields(item) for item in works.values()], citings, Markup(escape, *marks))
    return WrittenWorks(written.citations, written.entries)


def _write_markdown(
    works: Mapping[str, LibraryItem], cited: Sequence[tuple[LibraryItem, CitedPlace]]
) -> WrittenWorks:
    """Citations of APA as links to their places, and entries as items of a list."""
    written = _write_styled(works, cited, "apa", _escape_markdown, ("*", "**"))
    linked = (
        f"[{citation[1:-1]}](<{_link_target(place.link)}>)" if place.link else citation
        for citation, (_, place) in zip(written.citations, cited, strict=True)
    )
    return WrittenWorks(tuple(linked), tuple(f"- {entry}" for entry in written.entries))


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


def _link_target(link: str) -> str:
    """The link without signs that would end it; a path is marked as one, so that its name is no scheme."""
    target = re.sub(r"[<>\\]", lambda sign: f"%{ord(sign[0]):02X}", link)
    return target if target.startswith("zotero://") or ":" not in target.partition("/")[0] else f"./{target}"


def _principals(item: LibraryItem) -> list[Creator]:
    """The authors; the editors of a work without authors."""
    return [each for each in item.creators if each.role == "author"] or [
        each for each in item.creators if each.role == "editor"
    ]


# --- entries


def _page_range(item: LibraryItem) -> str:
    return re.sub(r"\s*(?:--?|–|—)\s*", "–", item.pages)


def _escape_markdown(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", text)


def _describe_bibtex(item: LibraryItem) -> str:
    kind = TO_BIBTEX.get(item.item_type, "misc")
    if kind == "phdthesis" and "master" in dict(item.more).get("genre", "").casefold():
        kind = "mastersthesis"
    of_thesis = kind.endswith("thesis")
    fields = {
        "title": _bibtex_title(item, "title", item.title),
        "author": _bibtex_names(item, "author"),
        "editor": _bibtex_names(item, "editor"),
        "translator": _bibtex_names(item, "translator"),
        **{_FIELD_OF_ROLE.get(role, role): _bibtex_names(item, role) for role in _further_roles(item)},
        "year": str(item.year or ""),
        **_bibtex_container(item, kind),
        ("school" if of_thesis else "institution" if kind == "techreport" else "publisher"): _to_latex_name(
            item.publisher
        ),
        "volume": _to_latex(item.volume),
        "number": _to_latex(item.issue),
        "pages": _to_latex(_page_range(item).replace("–", "--")),
        "doi": _to_verbatim(item.doi),
        "url": _to_verbatim(item.url),
        "keywords": _to_latex(", ".join(item.tags)),
        "month": _month(item.date),
        "day": _day(item.date),
        "date": item.date if "/" in item.date else "",
        "langid": _to_latex(item.language),
    }
    for name, text in item.more:
        field = _FIELD_OF_FACT.get(name, name.casefold())
        if not fields.get(field):
            fields[field] = _bibtex_fact(item, name, field, text)
    lines = [f"  {name} = {{{value}}}" for name, value in fields.items() if value]
    return ",\n".join((f"@{kind}{{{_bibtex_key(item)}", *lines)) + "\n}"


def _bibtex_container(item: LibraryItem, kind: str) -> dict[str, str]:
    """The container of the work: a book has a title, a journal a name."""
    if kind in ("incollection", "inproceedings") or "container-title" in dict(item.cased):
        return {"booktitle": _bibtex_title(item, "container-title", item.container)}
    return {"journal": _to_latex(item.container)}


def _bibtex_fact(item: LibraryItem, name: str, field: str, text: str) -> str:
    if name in item.titles:
        return _bibtex_title(item, name, text)
    return _to_latex_name(text) if field in _NAMED else _to_latex(text)


def _bibtex_title(item: LibraryItem, name: str, text: str) -> str:
    """A title with braces around what is to keep its case, as its file has them, or where English needs them."""
    cased = dict(item.cased)
    if name not in cased and (item.language and stated_language(item.language) != "en"):
        return f"{{{_to_latex(text)}}}" if text else ""
    kept = cased[name] if name in cased else places_of_capitals(text)
    parts = ((_to_latex(part), is_kept) for part, is_kept in split_kept(text, kept))
    return "".join(f"{{{part}}}" if is_kept else part for part, is_kept in parts)


def _further_roles(item: LibraryItem) -> list[str]:
    return sorted({each.role for each in item.creators} - {"author", "editor", "translator"})


def _bibtex_names(item: LibraryItem, role: str) -> str:
    names = (each for each in item.creators if each.role == role)
    # Braces keep the name of an organization in one piece.
    return " and ".join(map(_bibtex_name, names))


def _bibtex_name(creator: Creator) -> str:
    if creator.is_others:
        return creator.family
    parts = filter(None, (creator.family, creator.suffix, creator.given))
    return _to_latex(", ".join(parts)) if creator.given else f"{{{_to_latex(creator.family)}}}"


def _month(date: str) -> str:
    parts = date.split("-")
    return str(int(parts[1])) if len(parts) > 1 and parts[1].isdecimal() else ""


def _day(date: str) -> str:
    """The day of one date; BibLaTeX has ranges in its own field."""
    parts = date.split("-")
    return str(int(parts[2])) if len(parts) == 3 and "/" not in date and parts[2].isdecimal() else ""


_FIELD_OF_ROLE: Mapping[str, str] = {"container-author": "bookauthor"}
_NAMED = frozenset(
    {"address", "location", "venue", "organization", "institution", "origlocation", "origpublisher"}
)
# Fields of BibTeX by the names of CSL.
_FIELD_OF_FACT: Mapping[str, str] = {
    "publisher-place": "address",
    "collection-title": "series",
    "collection-number": "number",
    "genre": "type",
    "original-publisher": "origpublisher",
    "original-publisher-place": "origlocation",
    "original-title": "origtitle",
    "event-date": "eventdate",
    "part-number": "part",
    "jurisdiction": "location",
    "accessed": "urldate",
    "chapter-number": "chapter",
    "number-of-volumes": "volumes",
    "number-of-pages": "pagetotal",
    "title-short": "shorttitle",
    "event-title": "eventtitle",
    "event-place": "venue",
    "original-date": "origdate",
    "status": "pubstate",
}
# Commands of formulas that write signs, and nothing else.
_OF_FORMULAS = (
    "alpha|beta|gamma|delta|epsilon|varepsilon|zeta|eta|theta|vartheta|iota|kappa|lambda|mu|nu|xi|pi|rho|"
    "sigma|tau|upsilon|phi|varphi|chi|psi|omega|Gamma|Delta|Theta|Lambda|Xi|Pi|Sigma|Upsilon|Phi|Psi|"
    "Omega|ell|hbar|infty|partial|nabla|times|cdot|cdots|ldots|dots|pm|mp|div|ast|star|circ|bullet|oplus|"
    "otimes|le|leq|ge|geq|ne|neq|ll|gg|approx|equiv|sim|simeq|cong|propto|in|notin|subset|subseteq|cup|"
    "cap|to|rightarrow|leftarrow|mapsto|langle|rangle|log|ln|exp|sin|cos|tan|min|max|sup|inf|lim|det|dim|"
    "ker|gcd|mod|sum|prod|int|sqrt|frac|binom|left|right|over|rm|it|bf|cal|sf|tt|mathrm|mathit|mathbf|"
    "mathcal|mathbb|mathfrak|mathsf|text|textrm|operatorname|hat|bar|tilde|vec|dot|overline|underline|"
    "prime|quad"
)
# A formula of letters, signs and these commands, however they are combined.
_FORMULA = re.compile(
    r"(?<!\\)(\$(?:[A-Za-z0-9_+=<>()\[\].,/|:;'*!{} -]|\^(?!\^)"
    rf"|\\(?:{_OF_FORMULAS})(?![A-Za-z])|\\[,;:! ])+\$)"
)


def _to_verbatim(text: str) -> str:
    """A DOI or an address, which BibTeX has as it is, without signs that would end it."""
    return re.sub(r"[{}\\^]", lambda sign: f"%{ord(sign[0]):02X}", text)


def _to_latex(text: str) -> str:
    """The text with the signs of LaTeX escaped, formulas as they are; other letters stay, as UTF-8."""
    parts = _FORMULA.split(text)
    return "".join(part if at % 2 and _is_balanced(part) else _escape_latex(part) for at, part in enumerate(parts))


def _is_balanced(text: str) -> bool:
    """Whether no brace would end what is around the text."""
    depth = 0
    for sign in text:
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            return False
    return depth == 0


def _to_latex_name(text: str) -> str:
    """The name of a place or a publisher. In BibLaTeX an "and" without braces joins several."""
    return f"{{{_to_latex(text)}}}" if " and " in text else _to_latex(text)


def _escape_latex(text: str) -> str:
    """Text outside formulas.

    "^" is left out: two of them and a number are any character for TeX, also the backslash of a command.
    """
    return re.sub(r"([%&#$_])", r"\\\1", re.sub(r"[{}\\^]", "", text))


def csl_fields(item: LibraryItem) -> dict[str, Any]:
    """A work as CSL-JSON has it, without an id."""
    creators: dict[str, list[dict[str, str]]] = {}
    for each in item.creators:
        name = {"family": each.family, "given": each.given, "suffix": each.suffix}
        name = {part: text for part, text in name.items() if text}
        if list(name) == ["family"]:
            name = {"literal": each.family}
        creators.setdefault(each.role, []).append(name)
    dates = (
        [_date_parts(date) for date in item.date.split("/")] if item.date else [[item.year] if item.year else []]
    )
    fields: dict[str, Any] = {
        "type": item.item_type,
        "title": item.title,
        **creators,
        "issued": {"date-parts": dates} if all(dates) else None,
        "container-title": item.container,
        "publisher": item.publisher,
        "volume": item.volume,
        "issue": item.issue,
        "page": item.pages,
        "DOI": item.doi,
        "URL": item.url,
        "language": item.language,
        "keyword": ", ".join(item.tags),
    }
    for fact, text in item.more:
        if fact in _CSL_TEXTS:
            fields.setdefault(fact, text)
        elif fact in _CSL_DATES and all(map(_DATE.fullmatch, text.split("/"))):
            fields.setdefault(fact, {"date-parts": [_date_parts(date) for date in text.split("/")]})
    # CSL has titles in sentence case.
    texts = item.titles
    fields |= {name: to_sentence_case(texts[name], kept) for name, kept in item.cased if fields.get(name)}
    return {name: value for name, value in fields.items() if value}


def _date_parts(date: str) -> list[int]:
    return [int(part) for part in date.split("-") if part.isdecimal()]


def _describe_csl_json(item: LibraryItem) -> str:
    fields = csl_fields(item)
    # The place of CSL-JSON for what CSL has no name for.
    custom = {fact: text for fact, text in item.more if fact not in fields}
    return _dump({"id": item.citekey, **fields, **({"custom": custom} if custom else {})})


# Facts that the processor of styles takes as texts.
_CSL_TEXTS = frozenset(
    {
        "edition",
        "publisher-place",
        "ISBN",
        "ISSN",
        "PMID",
        "collection-title",
        "collection-number",
        "version",
        "note",
    }
    | {
        "genre",
        "chapter-number",
        "number-of-volumes",
        "number-of-pages",
        "title-short",
        "event-title",
        "event-place",
    }
    | {"volume-title", "part-number", "container-title-short", "jurisdiction", "authority", "dimensions", "scale"}
    | {"original-title", "original-publisher", "original-publisher-place", "references", "source", "PMCID"}
    | {"status", "number", "medium", "section", "archive", "archive_location", "call-number", "annote"}
)
_DATE = re.compile(r"[12]\d{3}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12]\d|3[01]))?)?")
_CSL_DATES = frozenset({"accessed", "available-date", "event-date", "original-date", "submitted"})


def _dump(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


# style -> what writes a citation, and what writes an entry
_FORMS: Mapping[CitationStyle, tuple[Callable[[LibraryItem, CitedPlace], str], Callable[[LibraryItem], str]]] = {
    "pandoc": (_cite_pandoc, lambda item: ""),
    "bibtex": (_cite_bibtex, _describe_bibtex),
    "csl-json": (_cite_csl_json, _describe_csl_json),
}
