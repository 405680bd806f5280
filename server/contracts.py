"""What may be asked and what is answered: one model per operation, and their JSON schemas.

Direct tools and sandboxed scripts are validated by the same models. Bounds stand at every number and string;
anything unknown is refused. The schemas are flat: no ``$ref``, no union at the top, no nullable types, because
one schema that a host cannot read hides the whole tool set.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError, model_validator
from pydantic_core import ErrorDetails

from server.errors import WinnowError

MAX_TOP_K = 100
PREVIEW_CHARS = 280

Mode = Literal["ids_only", "metadata", "preview", "full"]
Label = Annotated[str, StringConstraints(min_length=1, max_length=200)]
ChunkId = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Query = Annotated[str, StringConstraints(min_length=2, max_length=1000)]


class _Request(BaseModel):
    # Built on first use: nothing is validated before a handshake is answered.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class Scope(_Request):
    """What the caller may see. It can only narrow what the server's settings allow."""

    project_id: Label | None = Field(default=None, description="project to search; default: the server's")
    doc_tags: list[Label] = Field(default_factory=list, max_length=50, description="only these doc tags (any of)")


class SearchFilters(_Request):
    """Narrows a search inside the index."""

    doc_tag: list[Label] = Field(default_factory=list, max_length=50, description="any of these doc tags")
    tags: list[Label] = Field(default_factory=list, max_length=50, description="all of these tags")
    types: list[Literal["markdown", "text", "html", "rst", "code", "record"]] = Field(
        default_factory=list, max_length=6, description="any of these document types"
    )
    path_prefix: Annotated[str, StringConstraints(max_length=500)] | None = Field(
        default=None, description="path below the ingested folder; ends at a path segment, e.g. guide/net"
    )
    updated_after: (
        Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}([T ].{0,30})?$", max_length=41)] | None
    ) = Field(default=None, description="ISO-8601 date, e.g. 2026-01-31")


class SemanticSearch(_Request):
    """Arguments of ``semantic_search``."""

    query: Query | None = Field(default=None, description="what to look for, in plain words; 2 to 1000 characters")
    top_k: int = Field(default=10, ge=1, le=MAX_TOP_K, description="how many results")
    response_mode: Literal["ids_only", "ids", "metadata", "preview", "full"] | None = Field(
        default=None,
        description="how much of each result: ids_only (ids is the same) < metadata < preview < full",
    )
    vendor_filter: Label | None = Field(default=None, description="only documents of this vendor")
    min_score: float = Field(default=0.0, ge=0.0, le=1.0, description="drop results that score below this")
    include_relationships: bool = Field(default=False, description="add graph relationships to full results")
    filter_ids: list[ChunkId] = Field(
        default_factory=list,
        max_length=MAX_TOP_K,
        description="fetch exactly these ids, in this order; the query is then optional",
    )
    filters: SearchFilters | None = Field(default=None, description="narrow the search")
    scope: Scope | None = Field(default=None, description="narrow the server's scope")
    cursor: Annotated[str, StringConstraints(max_length=200)] | None = Field(
        default=None, description="next_cursor of the last answer, with the same other arguments"
    )

    @model_validator(mode="after")
    def _asks_for_something(self) -> SemanticSearch:
        if self.query is None and not self.filter_ids:
            raise ValueError("give a query, or filter_ids to fetch known ids")
        if self.query is not None and len(self.query.strip()) < 2:
            raise ValueError("the query is blank; say in plain words what to look for")
        return self


class KbSearch(_Request):
    """Arguments of the SDK's ``kb.search``."""

    query: Query
    top_k: int = Field(default=5, ge=1, le=MAX_TOP_K)
    max_per_doc: int = Field(default=1, ge=1, le=MAX_TOP_K)
    filters: SearchFilters | None = None
    scope: Scope | None = None


class Fetch(_Request):
    """Arguments of the SDK's ``fetch``."""

    ids: list[ChunkId] = Field(min_length=1, max_length=MAX_TOP_K)
    level: Literal["ids", "metadata", "preview", "full"] = "full"
    scope: Scope | None = None


class ExecuteCode(_Request):
    """Arguments of ``execute_code``. The size limit of the source is the sandbox's, counted in bytes."""

    code: Annotated[str, StringConstraints(min_length=1, max_length=51_200)] = Field(
        description="Python source; its result is a top-level return, __result__, result, or the last expression"
    )
    description: Annotated[str, StringConstraints(max_length=500)] | None = Field(
        default=None, description="what the script is for, in a few words"
    )
    timeout: int | None = Field(default=None, ge=1, le=60, description="seconds the script may take; default 30")


class _Answer(BaseModel):
    model_config = ConfigDict(extra="forbid", defer_build=True)


