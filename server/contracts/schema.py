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
