"""Arguments to requests, and a lesson for whoever sent wrong ones."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from server.contracts.schema import flat_schema
from server.errors import WinnowError

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
    for name, value in cleaned.items():
        if isinstance(value, dict):
            cleaned[name] = {key: part for key, part in value.items() if part is not None}
    filters = cleaned.get("filters")
    ignored = [key for key in _IGNORED_IN_FILTERS if key in filters] if isinstance(filters, dict) else []
    for key in ignored:
        del cleaned["filters"][key]
    return cleaned, tuple(f"filters.{key} is ignored; use scope.project_id" for key in ignored)


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
