"""The OpenAPI 3.1 document of the façade, made from the models that its answers are checked against."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

from winnow import __version__
from winnow.server.tools.table import TOOLS, Tool
from winnow.server.transports.facade.discovery import SHORT_ROUTES, data_schema, input_schema
from winnow.server.transports.facade.notebooks import describe_notebooks
from winnow.server.transports.facade.problems import PROBLEMS, Code
from winnow.server.transports.facade.replays import MAX_KEY_CHARS

_SUMMARY = (
    "Tools of a knowledge base, each answer in one envelope: {ok, data, meta, errors}. Tools and payloads are "
    "those of MCP at /mcp."
)
_TEXT = {"type": "string"}
_COUNT = {"type": "integer", "minimum": 0}
_REFUSED_STATUSES = {400, 401, 403, 404, 405, 429, 500, 503}
# Any of these may be the status of a tool's error.
_CALL_STATUSES = _REFUSED_STATUSES | {status for _, status in PROBLEMS.values()}
_WAITING = (429, 503)
_BY_NAME = {tool.name: tool for tool in TOOLS}


def describe_api(tools: Sequence[Tool]) -> dict[str, Any]:
    """The document for a client that sees these tools."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "winnow", "version": __version__, "description": _SUMMARY},
        "jsonSchemaDialect": "https://json-schema.org/draft/2020-12/schema",
        "paths": {
            **_DOCUMENTS,
            **{f"/mcp/tool/{tool.name}": {"post": _describe_call(tool)} for tool in tools},
            **{f"/v1/{name}": {"post": _describe_call(_BY_NAME[of], name)} for name, of in SHORT_ROUTES.items()},
            **describe_notebooks(tools, _IDEMPOTENCY_KEY, _problems(_CALL_STATUSES)),
        },
        "components": {
            "schemas": _SCHEMAS,
            "responses": {str(status): _describe_problem(status) for status in sorted(_CALL_STATUSES)},
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "apiKey": {"type": "apiKey", "in": "header", "name": "X-API-Key"},
            },
        },
        # A server on loopback without keys needs none.
        "security": [{}, {"bearer": []}, {"apiKey": []}],
    }


def _describe_call(tool: Tool, id: str = "") -> dict[str, Any]:
    return {
        "operationId": id or tool.name,
        "summary": tool.title,
        "description": tool.description,
        "parameters": [_IDEMPOTENCY_KEY],
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": dict(input_schema(tool.arguments))}},
        },
        "responses": {
            "200": {
                "description": "The answer of the tool.",
                "content": {"application/json": {"schema": _envelope(dict(data_schema(tool.answer)), ok=True)}},
            },
            **_problems(_CALL_STATUSES),
        },
    }


def _describe_get(summary: str, id: str, schema: Mapping[str, Any], *parameters: str) -> dict[str, Any]:
    return {
        "get": {
            "operationId": id,
            "summary": summary,
            "parameters": [{"name": name, "in": "path", "required": True, "schema": _TEXT} for name in parameters],
            "responses": {
                "200": {
                    "description": summary,
                    "content": {"application/json": {"schema": dict(schema)}},
                },
                **_problems(_REFUSED_STATUSES),
            },
        }
    }


def _problems(statuses: set[int]) -> dict[str, Any]:
    return {str(status): {"$ref": f"#/components/responses/{status}"} for status in sorted(statuses)}


def _describe_problem(status: int) -> dict[str, Any]:
    codes = sorted({code for code, of_code in PROBLEMS.values() if of_code == status})
    response: dict[str, Any] = {
        "description": f"{HTTPStatus(status).phrase}: {', '.join(codes) or Code.INVALID_INPUT}",
        "content": {"application/json": {"schema": _envelope({"type": ["object", "null"]}, ok=False)}},
    }
    if status in _WAITING:
        header = {"description": "Seconds until the request may be repeated, where known.", "schema": _COUNT}
        response["headers"] = {"Retry-After": header}
    return response


