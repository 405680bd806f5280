"""Parsing of raw arguments into request models, with errors that say how to correct a call."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from winnow.server.contracts.base import ANY_FIELD
from winnow.server.contracts.schema import flat_schema
from winnow.server.errors import WinnowError, own_words
from winnow.server.text.printable import shorten
from winnow.server.text.suggestions import ask_for, find_similar, suggest

RequestT = TypeVar("RequestT", bound=BaseModel)

# Some hosts send these as filters. They cannot widen the scope, so they are dropped with a warning.
_IGNORED_IN_FILTERS = ("project", "project_id")
# The similarity from which one name is taken for a misspelling of another.
_SIMILARITY = 0.75
_MIN_PREFIX_CHARS = 4  # of an abbreviated name
_MAX_NAMES = 5  # of unknown arguments in a warning
_NAME_CHARS = 40
_VALUE_CHARS = 60
# Another word for an argument -> the argument. Words are without "_".
_MEANT: Mapping[str, str] = MappingProxyType(
    dict.fromkeys(("path", "file", "filename", "filepath", "uri", "url", "title", "name", "id", "doc"), "document")
)
# The same for what narrows an answer: without it the answer would be about something else than was meant.
_MEANT_TO_NARROW: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("sheet", "sheetname", "slide", "chapter", "pagenumber", "pagespan", "locator"), "page"),
        **dict.fromkeys(("casesensitive", "caseinsensitive", "ignorecase", "matchcase"), "case"),
        **dict.fromkeys(("regex", "regexp", "isregex", "fixedstrings"), "literal"),
        **dict.fromkeys(("wholeword", "wholewords"), "word"),
        **dict.fromkeys(("relation", "relations", "relationtypes", "edges", "edgetypes"), "types"),
        **dict.fromkeys(("maxhops", "depth", "maxdepth", "steps"), "hops"),
        "hops": "max_hops",
    }
)
# Names of arguments, without "_", that choose what an answer is about. A call that cannot obey one is refused:
# without it the answer would be another one, and a warning is easily missed.
_DECISIVE_NAMES = (
    "scope filter filters project projectid projects collection collections path paths pathprefix where "
    "vendor vendors vendorfilter doctag doctags tag tags environment repository repositories updatedafter "
    "updatedbefore after before since until date fromdate todate startdate enddate asof version minscore "
    "threshold pattern document documents documentid documentids file files ids filterids passageid "
    "passageids sectionid sectionids entityid entityids nodeid nodeids citekey citekeys author authors year "
    "language lang sheet page pages section exclude excludes excluding contains mustcontain mustnotcontain "
    "relation relations relationtypes depth"
)
_DECISIVE = frozenset(_DECISIVE_NAMES.split())
_IN_SCRIPTS = "; within the script: semantic_search(question, filters={...}, scope={...})"


def parse(model: type[RequestT], arguments: Mapping[str, Any]) -> tuple[RequestT, tuple[str, ...]]:
    """Validate arguments; the second value holds warnings about what was ignored.

    Known quirks of hosts are corrected first: JSON text for lists and objects; null, "" and [] for arguments that
    are not given; arguments that the tool does not have, which are ignored unless they resemble one that it has.

    Raises:
        WinnowError: INVALID_REQUEST, naming each wrong field and what it takes.
    """
    known, warnings = _split_unknown(model, arguments)
    cleaned, more = _drop_projects(model, _drop_absent(flat_schema(model), known))
    try:
        return model.model_validate(cleaned), (*warnings, *more)
    except ValidationError as error:
        raise _build_error(model, error, ignored=[name for name in arguments if name not in known]) from None


def _split_unknown(model: type[BaseModel], arguments: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The arguments that the model has, and a warning about others. Raises for a likely misspelling."""
    schema = flat_schema(model)
    unknown = [name for name in arguments if name not in schema["properties"]]
    for name in unknown:
        close = _find_similar(name, schema) or _find_meant(name, schema, arguments)
        if close is not None:
            raise WinnowError(
                "INVALID_REQUEST",
                f"{_shorten_name(name)}: no such argument; {ask_for(close)}",
                details={"fields": [_shorten_name(name)]},
            )
    given = [name for name in unknown if arguments[name] not in (*_ABSENT, {})]
    _refuse_decisive(
        [name for name in given if _MEANT.get(_normalize(name[:_NAME_CHARS])) not in arguments], schema
    )
    known = {name: value for name, value in arguments.items() if name in schema["properties"]}
    return known, (_ignored_warning(unknown, schema),) if unknown else ()


