"""Whatever a script calls with, the host answers or refuses with a word for the script: it never fails itself."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from sandbox import frames
from sandbox.limits import Limits
from server.app import Application
from server.errors import WinnowError
from server.knowledge import OPERATIONS, SCRIPT

from . import hostile_json
from .choices import Choices
from .engine import CHOICES, examples
from .harness import Harness

pytestmark = pytest.mark.anyio

LIMITS = Limits()
_METHODS = [
    *OPERATIONS,
    "kb.search",
    "fetch",
    "",
    "__class__",
    "execute_code",
    "semantic_search ",
    "SEMANTIC_SEARCH",
]
_TEXTS = ["backups", "ab", "", " ", "x" * 2_000, "\x00", "\x1b[31m", "'; --", "../..", "a\u2028b", "{}", "%s", "*",
          "ü" * 60, '"', "(a OR", "NEAR/2", "2026-01-31", "2026-99-99", "guide/", "acme"]  # fmt: skip
_NUMBERS: list[Any] = [1, 0, -1, 100, 101, 2**63, -(2**1000), 0.5, 1.0, 1.5, 1e308, -0.0, True, False, None]
_SCALARS: list[Any] = [*_TEXTS, *_NUMBERS]
_FIELDS: dict[str, Callable[[Choices], Any]] = {
    "query": lambda c: c.one(_SCALARS),
    "top_k": lambda c: c.one([5, *_SCALARS]),
    "response_mode": lambda c: c.one(["ids", "preview", "full", "metadata", *_SCALARS]),
    "vendor_filter": lambda c: c.one(["acme", *_SCALARS]),
    "min_score": lambda c: c.one([0.1, *_SCALARS]),
    "include_relationships": lambda c: c.one([True, *_SCALARS]),
    "filter_ids": lambda c: c.one([["x"], [], ["x"] * 100, ["x"] * 101, [[]], [None], "x", {"0": "x"}]),
    "ids": lambda c: c.one([["x"], ["guide/backups.md#1"], [], ["x"] * 101, [1], "x", [""], ["x" * 65], None]),
    "level": lambda c: c.one(["full", "ids", "preview", *_SCALARS]),
    "max_per_doc": lambda c: c.one([1, *_SCALARS]),
    "cursor": lambda c: c.one(["W10", "W1swXV0", "bnVsbA", "WzAsICJhIiwgMV0", "e30", "Wy0xLCJhIiwxXQ", *_SCALARS]),
    "filters": lambda c: _object(
        c, ["doc_tag", "tags", "types", "path_prefix", "updated_after", "project_id", "x"]
    ),
    "scope": lambda c: _object(c, ["project_id", "doc_tags", "session_id", "x"]),
    "project_id": lambda c: c.one(["handbook", "other", *_SCALARS]),
    "\u202e": lambda c: c.one(_SCALARS),
}


def _object(choices: Choices, names: list[str]) -> Any:
    if choices.chance(6):
        return choices.one([None, [], "x", 1, {"": {"": {}}}])
    return {choices.one(names): _item(choices) for _ in range(choices.below(3))}


def _item(choices: Choices) -> Any:
    return choices.one([choices.one(_SCALARS), ["handbook"], [choices.one(_SCALARS)], [[]], {}, ["a"] * 60])


def call(choices: Choices) -> frames.Call:
    """A call as the keeper decoded it: near to what an operation takes, or anything that passes the decoder."""
    method = choices.one(_METHODS)
    if choices.chance(5):
        params = b'{"query":' + hostile_json.value(choices) + b"}"
        try:
            decoded = frames.decode(
                b'{"call":' + json.dumps(method).encode() + b',"params":' + params + b"}", LIMITS
            )
        except frames.ProtocolError:
            return frames.Call(method, {})
        assert isinstance(decoded, frames.Call)
        return decoded
    names = [choices.one([*_FIELDS]) for _ in range(choices.below(5))]
    return frames.Call(method, {name: _FIELDS[name](choices) for name in ["query", *names]})


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
async def test_a_call_is_answered_or_refused_with_a_word_for_the_script(
    application: Application, choices: Choices
) -> None:
    asked = call(choices)
    told: dict[str, Any]
    try:
        answer = await application.kb.call(asked.method, asked.params, application.kb.caller("test", SCRIPT))
    except WinnowError as refusal:
        told = {"error": refusal.message, "reason": refusal.reason}
    else:
        told = {"ok": answer.payload}
    assert told.get("reason") not in ("INTERNAL", "TIMEOUT")
    # Either arrives: the child reads what the keeper packs.
    assert frames.from_keeper(frames.to_child(told)[frames.HEADER.size :]) == told
