"""Citations and entries in styles of the Citation Style Language (CSL 1.0), written by citeproc-py.

The files of the styles are in ``server/data/csl``, unchanged. This module alone knows the processor, and adds what
it lacks: letters after the years of works that would be cited alike (2024a, 2024b), "et al." for "others", names
and titles that are not written twice where they stand in for authors, full stops and commas inside American
quotation marks, right ranges of pages, a blank after the number of an entry, capitals in labels ("Eds.").
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from string import ascii_lowercase
from threading import Lock
from types import MappingProxyType, SimpleNamespace
from typing import IO, Any

from citeproc import (  # type: ignore[import-untyped]
    DATES,
    NAMES,
    NUMBERS,
    VARIABLES,
    Citation,
    CitationItem,
    CitationStylesBibliography,
    CitationStylesStyle,
    Locator,
)
from citeproc.model import (  # type: ignore[import-untyped]
    CitationStylesElement,
    Date,
    Else_If,
    If,
    Name,
    Names,
    Number,
    Substitute,
    Text,
)
from citeproc.source import DateRange, VariableError  # type: ignore[import-untyped]
from citeproc.source.json import CiteProcJSON  # type: ignore[import-untyped]
from citeproc.string import MixedString, NoCase, String  # type: ignore[import-untyped]
from lxml import etree  # type: ignore[import-untyped]

# name of a style -> its file
STYLES: Mapping[str, str] = MappingProxyType(
    {
        "apa": "apa",
        "chicago": "chicago-author-date",
        "harvard": "harvard-cite-them-right",
        "ieee": "ieee",
        "mla": "modern-language-association",
        "vancouver": "vancouver",
    }
)
Fields = Mapping[str, Any]
_NAMESPACE = "http://purl.org/net/xbiblio/csl"
# Private characters stand for markup, for "others" and around letters after years while a style writes; texts
# lose theirs.
_OTHERS, _ITALIC, _BOLD, _LETTER = "\ue000", "\ue001", "\ue002", "\ue003"
_KEPT, _KEPT_END = "\ue004", "\ue005"
_PRIVATE = dict.fromkeys(map(ord, (_OTHERS, _ITALIC, _BOLD, _LETTER, _KEPT, _KEPT_END)))
_FORMATTER = SimpleNamespace(
    preformat=str,
    Italic=lambda text: f"{_ITALIC}{text}{_ITALIC}" if text else text,
    Bold=lambda text: f"{_BOLD}{text}{_BOLD}" if text else text,
    **dict.fromkeys(("Oblique", "Light", "Underline", "Superscript", "Subscript", "SmallCaps"), str),
)
# The fields of CSL-JSON that the processor takes.
_TAKEN = frozenset(
    {name.replace("_", "-") for name in (*DATES, *NAMES, *NUMBERS, *VARIABLES)}
    | {"type", "language", "archive_location", "keyword"}
)
_TITLES = (
    *("title", "container-title", "collection-title", "volume-title", "event-title"),
    *("title-short", "original-title"),
)
# Quotation marks of typewriters, formulas of TeX, and the number of an edition as German and Czech have it ("2.").
_QUOTED = re.compile(r'(?<!\w)"([^"]+)"(?!\w)')
_FORMULA = re.compile(rf"{_KEPT}[^{_KEPT_END}]*{_KEPT_END}|(?<!\\)\$[^$]+\$")
_ORDINAL = re.compile(r"(\d{1,3})\.")
# The markup of CSL for a text that keeps its case.
_SPAN = re.compile(r'<span class="nocase">(.*?)</span>')
_KEPT_CASE = '<span class="nocase">{}</span>'
_NUMBER = re.compile(r"\A(\[\d+\]|\d+\.)(?=\S)")
_AND_OTHERS = re.compile(rf",? ?(?:& |and )?{_OTHERS}\.?")
_ENDED_TWICE = re.compile(rf"([?!][”’{_ITALIC}{_BOLD}]*|\.[{_ITALIC}{_BOLD}]+)\.(?=\s|\Z)")
# A blank or a comma before the sign after something that an entry does not have: "In , edited by".
_EMPTY = re.compile(rf", ?(?=[{_ITALIC}{_BOLD}]*,)|(?<=[\w”’]) (?=[,.](?: [^.,]|\Z))")
_LETTERED = re.compile(f"{_LETTER}([a-z]*){_LETTER}")
_QUOTATION_MARKS = re.compile("[“”]")
_OUTSIDE = re.compile(r"(?<![.,?!”’])([”’]+)([.,])")
_ENDED_OUTSIDE = re.compile(r"(?<=[.,?!])([”’])[.,]")
# The processor keeps what it is given in its style: one list is written at a time.
_WRITING = Lock()


@dataclass(frozen=True, slots=True)
class Citing:
    """One citation: the number of its work in the list, and where in it: pages ("45-46"), or other words."""

    work: int
    pages: str = ""
    words: str = ""


@dataclass(frozen=True, slots=True)
class Written:
    """Citations in the order that was asked for, and an entry for each work in the order of the style's list."""

    citations: tuple[str, ...]
    entries: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Markup:
    """The escaping of text, and what is before and after italics and bold. The default is plain text."""

    escape: Callable[[str], str] = str
    italic: str = ""
    bold: str = ""


