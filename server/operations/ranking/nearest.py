"""Suggestions for a filter that matches no document: warnings that name paths, values and fields in reach.

The names come only from documents within ``reach``: the scope of the settings, narrowed by that of the call.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import islice

from winnow.server.models import Document, Filters, NumberRange
from winnow.server.operations.base import Store
from winnow.server.storage.base import FACTS
from winnow.server.text.matching import field_numbers, fold_label
from winnow.server.text.printable import one_line

_NAMED = 5  # names in a warning
_NAME_CHARS = 60
_LIST_CHARS = 240  # of all names in a warning
_CUTOFF = 0.5  # the least similarity of a near name
_COMPARED = 3_000  # names that are compared by similarity; it takes about 10 microseconds each
_VALUES = 200
_SEPARATORS = re.compile(r"[/_.\- ]")
_WORDS = re.compile(r"\w+")
_PATH_WORDS = re.compile(r"[^\W_]+")
_NOT_PLAIN = re.compile(r"\[[^\]]*\]|[*?\[\]]+")


@dataclass(frozen=True, slots=True)
class _Part:
    """One filter of a call: its name and value for messages, the filters with it alone, and what is near it."""

    name: str
    value: str
    alone: Filters
    list_near: Callable[[], str]


def empty_filter_warnings(store: Store, bounds: Filters, reach: Filters, asked: Filters) -> tuple[str, ...]:
    """A warning for each filter that no document matches; or one if they match only apart. Usually none.

    ``bounds`` is the scope of the settings, ``reach`` the same narrowed by the scope of the call.
    """
    if asked == Filters(asked.project) or store.has_documents(asked):
        return ()
    if not store.has_documents(reach):
        return (f"no document is in scope{_describe_scope(reach)}{_list_near_scope(store, bounds, reach)}",)
    parts = list(_parts(store, reach, asked))
    empty = [part for part in parts if not store.has_documents(part.alone)]
    if not empty:
        return (f"no document matches all filters together, though each matches some: {_list_parts(parts)}",)
    return tuple(
        f"no document in reach has {part.name} {_quote(part.value)}; {part.list_near()}" for part in empty[:_NAMED]
    )


def excluding_filters(store: Store, reach: Filters, asked: Filters, document: Document) -> list[str]:
    """The filters of a call that leave out a document in reach, each with its value."""
    return [
        f"{part.name} {_quote(part.value)}"
        for part in _parts(store, reach, asked)
        if not store.admits(part.alone, document)
    ]


def near_documents(store: Store, reach: Filters, name: str) -> str:
    """The documents whose paths or titles are near a name that none has: their paths, which can be read."""
    paths = store.catalogue.paths(reach)
    titles = store.catalogue.titles(reach)
    words = _WORDS.findall(name.casefold())[:_NAMED]
    names = dict.fromkeys((*titles, *paths))  # the title of a file that states none is its name
    having = (known for known in names if words and all(word in known.casefold() for word in words))
    compared = dict.fromkeys((*titles[:_COMPARED], *paths[:_COMPARED]))
    near = list(islice(having, _NAMED)) or _similar(name, compared) or _having_words(name, paths)
    found = (document.uri for known in near for document in store.catalogue.find_documents(reach, known))
    return list_near(name, list(islice(dict.fromkeys(found), _NAMED)), "", is_sorted=True)


def paths_having(paths: Iterable[str], name: str) -> list[str]:
    """The paths that have all words of the last part of a name, such as "docs/backup.md" for "old/backup"."""
    return _having_words(name.replace("\\", "/").rstrip("/").rpartition("/")[2], paths)


def near_field(store: Store, reach: Filters, field: str) -> str:
    """That no document has this field, and the names near it."""
    names = sorted(store.fields(reach).union(FACTS))
    return f"no document in reach has a field {_quote(field)}; " + list_near(field, names, "")


def near_operator(store: Store, filters: Filters, field: str, value: str) -> str:
    """The values near that of a query's operator, such as ``vendor:acne``; "" if nothing is."""
    near = _OPERATORS.get(field)
    return near(store, filters, value) if near else ""


