"""From rows to what a script returns: chosen, grouped, shortened, told. Pure functions; the rows stay as they are.

A field is read as an item, never as an attribute: which field it is, a script says.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .awaitable import Groups, Rows, Text
from .rows import FIELDS, Row, misspelt
from .run import counts

# What says where a row belongs, for filter_by_domain.
_DOMAINS = ("vendor", "doc_tag")
_TEXTS = ("quote", "preview", "excerpt", "snippet", "content")
_SUMMARY = ("id", "title", "section", "score", "file")
_TOLD = ("title", "section", "score", "file", "text")
_CELL_CHARS = 300
_QUOTE_CHARS = 400
_OF_A_SESSION = "winnow://"  # leads nowhere in another one
# Languages by the ending of a file's name.
_LANGUAGES: Mapping[str, str] = {
    ending: language
    for language, endings in (
        ("c", "c h"),
        ("c#", "cs"),
        ("c++", "cc cpp cxx hpp"),
        ("go", "go"),
        ("html", "htm html"),
        ("java", "java"),
        ("javascript", "js mjs cjs jsx"),
        ("json", "json"),
        ("kotlin", "kt"),
        ("markdown", "md markdown"),
        ("php", "php"),
        ("python", "py pyi"),
        ("rst", "rst"),
        ("ruby", "rb"),
        ("rust", "rs"),
        ("scala", "scala"),
        ("shell", "sh bash"),
        ("sql", "sql"),
        ("swift", "swift"),
        ("text", "txt"),
        ("toml", "toml"),
        ("typescript", "ts tsx"),
        ("xml", "xml"),
        ("yaml", "yml yaml"),
    )
    for ending in endings.split()
}

Condition = Callable[[Any], bool]


def filter_rows(
    rows: Iterable[Any],
    predicate: Callable[[Any], Any] | None = None,
    *,
    domain: Any = None,
    min_score: float | None = None,
    max_score: float | None = None,
    type: Any = None,
    language: Any = None,
    include: Any = None,
    exclude: Any = None,
    metadata: Mapping[str, Any] | None = None,
    match: str = "all",
) -> Rows:
    """The rows that fulfil every condition given (match="any": one of them), in their order.

        rows = semantic_search("retry policy", top_k=50)
        guides = filter_rows(rows, min_score=0.3, type="markdown", include=r"^guide/", exclude=["draft", "old"])
        either = filter_rows(rows, lambda row: "retry" in row.title.lower(), domain="acme", match="any")
        print(len(guides), len(either))

    predicate: a function of a row. domain: its vendor, doc tag, a tag, or first folder. min_score, max_score: of
    row.score. type: "markdown", "code", ... language: "python", "go", ..., by the file's name. include, exclude:
    regular expressions to find in the file's path. metadata: fields and the values they equal. Where several
    values are given as a list, one of them is enough.
    """
    if match not in ("all", "any"):
        raise ValueError(f"match: 'all' or 'any', not {match!r}")
    given: tuple[tuple[Any, Callable[[Any], Condition]], ...] = (
        (predicate, lambda value: value),
        (domain, _in_domain),
        (min_score, lambda value: lambda row: _score(row) >= value),
        (max_score, lambda value: lambda row: _score(row) <= value),
        (type, lambda value: _equals("type", value)),
        (language, _in_language),
        (include, _at_path),
        (exclude, lambda value: _not(_at_path(value))),
        (metadata, _has),
    )
    conditions = [made(value) for value, made in given if value is not None]
    rows = _with_fields(rows, metadata or ())
    fulfils = any if match == "any" and conditions else all
    return Rows(row for row in rows if fulfils(condition(row) for condition in conditions))


def filter_by_domain(rows: Iterable[Any], domain: Any) -> Rows:
    """The rows of one vendor, doc tag, tag or first folder, in their order.

        print(len(filter_by_domain(semantic_search("retry policy", top_k=50), "guide")))

    domain: one, or a list of them. More conditions: filter_rows.
    """
    return filter_rows(rows, domain=domain)


def filter_by_score(rows: Iterable[Any], min_score: float = 0.0, max_score: float = 1.0) -> Rows:
    """The rows that score within these bounds, in their order; scores are relative to the best hit.

        print(len(filter_by_score(semantic_search("retry policy", top_k=50), 0.5)))

    More conditions: filter_rows.
    """
    return filter_rows(rows, min_score=min_score, max_score=max_score)


def dedupe(rows: Iterable[Any], by: Any = "id") -> Rows:
    """The first row of each kind, in their order.

        pages = search_many(["retry policy", "retries"])
        rows = dedupe(row for page in pages for row in page)
        one_per_document = dedupe(rows, by="title")
        print(len(rows), len(one_per_document))

    by: a field ("id", "title", "file", "text": letters alone count), several of them, or a function of a row.
    """
    key = _key(by)
    found: dict[Any, Any] = {}
    for row in rows if callable(by) else _with_fields(rows, _listed(by)):
        found.setdefault(key(row), row)
    return Rows(found.values())


def group_by(rows: Iterable[Any], key: Any) -> Groups:
    """The rows by what they have in common: a dict of lists, in the order in which they come.

        groups = group_by(semantic_search("retry policy", top_k=50), "type")
        print({kind: len(rows) for kind, rows in groups.items()})

    key: a field, several of them (joined by " / "), or a function of a row. Rows without it are under "".
    """
    made = key if callable(key) else _name_of(key)
    groups = Groups()
    for row in rows if callable(key) else _with_fields(rows, _listed(key)):
        named = made(row)
        groups.setdefault(named if isinstance(named, str) else "" if named is None else str(named), []).append(row)
    return groups


def summarize(rows: Iterable[Any], max_content_length: int = 200, fields: Any = None) -> Rows:
    """Small rows to return: a few fields, and the beginning of the text.

        return summarize(semantic_search("retry policy", response_mode="preview"), max_content_length=120)

    max_content_length: characters of any one text. fields: which, instead of id, title, section, score, file and
    text; what a row does not have is left out.
    """
    names = [*_SUMMARY, "text"] if fields is None else _listed(fields)
    return Rows(_small(row, names, max_content_length) for row in _with_fields(rows, names))


def quotes(rows: Iterable[Any], max_chars: int = _QUOTE_CHARS) -> Rows:
    """What rows say and where, ready to return: quote, source and id of each that has a text, none twice.

        return quotes(kb.retrieve_evidence("how are retries configured"))

    max_chars: of one quote; the row's quote, preview, excerpt or content, the first that it has.
    """
    told = (
        Row({"quote": _clipped(_text(row), max_chars), "source": _source(row), "id": _field(row, "id")})
        for row in rows
    )
    return dedupe((one for one in told if one["quote"]), by="quote")


def cite(row: Any) -> Text:
    """One line that says where a row comes from: title, section, file and id.

        row = kb.search("retry policy")[0]
        print(cite(row))

    row: a row of any call.
    """
    identity = _field(row, "id")
    return Text(f"{_source(row)} [{identity}]" if identity else _source(row))


def format_for_agent(
    rows: Iterable[Any], style: str = "text", max_tokens: int = 1_000, fields: Any = None
) -> Text:
    """Rows as a text to return: as many as fit, and how many did not.

        return format_for_agent(kb.search("retry policy", top_k=20), style="table", max_tokens=400)

    style: "text" (numbered lines), "table" (Markdown) or "json" (columns and rows, compact). max_tokens: of the
    whole text, at least 50. fields: which, instead of title, section, score, file and text.
    """
    if style not in _STYLES:
        raise ValueError(f"style: {', '.join(map(repr, _STYLES))}, not {style!r}")
    names = [*_TOLD] if fields is None else _listed(fields)
    max_tokens = max(max_tokens, _FEWEST_TOKENS)
    small = [_small(row, names, min(_CELL_CHARS, max_tokens)) for row in _with_fields(rows, names)]
    names = [name for name in names if any(name in row for row in small)]
    head, told, tail = _STYLES[style](small, names)
    return Text(_fitted(head, told, tail, max_tokens, style))


_FEWEST_TOKENS = 50


# --- conditions ------------------------------------------------------------------------------------------------


def _field(row: Any, name: str) -> Any:
    """A field of a row, or None. Items only: attributes of whatever this is are none of a script's fields."""
    if not isinstance(row, Mapping):
        return None
    try:
        return row[name]
    except (KeyError, AttributeError):
        return None