def _refuse_decisive(unknown: Sequence[str], schema: Mapping[str, Any]) -> None:
    """Raise for an unknown argument without which the answer would be about something else."""
    decisive = [name for name in unknown if _normalize(name[:_NAME_CHARS]) in _DECISIVE]
    if decisive:
        names = ", ".join(map(_shorten_name, decisive[:_MAX_NAMES]))
        instead = _IN_SCRIPTS if "code" in schema["properties"] else ""
        raise WinnowError(
            "INVALID_REQUEST",
            f"{names}: no such argument, and without it the answer would be about something else; known: "
            f"{', '.join(schema['properties'])}{instead}",
            details={"fields": [_shorten_name(name) for name in decisive[:_MAX_NAMES]]},
        )


def _ignored_warning(unknown: Sequence[str], schema: Mapping[str, Any]) -> str:
    more = f" and {len(unknown) - _MAX_NAMES} more" if len(unknown) > _MAX_NAMES else ""
    names = ", ".join(map(_shorten_name, unknown[:_MAX_NAMES]))
    return f"no such argument, ignored: {names}{more}; known: {', '.join(schema['properties'])}"


def _shorten_name(name: str) -> str:
    """A name from the caller, printable and short."""
    shown = name if name.isascii() and name.isidentifier() else repr(name)
    return shorten(shown, _NAME_CHARS)


def _find_similar(name: str, schema: Mapping[str, Any]) -> str | None:
    """The argument, or property of one, that is spelled similarly or begins with this name."""
    plain = _normalize(name[:_NAME_CHARS])
    names = {_normalize(known): known for known in schema["properties"]}
    inner = {
        _normalize(part): f"{known}.{part}"
        for known, value in schema["properties"].items()
        for part in value.get("properties", {})
    }
    for candidates in (names, inner):
        similar = find_similar(plain, candidates, _SIMILARITY)
        longer = [known for known in candidates if len(plain) >= _MIN_PREFIX_CHARS and known.startswith(plain)]
        if similar is not None or longer:
            return candidates[longer[0] if similar is None else similar]
    return None