PLAIN = Markup()


def write(style: str, works: Sequence[Fields], citings: Sequence[Citing], markup: Markup = PLAIN) -> Written:
    """Write citations of works, and their list.

    Args:
        style: a name of ``STYLES``.
        works: the fields of each work as CSL-JSON has them; ``id`` is not used.
        citings: the citations, in order. Works that none names are in the list as well.
        markup: what the texts are written for.
    """
    with _WRITING:
        tree = _load(style, with_titles=False)
        if tree.can_tell_apart and len(set(_cite_alone(tree, works).values())) < len(works):
            tree = _load(style, with_titles=True)
        letters = [""] * len(works)
        if tree.root.citation.get("disambiguate-add-year-suffix") == "true":
            _add_letters(tree, works, letters)
        return _render(tree, _open(tree, works, letters), citings, markup)


def _open(tree: _Tree, works: Sequence[Fields], letters: Sequence[str]) -> Any:
    """The list of all works."""
    shorten = _PAGE_RANGES.get(tree.page_range_format, _expand if tree.page_range_format else str)
    prepared = [_prepare(fields, f"w{number}", shorten) for number, fields in enumerate(works)]
    if tree.spaces_initials:
        _space_initials(prepared)
    source = CiteProcJSON(prepared)
    for work in source.values():
        for role in [name for name in work if name in NAMES and "_" in name]:
            work[role.replace("_", "-")] = work[role]  # under the name that styles have for it
    for number, letter in enumerate(letters):
        if letter:
            _add_letter(tree, source[f"w{number}"], letter)
    return CitationStylesBibliography(tree, source, _FORMATTER)


def _prepare(fields: Fields, id: str, shorten: Callable[[str], str]) -> dict[str, Any]:
    known = {name: _clean(value) for name, value in fields.items()}
    for name, value in known.items():
        if isinstance(value, list) and value[-1:] in ([{"literal": "others"}], [{"family": "others"}]):
            known[name] = [*value[:-1], {"family": _OTHERS}]  # as BibTeX says that a list of people goes on
        if name.replace("-", "_") in NAMES and isinstance(value, list):
            known[name] = list(map(_part_particles, known[name]))
    page = {"page": shorten(str(known["page"]))} if known.get("page") else {}
    known |= {name: _mark_title(text) for name in _TITLES if isinstance(text := known.get(name), str)}
    if match := _ORDINAL.fullmatch(str(known.get("edition", ""))):
        known["edition"] = match[1]
    if not str(known.get("language") or "en").casefold().startswith("en"):
        # Only titles in English have capitals by the rules of a style.
        known |= {name: _keep_case(text) for name in _TITLES if (text := known.get(name))}
    known |= {name: _keep_parts(text) for name in _TITLES if isinstance(text := known.get(name), str)}
    return {**{name: value for name, value in known.items() if name in _TAKEN}, **page, "id": id}


def _mark_title(text: str) -> str:
    """A title with private characters around what keeps its case, and with the quotation marks of print."""
    return _QUOTED.sub(r"“\1”", _SPAN.sub(rf"{_KEPT}\1{_KEPT_END}", text))


