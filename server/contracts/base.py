"""Parts that all requests and answers share: bounds, scope, filters, and an answer's meta."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal, get_args

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StringConstraints, WithJsonSchema
from pydantic import JsonValue as PlainJson

from winnow.server.models import DocumentType, Environment

MAX_TOP_K = 100
PREVIEW_CHARS = 280

Mode = Literal["ids_only", "metadata", "preview", "full"]
# The kind of content in an answer, for its budget and for the row limits of scripts.
Tier = Literal["ids_only", "metadata", "preview", "quotes", "excerpt", "full"]
Label = Annotated[str, StringConstraints(min_length=1, max_length=200)]
ChunkId = Annotated[str, StringConstraints(min_length=1, max_length=64)]
Query = Annotated[str, StringConstraints(min_length=2, max_length=1000)]
CursorText = Annotated[str, StringConstraints(max_length=200)]
# "fields" reads vendor:x and the like in a query as filters, "plain" reads all of it as words.
Syntax = Literal["fields", "plain"]
Limit = Literal["page_size", "token_cap", "byte_cap", "none"]
# Marks for what a tool's listed schema contains of a field beyond its type and bounds (see ``wire_schema``):
# DESCRIBED its description, WHOLE every property of an object. A field without a mark is listed, too.
MARK = "x-listed"
DESCRIBED: dict[str, PlainJson] = {MARK: "words"}
WHOLE: dict[str, PlainJson] = {MARK: "whole"}
# An argument that the listed schema leaves out; it is taken, and ``help`` has it.
UNLISTED: dict[str, PlainJson] = {MARK: "not"}
# Any JSON value. Some hosts refuse an empty schema, so this one names every type.
JsonValue = Annotated[
    Any,
    WithJsonSchema(
        {"anyOf": [{"type": kind} for kind in ("object", "array", "string", "number", "boolean", "null")]}
    ),
]


PathPattern = Annotated[str, StringConstraints(min_length=1, max_length=500)]
_LARGEST_BOUND = 1e15
_MAX_FIELDS, _MAX_VALUES, _NAME_CHARS, _VALUE_CHARS = 20, 50, 200, 500
_WHERE = (
    f"takes at most {_MAX_FIELDS} fields of the front matter, each with a text, number or boolean of at most "
    f'{_VALUE_CHARS} characters or a list of at most {_MAX_VALUES} of them, e.g. {{"stage": "beta"}}; "" is for '
    'documents without a value; {"year": {"from": 2019, "to": 2023}} is a range of numbers, which may lack '
    "either end"
)


# Halves of surrogate pairs, which no document has and no JSON can carry.
_HALVES = re.compile("[\ud800-\udfff]")


def _check_where(value: Any) -> Any:
    """One message for all that can be wrong: pydantic's would repeat names and values of any length."""
    is_fitting = isinstance(value, dict) and len(value) <= _MAX_FIELDS and all(map(_is_field, value.items()))
    if not is_fitting:
        raise ValueError(_WHERE)
    for name, asked in value.items():
        if isinstance(asked, dict) and asked.get("from", -_LARGEST_BOUND) > asked.get("to", _LARGEST_BOUND):
            raise ValueError(f'{name[:40]!r}: "from" must not be above "to"')
    return value


def _is_field(field: tuple[Any, Any]) -> bool:
    name, value = field
    is_range = isinstance(value, dict) and _is_range(value)
    values = value if isinstance(value, list) else [] if is_range else [value]
    is_named = isinstance(name, str) and 0 < len(name) <= _NAME_CHARS and not _HALVES.search(name)
    return is_named and (is_range or (0 < len(values) <= _MAX_VALUES and all(map(_is_scalar, values))))


def _is_range(value: dict[Any, Any]) -> bool:
    numbers = [bound for bound in value.values() if type(bound) in (int, float) and abs(bound) < _LARGEST_BOUND]
    return bool(numbers) and len(numbers) == len(value) and value.keys() <= {"from", "to"}


def _is_scalar(value: Any) -> bool:
    if value is None or isinstance(value, str):
        return len(value or "") <= _VALUE_CHARS and not _HALVES.search(value or "")
    return isinstance(value, int | float) and abs(value) < 1e300


# Some hosts refuse an object without properties, so the schema names one field as an example of all.
ANY_FIELD = "FIELD"
Where = Annotated[
    dict[str, Any],
    BeforeValidator(_check_where),
    WithJsonSchema({"type": "object", "properties": {ANY_FIELD: {"type": "string", "maxLength": _VALUE_CHARS}}}),
]


