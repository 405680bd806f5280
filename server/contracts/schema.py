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

from server.contracts.base import ErrorEnvelope

_NULL = {"type": "null"}


@cache
def flat_schema(model: type[BaseModel]) -> Mapping[str, Any]:
    """The model's JSON schema for the wire: references inlined, nullable types collapsed, titles dropped.

    Built once a model; do not change what you get.
    """
    raw = model.model_json_schema()
    definitions = raw.pop("$defs", {})
    schema: dict[str, Any] = _flatten(raw, definitions)
    schema.pop("description", None)
    return MappingProxyType(schema)


@cache
def answer_schema(model: type[BaseModel]) -> Mapping[str, Any]:
    """The schema of all that a tool may answer: its payload, or ``error`` in place of it, and ``meta`` with both.

    Some clients hold errors against the schema, too, and hide an error that does not fit; so only ``meta`` is
    required.
    """
    schema = dict(flat_schema(model))
    error = schema["properties"].get("error") or dict(flat_schema(ErrorEnvelope))
    return MappingProxyType(
        {**schema, "properties": {**schema["properties"], "error": error}, "required": ["meta"]}
    )


# What a parameter's name and the tool's own text do not tell.
_TOLD_BESIDE = frozenset({"filter_ids"})
# Objects that are the same in many tools: what a caller most often names of them; `help` has all.
_SHORTENED: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "scope": frozenset({"project_id"}),
        "filters": frozenset({"doc_tag", "path_prefix", "updated_after"}),
    }
)
# Lists of words from a table: a wrong one is answered with the table.
_WORDS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {"types": {"type": "array", "items": {"type": "string", "maxLength": 40}, "maxItems": 20}}
)
_LEFT_OUT = frozenset({"additionalProperties", "pattern", "minItems", "minLength"})


@cache
def wire_schema(model: type[BaseModel]) -> Mapping[str, Any]:
    """The schema of arguments as clients list it: names, types, bounds and defaults, and few words.

    A list of tools is read by every model before anything is asked. What a tool takes stays the whole of
    `flat_schema`: that is what validates, and what ``help`` explains.
    """
    return MappingProxyType(_short(flat_schema(model)))


def _short(node: Any, name: str = "") -> Any:
    if isinstance(node, list):
        return [_short(item) for item in node]
    if not isinstance(node, Mapping):
        return node
    if name in _WORDS:
        return dict(_WORDS[name])
    shortened = {key: value for key, value in node.items() if not _goes_without_saying(key, value, name)}
    if "properties" in shortened:
        kept = _SHORTENED.get(name, node["properties"].keys())
        inner = {key: value for key, value in node["properties"].items() if key in kept}
        shortened["properties"] = {key: _short(value, key) for key, value in inner.items()}
    return {key: value if key == "properties" else _short(value) for key, value in shortened.items()}


def _goes_without_saying(key: str, value: Any, name: str) -> bool:
    if key == "description":
        return name not in _TOLD_BESIDE
    return key in _LEFT_OUT or (key == "default" and value in ([], {}))


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
