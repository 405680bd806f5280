"""Arguments to requests, and a lesson for whoever sent wrong ones."""

from __future__ import annotations

import difflib
import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from server.contracts.schema import flat_schema
from server.errors import WinnowError
from server.text.printable import shorten

RequestT = TypeVar("RequestT", bound=BaseModel)

# Hosts send these in good faith; they never widen anything, so they are dropped with a warning.
_IGNORED_IN_FILTERS = ("project", "project_id")
# Of two names of which one is a misspelling of the other.
_ALIKE = 0.75
_BEGINNING = 4  # characters of a name that are enough to know it by
_NAMED = 5  # unknown arguments that a warning names
_NAME_CHARS = 40


def parse(model: type[RequestT], arguments: Mapping[str, Any]) -> tuple[RequestT, tuple[str, ...]]:
    """Validate arguments; the second value holds warnings about what was ignored.

    What hosts are known to send in good faith is put right first: JSON text for lists and objects; null, "" and []
    for an argument that is not given; arguments that the tool does not have, which are ignored unless they look
    like one that it has.

    Raises:
        WinnowError: INVALID_REQUEST, naming each field that is wrong and what it takes.
    """
    known, warnings = _known(model, arguments)
    cleaned, more = _without_projects(_present(flat_schema(model), known))
    try:
        return model.model_validate(cleaned), (*warnings, *more)
    except ValidationError as error:
        raise _teach(model, error, ignored=[name for name in arguments if name not in known]) from None


def _known(model: type[BaseModel], arguments: Mapping[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    """The arguments that the model has, and a warning about others. Raises for one that looks like one it has."""
    schema = flat_schema(model)
    unknown = [name for name in arguments if name not in schema["properties"]]
    for name in unknown:
        close = _alike(name, schema)
        if close is not None:
            raise WinnowError(
                "INVALID_REQUEST",
                f"{_clipped(name)}: no such argument; did you mean {close!r}?",
                details={"fields": [_clipped(name)]},
            )
    known = {name: value for name, value in arguments.items() if name in schema["properties"]}
    return known, (_ignoring(unknown, schema),) if unknown else ()


def _ignoring(unknown: Sequence[str], schema: Mapping[str, Any]) -> str:
    more = f" and {len(unknown) - _NAMED} more" if len(unknown) > _NAMED else ""
    names = ", ".join(map(_clipped, unknown[:_NAMED]))
    return f"no such argument, ignored: {names}{more}; known: {', '.join(schema['properties'])}"


def _clipped(name: str) -> str:
    """A name from outside on one printable line."""
    shown = name if name.isascii() and name.isidentifier() else repr(name)
    return shorten(shown, _NAME_CHARS)


def _alike(name: str, schema: Mapping[str, Any]) -> str | None:
    """What was meant: an argument, or a property of one, that is spelled nearly like this or begins so."""
    plain = _plain(name[:_NAME_CHARS])
    names = {_plain(known): known for known in schema["properties"]}
    inner = {
        _plain(part): f"{known}.{part}"
        for known, value in schema["properties"].items()
        for part in value.get("properties", {})
    }
    for spelled in (names, inner):
        close = difflib.get_close_matches(plain, spelled, n=1, cutoff=_ALIKE)
        longer = [known for known in spelled if len(plain) >= _BEGINNING and known.startswith(plain)]
        if close or longer:
            return spelled[(close or longer)[0]]
    return None


def _plain(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def _present(schema: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments without those that stand for "not given", within objects, too. What is required stays."""
    required = schema.get("required", ())
    present: dict[str, Any] = {}
    for name, value in arguments.items():
        known = schema["properties"].get(name, {})
        value = _unstrung(value, known)
        if isinstance(value, Mapping) and "properties" in known:
            value = _present(known, value)
        if isinstance(value, list) and name not in required:
            value = [item for item in value if item not in _ABSENT]
        if value is None or (name not in required and value in _ABSENT):
            continue
        present[name] = value
    return present


_ABSENT: tuple[Any, ...] = (None, "", [])


def _unstrung(value: Any, schema: Mapping[str, Any]) -> Any:
    """JSON text for a list or an object is that list or object."""
    if not isinstance(value, str) or schema.get("type") not in ("array", "object"):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value


def _without_projects(cleaned: dict[str, Any]) -> tuple[dict[str, Any], tuple[str, ...]]:
    filters = cleaned.get("filters")
    if not isinstance(filters, dict):
        return cleaned, ()
    ignored = [key for key in _IGNORED_IN_FILTERS if key in filters]
    kept = {key: value for key, value in filters.items() if key not in ignored}
    warnings = tuple(f"filters.{key} is ignored; use scope.project_id" for key in ignored)
    return {**cleaned, "filters": kept}, warnings


def _teach(model: type[BaseModel], error: ValidationError, ignored: Sequence[str] = ()) -> WinnowError:
    lines = [_lesson(model, item) for item in error.errors(include_url=False)[:5]]
    if ignored:
        lines.append(_ignoring(ignored, flat_schema(model)))
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
