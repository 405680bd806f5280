"""JSON schemas of the models, in the form that all hosts can read.

The schemas are flat: no ``$ref``, no union at the top, no nullable types among arguments, because one schema
that a host cannot read hides the whole tool set. A nullable field of an answer uses ``anyOf``, the only form that
every validator we tried accepts.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel, ConfigDict, create_model

from winnow.server.contracts.base import DESCRIBED, MARK, UNLISTED, WHOLE, ErrorEnvelope

_NULL = {"type": "null"}
# The highest degree to which schemas of answers are shortened (``answer_schema``).
MOST_SHORTENED = 3


@cache
def flat_schema(model: type[BaseModel]) -> Mapping[str, Any]:
    """The model's JSON schema for the wire: references inlined, nullable types collapsed, titles dropped.

    Cached for each model; do not modify the returned mapping.
    """
    return MappingProxyType(_remove_marks(_marked_schema(model)))


@cache
def _marked_schema(model: type[BaseModel]) -> Mapping[str, Any]:
    """The flat schema with the marks that ``wire_schema`` reads."""
    raw = model.model_json_schema()
    definitions = raw.pop("$defs", {})
    schema: dict[str, Any] = _flatten(raw, definitions)
    schema.pop("description", None)
    return MappingProxyType(schema)


def _remove_marks(node: Any) -> Any:
    if isinstance(node, list):
        return [_remove_marks(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    return {key: _remove_marks(value) for key, value in node.items() if key != MARK}


@cache
def answer_schema(model: type[BaseModel], shortened: int = 0) -> Mapping[str, Any]:
    """The schema of every answer of a tool: its payload and ``meta``, or ``error`` beside an empty payload.

    Clients on the TypeScript SDK's 1.x line validate errors against the schema, too, and hide one that does not
    fit (2.x and Python's do not). Keywords that tell the two apart (``if``, ``oneOf``, ``dependentRequired``) make
    other hosts refuse the whole list. So an error comes with `empty_answer`, whose fields are required. An enum
    has no empty value: it is in every payload, but not required.

    Names, types, enums and required fields are listed. Descriptions and bounds are not: the server validates its
    answers before they are sent, and with them the list exceeds the 64 KiB that some clients read as one line.
    ``shortened``: for lists with a pack of tools (1), ``meta`` and ``error``, which all tools share, are listed
    without their fields; with two packs (2), the rows of lists and other objects, too; with more (3), nothing but
    these two is listed.
    """
    schema = dict(flat_schema(model))
    error = schema["properties"].get("error") or dict(flat_schema(ErrorEnvelope))
    properties = {**schema["properties"], "error": error}
    if shortened:
        properties |= {name: {"type": "object"} for name in ("meta", "error")}
    required = [*empty_answer(model), "meta"]
    if shortened == MOST_SHORTENED:
        properties, required = {name: properties[name] for name in ("meta", "error")}, ["meta"]
    elif shortened > 1:
        properties = {name: _without_fields(part) for name, part in properties.items()}
    whole = {**schema, "properties": properties, "required": required}
    return MappingProxyType(_strip(whole))


def _without_fields(node: Any) -> Any:
    """The schema of a value, objects in it without their fields."""
    if isinstance(node, list):
        return [_without_fields(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    if node.get("type") == "object":
        return {"type": "object"}
    return {key: _without_fields(value) for key, value in node.items()}


def _strip(node: Any) -> Any:
    """The schema without keywords that clients do not need; booleans occur only as ``additionalProperties``."""
    if isinstance(node, list):
        return [_strip(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    kept = {
        key: value for key, value in node.items() if key not in _OMITTED_IN_ANSWERS and not isinstance(value, bool)
    }
    return {
        key: {name: _strip(part) for name, part in value.items()} if key == "properties" else _strip(value)
        for key, value in kept.items()
    }


_OMITTED_IN_ANSWERS = frozenset(
    {
        *("description", "default"),
        *("minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum"),
    }
)


@cache
def empty_answer(model: type[BaseModel]) -> Mapping[str, Any]:
    """The required fields of an answer with empty values: lists without items, counts of 0, null."""
    return MappingProxyType(
        {name: value for name, value in _empty_object(flat_schema(model)).items() if name != "meta"}
    )


def _empty_object(schema: Mapping[str, Any]) -> dict[str, Any]:
    values = {name: _empty_value(schema["properties"][name]) for name in schema.get("required", ())}
    return {name: value for name, value in values.items() if value is not _NO_EMPTY_VALUE}


_NO_EMPTY_VALUE = object()
_EMPTY_VALUES: Mapping[str, Any] = MappingProxyType(
    {"array": [], "string": "", "integer": 0, "number": 0, "boolean": False, "null": None}
)


def _empty_value(schema: Mapping[str, Any]) -> Any:
    """The empty value of a schema; `_NO_EMPTY_VALUE` where it allows none."""
    if _NULL in schema.get("anyOf", ()):
        return None
    if "enum" in schema:
        return "none" if "none" in schema["enum"] else _NO_EMPTY_VALUE
    if schema.get("type") == "object":
        inner = _empty_object(schema)
        return inner if inner.keys() == set(schema.get("required", ())) else _NO_EMPTY_VALUE
    is_bounded = "pattern" in schema or any(schema.get(bound, 0) > 0 for bound in _LOWER_BOUNDS)
    return _NO_EMPTY_VALUE if is_bounded else _EMPTY_VALUES.get(schema.get("type", ""), _NO_EMPTY_VALUE)


_LOWER_BOUNDS = ("minimum", "minLength", "minItems")


# The most used properties of objects that many tools take. Only these are listed where the field is not marked
# WHOLE.
_USUALLY_LISTED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "scope": frozenset({"project_id"}),
        "filters": frozenset({"path", "where"}),
    }
)
# A longer bound is not listed, only validated: grammars that some hosts make from a schema (llama.cpp) repeat a
# rule that often, and refuse the whole list of tools above 2,000 repetitions.
_MAX_LISTED_LENGTH = 2_000


@cache
def wire_schema(model: type[BaseModel], *, has_projects: bool = False) -> Mapping[str, Any]:
    """The schema of arguments as tools list it: names, types, bounds and defaults, and few descriptions.

    Every model reads the list of tools in every session, so it has only the descriptions of fields marked
    DESCRIBED. `parse` accepts what this schema allows; ``help`` has all of `flat_schema`.

    ``has_projects``: whether callers choose among several projects. If not, a scope that is not marked WHOLE is
    not listed. An argument that is marked UNLISTED never is.
    """
    marked = _marked_schema(model)
    listed = {
        name: value
        for name, value in marked["properties"].items()
        if value.get(MARK) != UNLISTED[MARK] and (name != "scope" or MARK in value or has_projects)
    }
    return MappingProxyType(_shorten({**marked, "properties": listed}))


def _shorten(node: Mapping[str, Any], name: str = "", *, is_required: bool = True) -> dict[str, Any]:
    shortened = {key: value for key, value in node.items() if not _is_omitted(key, node, is_required=is_required)}
    if "properties" in node:
        needed, listed = node.get("required", ()), _listed_properties(node, name)
        shortened["properties"] = {
            key: _shorten(value, key, is_required=key in needed) for key, value in listed.items()
        }
    if "items" in node:
        shortened["items"] = _shorten(node["items"], is_required=is_required)
    return shortened


def _listed_properties(node: Mapping[str, Any], name: str) -> Mapping[str, Mapping[str, Any]]:
    """The listed properties of an object: all, or the most used ones without their descriptions."""
    properties: Mapping[str, Mapping[str, Any]] = node["properties"]
    if node.get(MARK) == WHOLE[MARK] or name not in _USUALLY_LISTED:
        return properties
    return {key: {**value, MARK: ""} for key, value in properties.items() if key in _USUALLY_LISTED[name]}


def _is_omitted(key: str, node: Mapping[str, Any], *, is_required: bool) -> bool:
    value = node[key]
    match key:
        case "description":
            return bool(node.get(MARK) != DESCRIBED[MARK])
        case "default":
            return value is False or value in ([], {})
        case "minLength" | "minItems":  # an optional value may be empty: `parse` treats it as absent
            return not is_required
        case "maxLength":
            return "pattern" in node or value > _MAX_LISTED_LENGTH
        case _:
            return key in (MARK, "additionalProperties")


def _flatten(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_flatten(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].rsplit("/", 1)[-1]]
        siblings = {key: value for key, value in node.items() if key != "$ref"}
        return _flatten({**target, **siblings}, definitions)
    if _is_optional(node):
        (non_null,) = (option for option in node["anyOf"] if option != _NULL)
        siblings = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
        return _flatten({**non_null, **siblings}, definitions)
    return {
        key: _flatten_properties(value, definitions) if key == "properties" else _flatten(value, definitions)
        for key, value in node.items()
        if not (key == "title" and isinstance(value, str))
    }


def _is_optional(node: Mapping[str, Any]) -> bool:
    """Whether None means "absent": then null is never sent."""
    options = node.get("anyOf", ())
    return len(options) == 2 and _NULL in options and "default" in node


def _flatten_properties(properties: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    # A property may itself be named "title": names are not keywords here.
    return {name: _flatten(value, definitions) for name, value in properties.items()}


def stated_model(name: str, schema: Mapping[str, Any]) -> type[BaseModel]:
    """A model whose JSON schema is stated as it is, for tools of the operator; all of its descriptions are listed.

    It validates nothing: values were checked against the schema before.
    """

    def stated(*_: Any, **__: Any) -> dict[str, Any]:
        return copy.deepcopy(marked)

    marked = _mark_all(schema)
    model = create_model(name, __config__=ConfigDict(extra="allow"))
    model.model_json_schema = stated  # type: ignore[method-assign]
    return model


def _mark_all(node: Mapping[str, Any]) -> dict[str, Any]:
    marked = dict(node)
    if isinstance(node.get("properties"), Mapping):
        marked["properties"] = {
            key: {**_mark_all(_whole(part)), **DESCRIBED} for key, part in node["properties"].items()
        }
    if isinstance(node.get("items"), Mapping):
        marked["items"] = {**_mark_all(node["items"]), **DESCRIBED}
    return marked


def _whole(part: Any) -> Mapping[str, Any]:
    """A schema as an object: ``true`` allows everything, as an empty one does."""
    return part if isinstance(part, Mapping) else {}