def _keep_case(text: str) -> str:
    return f"{_KEPT}{text.replace(_KEPT, '').replace(_KEPT_END, '')}{_KEPT_END}"


def _keep_parts(text: str) -> str:
    """A title with the markup of CSL around its formulas, and around what keeps its case."""
    return _FORMULA.sub(lambda found: _KEPT_CASE.format(found[0].strip(_KEPT + _KEPT_END)), text)


_PARTICLES = re.compile(r"((?:[^\W\d_A-Z]+ )+)(?=[^\W\d_])(.+)")


def _part_particles(name: Any) -> Any:
    """A name with "van der" apart from the family name, under which some styles sort it."""
    if not isinstance(name, dict) or not name.get("given"):
        return name
    match = _PARTICLES.fullmatch(str(name.get("family") or ""))
    return (
        {**name, "non-dropping-particle": match[1].strip(), "family": match[2]}
        if match and match[1].islower()
        else name
    )


def _space_initials(works: Sequence[Fields]) -> None:
    """Write the initials in given names as styles have them that keep whole names: "H.W." as "H. W."."""
    people = (each for fields in works for name in NAMES for each in fields.get(name.replace("_", "-")) or ())
    for person in people:
        if given := person.get("given"):
            person["given"] = _INITIALS.sub(_space, given)


def _space(found: re.Match[str]) -> str:
    return " ".join(f"{sign}." for sign in found[0] if sign.isalpha())


_INITIALS = re.compile(r"(?<![\w-])(?:[A-Z]\.)+[A-Z]?(?![\w-])\.?|(?<![\w.-])[A-Z](?![\w.'’-])")