def _with_fields(rows: Iterable[Any], names: Iterable[str]) -> list[Any]:
    """The rows. Raises MissingField for what none of them has and looks like a misspelt field of theirs."""
    listed = [*rows]
    known = sorted({name for row in listed if isinstance(row, Mapping) for name in row})
    for name in names:
        if name not in FIELDS and name != "text" and all(_field(row, name) is None for row in listed):
            error = misspelt(name, known)
            if error is not None:
                raise error
    return listed


def _listed(values: Any) -> list[Any]:
    return [values] if isinstance(values, (str, int, float)) else [*values]


def _score(row: Any) -> float:
    value = _field(row, "score")
    return value if isinstance(value, (int, float)) else 0.0


def _text(row: Any) -> str:
    found = [_field(row, name) for name in _TEXTS]
    return [*(text for text in found if isinstance(text, str) and text), ""][0]


def _path(row: Any) -> str:
    found = _field(row, "file")
    return found if isinstance(found, str) else ""


def _equals(name: str, value: Any) -> Condition:
    wanted = [_plainly(one) for one in _listed(value)]
    return lambda row: _plainly(_field(row, name)) in wanted


def _plainly(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _in_domain(domain: Any) -> Condition:
    wanted = [_plainly(one) for one in _listed(domain)]

    def condition(row: Any) -> bool:
        tags = _field(row, "tags")
        own = [*(tags if isinstance(tags, list) else ()), *(_field(row, name) for name in _DOMAINS)]
        return any(_plainly(one) in wanted for one in [*own, _path(row).partition("/")[0]] if one)

    return condition


def _in_language(language: Any) -> Condition:
    wanted = [_plainly(one) for one in _listed(language)]
    return lambda row: _LANGUAGES.get(_path(row).rpartition(".")[2].lower(), "") in wanted


def _at_path(patterns: Any) -> Condition:
    compiled = [re.compile(pattern) for pattern in _listed(patterns)]
    return lambda row: any(pattern.search(_path(row)) for pattern in compiled)


def _not(condition: Condition) -> Condition:
    return lambda row: not condition(row)


def _has(metadata: Mapping[str, Any]) -> Condition:
    conditions = [_equals(name, value) for name, value in metadata.items()]
    return lambda row: all(condition(row) for condition in conditions)


def _key(by: Any) -> Callable[[Any], Any]:
    if callable(by):
        return by  # type: ignore[no-any-return]
    return lambda row: tuple(_comparable(row, name) for name in _listed(by))


def _comparable(row: Any, name: str) -> Any:
    value = _text(row) if name == "text" else _field(row, name)
    if name == "text":
        return re.sub(r"\W+", " ", value).casefold().strip()
    return value if isinstance(value, (str, int, float)) else repr(value)


def _name_of(key: Any) -> Callable[[Any], str]:
    def named(row: Any) -> str:
        values = (_field(row, name) for name in _listed(key))
        return " / ".join("" if value is None else str(value) for value in values)

    return named


# --- telling ---------------------------------------------------------------------------------------------------


def _clipped(text: str, max_chars: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= max_chars else f"{text[: max(max_chars - 1, 0)]}…"


def _source(row: Any) -> str:
    """Title, section, and file or address, as far as the row knows them."""
    title, section = (str(_field(row, name) or "") for name in ("title", "section"))
    uri = str(_field(row, "uri") or "")
    place = _path(row) or ("" if uri.startswith(_OF_A_SESSION) else uri)
    named = ", ".join(part for part in (title, section if section != title else "") if part)
    return f"{named} ({place})" if named and place else named or place


def _small(row: Any, names: Iterable[str], max_chars: int) -> Row:
    found = ((name, _text(row) if name == "text" else _field(row, name)) for name in names)
    shown = ((name, _clipped(value, max_chars) if isinstance(value, str) else value) for name, value in found)
    return Row({name: value for name, value in shown if value not in (None, "")})


_Told = tuple[str, Iterator[str], str]


def _as_text(rows: list[Row], names: list[str]) -> _Told:
    inline = [name for name in names if name != "text"]
    return "", (f"{number}. {_line(row, inline)}{_below(row)}\n" for number, row in enumerate(rows, start=1)), ""


def _line(row: Row, names: list[str]) -> str:
    return " | ".join(_cell(row.get(name)) for name in names if name in row)


def _below(row: Row) -> str:
    return f"\n   {row['text']}" if "text" in row else ""


def _as_table(rows: list[Row], names: list[str]) -> _Told:
    head = f"| {' | '.join(names)} |\n|{'---|' * len(names)}\n"
    return head, (f"| {' | '.join(_cell(row.get(name, '')) for name in names)} |\n" for row in rows), ""


def _cell(value: Any) -> str:
    return (value if isinstance(value, str) else _compact(value)).replace("|", "\\|")


def _as_json(rows: list[Row], names: list[str]) -> _Told:
    head = f'{{"columns":{_compact(names)},"rows":[\n'
    return head, (f"{_compact([row.get(name) for name in names])},\n" for row in rows), "]}"


def _compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


_STYLES: Mapping[str, Callable[[list[Row], list[str]], _Told]] = {
    "text": _as_text,
    "table": _as_table,
    "json": _as_json,
}


def _fitted(head: str, rows: Iterable[str], tail: str, max_tokens: int, style: str) -> str:
    """As many rows as fit. Each ends its line: together they have no more tokens than one by one."""
    told = [*rows]
    left = max_tokens - sum(counts([head, tail or "\n", _LEFT_OUT.format(len(told))]))
    kept, start = 0, 0
    while start < len(told) and kept == start:
        portion = told[start : start + _ROWS_AT_ONCE]
        for size in counts(portion):
            if size > left:
                break
            left, kept = left - size, kept + 1
        start += len(portion)
    body = "".join(told[:kept])
    missing = len(told) - kept
    if style == "json":
        return head.rstrip() + body.rstrip(",\n") + (f'],"left_out":{missing}}}' if missing else tail)
    return head + body + (_LEFT_OUT.format(missing) if missing else "")


_ROWS_AT_ONCE = 40
_LEFT_OUT = "({} more rows left out)"