class TokenUsage(_Answer):
    """What an answer costs: tokens and bytes of its structured form, and who counted."""

    tokens: int = Field(ge=0, le=10_000_000)
    bytes: int = Field(ge=0, le=100_000_000)
    tokenizer: Annotated[str, StringConstraints(max_length=40)]


class Meta(_Answer):
    """The same on every answer of every tool, errors included."""

    tool: Annotated[str, StringConstraints(max_length=64)]
    version: Annotated[str, StringConstraints(max_length=40)]
    duration_ms: float = Field(ge=0, le=86_400_000)
    trace_id: Annotated[str, StringConstraints(max_length=64)]
    cache_hit: bool = False
    warnings: list[Annotated[str, StringConstraints(max_length=500)]] = Field(default_factory=list, max_length=20)
    usage: TokenUsage


class Relationship(_Answer):
    """One edge from a result into the graph."""

    entity_id: Label
    entity_name: Label
    relationship_type: Label
    confidence: float = Field(ge=0, le=1)


class RowMetadata(_Answer):
    """What is known of a result beside its text."""

    title: Annotated[str, StringConstraints(max_length=500)]
    section: Annotated[str, StringConstraints(max_length=500)]
    type: Annotated[str, StringConstraints(max_length=40)]
    vendor: Annotated[str, StringConstraints(max_length=200)]
    file: Annotated[str, StringConstraints(max_length=1000)]
    created: Annotated[str, StringConstraints(max_length=40)]
    document_id: Annotated[str, StringConstraints(max_length=64)]
    tags: list[Label] = Field(default_factory=list, max_length=100)


class Row(_Answer):
    """One result. ``id`` is at every tier what the next tier takes."""

    id: ChunkId
    title: Annotated[str, StringConstraints(max_length=500)] | None = None
    score: float | None = Field(default=None, ge=0, le=1)
    section: Annotated[str, StringConstraints(max_length=500)] | None = None
    type: Annotated[str, StringConstraints(max_length=40)] | None = None
    vendor: Annotated[str, StringConstraints(max_length=200)] | None = None
    file: Annotated[str, StringConstraints(max_length=1000)] | None = None
    created: Annotated[str, StringConstraints(max_length=40)] | None = None
    metadata: RowMetadata | None = None
    preview: Annotated[str, StringConstraints(max_length=PREVIEW_CHARS)] | None = None
    preview_tokens: int | None = Field(default=None, ge=0, le=100_000)
    has_more: bool | None = None
    content: Annotated[str, StringConstraints(max_length=200_000)] | None = None
    tokens: int | None = Field(default=None, ge=0, le=1_000_000)
    relationships: list[Relationship] | None = Field(default=None, max_length=100)


class SearchAnswer(_Answer):
    """Answer of ``semantic_search``."""

    mode: Mode
    count: int = Field(ge=0, le=MAX_TOP_K)
    ids: list[ChunkId] | None = Field(default=None, max_length=MAX_TOP_K)
    results: list[Row] | None = Field(default=None, max_length=MAX_TOP_K)
    estimated_tokens: int = Field(ge=0, le=10_000_000)
    search_mode: Literal["hybrid", "lexical-only", "semantic-only", "by-id"]
    fusion: Literal["convex", "rrf", "none"]
    partial: bool = False
    limit_reason: Literal["page_size", "token_cap", "byte_cap", "none"] = "none"
    next_cursor: Annotated[str, StringConstraints(max_length=200)] | None = None
    missing_ids: list[ChunkId] | None = Field(default=None, max_length=MAX_TOP_K)
    meta: Meta


class OutcomeError(_Answer):
    """Why a script did not end well, and the wire's code for it."""

    type: Annotated[str, StringConstraints(max_length=200)]
    message: Annotated[str, StringConstraints(max_length=4000)]
    line: int | None = Field(default=None, ge=0, le=1_000_000)
    column: int | None = Field(default=None, ge=0, le=1_000_000)
    source_line: Annotated[str, StringConstraints(max_length=1000)] | None = None
    hint: Annotated[str, StringConstraints(max_length=2000)] | None = None
    code: Annotated[str, StringConstraints(max_length=40)]
    details: dict[str, Any] = Field(default_factory=dict)


class OutcomeUsage(_Answer):
    """What a script used."""

    wall_ms: float = Field(ge=0, le=86_400_000)
    cpu_ms: float = Field(ge=0, le=86_400_000)
    memory_peak_bytes: int = Field(ge=0, le=1 << 50)
    sdk_calls: int = Field(ge=0, le=1_000_000)
    rows: int = Field(ge=0, le=10_000_000)
    result_tokens: int = Field(ge=0, le=10_000_000)
    tokens_kept_out: int = Field(ge=0, le=1_000_000_000)


