"""Validation of arguments, and the error messages."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any

import hypothesis
import pytest
from hypothesis import strategies as st
from pydantic import BaseModel

from winnow.server.contracts import (
    ExecuteCode,
    KbSearch,
    Scope,
    SearchFilters,
    SemanticSearch,
    answer_schema,
    flat_schema,
    parse,
    wire_schema,
)
from winnow.server.contracts.claims.arguments import WriteEntry
from winnow.server.contracts.corpus.reading import ReadDocument
from winnow.server.contracts.corpus.scan import Scan
from winnow.server.contracts.evidence import RetrieveEvidence
from winnow.server.contracts.graph import FindVendorInfo, GraphExpand, GraphPaths
from winnow.server.contracts.parsing import _format_value, _repr_parts
from winnow.server.errors import ErrorCode, WinnowError
from winnow.server.operations.knowledge import OPERATIONS
from winnow.server.tools.table import TOOLS

REQUESTS: list[type[BaseModel]] = [
    ExecuteCode,
    *(operation.arguments for operation in OPERATIONS.values()),
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
    assert schema["type"] == "object"
    assert "meta" in schema["required"]
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
    """Where any JSON value is allowed (the result of a script), the sandbox bounds it."""
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
        (
            {"query": "ok", "top_k": 10**5_000},
            "top_k: input should be less than or equal to 100 (got a number of too",
        ),
        ({"query": "ok", "min_score": 1.5}, "min_score: input should be less than or equal to 1"),
        ({"query": "ok", "response_mode": "everything"}, "response_mode:"),
        (
            {"query": "ok", "filter_ids": ["x"] * 101},
            "filter_ids: at most 100 in one call (got 101); make several",
        ),
        ({"query": "ok", "filters": {"tag": ["a"]}}, "filters.tag: no such argument; did you mean 'tags'?"),
        ({"query": "ok", "filters": {"updated_after": "yesterday"}}, "filters.updated_after:"),
        ({"query": "ok", "topK": 3}, "topK: no such argument; did you mean 'top_k'?"),
        ({"query": "ok", "sheet": "Q1"}, "sheet: no such argument, and without it the answer would be about"),
        ({"query": "ok", "vendor": "acme"}, "vendor: no such argument; did you mean 'vendor_filter'?"),
        ({"query": "ok", "doc_tag": "a"}, "doc_tag: no such argument; did you mean 'filters.doc_tag'?"),
        ({"question": "ok"}, "give a query, or filter_ids"),
        ({"query": "\ud800"}, "query:"),
        ({"query": ["ok"]}, "query:"),
    ],
)
def test_a_wrong_argument_is_refused_with_its_name_and_what_it_takes(
    arguments: dict[str, Any], message: str
) -> None:
    with pytest.raises(WinnowError) as caught:
        parse(SemanticSearch, arguments)
    assert caught.value.code is ErrorCode.INVALID_ARGUMENT
    assert caught.value.message.startswith(message)
    assert len(caught.value.message) < 1000


@pytest.mark.parametrize("name", ["path", "file", "uri", "title", "id"])
def test_another_word_for_the_document_to_read_is_answered_with_its_name(name: str) -> None:
    with pytest.raises(WinnowError, match=f"^{name}: no such argument; did you mean 'document'"):
        parse(ReadDocument, {name: "guide/backups.md"})
    request, warnings = parse(ReadDocument, {"document": "guide/backups.md", name: "other"})
    assert request.document == "guide/backups.md"
    assert [f"ignored: {name}" in warning for warning in warnings] == [True]


@pytest.mark.parametrize(
    ("model", "given", "instead"),
    [
        (Scan, {"pattern": "a", "ignore_case": True}, "did you mean 'case'"),
        (Scan, {"pattern": "a", "caseSensitive": False}, "did you mean 'case'"),
        (Scan, {"pattern": "a.b", "regex": False}, "did you mean 'literal'"),
        (Scan, {"pattern": "a", "whole_word": True}, "did you mean 'word'"),
        (GraphExpand, {"ids": ["a"], "max_hops": 3}, "did you mean 'hops'"),
        (GraphExpand, {"ids": ["a"], "relation": "ABOUT"}, "did you mean 'types'"),
        (GraphPaths, {"from_ids": ["a"], "to_ids": ["b"], "hops": 2}, "did you mean 'max_hops'"),
        (FindVendorInfo, {"vendor_name": "acme", "relations": ["ABOUT"]}, "about something else"),
        (RetrieveEvidence, {"question": "ok", "passage_ids": ["a"]}, "about something else"),
        (KbSearch, {"query": "ok", "exclude": ["a.md"]}, "about something else"),
        (ReadDocument, {"document": "a.md", "as_of": "2024-01-01"}, "about something else"),
    ],
)
def test_what_chooses_the_answer_is_refused_in_other_words_too(
    model: type[BaseModel], given: dict[str, Any], instead: str
) -> None:
    with pytest.raises(WinnowError, match=instead):
        parse(model, given)


def test_null_means_not_given_and_json_text_stands_for_lists_and_objects() -> None:
    request, warnings = parse(
        SemanticSearch,
        {"query": "ok", "cursor": None, "filter_ids": '["a1"]', "filters": '{"tags": ["x"], "path_prefix": null}'},
    )
    assert (request.filter_ids, request.filters and request.filters.tags, warnings) == (["a1"], ["x"], ())


@pytest.mark.parametrize(
    "narrowed",
    [{"scope": {"project_id": "p1"}}, {"filters": {"path": "a/*"}}, {"project": "p1"}, {"docTags": ["a"]}],
)
def test_a_script_is_not_run_without_the_scope_that_it_was_given(narrowed: dict[str, Any]) -> None:
    with pytest.raises(WinnowError, match="without it the answer would be about something else") as caught:
        parse(ExecuteCode, {"code": "return 1", **narrowed})
    assert caught.value.details["fields"] == [*narrowed]
    assert "within the script: semantic_search(question, filters=" in caught.value.message


@pytest.mark.parametrize("empty", [None, "", [], {}])
def test_what_an_empty_argument_would_narrow_is_no_error(empty: object) -> None:
    assert len(parse(ExecuteCode, {"code": "return 1", "scope": empty})[1]) == 1


def test_arguments_that_a_tool_does_not_have_are_ignored_with_a_warning() -> None:
    request, warnings = parse(SemanticSearch, {"query": "ok", "random_string": "", "\x1b[2J\n": 1})
    assert request == parse(SemanticSearch, {"query": "ok"})[0]
    (warning,) = warnings
    assert warning.startswith(r"no such argument, ignored: random_string, '\x1b[2J\n'; known: query, top_k")
    many = {"query": "ok", **{f"{number}" * 500: 1 for number in range(1_000, 1_050)}}
    assert len(parse(SemanticSearch, many)[1][0]) < 500


@pytest.mark.parametrize("nothing", [None, "", []])
def test_null_and_what_is_empty_mean_not_given_where_an_argument_is_optional(nothing: Any) -> None:
    everything = dict.fromkeys(SemanticSearch.model_fields, nothing)
    inner: dict[str, Any] = {
        "filters": dict.fromkeys(SearchFilters.model_fields, nothing),
        "scope": dict.fromkeys(Scope.model_fields, nothing),
        "filter_ids": [nothing],
    }
    for more in ({}, inner):
        request, warnings = parse(SemanticSearch, {**everything, **more, "query": "ok"})
        given = request.model_dump(exclude_defaults=True, exclude={"filters", "scope"})
        assert (given, warnings) == ({"query": "ok"}, ())
        assert (request.filters or SearchFilters(), request.scope or Scope()) == (SearchFilters(), Scope())
    with pytest.raises(WinnowError):
        parse(KbSearch, {"query": nothing})


def values(schema: Mapping[str, Any]) -> st.SearchStrategy[Any]:
    """Values that a listed schema allows, including values at its bounds."""
    if "enum" in schema:
        return st.sampled_from(schema["enum"])
    least, most = schema.get("minimum"), schema.get("maximum")
    match schema["type"]:
        case "object":
            given = {name: values(value) for name, value in schema["properties"].items()}
            required = {name: given.pop(name) for name in schema.get("required", ())}
            return st.fixed_dictionaries(required, optional=given)
        case "array":
            longest = min(schema["maxItems"], 3)
            return st.lists(values(schema["items"]), min_size=schema.get("minItems", 0), max_size=longest)
        case "string" if "pattern" in schema:
            return st.from_regex(schema["pattern"], fullmatch=True)
        case "string":
            sizes = {"min_size": schema.get("minLength", 0), "max_size": min(schema.get("maxLength", 99), 99)}
            return st.text(st.characters(codec="utf-8"), **sizes).filter(lambda text: not text or text.strip())
        case "integer":
            return st.integers(least, most) | st.sampled_from([least, most])
        case "number":
            return st.floats(least, most) | st.sampled_from([least, most])
        case _:
            return st.booleans()


@pytest.mark.parametrize("has_projects", [True, False])
@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
@hypothesis.settings(max_examples=25, deadline=None)
@hypothesis.given(data=st.data())
def test_what_is_listed_is_what_is_taken(tool: Any, has_projects: bool, data: st.DataObject) -> None:
    """Blank questions and empty searches are refused by the tool, not by its schema."""
    arguments = data.draw(values(wire_schema(tool.arguments, has_projects=has_projects)))
    for name in ("query", "question"):
        if name in arguments and len(arguments[name].strip()) < 2:
            arguments[name] = "two words"
    if tool.name == "semantic_search":
        arguments.setdefault("query", "two words")
    _, warnings = parse(tool.arguments, arguments)
    assert warnings == ()


def bounds(schema: Mapping[str, Any], path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], str, Any]]:
    """Every bound of a schema: its path, its keyword and its value."""
    for name, value in schema.get("properties", {}).items():
        for keyword in ("minimum", "maximum", "minLength", "maxLength", "minItems", "maxItems"):
            if keyword in value:
                yield (*path, name), keyword, value[keyword]
        yield from bounds(value, (*path, name))


_BEYOND: Mapping[str, Callable[[Any], Any]] = {
    "minimum": lambda bound: bound - 1,
    "maximum": lambda bound: bound + 1,
    "minLength": lambda bound: "x" * (bound - 1),
    "maxLength": lambda bound: "x" * (bound + 1),
    "minItems": lambda bound: ["x"] * (bound - 1),
    "maxItems": lambda bound: ["x"] * (bound + 1),
}


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_each_bound_that_is_listed_is_the_validator_s(tool: Any) -> None:
    schema = wire_schema(tool.arguments, has_projects=True)
    found = list(bounds(schema))
    for path, keyword, bound in found:
        value = _BEYOND[keyword](bound)
        for name in reversed(path):
            value = {name: value}
        with pytest.raises(WinnowError) as caught:
            parse(tool.arguments, value)
        # Fields of ``where`` are refused together, under its name.
        named = ".".join(path).removesuffix(".FIELD")
        assert [field for field in caught.value.details["fields"] if field.startswith(named)], (path, keyword)
    assert found


def test_no_listed_bound_is_longer_than_hosts_make_grammars_of() -> None:
    lengths = [
        bound for tool in TOOLS for _, keyword, bound in bounds(wire_schema(tool.arguments)) if "Len" in keyword
    ]
    assert max(lengths) <= 2_000
    with pytest.raises(WinnowError, match="code"):
        parse(ExecuteCode, {"code": "x" * 51_201})


def test_a_project_inside_filters_is_ignored_with_a_warning() -> None:
    request, warnings = parse(SemanticSearch, {"query": "ok", "filters": {"project": "other", "tags": ["x"]}})
    assert request.filters is not None
    assert request.filters.tags == ["x"]
    assert warnings == ("filters.project is ignored; use scope.project_id",)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"project": "beta"}, "project: no such argument; did you mean 'scope.project_id'?"),
        ({"scope": "beta"}, """scope: takes an object, such as {"project_id": "beta"} (got 'beta')"""),
        ({"scope": {"project": "beta"}}, "scope.project: no such argument; did you mean 'project_id'?"),
        (
            {"filters": 3},
            "filters: takes an object with doc_tag, tags, types, path, path_prefix, where, updated_after (got 3)",
        ),
    ],
)
def test_a_wrong_guess_of_where_an_object_goes_is_told_its_form(given: dict[str, Any], message: str) -> None:
    with pytest.raises(WinnowError) as caught:
        parse(KbSearch, {"query": "gates", **given})
    assert caught.value.message == message


def test_an_object_in_a_list_is_described_by_its_own_fields() -> None:
    with pytest.raises(WinnowError) as caught:
        parse(WriteEntry, {"topic": "gates", "claims": [{"text": "A gate closes.", "evidence": ["p1"]}]})
    told = caught.value.message
    assert """claims.0.evidence.0: takes an object, such as {"passage_id": "p1"} (got 'p1')""" in told


@pytest.mark.parametrize(
    "value",
    [
        [1, [2.5, [None, "it's"]], {"a": [True], "b": {}}],
        {"a" * 70: 1},
        ["x" * 70],
        list(range(100)),
        [[[[[[]]]]]] * 20,
        [],
        "x" * 61,
        "x" * 58,
    ],
)
def test_a_wrong_value_is_shown_as_python_writes_it(value: Any) -> None:
    whole = repr(value)
    assert _format_value(value) == (whole if len(whole) <= 60 else f"{whole[:57]}...")


def test_of_a_wide_value_the_beginning_alone_is_written() -> None:
    written = islice(_repr_parts([[] for _ in range(30_000)]), 5)
    assert list(written) == ["[", "[", "]", ", ", "["]


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_list_with_too_many_items_is_refused_with_how_many_one_call_takes(tool: Any) -> None:
    fields = flat_schema(tool.arguments)["properties"]
    for name, field in fields.items():
        if field.get("type") == "array" and field["items"].get("type") == "string":
            most = field["maxItems"]
            with pytest.raises(WinnowError) as caught:
                parse(tool.arguments, {name: ["x"] * (most + 1)})
            assert (
                f"{name}: at most {most:,} in one call (got {most + 1}); make several calls"
                in caught.value.message
            )
            assert name in caught.value.details["fields"]