def list_near(asked: str, known: Sequence[str], otherwise: str = "", *, is_sorted: bool = False) -> str:
    """The known names that are near the one asked for, else some of them; ``otherwise`` if there are none.

    ``is_sorted``: the names are near ones, nearest first.
    """
    if not known:
        return otherwise or "no document in reach has a similar one"
    close = list(known) if is_sorted else _similar(asked, islice(known, _COMPARED))
    listed = (close or known)[:_NAMED]
    chars = max(_NAME_CHARS, _LIST_CHARS // len(listed))  # a cut path cannot be copied: few names have more room
    named = ", ".join(repr(one_line(name, chars)) for name in listed)
    return f"nearest: {named}" if close else f"there are: {named}"


def _parts(store: Store, reach: Filters, asked: Filters) -> Iterator[_Part]:
    """The filters of a call that are not its scope, each alone."""

    def part(name: str, value: str, alone: Filters, near: _Near) -> _Part:
        return _Part(name, value, alone, lambda: near(store, reach, value))

    spelled = replace(reach, spellings=asked.spellings)
    if asked.vendor:
        yield part("vendor", asked.vendor, replace(spelled, vendor=asked.vendor), _near_label("vendor"))
    if asked.doc_tags != reach.doc_tags:
        tags = ", ".join(asked.doc_tags)
        yield part("doc_tag", tags, replace(spelled, doc_tags=asked.doc_tags), _near_label("doc_tag"))
    for tag in asked.tags:
        yield part("tag", tag, replace(spelled, tags=(tag,)), _near_label("tags"))
    if asked.types:
        yield part("type", ", ".join(asked.types), replace(reach, types=asked.types), _near_label("type"))
    if asked.path_prefix:
        yield part("path_prefix", asked.path_prefix, replace(reach, path_prefix=asked.path_prefix), _near_path)
    if asked.path:
        yield part("path", asked.path, replace(reach, path=asked.path), _near_path)
    for field, wanted in asked.where:
        alone = replace(reach, where=((field, wanted),))
        if isinstance(wanted, NumberRange):
            yield part(field, str(wanted), alone, _near_numbers(field))
        else:
            yield part(field, ", ".join(wanted), alone, _near_value(field))
    if asked.updated_after:
        dated = replace(reach, updated_after=asked.updated_after)
        yield part("a date after", asked.updated_after, dated, _near_date)
    if asked.updated_before:
        dated = replace(reach, updated_before=asked.updated_before)
        yield part("a date before", asked.updated_before, dated, _near_date)
    if asked.environment != reach.environment:
        labelled = replace(reach, environment=asked.environment)
        yield part("environment", asked.environment, labelled, _near_label("environment"))
    if asked.repositories != reach.repositories:
        labelled = replace(reach, repositories=asked.repositories)
        yield part("repository", ", ".join(asked.repositories), labelled, _near_label("repository"))


_Near = Callable[[Store, Filters, str], str]


def _near_label(key: str) -> _Near:
    def near(store: Store, reach: Filters, value: str) -> str:
        known = sorted(store.labels(reach).values[key])
        return list_near(value, known, "a document without such a label matches no filter on it")

    return near


def _near_path(store: Store, reach: Filters, value: str) -> str:
    if store.has_documents(replace(reach, path=value)):  # path_prefix, which ends at a folder or file
        return f"it is no folder or file; as a glob or the beginning of a path it matches: path {_quote(value)}"
    return list_near(value, _near_paths(value, store.catalogue.paths(reach)), "", is_sorted=True)


def _near_value(field: str) -> _Near:
    def near(store: Store, reach: Filters, value: str) -> str:
        if field not in store.fields(reach).union(FACTS):
            return near_field(store, reach, field)
        return list_near(value, store.catalogue.field_values(reach, field, _VALUES), "this field has no values")

    return near


def _near_numbers(field: str) -> _Near:
    def near(store: Store, reach: Filters, value: str) -> str:
        if field not in store.fields(reach).union(FACTS):
            return near_field(store, reach, field)
        values = (value for value, _ in store.catalogue.iterate_values(reach, field))
        numbers = sorted(number for value in values for number in field_numbers(value))
        if not numbers:
            return "this field has no numbers"
        return f"its numbers are from {numbers[0]:g} to {numbers[-1]:g}"

    return near


def _near_date(store: Store, reach: Filters, value: str) -> str:
    dates = store.labels(reach).dates
    if not dates:
        return "no document in reach states a date"
    first, last = (datetime.fromtimestamp(date, UTC).date().isoformat() for date in (dates[0], dates[-1]))
    return f"dates in reach are from {first} to {last}"


_OPERATORS: dict[str, _Near] = {
    "vendor": _near_label("vendor"),
    "doc_tag": _near_label("doc_tag"),
    "tag": _near_label("tags"),
    "type": _near_label("type"),
    "path": _near_path,
}


def _near_paths(asked: str, paths: Sequence[str]) -> list[str]:
    """Paths that contain the longest plain part of a pattern, or all its words, or that are spelled similarly."""
    plain = _NOT_PLAIN.sub("*", asked).casefold().strip("*/ ")
    longest = max(plain.split("*"), key=len)
    beginnings = list(islice(dict.fromkeys(_beginnings(paths)), _COMPARED))
    for names in (beginnings, paths):
        containing = (name for name in names if longest and longest in name.casefold())
        if found := list(islice(containing, _NAMED)):
            return found
    return _having_words(plain, paths) or _similar(longest, beginnings) or beginnings[:_NAMED]


def _having_words(asked: str, paths: Iterable[str]) -> list[str]:
    words = _PATH_WORDS.findall(asked.casefold())
    return list(
        islice((path for path in paths if words and all(word in path.casefold() for word in words)), _NAMED)
    )


def _beginnings(paths: Sequence[str]) -> Iterator[str]:
    """The first words and the folders of all paths, then the paths themselves."""
    for path in paths:
        first = _SEPARATORS.search(path)
        if first and first.end() < len(path):
            yield path[: first.end()]
    for path in paths:
        folder, separator, _ = path.rpartition("/")
        if separator:
            yield folder + separator
    yield from paths


def _similar(asked: str, names: Iterable[str]) -> list[str]:
    """The names that are spelled most alike, case ignored; of a path, its last part counts as well."""
    by_text: dict[str, str] = {}
    for name in names:
        folded = fold_label(name)
        for text in (folded, folded.strip("/_.- "), folded.rpartition("/")[2]):
            if text:
                by_text.setdefault(text, name)
    close = difflib.get_close_matches(fold_label(asked)[:_VALUES], by_text, n=_NAMED, cutoff=_CUTOFF)
    return list(dict.fromkeys(by_text[text] for text in close))


def _describe_scope(reach: Filters) -> str:
    """The labels of a scope without documents; names of others would be outside it."""
    labels = {
        "environment": (reach.environment,),
        "repositories": reach.repositories,
        "doc_tags": reach.doc_tags,
    }
    named = [f"{name} {', '.join(values)}" for name, values in labels.items() if any(values)]
    return f": {one_line(' and '.join(named), 200)}; a document without such a label is never in there"


def _list_near_scope(store: Store, bounds: Filters, reach: Filters) -> str:
    """The values near the labels of a call's scope that no document within the settings' scope has."""
    known = store.labels(bounds).values
    labels = {
        "environment": ("environment", (reach.environment,), (bounds.environment,)),
        "repositories": ("repository", reach.repositories, bounds.repositories),
        "doc_tags": ("doc_tag", reach.doc_tags, bounds.doc_tags),
    }
    unknown = [
        f"{name} {list_near(', '.join(asked), sorted(known[key]), '(no document in reach has any)')}"
        for name, (key, asked, bound) in labels.items()
        if asked != bound and known[key].isdisjoint(asked)
    ]
    return f"; labels of a scope are compared exactly: {'; '.join(unknown)}" if unknown else ""


def _list_parts(parts: Sequence[_Part]) -> str:
    return ", ".join(f"{part.name} {_quote(part.value)}" for part in parts[:_NAMED])


def _quote(text: str) -> str:
    return repr(one_line(text, _NAME_CHARS))