def _clean(value: Any) -> Any:
    """The value without private characters, in all its parts."""
    if isinstance(value, dict):
        return {name: _clean(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_clean(part) for part in value]
    return value.translate(_PRIVATE) if isinstance(value, str) else value


def _render(tree: _Tree, bibliography: Any, citings: Sequence[Citing], markup: Markup) -> Written:
    cited = [Citation([_cite(citing)]) for citing in citings]
    every = (Citation([_cite(Citing(number))]) for number in range(len(bibliography.source)))
    for citation in (*cited, *every):
        bibliography.register(citation)
    bibliography.sort()

    def finish(text: Any) -> str:
        finished = markup.escape(_finish(str(text), is_american=tree.is_american))
        return finished.replace(_ITALIC, markup.italic).replace(_BOLD, markup.bold)

    citations = (
        _add_words(finish(bibliography.cite(citation, _ignore)), markup.escape(citing.words))
        for citation, citing in zip(cited, citings, strict=True)
    )
    return Written(tuple(citations), tuple(map(finish, bibliography.bibliography())))


def _cite(citing: Citing) -> Any:
    locator = {"locator": Locator("page", citing.pages)} if citing.pages else {}
    return CitationItem(f"w{citing.work}", **locator)


def _ignore(item: Any) -> None:
    """Called for unknown works; there are none."""


def _finish(text: str, *, is_american: bool) -> str:
    text = _AND_OTHERS.sub(" et al.", _NUMBER.sub(r"\1 ", text.strip()))
    text = _ENDED_TWICE.sub(r"\1", _EMPTY.sub("", text))
    # The letter belongs to the first year alone, not to the date of a day after it.
    text = _LETTERED.sub("", _LETTERED.sub(r"\1", text, count=1))
    text = _mark_inner_quotations(text) if is_american else text
    return _OUTSIDE.sub(r"\2\1", _ENDED_OUTSIDE.sub(r"\1", text)) if is_american else text


def _mark_inner_quotations(text: str) -> str:
    """Quotations within quotations get single marks."""
    depth = 0

    def mark(found: re.Match[str]) -> str:
        nonlocal depth
        depth += 1 if found[0] == "“" else 0
        is_inner = depth > 1
        depth -= 1 if found[0] == "”" and depth else 0
        return found[0].translate(_SINGLE) if is_inner else found[0]

    return _QUOTATION_MARKS.sub(mark, text)


_SINGLE = str.maketrans("“”", "‘’")


def _add_words(citation: str, words: str) -> str:
    """Other places than pages, for which styles have no form: "(Volta, 1800, slide 3)"."""
    if not words:
        return citation
    return f"{citation[:-1]}, {words}{citation[-1]}" if citation.endswith((")", "]")) else f"{citation}, {words}"


# --- styles


# The variables that an entry has so far, and those of them that stood in for names, among what the processor keeps
# of a layout while it writes an entry.
_WRITTEN, _STOOD_IN = "written", "stood in"


def _note(element: Any, context: Any, variables: Sequence[str]) -> None:
    kept = (context if context is not None else element).get_layout().repressed
    kept.setdefault(_WRITTEN, []).extend(variables)


def _stood_in(element: Any, context: Any) -> Sequence[str]:
    kept = (context if context is not None else element).get_layout().repressed
    return kept.get(_STOOD_IN, ())  # type: ignore[no-any-return]


class _Names(Names):  # type: ignore[misc]
    """Names without those that stood in for others before: the editors of a work without authors."""

    def process(self, item: Any, names_context: Any = None, context: Any = None, **options: Any) -> Any:
        roles = str(self.get("variable")).split()
        kept = [role for role in roles if role not in _stood_in(self, context)]
        if not kept:
            raise VariableError
        self.set("variable", " ".join(kept))
        try:
            text = super().process(item, names_context=names_context, context=context, **options)
        finally:
            self.set("variable", " ".join(roles))
        _note(self, context, [role for role in kept if role in item.reference] if text else [])
        return text


class _Name(Name):  # type: ignore[misc]
    """Names that are sorted without their particles where a style says so of sorting alone.

    Of given names, words in lower case ("van", or "bell" of bell hooks) have no initial and are written whole.
    """

    def initialize(self, given: str, mark: str, context: Any) -> str:
        parts = [part for part in given.split("-") if not (part.isalpha() and part.islower())] or [given]
        if not self.get_option("initialize-with-hyphen", context):
            return _initials(" ".join(parts), mark)
        return "-".join(_initials(part, mark) for part in parts)

    def get_option(self, name: str, context: Any = None, sort_options: Any = None) -> Any:
        value = super().get_option(name, context, sort_options)
        return "display-and-sort" if sort_options is not None and value == "sort-only" else value


def _initials(given: str, mark: str) -> str:
    words = given.replace(".", " ").split()
    return " ".join("".join(f"{word[0]}{mark}" if word[0].isupper() else f" {word} " for word in words).split())


class _Substitute(Substitute):  # type: ignore[misc]
    """The substitutes for names, which are not written again: the variables that were written, also in a macro."""

    def render(self, item: Any, context: Any = None, **options: Any) -> Any:
        kept = (context if context is not None else self).get_layout().repressed
        for child in self.getchildren():
            own = {"names_context": self.getparent()} if isinstance(child, Names) and child.name is None else {}
            before = len(kept.get(_WRITTEN, ()))
            try:
                text = child.render(item, context=context, **own, **options)
            except VariableError:
                continue
            if text:
                kept.setdefault(_STOOD_IN, []).extend(kept.get(_WRITTEN, ())[before:])
                return text
        return None


# The letter of a work without a date, which stands after the words for that.
_UNDATED = "undated_letter"


class _Text(Text):  # type: ignore[misc]
    """A text that did not stand in for names. In title case, parts of words with hyphens are words."""

    def process(self, item: Any, context: Any = None, **options: Any) -> Any:
        variable = str(self.get("variable", ""))
        if variable and variable in _stood_in(self, context):
            return None, ""
        text, language = super().process(item, context=context, **options)
        if self.get("term") == "no date" and _UNDATED in item.reference:
            text = String(f"{text}{_LETTER}{item.reference[_UNDATED]}{_LETTER}")
        _note(self, context, [variable] if variable and text else [])
        return text, language

    def case(self, text: Any, language: str | None = None) -> Any:
        if text is None or self.get("text-case") != "title" or language != "en":
            return super().case(text, language)
        parts = text if isinstance(text, MixedString) else [text]
        last = max((number for number, part in enumerate(parts) if str(part).strip()), default=0)
        written, is_first = [], True
        for at, part in enumerate(parts):
            words = [] if isinstance(part, NoCase) else re.split(r"(\s+)", str(part))
            ends = max((number for number, word in enumerate(words) if word.strip()), default=-1)
            for number, word in enumerate(words):
                if word.strip():
                    is_outer = is_first or (at == last and number == ends)
                    words[number] = _capitalize(word, is_first=is_first, is_outer=is_outer)
                    is_first = word.endswith(_BEFORE_FIRST)
            if isinstance(part, NoCase) and str(part).strip():
                is_first = str(part).endswith(_BEFORE_FIRST)
            written.append(String("".join(words)) if words else part)
        return MixedString(written)


# Signs after which a word is the first of a title.
_BEFORE_FIRST = (":", "?", "!")


def _capitalize(word: str, *, is_first: bool, is_outer: bool) -> str:
    """A word of a title: its parts in lower case begin with capitals.

    Short words have none but at both ends of a title, and single letters none but as its first: they are symbols.
    """
    if word.islower() and not is_outer and word.strip(",;:()") in _LOWER:
        return word
    parts = re.split(r"([-‐–—/])", word)
    return "".join(
        part
        if (number and part in _LOWER) or (sum(map(str.isalnum, part)) == 1 and not (is_first and not number))
        else _FIRST_LETTER.sub(lambda found: found[0].upper(), part, count=1)
        if part.islower()
        else part
        for number, part in enumerate(parts)
    )


# Before it are quotation marks and brackets alone.
_FIRST_LETTER = re.compile(r"\A[\W_]*[^\W\d_]")
# Words that stay in lower case in titles: articles, conjunctions and prepositions, as CSL lists them.
_LOWER = frozenset(
    (
        *(
            "a",
            "about",
            "above",
            "across",
            "after",
            "against",
            "along",
            "among",
            "an",
            "and",
            "around",
            "as",
            "at",
        ),
        *(
            "before",
            "behind",
            "below",
            "beside",
            "between",
            "beyond",
            "but",
            "by",
            "de",
            "down",
            "during",
            "except",
        ),
        *("for", "from", "in", "inside", "into", "like", "near", "nor", "of", "off", "on", "onto", "or", "over"),
        *(
            "per",
            "so",
            "than",
            "the",
            "through",
            "till",
            "to",
            "toward",
            "towards",
            "until",
            "up",
            "upon",
            "v",
            "v.",
        ),
        *("van", "via", "von", "vs", "vs.", "with", "yet", "et", "al."),
    )
)


class _Number(Number):  # type: ignore[misc]
    """A number under its name in the source, which has "_" for "-": the number of volumes."""

    def process(self, item: Any, context: Any = None, **options: Any) -> Any:
        name = str(self.get("variable"))
        self.set("variable", name if name in ("locator", "page-first") else name.replace("-", "_"))
        try:
            return super().process(item, context=context, **options)
        finally:
            self.set("variable", name)


# What CSL calls numeric: numbers, with letters before and after them, and lists and ranges of these.
_NUMERIC = re.compile(r"[A-Z]*\d+[A-Z]*(?:\s*[-–,&.]\s*[A-Z]*\d+[A-Z]*)*\Z", re.IGNORECASE)


class _Conditions:
    """Conditions to which variables that stood in for names are empty, and ranges are numbers."""

    re_numeric = _NUMERIC
    empty: Sequence[str] = ()

    def render(self, item: Any, context: Any = None, **options: Any) -> Any:
        self.empty = _stood_in(self, context)
        return super().render(item, context=context, **options)  # type: ignore[misc]

    def _variable(self, item: Any) -> list[bool]:
        return self._without_empty("variable", super()._variable(item))  # type: ignore[misc]

    def _is_numeric(self, item: Any) -> list[bool]:
        return self._without_empty("is-numeric", super()._is_numeric(item))  # type: ignore[misc]

    def _without_empty(self, test: str, results: Sequence[Any]) -> list[bool]:
        names = str(self.get(test)).split()  # type: ignore[attr-defined]
        return [bool(result) and name not in self.empty for name, result in zip(names, results, strict=True)]


class _If(_Conditions, If):  # type: ignore[misc]
    """A condition of that kind."""


class _ElseIf(_Conditions, Else_If):  # type: ignore[misc]
    """A further condition of that kind."""


class _Date(Date):  # type: ignore[misc]
    """A date that has of a range twice what differs in it, and the rest once: "Mar. 5–8, 1990"."""

    def process(self, item: Any, variable: Any = None, **options: Any) -> Any:
        stated = item.reference.get(str(variable or self.get("variable")).replace("-", "_"))
        if not isinstance(stated, DateRange) or stated.end.is_nil():
            return super().process(item, variable, **options)
        text = self._write_range(stated.begin, stated.end)
        return self.wrap(String(text)) if text else None

    def _write_range(self, begin: Any, end: Any) -> str:
        source = self.get_date(self.get("form")) if self.get("form") else self
        shown = self.get("date-parts", "-".join(_DATE_PARTS)).split("-") if self.get("form") else _DATE_PARTS
        names = [part.get("name") for part in source.iterchildren("{*}date-part") if part.get("name") in shown]
        differing = next(
            (at for at, name in enumerate(_DATE_PARTS) if begin.get(name) != end.get(name)), len(names)
        )
        twice = [name for name in names if name in _DATE_PARTS[differing:]]
        at = names.index(twice[0]) if twice else len(names)
        before, after = names[:at], names[at + len(twice) :]
        first, last = (self._write(source, date, names[at : at + len(twice)]) for date in (begin, end))
        ranged = f"{first.rstrip(' ,')}–{last.lstrip(' ,')}" if first.rstrip() != last.rstrip() else first
        return f"{self._write(source, begin, before)}{ranged}{self._write(source, begin, after)}".rstrip()

    def _write(self, source: Any, date: Any, names: Sequence[str]) -> str:
        context = None if source is self else self
        return "".join(str(text) for name in names for text in source.parts(date, [name], context))


_DATE_PARTS = ("year", "month", "day")


class _Tree(CitationStylesStyle):  # type: ignore[misc]
    """A style with the elements above in place of the processor's, and without what it does wrong.

    It skips the case of titles for labels, shortens given names that are to stay whole and ranges of pages such as
    1-10 (to 1-0), and always adds what a style adds where works would be cited alike (``with_titles``).
    ``can_tell_apart`` is whether the style has such parts.
    """

    def __init__(self, opened: IO[bytes], *, with_titles: bool) -> None:
        lookup = etree.ElementNamespaceClassLookup()
        elements = lookup.get_namespace(_NAMESPACE)
        elements[None] = CitationStylesElement
        classes = {cls.__name__.replace("_", "-").lower(): cls for cls in CitationStylesElement.__subclasses__()}
        own = {
            "name": _Name,
            "names": _Names,
            "substitute": _Substitute,
            "number": _Number,
            "text": _Text,
            "date": _Date,
            "if": _If,
            "else-if": _ElseIf,
        }
        elements.update(classes | own)
        self.parser = etree.XMLParser(remove_comments=True, no_network=True, resolve_entities=False)
        self.parser.set_element_class_lookup(lookup)
        self.xml = etree.parse(opened, self.parser)
        self.root = self.xml.getroot()
        locale = self.root.get("default-locale", "en-US")
        self.root.set_locale_list(locale, validate=False)
        self.is_american = locale == "en-US"
        for label in self.root.iter("{*}label"):
            if label.get("text-case") == "title":
                label.set("text-case", "capitalize-all")
        self.spaces_initials = False
        for names in self.root.iter("{*}name"):
            if names.get("initialize") == "false":
                self.spaces_initials |= names.attrib.pop("initialize-with", "").endswith(" ")
        apart = [each for each in self.root.iter("{*}if") if each.get("disambiguate") == "true"]
        self.can_tell_apart = bool(apart)
        for each in () if with_titles else apart:
            del each[:]
        self.page_range_format = self.root.get("page-range-format", "")
        if self.page_range_format in _PAGE_RANGES:
            del self.root.attrib["page-range-format"]


@lru_cache(maxsize=2 * len(STYLES))
def _load(style: str, *, with_titles: bool) -> _Tree:
    with files("winnow.server").joinpath(f"data/csl/{STYLES[style]}.csl").open("rb") as opened:
        return _Tree(opened, with_titles=with_titles)


def _keep_digits(least: int) -> Callable[[str], str]:
    """Shorten the last page of ranges: without the digits that both pages begin with, but ``least`` of them."""

    def shorten(found: re.Match[str]) -> str:
        first, last = _whole(found)
        same = next((at for at, digits in enumerate(zip(first, last, strict=False)) if len({*digits}) > 1), 0)
        kept = max(0, min(same, len(last) - least)) if len(first) == len(last) else 0
        return f"{first}-{last[kept:]}"

    return lambda pages: _RANGE.sub(shorten, pages)


def _expand(pages: str) -> str:
    """Ranges with all digits of their last pages, which files have without them: "243-51"."""
    return _RANGE.sub(lambda found: "-".join(_whole(found)), pages)


def _whole(found: re.Match[str]) -> tuple[str, str]:
    first, last = found[1], found[2]
    whole = first[: len(first) - len(last)] + last
    return first, whole if len(last) < len(first) and int(whole) > int(first) else last


_RANGE = re.compile(r"(?<![\w.])(\d+)\s*(?:--?|–|—)\s*(\d+)(?![\w.])")
# how a style writes ranges of pages -> what writes them so
_PAGE_RANGES: Mapping[str, Callable[[str], str]] = MappingProxyType(
    {"minimal": _keep_digits(1), "minimal-two": _keep_digits(2)}
)


# --- letters after years


class _LetteredYear(int):
    """A year that is written with a letter. The processor writes ``str(abs(year))``."""

    letter = ""

    def __abs__(self) -> _LetteredYear:
        return self

    def __str__(self) -> str:
        return f"{int(self)}{_LETTER}{self.letter}{_LETTER}"


def _add_letters(tree: _Tree, works: Sequence[Fields], letters: list[str]) -> None:
    """Give works of the same people that are cited alike "a", "b", ... in the order of the list."""
    alike: dict[str, list[int]] = {}
    for number, fields in enumerate(works):
        year = (fields.get("issued") or {}).get("date-parts", [[None]])[0][:1]
        alike.setdefault(
            repr([*map(_initialed, fields.get("author") or fields.get("editor") or ()), year]), []
        ).append(number)
    for numbers in alike.values():
        if len(numbers) == 1:
            continue
        alone = _cite_alone(tree, [works[number] for number in numbers])
        for citation in set(alone.values()):
            same = [place for place, each in alone.items() if each == citation]
            for letter, place in enumerate(same if len(same) > 1 else ()):
                letters[numbers[place]] = _letter(letter)


def _initialed(name: Mapping[str, str]) -> tuple[str, str]:
    """A name as it is told apart from others: the family name, and one initial."""
    return str(name.get("family") or name.get("literal") or "").casefold(), str(name.get("given") or "")[:1]


def _cite_alone(tree: _Tree, works: Sequence[Fields]) -> dict[int, str]:
    """The citation of each work without a place, by number, in the order of the list."""
    bibliography = _open(tree, works, [""] * len(works))
    alone = _render(tree, bibliography, [Citing(number) for number in range(len(works))], PLAIN).citations
    return {number: alone[number] for number in (int(key[1:]) for key in bibliography.keys)}


def _letter(place: int) -> str:
    """The letter of a place: a to z, then aa, ab, ..."""
    beyond, last = divmod(place, len(ascii_lowercase))
    return (_letter(beyond - 1) if beyond else "") + ascii_lowercase[last]


def _add_letter(tree: _Tree, work: Any, letter: str) -> None:
    """Add a letter where the style has a place for it, else to the year."""
    if next(tree.root.iterfind(".//{*}text[@variable='year-suffix']"), None) is not None:
        work["year_suffix"] = letter
    elif issued := work.get("issued"):
        date = issued.get("begin", issued)
        date["year"] = _LetteredYear(date["year"])
        date["year"].letter = letter
    else:
        work[_UNDATED] = letter
