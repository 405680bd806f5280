"""State of the scripts of a session: ``save``, ``load`` and ``saved``, and ``read_result`` of large results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

from pydantic import BaseModel

from winnow.server.contracts.scripting import ListSaved, LoadValue, SaveValue
from winnow.server.contracts.scripts import ReadResult, ResultAnswer
from winnow.server.errors import WinnowError
from winnow.server.operations.base import DIRECT, Answer, Caller, RequestContext, SessionStores
from winnow.server.operations.declaration import Operation, ToolSpec
from winnow.server.runtime.sessions.identities import identity_of
from winnow.server.runtime.sessions.result_store import ResultStore
from winnow.server.text.framing import frame_text
from winnow.server.text.printable import printable
from winnow.server.text.words.tokens import count_tokens, first_tokens

_NO_SESSION = (
    "this request has no session yet: the next script finds what was saved only if its request returns the token "
    "of this answer (_meta winnow/session, or the cookie)"
)


def read_portion(results: ResultStore, caller: Caller, request: ReadResult) -> Answer:
    """A portion of a stored result's JSON, from ``start_char`` on; for a script, the whole rest."""
    whole = results.get(caller.connection, request.execution_id)
    if whole is None:
        raise WinnowError("NOT_FOUND", "this result is unknown or no longer held; run the script again")
    text = printable(whole) if caller.budget.is_direct else whole
    if request.start_char >= len(text):
        raise WinnowError("INVALID_REQUEST", f"start_char: this result ends at {len(text):,} characters")
    rest = text[request.start_char :]
    portion = first_tokens(rest, request.max_tokens) if caller.budget.is_direct else rest
    end = request.start_char + len(portion)
    payload: dict[str, Any] = {
        "execution_id": request.execution_id,
        "text": portion,
        "start_char": request.start_char,
        "total_chars": len(text),
        "truncated": end < len(text),
    }
    if end < len(text):
        payload["next_start_char"] = end
    return Answer(payload, "full", 1, count_tokens(portion), noted={"results_read": 1})


def save_value(stores: SessionStores, caller: Caller, request: SaveValue) -> Answer:
    """Store a piece of a value; with its last piece the value is saved."""
    _require_script(caller)
    stores.saved.save(caller.connection, caller.run, request.name, request.text, request.start, request.bytes)
    warnings = () if identity_of(caller.connection).is_proven else (_NO_SESSION,)
    return Answer({"saved": request.name}, "ids_only", 0, 0, warnings)


def load_value(stores: SessionStores, caller: Caller, request: LoadValue) -> Answer:
    """A part of a saved value, and its version; version None if this session has no such name."""
    _require_script(caller)
    portion = stores.saved.load(caller.connection, request.name, request.start)
    if portion is None:
        return Answer({"text": "", "version": None, "next": None}, "ids_only", 0, 0)
    payload = {"text": portion.text, "version": portion.version, "next": portion.following}
    return Answer(payload, "ids_only", 0, 0)


def list_saved(stores: SessionStores, caller: Caller, request: ListSaved) -> Answer:
    """The names of the session and the sizes of their values."""
    _require_script(caller)
    return Answer({"sizes": dict(stores.saved.sizes(caller.connection))}, "ids_only", 0, 0)


def _require_script(caller: Caller) -> None:
    if caller.budget.is_direct:
        raise WinnowError("INVALID_REQUEST", "saved values are for scripts: call load(name) in execute_code")


InSession = Callable[[SessionStores, Caller, Any], Answer]

# Operations over what the scripts of a session left. Scripts run in the process of their server, so these are
# answered there, also where another process has the index.
IN_SESSION: Mapping[str, tuple[type[BaseModel], InSession]] = MappingProxyType(
    {
        "read_result": (ReadResult, lambda stores, caller, request: read_portion(stores.results, caller, request)),
        "save": (SaveValue, save_value),
        "load": (LoadValue, load_value),
        "saved": (ListSaved, list_saved),
    }
)


def render_portion(payload: dict[str, Any]) -> list[str]:
    """The portion, and where to read on."""
    start, end = payload["start_char"], payload["start_char"] + len(payload["text"])
    lines = [f"result {payload['execution_id']}: characters {start:,} to {end:,} of {payload['total_chars']:,}"]
    lines += frame_text(payload["text"])
    if payload["truncated"]:
        lines.append(f"next_start_char: {payload['next_start_char']}")
    return lines


_READ_RESULT_DESCRIPTION = """\
Read on, as JSON text, in a script's result that was too large.
Use when: execute_code named an execution_id, and you need the result as it is.
Do not use when: less will do: start the next script with read_result(execution_id).
Returns at most: max_tokens tokens.
If you need more, call: this with next_start_char as start_char.
Defaults: max_tokens 1000. Max: 8000."""
_TOOLS: Mapping[str, ToolSpec] = MappingProxyType(
    {
        "read_result": ToolSpec(
            title="Read on in a large result",
            description=_READ_RESULT_DESCRIPTION,
            answer=ResultAnswer,
            render=render_portion,
            max_size=DIRECT.of("full"),
            needs_scripts=True,
            listed=False,
        )
    }
)


def _over_session(name: str, arguments: type[BaseModel], answer: InSession) -> Operation:
    def run(context: RequestContext, request: Any) -> Answer:
        return answer(context, context.caller, request)

    return Operation(name, arguments, run, tool=_TOOLS.get(name))


OF_SESSIONS = tuple(_over_session(name, *declared) for name, declared in IN_SESSION.items())
