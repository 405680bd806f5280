"""A model's JSON schema as the wire takes it.

The schemas are flat: no ``$ref``, no union at the top, no nullable types among arguments, because one schema
that a host cannot read hides the whole tool set. What an answer may hold as null says so in ``anyOf``, the
only spelling that every validator tried reads without complaint.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from server.contracts.base import LISTED, MARK, WHOLE, ErrorEnvelope

_NULL = {"type": "null"}


@cache
def flat_schema(model: type[BaseModel]) -> Mapping[str, Any]:
    """The model's JSON schema for the wire: references inlined, nullable types collapsed, titles dropped.

    Built once a model; do not change what you get.
    """
    return MappingProxyType(_unmarked(_marked_schema(model)))


@cache
def _marked_schema(model: type[BaseModel]) -> Mapping[str, Any]:
    """The same with the marks of the fields whose descriptions are listed."""
    raw = model.model_json_schema()
    definitions = raw.pop("$defs", {})
    schema: dict[str, Any] = _flatten(raw, definitions)
    schema.pop("description", None)
    return MappingProxyType(schema)


def _unmarked(node: Any) -> Any:
    if isinstance(node, list):
        return [_unmarked(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    return {key: _unmarked(value) for key, value in node.items() if key != MARK}


@cache
def answer_schema(model: type[BaseModel]) -> Mapping[str, Any]:
    """The schema of all that a tool may answer: its payload and ``meta``, or ``error`` beside an empty payload.

    Clients on the TypeScript SDK's 1.x line hold errors against the schema, too, and hide one that does not fit
    (2.x and Python's do not). Keywords that tell the two apart (``if``, ``oneOf``, ``dependentRequired``) make
    other hosts refuse the whole list. So an error comes with `empty_answer`, and what that has is required. A word
    from a table has no empty form: it is in every payload, but not required.

    Names, types, enums and what is required are listed. Words and bounds are not: the server holds its answers to
    them before they are sent, and with them the list does not fit the 64 KiB that some clients read as one line.
    """
    schema = dict(flat_schema(model))
    error = schema["properties"].get("error") or dict(flat_schema(ErrorEnvelope))
    properties = {**schema["properties"], "error": error}
    whole = {**schema, "properties": properties, "required": [*empty_answer(model), "meta"]}
    return MappingProxyType(_shapes(whole))


def _shapes(node: Any) -> Any:
    """The schema without what clients do not need to read an answer; False is ``additionalProperties`` alone."""
    if isinstance(node, list):
        return [_shapes(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    kept = {key: value for key, value in node.items() if key not in _UNLISTED_OF_ANSWERS and value is not False}
    return {
        key: {name: _shapes(part) for name, part in value.items()} if key == "properties" else _shapes(value)
        for key, value in kept.items()
    }


_UNLISTED_OF_ANSWERS = frozenset(
    {
        *("description", "default"),
        *("minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum"),
    }
)


@cache
def empty_answer(model: type[BaseModel]) -> Mapping[str, Any]:
    """What an answer always has, in the form that says nothing: lists without items, counts of 0, null."""
    return MappingProxyType(
        {name: value for name, value in _empty_object(flat_schema(model)).items() if name != "meta"}
    )


def _empty_object(schema: Mapping[str, Any]) -> dict[str, Any]:
    found = {name: _empty(schema["properties"][name]) for name in schema.get("required", ())}
    return {name: value for name, value in found.items() if value is not _NONE_FITS}


_NONE_FITS = object()
_EMPTY: Mapping[str, Any] = MappingProxyType(
    {"array": [], "string": "", "integer": 0, "number": 0, "boolean": False, "null": None}
)


def _empty(schema: Mapping[str, Any]) -> Any:
    """The value that says nothing; `_NONE_FITS` where the schema takes none."""
    if _NULL in schema.get("anyOf", ()):
        return None
    if "enum" in schema:
        return "none" if "none" in schema["enum"] else _NONE_FITS
    if schema.get("type") == "object":
        inner = _empty_object(schema)
        return inner if inner.keys() == set(schema.get("required", ())) else _NONE_FITS
    is_bounded = "pattern" in schema or any(schema.get(bound, 0) > 0 for bound in _LOWER_BOUNDS)
    return _NONE_FITS if is_bounded else _EMPTY.get(schema.get("type", ""), _NONE_FITS)


_LOWER_BOUNDS = ("minimum", "minLength", "minItems")


# Of objects that many tools take, the properties that callers name most often. They are listed where the field is
# not marked WHOLE.
_USUALLY_LISTED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "scope": frozenset({"project_id"}),
        "filters": frozenset({"doc_tag", "path_prefix", "updated_after"}),
    }
)
# A longer bound is the validator's alone: grammars that some hosts make of a schema (llama.cpp) repeat a rule so
# often, and refuse the whole list of tools where it is more than 2,000 times.
_LONGEST_LISTED = 2_000


@cache
def wire_schema(model: type[BaseModel], *, has_projects: bool = False) -> Mapping[str, Any]:
    """The schema of arguments as clients list it: names, types, bounds and defaults, and few words.

    A list of tools is read by every model before anything is asked, so only descriptions of fields marked LISTED
    are in it. What it allows, `parse` accepts; ``help`` has all of `flat_schema`.

    ``has_projects``: whether callers choose among several. Where there is one, a scope that is not marked WHOLE
    has nothing to choose, and is not listed.
    """
    marked = _marked_schema(model)
    scope = marked["properties"].get("scope", {})
    if "scope" in marked["properties"] and MARK not in scope and not has_projects:
        others = {name: value for name, value in marked["properties"].items() if name != "scope"}
        marked = {**marked, "properties": others}
    return MappingProxyType(_short(marked))


def _short(node: Mapping[str, Any], name: str = "", *, is_required: bool = True) -> dict[str, Any]:
    shortened = {key: value for key, value in node.items() if not _is_left_out(key, node, is_required=is_required)}
    if "properties" in node:
        needed, listed = node.get("required", ()), _listed_of(node, name)
        shortened["properties"] = {
            key: _short(value, key, is_required=key in needed) for key, value in listed.items()
        }
    if "items" in node:
        shortened["items"] = _short(node["items"], is_required=is_required)
    return shortened


def _listed_of(node: Mapping[str, Any], name: str) -> Mapping[str, Mapping[str, Any]]:
    """The properties of an object that are listed: all, or the usual ones without their descriptions."""
    properties: Mapping[str, Mapping[str, Any]] = node["properties"]
    if node.get(MARK) == WHOLE[MARK] or name not in _USUALLY_LISTED:
        return properties
    return {key: {**value, MARK: ""} for key, value in properties.items() if key in _USUALLY_LISTED[name]}


def _is_left_out(key: str, node: Mapping[str, Any], *, is_required: bool) -> bool:
    value = node[key]
    match key:
        case "description":
            return bool(node.get(MARK) != LISTED[MARK])
        case "default":
            return value is False or value in ([], {})
        case "minLength" | "minItems":  # what may be absent may be empty: `parse` takes it for absent
            return not is_required
        case "maxLength":
            return "pattern" in node or value > _LONGEST_LISTED
        case _:
            return key in (MARK, "additionalProperties")


def _flatten(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_flatten(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].rsplit("/", 1)[-1]]
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return _flatten({**target, **beside}, definitions)
    if _may_be_left_out(node):
        (solid,) = (option for option in node["anyOf"] if option != _NULL)
        beside = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
        return _flatten({**solid, **beside}, definitions)
    return {
        key: _flatten_properties(value, definitions) if key == "properties" else _flatten(value, definitions)
        for key, value in node.items()
        if not (key == "title" and isinstance(value, str))
    }


def _may_be_left_out(node: Mapping[str, Any]) -> bool:
    """Whether None stands for "not there": then the wire never carries null."""
    options = node.get("anyOf", ())
    return len(options) == 2 and _NULL in options and "default" in node


def _flatten_properties(properties: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    # A property may itself be called "title": names are not keywords here.
    return {name: _flatten(value, definitions) for name, value in properties.items()}