class Arguments(BaseModel):
    """Base of the models of arguments."""

    # Built on first use: nothing is validated before a handshake is answered.
    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True, hide_input_in_errors=True)


class Scope(Arguments):
    """Which documents a call may see. It can only narrow what the server's settings allow."""

    project_id: Label | None = Field(default=None, description="project to search; default: the server's")
    environment: Environment | None = Field(default=None, description="only documents of this environment")
    doc_tags: list[Label] = Field(default_factory=list, max_length=50, description="only these doc tags (any of)")
    repositories: list[Label] = Field(
        default_factory=list, max_length=50, description="only documents of these repositories (any of)"
    )


class SearchFilters(Arguments):
    """Filters of a search, by facts of documents."""

    doc_tag: list[Label] = Field(
        default_factory=list, max_length=50, description="any of these doc tags", json_schema_extra=DESCRIBED
    )
    tags: list[Label] = Field(
        default_factory=list, max_length=50, description="all of these tags", json_schema_extra=DESCRIBED
    )
    types: list[DocumentType] = Field(
        default_factory=list, max_length=len(get_args(DocumentType)), description="any of these document types"
    )
    path: PathPattern | None = Field(
        default=None,
        description='glob or prefix of the path: "tasks_*"',
        json_schema_extra=DESCRIBED,
    )
    path_prefix: Annotated[str, StringConstraints(max_length=500)] | None = Field(
        default=None, description="a folder or file below the ingested folder, e.g. guide/net"
    )
    where: Where = Field(
        default_factory=dict,
        description='front-matter fields: {"stage": "beta"}',
        json_schema_extra=DESCRIBED,
    )
    updated_after: (
        Annotated[str, StringConstraints(pattern=r"^\d{4}-\d{2}-\d{2}([T ].{0,30})?$", max_length=41)] | None
    ) = Field(default=None, description="ISO date")


class Payload(BaseModel):
    """Base of the models of answers and their parts.

    A field with a default is omitted where it is None; a field without one is sent as null.
    """

    model_config = ConfigDict(extra="forbid", defer_build=True, hide_input_in_errors=True)


# So many characters have the words for a place, and a link to it (``server.bibliographies.locators``).
LOCATOR_CHARS, LINK_CHARS = 300, 1_200
_PageNumber = Annotated[int, Field(ge=0, le=10**9)]
_PageLabel = Annotated[str, StringConstraints(max_length=100)]


class Located(Payload):
    """Where in its file the text of a row is; absent for files without pages or the like.

    ``page_span`` are the numbers in the file of the first and the last page, slide or sheet, ``page_labels`` their
    printed numbers where they differ; ``locator`` says it in words ("p. 33 (file page 45)"), ``link`` opens the
    file there.
    """

    page_span: list[_PageNumber] | None = Field(default=None, min_length=2, max_length=2)
    page_labels: list[_PageLabel] | None = Field(default=None, min_length=2, max_length=2)
    locator: Annotated[str, StringConstraints(max_length=LOCATOR_CHARS)] | None = None
    link: Annotated[str, StringConstraints(max_length=LINK_CHARS)] | None = None


class CitedWork(Payload):
    """The work that a row is from; absent for documents that no bibliography has."""

    citekey: Label | None = None
    authors: list[Label] | None = Field(default=None, max_length=6)
    year: int | None = Field(default=None, ge=0, le=9_999)
    doi: Label | None = None


class Cited(Located, CitedWork):
    """The place of a row, and the work that it is from."""


class TokenUsage(Payload):
    """The cost of an answer: tokens and bytes of all that is sent, text and structure, and the tokenizer."""

    tokens: int = Field(ge=0, le=10_000_000)
    bytes: int = Field(ge=0, le=100_000_000)
    tokenizer: Annotated[str, StringConstraints(max_length=40)]


class Meta(Payload):
    """Facts about a call, on every answer of every tool, errors included."""

    tool: Annotated[str, StringConstraints(max_length=64)]
    version: Annotated[str, StringConstraints(max_length=40)]
    duration_ms: float = Field(ge=0, le=86_400_000)
    trace_id: Annotated[str, StringConstraints(max_length=64)]
    cache_hit: bool = False
    warnings: list[Annotated[str, StringConstraints(max_length=500)]] = Field(default_factory=list, max_length=20)
    usage: TokenUsage


class ErrorEnvelope(Payload):
    """An error: one of the six codes, a message with what to do next, and details."""

    code: Annotated[str, StringConstraints(max_length=40)]
    message: Annotated[str, StringConstraints(max_length=4000)]
    details: dict[str, Any] = Field(default_factory=dict)
