"""Notebooks of claims over plain HTTP: the routes that other servers of notebooks have, answered by the tools.

A notebook's id is the name of its project, percent-encoded. Which access key's notebook it is comes from the
connection, as everywhere. A success is the plain answer of the tool, an error an envelope. Warnings, where there
are any, are beside the answer in ``warnings``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from types import MappingProxyType
from typing import Any

from winnow.server.errors import WinnowError
from winnow.server.tools.table import Tool
from winnow.server.transports.facade.discovery import MAX_INPUT_BYTES, data_schema, input_schema
from winnow.server.transports.facade.envelope import Envelope

# Parameter of a query -> its values, at least one.
Query = Mapping[str, Sequence[str]]
_ROOT = "/notebooks/{notebook:path}"
# A content of 50,000 characters, of four bytes each at most, and as much for quotes.
MAX_ENTRY_BYTES = 512 * 1024
_MOST_VALUE_CHARS = 1_000
_KINDS: Mapping[type, str] = MappingProxyType({str: "text", int: "a whole number", float: "a number"})
_SCHEMAS: Mapping[type, str] = MappingProxyType({str: "string", int: "integer", float: "number"})
# Arguments that a path states.
_IN_PATH = ("project", "entry_id")


@dataclass(frozen=True, slots=True)
class NotebookRoute:
    """A route below that of a notebook, and the tool that answers it.

    ``query``: parameter of the query -> argument of the tool and its type. ``fixed``: arguments that the route
    itself has. ``defaults``: those that a body may replace. ``needs``: the parameter without which the next row
    of the same path answers. ``max_bytes``: how large a body may be.
    """

    method: str
    below: str
    tool: str
    query: Mapping[str, tuple[str, type]] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    defaults: Mapping[str, Any] = field(default_factory=dict)
    needs: str = ""
    max_bytes: int = MAX_INPUT_BYTES

    @property
    def path(self) -> str:
        """The path as the application matches it."""
        return _ROOT + self.below

    @property
    def has_body(self) -> bool:
        """Whether the arguments are a body of JSON."""
        return self.method != "GET"


_TOPIC = {"topic_prefix": ("topic_prefix", str), "integration_status": ("integration_status", str)}
_LIMIT = {"limit": ("limit", int)}
ROUTES: Sequence[NotebookRoute] = (
    NotebookRoute("POST", "/semantic-search", "wild_search", defaults={"mode": "semantic"}),
    NotebookRoute(
        "GET",
        "/search",
        "wild_search",
        {"query": ("query", str), "top_k": ("top_k", int), "max_claims": ("max_claims", int), **_TOPIC},
        fixed={"mode": "lexical"},
    ),
    NotebookRoute("POST", "/claims/batch", "wild_claims"),
    NotebookRoute("POST", "/entries", "wild_write", max_bytes=MAX_ENTRY_BYTES),
    NotebookRoute("GET", "/entries/{entry_id}", "wild_read", {"start_char": ("start_char", int)}),
    NotebookRoute("PATCH", "/entries/{entry_id}", "wild_revise", max_bytes=MAX_ENTRY_BYTES),
    NotebookRoute(
        "GET",
        "/entries/{entry_id}/related",
        "wild_related",
        {"direction": ("direction", str), "max_results": ("max_results", int)},
    ),
    NotebookRoute(
        "GET",
        "/browse",
        "wild_friction",
        {"has_friction_above": ("min_friction", float), **_TOPIC, **_LIMIT},
        needs="has_friction_above",
    ),
    NotebookRoute(
        "GET", "/browse", "wild_topics", {"topic_prefix": ("prefix", str), "min_entries": ("min_entries", int)}
    ),
    NotebookRoute("GET", "/observe", "wild_recent", {"since_sequence": ("since_sequence", int), **_LIMIT}),
    NotebookRoute("GET", "/status", "wild_status"),
)


def by_path() -> list[tuple[NotebookRoute, ...]]:
    """The rows of each route: those with the same method and path."""
    return [tuple(rows) for _, rows in groupby(ROUTES, key=lambda row: (row.method, row.below))]


def choose(rows: Sequence[NotebookRoute], query: Query) -> NotebookRoute:
    """The row of a route that answers a request with this query."""
    return next(row for row in rows if row.needs in ("", *query))


def arguments_of(row: NotebookRoute, in_path: Mapping[str, str], query: Query, body: Any) -> dict[str, Any]:
    """The arguments of the tool: ``body`` is the value that was sent, None for a route without one.

    What the path states counts, whatever a body says. Raises ``WinnowError("INVALID_REQUEST")``.
    """
    if row.has_body and not isinstance(body, dict):
        raise WinnowError("INVALID_REQUEST", "the body is one JSON object, such as {}")
    given = {**row.defaults, **body} if row.has_body else _parse_query(row, query)
    stated = {"project" if name == "notebook" else name: value for name, value in in_path.items()}
    return {**given, **row.fixed, **stated}


def _parse_query(row: NotebookRoute, query: Query) -> dict[str, Any]:
    """The arguments in the query; parameters that the route does not have are left out."""
    return {
        argument: _parse(name, query[name], kind) for name, (argument, kind) in row.query.items() if name in query
    }


def _parse(name: str, values: Sequence[str], kind: type) -> Any:
    text = values[0]
    if len(values) == 1 and len(text) <= _MOST_VALUE_CHARS:
        try:
            return kind(text)
        except ValueError:
            pass
    raise WinnowError("INVALID_REQUEST", f"{name} takes {_KINDS[kind]}, once")


def plain(row: NotebookRoute, envelope: Envelope) -> Envelope:
    """A success as these routes send it: the answer itself; an error as it is."""
    if envelope.problem is not None:
        return envelope
    data = dict(envelope.data)
    if row.tool == "wild_claims":
        data["entries"] = [{"id": entry["entry_id"], **entry} for entry in data["entries"]]
    if warnings := envelope.meta.get("warnings"):
        data["warnings"] = [*warnings]
    return Envelope(data, {})


def describe_notebooks(
    tools: Iterable[Tool], key: Mapping[str, Any], refused: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """The paths of the OpenAPI document for a client that sees these tools.

    ``key`` describes the header of idempotency, ``refused`` are the responses of errors.
    """
    known = {tool.name: tool for tool in tools}
    paths: dict[str, dict[str, Any]] = {}
    for rows in by_path():
        seen = [row for row in rows if row.tool in known]
        if seen:
            at = seen[0].path.replace(":path", "")
            paths.setdefault(at, {})[seen[0].method.lower()] = _describe(seen, known, key, refused)
    return paths


def _describe(
    rows: Sequence[NotebookRoute], known: Mapping[str, Tool], key: Mapping[str, Any], refused: Mapping[str, Any]
) -> dict[str, Any]:
    row, tools = rows[0], [known[row.tool] for row in rows]
    found = [_answer_schema(tool, has_id=tool.name == "wild_claims") for tool in tools]
    method: dict[str, Any] = {
        "operationId": "notebooks"
        + row.below.replace("/{entry_id}", "_entry").replace("/", "_")
        + f"_{row.method}",
        "summary": "; ".join(tool.title for tool in tools),
        "parameters": [*_describe_parameters(rows), *([dict(key)] if row.has_body else ())],
        "responses": {
            "200": {
                "description": "The answer, without an envelope.",
                "content": {"application/json": {"schema": found[0] if len(found) == 1 else {"anyOf": found}}},
            },
            **refused,
        },
    }
    if row.has_body:
        schema = _without_path(input_schema(tools[0].arguments))
        method["requestBody"] = {"required": True, "content": {"application/json": {"schema": schema}}}
    return method


def _describe_parameters(rows: Sequence[NotebookRoute]) -> list[dict[str, Any]]:
    in_path = ["notebook", *(["entry_id"] if "{entry_id}" in rows[0].below else ())]
    kinds = {name: kind for row in rows for name, (_, kind) in row.query.items()}
    return [
        *({"name": name, "in": "path", "required": True, "schema": {"type": "string"}} for name in in_path),
        *(
            {"name": name, "in": "query", "required": name == "query", "schema": {"type": _SCHEMAS[kind]}}
            for name, kind in kinds.items()
        ),
    ]


def _without_path(schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = {name: value for name, value in schema["properties"].items() if name not in _IN_PATH}
    required = [name for name in schema.get("required", ()) if name not in _IN_PATH]
    return {**schema, "properties": properties, "required": required}


def _answer_schema(tool: Tool, *, has_id: bool) -> dict[str, Any]:
    schema = dict(data_schema(tool.answer))
    properties = {**schema["properties"], "warnings": {"type": "array", "items": {"type": "string"}}}
    if has_id:
        entry = dict(properties["entries"]["items"])
        entry["properties"] = {"id": {"type": "string"}, **entry["properties"]}
        properties["entries"] = {**properties["entries"], "items": entry}
    return {**schema, "properties": properties}
