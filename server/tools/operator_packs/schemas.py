"""JSON Schemas of tool packs: read within bounds, made flat, and applied to values.

A schema is written by the operator and applied to hostile values. So its size is bounded after references are
inlined, which refuses those that grow exponentially or for ever; patterns run in linear time (re2); and a keyword
that is not in the tables is refused, because a schema that says something which is not checked is worse than an
error. References to the network are never followed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, cast

import re2  # type: ignore[import-untyped]
from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError, ValidationError
from jsonschema.validators import extend

from winnow.server.text.printable import one_line

_MOST_NODES = 4_000
_DEEPEST = 32
_MOST_DEEP_VALUE = 64
_PATTERN_CHARS = 500
_REASON_CHARS = 200
_OBJECT = "object"

# Keywords with a schema, with a list of schemas, with schemas by name, and with plain values.
_ONE = frozenset({"items", "additionalProperties", "not", "contains", "propertyNames"})
_LISTS = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_MAPS = frozenset({"properties", "patternProperties"})
_PLAIN = frozenset(
    {
        *("type", "enum", "const", "required", "format", "description", "default", "examples", "deprecated"),
        *("minLength", "maxLength", "pattern", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
        *("minItems", "maxItems", "uniqueItems", "minContains", "maxContains", "minProperties", "maxProperties"),
    }
)
_DROPPED = frozenset({"$schema", "$id", "$comment", "$defs", "definitions", "title"})
_REF = "$ref"


class SchemaRefused(Exception):
    """A schema that is not used; the message says where and why."""


@dataclass(frozen=True, slots=True, eq=False)
class Schema:
    """A schema without references, ready to be applied."""

    document: Mapping[str, Any]
    _validator: Any = field(repr=False)

    def explain(self, value: Any) -> str:
        """The first mismatch, in one line with its place; "" for a value that fits.

        >>> read_schema({"type": "object", "properties": {"n": {"type": "integer"}}}).explain({"n": "x"})
        "n: is not of the type 'integer'"
        """
        if is_deep(value):
            return f"nested more than {_MOST_DEEP_VALUE} levels"
        error = next(self._validator.iter_errors(value), None)
        return "" if error is None else _describe(error)


def read_schema(stated: Any, *, is_object: bool = False) -> Schema:
    """The schema as stated, with its references to itself inlined. Raises ``SchemaRefused``.

    ``is_object``: its values must be objects, as the arguments of a tool are.
    """
    if not isinstance(stated, Mapping):
        raise SchemaRefused("a schema is an object")
    document = _Expansion(stated).expand(stated, "", ())
    if is_object and document.get("type") != _OBJECT:
        raise SchemaRefused("its type must be object")
    try:
        Draft202012Validator.check_schema(document)
    except SchemaError as error:
        place = ".".join(map(str, error.absolute_path))
        raise SchemaRefused(one_line(f"{place or 'the schema'}: {error.message}", _REASON_CHARS)) from None
    return Schema(document, _Validator(document))


class _Expansion:
    """Inlines the references of one schema, and counts what that takes."""

    def __init__(self, root: Mapping[str, Any]) -> None:
        self._root = root
        self._nodes = 0

    def expand(self, node: Any, place: str, behind: tuple[str, ...]) -> Any:
        """The schema of ``node`` without references; ``behind`` are the references that led here."""
        self._count(place)
        if isinstance(node, bool):
            return node
        if not isinstance(node, Mapping):
            raise SchemaRefused(f"{place or 'the schema'}: a schema is an object, true or false")
        if _REF in node:
            return self._follow(node, place, behind)
        expanded: dict[str, Any] = {}
        for key, value in node.items():
            if key not in _DROPPED:
                expanded[key] = self._keyword(key, value, f"{place}.{key}" if place else str(key), behind)
        return expanded

    def _keyword(self, key: Any, value: Any, place: str, behind: tuple[str, ...]) -> Any:
        if key in _ONE:
            return self.expand(value, place, behind)
        if key in _LISTS and isinstance(value, list):
            return [self.expand(each, f"{place}.{n}", behind) for n, each in enumerate(value)]
        if key in _MAPS and isinstance(value, Mapping):
            names = value if key == "patternProperties" else ()
            for name in names:
                _compile(name, place)
            return {str(name): self.expand(each, f"{place}.{name}", behind) for name, each in value.items()}
        if key not in _PLAIN:
            raise SchemaRefused(f"{one_line(place, 100)}: this keyword is not supported")
        if key == "pattern":
            _compile(value, place)
        return self._copy(value, place, len(behind))

    def _follow(self, node: Mapping[str, Any], place: str, behind: tuple[str, ...]) -> Any:
        reference = node[_REF]
        if not isinstance(reference, str) or not reference.startswith("#"):
            raise SchemaRefused(f"{place or _REF}: only references within the schema (#/...) are followed here")
        if reference in behind or len(behind) >= _DEEPEST:
            raise SchemaRefused(f"{place or _REF}: {one_line(reference, 80)} leads to itself")
        beside = {key: value for key, value in node.items() if key != _REF}
        target = self._resolve(reference, place)
        if not isinstance(target, Mapping):
            return self.expand(target, place, (*behind, reference))
        return self.expand({**target, **beside}, place, (*behind, reference))

    def _resolve(self, reference: str, place: str) -> Any:
        target: Any = self._root
        for part in reference[1:].split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            if not isinstance(target, Mapping) or name not in target:
                raise SchemaRefused(f"{place or _REF}: there is no {one_line(reference, 80)}")
            target = target[name]
        return target

    def _copy(self, value: Any, place: str, depth: int) -> Any:
        """A copy of plain data, counted."""
        self._count(place)
        if depth > _DEEPEST:
            raise SchemaRefused(f"{one_line(place, 100)}: nested too deeply")
        if isinstance(value, Mapping):
            return {str(key): self._copy(each, place, depth + 1) for key, each in value.items()}
        if isinstance(value, list):
            return [self._copy(each, place, depth + 1) for each in value]
        if value is None or isinstance(value, str | bool | int | float):
            return value
        raise SchemaRefused(f"{one_line(place, 100)}: {type(value).__name__} is no JSON value; put it into quotes")

    def _count(self, place: str) -> None:
        self._nodes += 1
        if self._nodes > _MOST_NODES:
            raise SchemaRefused(f"it is larger than {_MOST_NODES:,} parts with its references inlined")
        if place.count(".") > _DEEPEST:
            raise SchemaRefused(f"{one_line(place, 100)}: nested too deeply")


@lru_cache(maxsize=512)
def _pattern(text: str) -> Any:
    options = re2.Options()
    options.log_errors = False
    return re2.compile(text, options)


def _compile(text: Any, place: str) -> None:
    if not isinstance(text, str) or len(text) > _PATTERN_CHARS:
        raise SchemaRefused(f"{one_line(place, 100)}: a pattern is a text of at most {_PATTERN_CHARS} characters")
    try:
        _pattern(text)
    except re2.error as error:
        said = one_line(str(error), 80)
        raise SchemaRefused(f"{one_line(place, 100)}: re2, which runs patterns, refuses it: {said}") from None


# --- keywords whose usual implementation a hostile value can slow down -------------------------------------------


def _check_pattern(validator: Any, pattern: str, value: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(value, str) and not _pattern(pattern).search(value):
        yield ValidationError("does not match")


def _check_pattern_properties(
    validator: Any, patterns: Mapping[str, Any], value: Any, schema: Any
) -> Iterator[ValidationError]:
    if isinstance(value, dict):
        for pattern, each in patterns.items():
            for name in (name for name in value if _pattern(pattern).search(name)):
                yield from validator.descend(value[name], each, path=name, schema_path=pattern)


def _check_additional(validator: Any, additional: Any, value: Any, schema: Any) -> Iterator[ValidationError]:
    if not isinstance(value, dict):
        return
    known, patterns = schema.get("properties", {}), schema.get("patternProperties", {})
    for name in value:
        if name not in known and not any(_pattern(each).search(name) for each in patterns):
            if additional is False:
                yield ValidationError("unknown", path=[name])
            else:
                yield from validator.descend(value[name], additional, path=name)


def _check_unique(validator: Any, unique: bool, value: Any, schema: Any) -> Iterator[ValidationError]:
    if unique and isinstance(value, list):
        written = {json.dumps(each, sort_keys=True) for each in value}
        if len(written) < len(value):
            yield ValidationError("repeats")


_Validator: Any = extend(  # type: ignore[no-untyped-call]
    Draft202012Validator,
    {
        "pattern": _check_pattern,
        "patternProperties": _check_pattern_properties,
        "additionalProperties": _check_additional,
        "uniqueItems": _check_unique,
    },
)


def is_deep(value: Any) -> bool:
    """Whether JSON data is nested more deeply than any value of a pack may be."""
    level = [value]
    for _ in range(_MOST_DEEP_VALUE):
        level = [
            part
            for each in level
            if isinstance(each, dict | list)
            for part in (each.values() if isinstance(each, dict) else each)
        ]
        if not level:
            return False
    return True


_WORDS: Mapping[str, str] = {
    "type": "is not of the type {}",
    "additionalProperties": "is not a known field",
    "enum": "is not one of {}",
    "const": "is not {}",
    "pattern": "does not match the pattern {}",
    "minLength": "has fewer than {} characters",
    "maxLength": "has more than {} characters",
    "minItems": "has fewer than {} items",
    "maxItems": "has more than {} items",
    "minimum": "is less than {}",
    "maximum": "is more than {}",
    "uniqueItems": "has an item twice",
}


def _describe(error: ValidationError) -> str:
    """The error by the schema's words alone: a value may be long, secret or hostile."""
    place = ".".join(one_line(str(part), 40) for part in error.absolute_path)
    keyword, stated, value = str(error.validator), cast("Any", error.validator_value), cast("Any", error.instance)
    if keyword == "required":
        missing = (one_line(name, 40) for name in stated if name not in value)
        return one_line(f"{place}{place and ': '}{', '.join(missing)}: required", _REASON_CHARS)
    short = "the schema" if isinstance(stated, dict) else one_line(repr(stated), 80)
    words = _WORDS.get(keyword, f"does not fit {keyword} of the schema").format(short)
    return one_line(f"{place or 'the value'}: {words}", _REASON_CHARS)