class OutcomeWalls(_Answer):
    """Which walls stood around the script."""

    stood: list[Annotated[str, StringConstraints(max_length=40)]] = Field(default_factory=list, max_length=40)
    missing: list[Annotated[str, StringConstraints(max_length=40)]] = Field(default_factory=list, max_length=40)


class OutcomeAnswer(_Answer):
    """Answer of ``execute_code``: the verdict of the sandbox."""

    status: Literal["ok", "error", "rejected", "timeout", "memory", "limit", "crashed", "cancelled", "unavailable"]
    result: Any = None
    stdout: Annotated[str, StringConstraints(max_length=20_000)] = ""
    error: OutcomeError | None = None
    usage: OutcomeUsage
    walls: OutcomeWalls
    meta: Meta


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


def _flatten(node: Any, definitions: Mapping[str, Any]) -> Any:
    if isinstance(node, list):
        return [_flatten(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].rsplit("/", 1)[-1]]
        beside = {key: value for key, value in node.items() if key != "$ref"}
        return _flatten({**target, **beside}, definitions)
    options = node.get("anyOf")
    if options is not None:
        solid = [option for option in options if option != {"type": "null"}]
        beside = {key: value for key, value in node.items() if key not in ("anyOf", "default")}
        return _flatten({**solid[0], **beside}, definitions)
    return {
        key: _flatten_properties(value, definitions) if key == "properties" else _flatten(value, definitions)
        for key, value in node.items()
        if not (key == "title" and isinstance(value, str))
    }


def _flatten_properties(properties: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    # A property may itself be called "title": names are not keywords here.
    return {name: _flatten(value, definitions) for name, value in properties.items()}


RequestT = TypeVar("RequestT", bound=BaseModel)

# Hosts send these in good faith; they never widen anything, so they are dropped with a warning.
_IGNORED_IN_FILTERS = ("project", "project_id")


def parse(model: type[RequestT], arguments: Mapping[str, Any]) -> tuple[RequestT, tuple[str, ...]]:
    """Validate arguments; the second value holds warnings about what was ignored.

    Raises:
        WinnowError: INVALID_REQUEST, naming each field that is wrong and what it takes.
    """
    cleaned, warnings = _tolerate(model, arguments)
    try:
        return model.model_validate(cleaned), warnings
    except ValidationError as error:
        raise _teach(model, error) from None


def _tolerate(model: type[BaseModel], arguments: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Undo what hosts are known to do: JSON text for lists and objects, null for "not given"."""
    cleaned = {name: value for name, value in arguments.items() if value is not None}
    schema = flat_schema(model)["properties"]
    for name, value in cleaned.items():
        if isinstance(value, str) and schema.get(name, {}).get("type") in ("array", "object"):
            cleaned[name] = _unstring(value)
    warnings: tuple[str, ...] = ()
    filters = cleaned.get("filters")
    if isinstance(filters, dict):
        ignored = [key for key in _IGNORED_IN_FILTERS if key in filters]
        cleaned["filters"] = {
            key: value for key, value in filters.items() if key not in ignored and value is not None
        }
        warnings = tuple(f"filters.{key} is ignored; use scope.project_id" for key in ignored)
    return cleaned, warnings


def _unstring(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def _teach(model: type[BaseModel], error: ValidationError) -> WinnowError:
    lines = [_lesson(model, item) for item in error.errors(include_url=False)[:5]]
    fields = [".".join(map(str, item["loc"])) for item in error.errors(include_url=False)[:20]]
    return WinnowError("INVALID_REQUEST", "; ".join(lines), details={"fields": fields})


def _lesson(model: type[BaseModel], item: ErrorDetails) -> str:
    path = ".".join(str(part) for part in item["loc"])
    if item["type"] == "extra_forbidden":
        return _unknown_field(model, item["loc"], path)
    message = item["msg"].removeprefix("Value error, ")
    sent = _shown(item.get("input"))
    if item["type"] == "missing":
        return f"{path}: required"
    if item["type"] == "value_error" and not path:
        return message
    return f"{path}: {message[:1].lower()}{message[1:]} (got {sent})"


def _unknown_field(model: type[BaseModel], location: tuple[int | str, ...], path: str) -> str:
    schema = flat_schema(model)
    for part in location[:-1]:
        schema = schema.get("properties", {}).get(part, schema)
    known = list(schema.get("properties", {}))
    close = difflib.get_close_matches(str(location[-1]), known, n=1)
    advice = f"did you mean {close[0]!r}?" if close else f"known: {', '.join(known)}"
    return f"{path}: no such argument; {advice}"


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
