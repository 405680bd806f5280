"""Any call of a script is answered, or refused with an error for the script: the host never fails itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from winnow.sandbox.protocol import frames
from winnow.sandbox.protocol.limits import Limits
from winnow.server.commands.entry.app import Application
from winnow.server.errors import WinnowError
from winnow.server.operations.knowledge import OPERATIONS, SCRIPT

from . import hostile_json
from .choices import Choices
from .engine import CHOICES, examples
from .harness import Harness

pytestmark = pytest.mark.anyio

LIMITS = Limits()
_METHODS = [
    *OPERATIONS,
    *OPERATIONS,
    "",
    "__class__",
    "execute_code",
    "semantic_search ",
    "SEMANTIC_SEARCH",
    "kb_search",
    "kb.",
]
_TEXTS = ["backups", "ab", "", " ", "x" * 2_000, "\x00", "\x1b[31m", "'; --", "../..", "a\u2028b", "{}", "%s", "*",
          "ü" * 60, '"', "(a OR", "NEAR/2", "2026-01-31", "2026-99-99", "guide/", "acme"]  # fmt: skip
_NUMBERS: list[Any] = [1, 0, -1, 100, 101, 2**63, -(2**1000), 0.5, 1.0, 1.5, 1e308, -0.0, True, False, None]
_SCALARS: list[Any] = [*_TEXTS, *_NUMBERS]
_KNOWN = "a passage that this session was shown"
_IDS: list[Any] = [
    *[_KNOWN] * 8,
    "0123456789",
    "x" * 64,
    "x" * 65,
    "",
    "\x00",
    f"{_KNOWN}/{_KNOWN}",
    1,
    None,
    ["x"],
    {},
]
_OPTIONS = ["max_snippet_chars", "max_per_doc", "include_scores", "include_debug", "mode", "format", "x"]
_SCOPE = ["project_id", "doc_tags", "environment", "repositories", "session_id", "x"]
_FILTERS = ["doc_tag", "tags", "types", "path_prefix", "updated_after", "project_id", "x"]


def _mostly(*usual: Any) -> Callable[[Choices], Any]:
    """One of these, now and then any value."""
    return lambda choices: choices.one(_SCALARS if choices.chance(4) else usual)


_FIELDS: dict[str, Callable[[Choices], Any]] = {
    "query": _mostly("backups", "which port", "ab"),
    "question": _mostly("how are backups kept", "which port", "ab"),
    "top_k": _mostly(5, 1, 20, 100),
    "page_size": _mostly(3, 100),
    "response_mode": _mostly("ids", "preview", "full", "metadata"),
    "vendor_filter": _mostly("acme"),
    "min_score": _mostly(0.1, 1),
    "include_relationships": _mostly(True),
    "filter_ids": lambda c: c.one([["x"], [], ["x"] * 100, ["x"] * 101, [[]], [None], "x", {"0": "x"}]),
    "ids": lambda c: c.one([["x"], ["guide/backups.md#1"], [], ["x"] * 101, [1], "x", [""], ["x" * 65], None]),
    "level": _mostly("full", "ids", "preview"),
    "passage_id": lambda c: c.one(_IDS),
    "passage_ids": lambda c: c.one([*[[_KNOWN]] * 4, [c.one(_IDS), "0123456789"], [], ["x"] * 51, c.one(_IDS)]),
    "section_ids": lambda c: c.one([["x"], [], ["x"] * 101, [1], "x"]),
    "max_quotes": _mostly(2, 20, 21),
    "max_quote_tokens": _mostly(8, 200, 201),
    "include_context_tokens": _mostly(0, 100, 101),
    "max_tokens": _mostly(8, 800, 801),
    "start_char": _mostly(0, 7, 10_000),
    "before_tokens": _mostly(0, 800, 801),
    "after_tokens": _mostly(0, 800),
    "mode": _mostly("auto", "hybrid_local", "multi_hop"),
    "options": lambda c: _object(c, _OPTIONS),
    "session_id": lambda c: c.one(_IDS),
    "max_per_doc": _mostly(1),
    "cursor": lambda c: c.one(["W10", "W1swXV0", "bnVsbA", "WzAsICJhIiwgMV0", "e30", "Wy0xLCJhIiwxXQ", *_SCALARS]),
    "filters": lambda c: _object(c, _FILTERS),
    "scope": lambda c: _object(c, _SCOPE),
    "project_id": _mostly("handbook", "other"),
    "\u202e": lambda c: c.one(_SCALARS),
}


# By operation: its fields and its required fields.
_TAKES = {name: [*operation.arguments.model_fields] for name, operation in OPERATIONS.items()}
_NEEDS = {
    name: [field for field, info in operation.arguments.model_fields.items() if info.is_required()]
    for name, operation in OPERATIONS.items()
}


def _object(choices: Choices, names: list[str]) -> Any:
    if choices.chance(6):
        return choices.one([None, [], "x", 1, {"": {"": {}}}])
    return {choices.one(names): _item(choices) for _ in range(choices.below(3))}


def _item(choices: Choices) -> Any:
    return choices.one([choices.one(_SCALARS), ["handbook"], [choices.one(_SCALARS)], [[]], {}, ["a"] * 60])


def call(choices: Choices) -> frames.CallFrame:
    """A call as the parent decoded it: near to what an operation takes, or anything that passes the decoder."""
    method = choices.one(_METHODS)
    if choices.chance(5):
        params = b'{"query":' + hostile_json.value(choices) + b"}"
        try:
            decoded = frames.decode(
                b'{"call":' + json.dumps(method).encode() + b',"params":' + params + b"}", LIMITS
            )
        except frames.ProtocolError:
            return frames.CallFrame(method, {})
        assert isinstance(decoded, frames.CallFrame)
        return decoded
    known = [*_FIELDS] if choices.chance(4) else _TAKES.get(method) or ["query"]
    names = [*(_NEEDS.get(method) or ["query"]), *(choices.one(known) for _ in range(choices.below(5)))]
    return frames.CallFrame(method, {name: _FIELDS.get(name, _item)(choices) for name in names})


def _known_as(passage_id: str, value: Any) -> Any:
    """The same call with the id of a passage in the session in place of the placeholder."""
    if isinstance(value, dict):
        return {name: _known_as(passage_id, item) for name, item in value.items()}
    if isinstance(value, list):
        return [_known_as(passage_id, item) for item in value]
    return passage_id if value == _KNOWN else value


@pytest.mark.parametrize(
    "given",
    [
        "{1: 'a', '1': 'b'}", "{'\\ud800': 1, '?': 2}", "2 ** 2000", "float('nan')", "{'a': b'x'}", "looped",
        "print",
        "{'a': 'x' * 5_000_000}", "[[[[[[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]]]]]",
    ],
)  # fmt: skip
def test_a_mistake_in_a_call_is_the_script_s_error_and_no_broken_protocol(harness: Harness, given: str) -> None:
    source = f"looped = []\nlooped.append(looped)\nkb.search('x', filters={given})"
    assert harness.judge(source) == {"ending": "error", "findings": []}


@examples(250)
@given(CHOICES)
async def test_a_call_is_answered_or_refused_with_an_error_for_the_script(
    application: Application, choices: Choices
) -> None:
    asked = call(choices)
    told: dict[str, Any]
    caller = application.kb.caller("test", SCRIPT)
    found = await application.kb.call("kb.search", {"query": "backups"}, caller)
    params = _known_as(found.payload["results"][0]["passage_id"], asked.params)
    try:
        answer = await application.kb.call(asked.method, params, caller)
    except WinnowError as refusal:
        told = {"error": refusal.message, "reason": refusal.reason}
    else:
        told = {"ok": answer.payload}
    assert told.get("reason") not in ("INTERNAL", "TIMEOUT")
    # Either arrives: the child reads what the parent packs.
    assert frames.decode_from_parent(frames.pack_for_child(told)[frames.HEADER.size :]) == told
