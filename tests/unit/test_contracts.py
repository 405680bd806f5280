"""What is refused at the boundary, and how the refusal teaches."""

from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import BaseModel

from server.contracts import ExecuteCode, SemanticSearch, answer_schema, flat_schema, parse
from server.errors import Code, WinnowError
from server.knowledge import OPERATIONS
from server.tools import TOOLS

REQUESTS: list[type[BaseModel]] = [
    ExecuteCode,
    *(operation.request for operation in OPERATIONS.values()),
    *(tool.arguments for tool in TOOLS),
]
ANSWERS: list[type[BaseModel]] = [tool.answer for tool in TOOLS]


@pytest.mark.parametrize("model", REQUESTS)
def test_the_schema_of_arguments_is_flat_and_has_no_union(model: type[BaseModel]) -> None:
    schema = flat_schema(model)
    text = json.dumps(dict(schema))
    assert schema["type"] == "object"
    assert [word for word in ("$ref", "$defs", "anyOf", "oneOf", "allOf") if f'"{word}"' in text] == []


@pytest.mark.parametrize("model", ANSWERS)
def test_the_schema_of_an_answer_is_flat_and_what_may_be_null_says_so(model: type[BaseModel]) -> None:
    schema = dict(answer_schema(model))
    text = json.dumps(schema)
    assert (schema["type"], schema["required"]) == ("object", ["meta"])
    assert [word for word in ("$ref", "$defs", "oneOf", "allOf") if f'"{word}"' in text] == []
    assert "anyOf" not in schema
    assert [node for node in nodes(schema) if "anyOf" in node and {"type": "null"} not in node["anyOf"]] == []


def nodes(schema: Any) -> list[dict[str, Any]]:
    if isinstance(schema, list):
        return [found for item in schema for found in nodes(item)]
    if not isinstance(schema, dict):
        return []
    return [schema, *(found for value in schema.values() for found in nodes(value))]


def _branches_of_anything(node: dict[str, Any]) -> list[dict[str, Any]]:
    """Where any JSON value may stand (the result of a script), the sandbox bounds it."""
    branches: list[dict[str, Any]] = node.get("anyOf", [])
    return branches if len(branches) == 6 else []


@pytest.mark.parametrize("model", REQUESTS + ANSWERS)
def test_every_number_string_and_list_of_a_schema_is_bounded(model: type[BaseModel]) -> None:
    anything = [branch for node in nodes(dict(flat_schema(model))) for branch in _branches_of_anything(node)]
    unbounded = [
        node
        for node in nodes(dict(flat_schema(model)))
        if (
            node.get("type") == "string"
            and node not in anything
            and not {"maxLength", "enum", "const"} & set(node)
        )
        or (
            node.get("type") in ("integer", "number")
            and node not in anything
            and not {"minimum", "maximum"} <= set(node)
        )
        or (node.get("type") == "array" and node not in anything and "maxItems" not in node)
    ]
    assert unbounded == []


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "give a query, or filter_ids to fetch known ids"),
        ({"query": "a"}, "query: string should have at least 2 characters (got 'a')"),
        ({"query": "   "}, "the query is blank; say in plain words what to look for"),
        ({"query": "x" * 1001}, "query: string should have at most 1000 characters"),
        ({"query": "ok", "topk": 3}, "topk: no such argument; did you mean 'top_k'?"),
        ({"query": "ok", "top_k": 0}, "top_k: input should be greater than or equal to 1 (got 0)"),
        ({"query": "ok", "top_k": 101}, "top_k: input should be less than or equal to 100 (got 101)"),
        ({"query": "ok", "top_k": 10**40}, "top_k:"),
        ({"query": "ok", "top_k": "many"}, "top_k:"),
        ({"query": "ok", "min_score": float("nan")}, "min_score:"),
        ({"query": "ok", "min_score": 1.5}, "min_score: input should be less than or equal to 1"),
        ({"query": "ok", "response_mode": "everything"}, "response_mode:"),
        ({"query": "ok", "filter_ids": ["x"] * 101}, "filter_ids:"),
        ({"query": "ok", "filters": {"tag": ["a"]}}, "filters.tag: no such argument; did you mean 'tags'?"),
        ({"query": "ok", "filters": {"updated_after": "yesterday"}}, "filters.updated_after:"),
        ({"query": "ok", "session_id": "s"}, "session_id: no such argument"),
        ({"query": "\ud800"}, "query:"),
        ({"query": ["ok"]}, "query:"),
    ],
)
def test_a_wrong_argument_is_refused_with_its_name_and_what_it_takes(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(WinnowError) as caught:
        parse(SemanticSearch, arguments)
    assert caught.value.code is Code.INVALID_ARGUMENT
    assert caught.value.message.startswith(message)
    assert len(caught.value.message) < 1000


def test_null_means_not_given_and_json_text_stands_for_lists_and_objects() -> None:
    request, warnings = parse(
        SemanticSearch,
        {"query": "ok", "cursor": None, "filter_ids": '["a1"]', "filters": '{"tags": ["x"], "path_prefix": null}'},
    )
    assert (request.filter_ids, request.filters and request.filters.tags, warnings) == (["a1"], ["x"], ())


def test_a_project_inside_filters_is_ignored_with_a_warning() -> None:
    request, warnings = parse(SemanticSearch, {"query": "ok", "filters": {"project": "other", "tags": ["x"]}})
    assert request.filters is not None
    assert request.filters.tags == ["x"]
    assert warnings == ("filters.project is ignored; use scope.project_id",)
