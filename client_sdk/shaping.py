"""Functions that filter, group, shorten and format rows. Pure; they do not change the rows.

Fields are read as items, never as attributes, because scripts choose their names.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from .awaitable import Groups, Rows, Text
from .rows import FIELDS, Row, find_misspelling
from .run import count_tokens

# Fields with the domain of a row, for filter_by_domain.
_DOMAIN_FIELDS = ("vendor", "doc_tag")
_TEXT_FIELDS = ("quote", "preview", "excerpt", "snippet", "content", "text", "context")
_SUMMARY_FIELDS = ("id", "title", "section", "score", "file", "locator")
_FORMAT_FIELDS = ("title", "section", "score", "file", "locator", "text")
_CELL_CHARS = 300
_QUOTE_CHARS = 400
_SESSION_SCHEME = "winnow://"  # such a URI is valid only in its session
# Languages by file extension.
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
    """The rows that meet all the conditions (match="any": at least one), in their order.

        rows = semantic_search("retry policy", top_k=50)
        guides = filter_rows(rows, min_score=0.3, type="markdown", include=r"^guide/", exclude=["draft", "old"])
        either = filter_rows(rows, lambda row: "retry" in row.title.lower(), domain="acme", match="any")
        print(len(guides), len(either))

    predicate: a function of a row. domain: its vendor, doc tag, a tag, or first folder. min_score, max_score: of
    row.score. type: "markdown", "code", ... language: "python", "go", ..., by the file's name. include, exclude:
    regular expressions to find in the file's path. metadata: fields and their values. A list of values
    matches if one of them does.
    """
    if match not in ("all", "any"):
        raise ValueError(f"match: 'all' or 'any', not {match!r}")
    given: tuple[tuple[Any, Callable[[Any], Condition]], ...] = (
        (predicate, lambda value: value),
        (domain, _in_domain),
        (min_score, lambda value: lambda row: _score_of(row) >= value),
        (max_score, lambda value: lambda row: _score_of(row) <= value),
        (type, lambda value: _equals("type", value)),
        (language, _in_language),
        (include, _at_path),
        (exclude, lambda value: _not(_at_path(value))),
        (metadata, _has),
    )
    conditions = [build(value) for value, build in given if value is not None]
    rows = _check_fields(rows, metadata or ())
    combine = any if match == "any" and conditions else all
    return Rows(row for row in rows if combine(condition(row) for condition in conditions))


def filter_by_domain(rows: Iterable[Any], domain: Any) -> Rows:
    """The rows of one vendor, doc tag, tag or first folder, in their order.

        print(len(filter_by_domain(semantic_search("retry policy", top_k=50), "guide")))

    domain: one, or a list of them. More conditions: filter_rows.
    """
    return filter_rows(rows, domain=domain)


def filter_by_score(rows: Iterable[Any], min_score: float = 0.0, max_score: float = 1.0) -> Rows:
    """The rows whose scores are within these bounds, in their order; scores are relative to the best hit.

        print(len(filter_by_score(semantic_search("retry policy", top_k=50), 0.5)))

    More conditions: filter_rows.
    """
    return filter_rows(rows, min_score=min_score, max_score=max_score)


def dedupe(rows: Iterable[Any], by: Any = "id") -> Rows:
    """The rows without duplicates, in their order; the first of each stays.

        pages = search_many(["retry policy", "retries"])
        rows = dedupe(row for page in pages for row in page)
        one_per_document = dedupe(rows, by="title")
        print(len(rows), len(one_per_document))

    by: a field ("id", "title", "file", "text": compared by letters only), several of them, or a function of a row.
    """
    key = _build_key(by)
    first: dict[Any, Any] = {}
    for row in rows if callable(by) else _check_fields(rows, _to_list(by)):
        first.setdefault(key(row), row)
    return Rows(first.values())


def group_by(rows: Iterable[Any], key: Any) -> Groups:
    """The rows in groups: a dict of lists, in their order.

        groups = group_by(semantic_search("retry policy", top_k=50), "type")
        print({kind: len(rows) for kind, rows in groups.items()})

    key: a field, several of them (joined by " / "), or a function of a row. Rows without the field are under "".
    """
    name_group = key if callable(key) else _build_group_name(key)
    groups = Groups()
    for row in rows if callable(key) else _check_fields(rows, _to_list(key)):
        name = name_group(row)
        groups.setdefault(name if isinstance(name, str) else "" if name is None else str(name), []).append(row)
    return groups


def summarize(rows: Iterable[Any], max_content_length: int = 200, fields: Any = None) -> Rows:
    """Small rows to return: a few fields, and the beginning of the text.

        return summarize(semantic_search("retry policy", response_mode="preview"), max_content_length=120)

    max_content_length: characters of each text. fields: instead of id, title, section, score, file, locator and
    text; fields that a row does not have are left out.
    """
    names = [*_SUMMARY_FIELDS, "text"] if fields is None else _to_list(fields)
    return Rows(_small_row(row, names, max_content_length) for row in _check_fields(rows, names))


def quotes(rows: Iterable[Any], max_chars: int = _QUOTE_CHARS) -> Rows:
    """Quotes ready to return: quote, source and id of each row that has a text, without duplicates.

        return quotes(kb.retrieve_evidence("how are retries configured"))

    max_chars: of one quote, which is the row's quote, preview, excerpt or content, the first that it has.
    """
    quoted = (
        Row({"quote": _shorten(_text_of(row), max_chars), "source": _source_of(row), "id": _field(row, "id")})
        for row in rows
    )
    return dedupe((row for row in quoted if row["quote"]), by="quote")


def cite(row: Any) -> Text:
    """The source of a row as one line: title, section, file with the page or the like, and id.

        row = kb.search("retry policy")[0]
        print(cite(row))

    row: a row of any call.
    """
    identity = _field(row, "id")
    return Text(f"{_source_of(row)} [{identity}]" if identity else _source_of(row))


def format_for_agent(
    rows: Iterable[Any], style: str = "text", max_tokens: int = 1_000, fields: Any = None
) -> Text:
    """Rows as a text to return: as many as fit, and the number left out.

        return format_for_agent(kb.search("retry policy", top_k=20), style="table", max_tokens=400)

    style: "text" (numbered lines), "table" (Markdown) or "json" (columns and rows, compact). max_tokens: of the
    whole text, at least 50. fields: instead of title, section, score, file, locator and text.
    """
    if style not in _STYLES:
        raise ValueError(f"style: {', '.join(map(repr, _STYLES))}, not {style!r}")
    names = [*_FORMAT_FIELDS] if fields is None else _to_list(fields)
    max_tokens = max(max_tokens, _MIN_TOKENS)
    small = [_small_row(row, names, min(_CELL_CHARS, max_tokens)) for row in _check_fields(rows, names)]
    names = [name for name in names if any(name in row for row in small)]
    head, lines, tail = _STYLES[style](small, names)
    return Text(_fit_rows(head, lines, tail, max_tokens, style))


_MIN_TOKENS = 50


# --- conditions ------------------------------------------------------------------------------------------------


def _field(row: Any, name: str) -> Any:
    """A field of a row, or None. Only items are read, never attributes."""
    if not isinstance(row, Mapping):
        return None
    try:
        return row[name]
    except (KeyError, AttributeError):
        return None


def _check_fields(rows: Iterable[Any], names: Iterable[str]) -> list[Any]:
    """The rows as a list. Raises MissingField for a name that no row has and that looks misspelled."""
    listed = [*rows]
    known = sorted({name for row in listed if isinstance(row, Mapping) for name in row})
    for name in names:
        if name not in FIELDS and name != "text" and all(_field(row, name) is None for row in listed):
            error = find_misspelling(name, known)
            if error is not None:
                raise error
    return listed


def _to_list(values: Any) -> list[Any]:
    return [values] if isinstance(values, (str, int, float)) else [*values]


def _score_of(row: Any) -> float:
    value = _field(row, "score")
    return value if isinstance(value, (int, float)) else 0.0


def _text_of(row: Any) -> str:
    values = [_field(row, name) for name in _TEXT_FIELDS]
    return [*(text for text in values if isinstance(text, str) and text), ""][0]


def _path_of(row: Any) -> str:
    path = _field(row, "file")
    return path if isinstance(path, str) else ""


def _equals(name: str, value: Any) -> Condition:
    wanted = [_lower(item) for item in _to_list(value)]
    return lambda row: _lower(_field(row, name)) in wanted


def _lower(value: Any) -> Any:
    return value.lower() if isinstance(value, str) else value


def _in_domain(domain: Any) -> Condition:
    wanted = [_lower(item) for item in _to_list(domain)]

    def condition(row: Any) -> bool:
        tags = _field(row, "tags")
        own = [*(tags if isinstance(tags, list) else ()), *(_field(row, name) for name in _DOMAIN_FIELDS)]
        return any(_lower(value) in wanted for value in [*own, _path_of(row).partition("/")[0]] if value)

    return condition


def _in_language(language: Any) -> Condition:
    wanted = [_lower(item) for item in _to_list(language)]
    return lambda row: _LANGUAGES.get(_path_of(row).rpartition(".")[2].lower(), "") in wanted


def _at_path(patterns: Any) -> Condition:
    compiled = [re.compile(pattern) for pattern in _to_list(patterns)]
    return lambda row: any(pattern.search(_path_of(row)) for pattern in compiled)


def _not(condition: Condition) -> Condition:
    return lambda row: not condition(row)


def _has(metadata: Mapping[str, Any]) -> Condition:
    conditions = [_equals(name, value) for name, value in metadata.items()]
    return lambda row: all(condition(row) for condition in conditions)


def _build_key(by: Any) -> Callable[[Any], Any]:
    if callable(by):
        return by  # type: ignore[no-any-return]
    return lambda row: tuple(_comparable_value(row, name) for name in _to_list(by))


def _comparable_value(row: Any, name: str) -> Any:
    value = _text_of(row) if name == "text" else _field(row, name)
    if name == "text":
        return re.sub(r"\W+", " ", value).casefold().strip()
    return value if isinstance(value, (str, int, float)) else repr(value)


def _build_group_name(key: Any) -> Callable[[Any], str]:
    def named(row: Any) -> str:
        values = (_field(row, name) for name in _to_list(key))
        return " / ".join("" if value is None else str(value) for value in values)

    return named


# --- formatting ------------------------------------------------------------------------------------------------


def _shorten(text: str, max_chars: int) -> str:
    text = " ".join(text.split())
    return text if len(text) <= max_chars else f"{text[: max(max_chars - 1, 0)]}…"


def _source_of(row: Any) -> str:
    """Title, section, file or URI, and the place in the file, those that the row has."""
    title, section = (str(_field(row, name) or "") for name in ("title", "section"))
    uri = str(_field(row, "uri") or "")
    place = _path_of(row) or ("" if uri.startswith(_SESSION_SCHEME) else uri)
    place = ", ".join(part for part in (place, str(_field(row, "locator") or "")) if part)
    named = ", ".join(part for part in (title, section if section != title else "") if part)
    return f"{named} ({place})" if named and place else named or place


def _small_row(row: Any, names: Iterable[str], max_chars: int) -> Row:
    values = ((name, _value_of(row, name)) for name in names)
    short = ((name, _shorten(value, max_chars) if isinstance(value, str) else value) for name, value in values)
    return Row({name: value for name, value in short if value not in (None, "")})


def _value_of(row: Any, name: str) -> Any:
    """A field of a row; its text under any name, where the field is named text or content."""
    value = None if name == "text" else _field(row, name)
    return _text_of(row) if value is None and name in ("text", "content") else value


_Rendered = tuple[str, Iterator[str], str]


def _render_text(rows: list[Row], names: list[str]) -> _Rendered:
    inline = [name for name in names if name != "text"]
    return (
        "",
        (
            f"{number}. {_render_line(row, inline)}{_render_body(row)}\n"
            for number, row in enumerate(rows, start=1)
        ),
        "",
    )


def _render_line(row: Row, names: list[str]) -> str:
    return " | ".join(_render_cell(row.get(name)) for name in names if name in row)


def _render_body(row: Row) -> str:
    return f"\n   {row['text']}" if "text" in row else ""


def _render_table(rows: list[Row], names: list[str]) -> _Rendered:
    head = f"| {' | '.join(names)} |\n|{'---|' * len(names)}\n"
    return head, (f"| {' | '.join(_render_cell(row.get(name, '')) for name in names)} |\n" for row in rows), ""


def _render_cell(value: Any) -> str:
    return (value if isinstance(value, str) else _dump_compact(value)).replace("|", "\\|")


def _render_json(rows: list[Row], names: list[str]) -> _Rendered:
    head = f'{{"columns":{_dump_compact(names)},"rows":[\n'
    return head, (f"{_dump_compact([row.get(name) for name in names])},\n" for row in rows), "]}"


def _dump_compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)


_STYLES: Mapping[str, Callable[[list[Row], list[str]], _Rendered]] = {
    "text": _render_text,
    "table": _render_table,
    "json": _render_json,
}


def _fit_rows(head: str, rows: Iterable[str], tail: str, max_tokens: int, style: str) -> str:
    """As many rows as fit. Each ends with a line end, so together they have no more tokens than one by one."""
    lines = [*rows]
    left = max_tokens - sum(count_tokens([head, tail or "\n", _LEFT_OUT.format(len(lines))]))
    kept, start = 0, 0
    while start < len(lines) and kept == start:
        portion = lines[start : start + _ROWS_AT_ONCE]
        for size in count_tokens(portion):
            if size > left:
                break
            left, kept = left - size, kept + 1
        start += len(portion)
    body = "".join(lines[:kept])
    missing = len(lines) - kept
    if style == "json":
        return head.rstrip() + body.rstrip(",\n") + (f'],"left_out":{missing}}}' if missing else tail)
    return head + body + (_LEFT_OUT.format(missing) if missing else "")


_ROWS_AT_ONCE = 40
_LEFT_OUT = "({} more rows left out)"