def _find_meant(name: str, schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> str | None:
    """The argument that is missing and that is meant by another word: a required one, or one that narrows."""
    plain = _normalize(name[:_NAME_CHARS])
    tables = ((_MEANT, schema.get("required", ())), (_MEANT_TO_NARROW, schema["properties"]))
    meant = (table[plain] for table, known in tables if table.get(plain) in known)
    return next((name for name in meant if name not in arguments), None)


def _normalize(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _drop_absent(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without values that mean "not given", also within objects. Required ones stay."""
    required = schema.get("required", ())
    present: dict[str, Any] = {}
    for name, value in arguments.items():
        known = schema["properties"].get(name, {})
        value = _parse_json_text(value, known)
        # A field of documents is given by being named: "" is for those without a value.
        if isinstance(value, Mapping) and ANY_FIELD not in known.get("properties", (ANY_FIELD,)):
            value = _drop_absent(known, value)
        if isinstance(value, list) and name not in required:
            value = [item for item in value if item not in _ABSENT]
        if value is None or (name not in required and value in _ABSENT):
            continue
        present[name] = value
    return present


_ABSENT: tuple[Any, ...] = (None, "", [])


def _parse_json_text(value: Any, schema: Mapping[str, Any]) -> Any:
    """Parse JSON text where the schema expects a list or an object."""
    if not isinstance(value, str) or schema.get("type") not in ("array", "object"):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _drop_projects(model: type[BaseModel], cleaned: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    filters = cleaned.get("filters")
    if not isinstance(filters, dict):
        return cleaned, ()
    ignored = [key for key in _IGNORED_IN_FILTERS if key in filters]
    kept = {key: value for key, value in filters.items() if key not in ignored}
    named = "project" if "project" in model.model_fields else "scope.project_id"
    warnings = tuple(f"filters.{key} is ignored; use {named}" for key in ignored)
    return {**cleaned, "filters": kept}, warnings


def _build_error(model: type[BaseModel], error: ValidationError, ignored: Sequence[str] = ()) -> WinnowError:
    lines = [_describe_error(model, item) for item in error.errors(include_url=False)[:5]]
    if ignored:
        lines.append(_ignored_warning(ignored, flat_schema(model)))
    fields = [".".join(map(str, item["loc"])) for item in error.errors(include_url=False)[:20]]
    return WinnowError("INVALID_REQUEST", "; ".join(lines), details={"fields": fields})


def _describe_error(model: type[BaseModel], item: ErrorDetails) -> str:
    path = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        return _describe_unknown_field(model, item["loc"], path)
    message = own_words(item["msg"])
    sent = _format_value(item.get("input"))
    if item["type"] == "missing":
        return f"{path}: required"
    if item["type"] == "value_error" and not path:
        return message
    if item["type"] == "too_long" and (most := item.get("ctx", {}).get("max_length")) is not None:
        given = item["ctx"].get("actual_length", "more")
        return f"{path}: at most {most:,} in one call (got {given}); make several calls"
    if item["type"] == "string_pattern_mismatch" and (described := _find_description(model, item["loc"])):
        return f"{path}: {described} (got {sent})"
    if item["type"] in _NO_OBJECT:
        return f"{path}: {_describe_object(model, item)} (got {sent})"
    return f"{path}: {message[:1].lower()}{message[1:]} (got {sent})"


def _find_description(model: type[BaseModel], loc: Sequence[str | int]) -> str:
    """What the schema says of a field in words, for a value that its pattern refuses; "" if it says nothing."""
    schema: Mapping[str, Any] = flat_schema(model)
    for part in loc:
        schema = schema.get("items", {}) if isinstance(part, int) else schema.get("properties", {}).get(part, {})
    return str(schema.get("description", ""))


# What pydantic calls a value where an object is needed; its message would name our classes.
_NO_OBJECT = frozenset({"model_type", "model_attributes_type", "dict_type"})


def _describe_object(model: type[BaseModel], item: ErrorDetails) -> str:
    """The form of an object that was given as something else, with the text as its first property."""
    schema, value = _schema_at(model, item["loc"]), item.get("input")
    fields = schema.get("properties", {})
    first = next(iter(fields), "")
    if not first or first == ANY_FIELD:
        return "takes an object"
    if isinstance(value, str) and fields[first].get("type") == "string" and len(value) <= _NAME_CHARS:
        return f"takes an object, such as {json.dumps({first: value}, ensure_ascii=True)}"
    return f"takes an object with {', '.join(fields)}"


def _schema_at(model: type[BaseModel], location: Sequence[int | str]) -> Mapping[str, Any]:
    """The schema of a part of the arguments; that of its parent where the part is not known."""
    schema = flat_schema(model)
    for part in location:
        inner = schema.get("items") if isinstance(part, int) else schema.get("properties", {}).get(part)
        schema = schema if inner is None else inner
    return schema


def _describe_unknown_field(model: type[BaseModel], location: tuple[int | str, ...], path: str) -> str:
    known = list(_schema_at(model, location[:-1]).get("properties", {}))
    advice = suggest(str(location[-1]), known, f"known: {', '.join(known)}")
    return f"{path}: no such argument; {advice}"


def _format_value(value: Any) -> str:
    try:
        text = "".join(islice(_repr_parts(value), _VALUE_CHARS + 1))
    except ValueError:  # an integer of more digits than Python writes
        return "a number of too many digits"
    return text if len(text) <= _VALUE_CHARS else f"{text[: _VALUE_CHARS - 3]}..."


def _repr_parts(value: Any) -> Iterator[str]:
    """The parts of ``repr(value)``, made one by one: the whole of a wide list takes milliseconds."""
    if type(value) is list:
        yield "["
        for number, item in enumerate(value):
            yield from (", ",) if number else ()
            yield from _repr_parts(item)
        yield "]"
    elif type(value) is dict:
        yield "{"
        for number, (name, item) in enumerate(value.items()):
            yield from (", ",) if number else ()
            yield from _repr_parts(name)
            yield ": "
            yield from _repr_parts(item)
        yield "}"
    else:
        yield repr(value[: _VALUE_CHARS + 1] if isinstance(value, str) else value)