def _envelope(data: dict[str, Any], *, ok: bool) -> dict[str, Any]:
    errors = {"type": "array", "items": {"$ref": "#/components/schemas/Error"}}
    bounds = {"maxItems": 0} if ok else {"minItems": 1}
    envelope = _object(
        ok={"const": ok},
        data=data,
        meta={"$ref": "#/components/schemas/Meta"},
        errors=errors | bounds,
    )
    if ok:  # of the answers that have any
        images = {"type": "array", "items": _object(mimeType=_TEXT, data=_TEXT)}
        envelope["properties"] = {**envelope["properties"], "images": images}
    return envelope


def _object(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties], "additionalProperties": False}


def _with_deprecated(**properties: Any) -> dict[str, Any]:
    """An object with these properties, and what to call instead where it is deprecated."""
    described = _object(**properties)
    return {**described, "properties": {**properties, "deprecated": _TEXT}}


_IDEMPOTENCY_KEY = {
    "name": "Idempotency-Key",
    "in": "header",
    "description": "The same key and content within ten minutes: the same answer, without another call.",
    "schema": {"type": "string", "minLength": 1, "maxLength": MAX_KEY_CHARS, "pattern": "^[!-~]([ -~]*[!-~])?$"},
}
_META = _object(
    tool=_TEXT,
    version=_TEXT,
    durationMs={"type": "number", "minimum": 0},
    traceId={"type": "string", "format": "uuid"},
    warnings={"type": "array", "items": _TEXT},
    cacheHit={"type": "boolean"},
    usage=_object(tokens=_COUNT, bytes=_COUNT, tokenizer=_TEXT),
)
_ERROR = _object(
    code={"enum": [code.value for code in Code]},
    message=_TEXT,
    details={
        "type": "object",
        "properties": {"reason": _TEXT, "retryable": {"type": "boolean"}, "retry_after_s": {"type": "number"}},
        "required": ["reason", "retryable"],
    },
)
_DISCOVERY = _object(
    server=_object(name=_TEXT, version=_TEXT),
    tools={
        "type": "array",
        "items": _with_deprecated(
            name=_TEXT,
            version=_TEXT,
            title=_TEXT,
            inputSchemaRef=_TEXT,
            outputSchemaRef=_TEXT,
            deterministic={"type": "boolean"},
            caps=_object(
                timeoutMs=_COUNT,
                maxInputBytes=_COUNT,
                maxOutputBytes=_COUNT,
                network={"type": "array", "items": _TEXT},
            ),
        ),
    },
    prompts={
        "type": "array",
        "items": _object(
            id=_TEXT,
            versions={
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "major": _COUNT,
                        "description": _TEXT,
                        "specRef": _TEXT,
                        "deprecated": _TEXT,
                    },
                    "required": ["major", "description", "specRef"],
                },
            },
        ),
    },
    health=_object(status={"enum": ["ok", "starting"]}, uptimeSec={"type": "number", "minimum": 0}),
)
_SCHEMAS = {
    # ``cacheHit`` and ``usage`` are those of a call; a request that reached no tool has neither.
    "Meta": {**_META, "required": ["tool", "version", "durationMs", "traceId", "warnings"]},
    "Error": _ERROR,
    "Discovery": _DISCOVERY,
    "Prompt": _object(body=_TEXT, spec={"type": "object"}),
}
_DOCUMENTS = {
    "/mcp/discover": _describe_get(
        "The server, its tools, its prompts and its state", "discover", {"$ref": "#/components/schemas/Discovery"}
    ),
    "/mcp/prompt/{domain}/{name}/{major}": _describe_get(
        "A version of a prompt: its template, or with its arguments in the query string its text",
        "prompt",
        {"$ref": "#/components/schemas/Prompt"},
        *("domain", "name", "major"),
    ),
    "/mcp/schema/{tool}/{version}/{kind}.json": _describe_get(
        "The JSON schema of a tool's input or output",
        "schema",
        {"type": "object"},
        *("tool", "version", "kind"),
    ),
    "/openapi.json": _describe_get("This document", "openapi", {"type": "object"}),
}
