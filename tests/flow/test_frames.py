"""The usage that an answer reports, compared with the line that the server writes."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from winnow.server.settings.settings import Settings
from winnow.server.text.words.tokens import count_tokens

WINNOW = Path(sys.executable).with_name("winnow")
QUESTION = "how are backups encrypted"
HANDSHAKE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
# The protocol's part of a line: its version, the request's number, names around the two channels.
FRAME_BYTES = 80


class Lines:
    """A server on a pipe that keeps its answers as lines."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self._number = 0
        self.last: dict[str, Any] = {}

    def request(self, method: str, params: dict[str, Any]) -> tuple[str, dict[str, Any]]:
        """The line of the answer, and its result."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()
        while line := self._process.stdout.readline():
            answer = json.loads(line)
            if answer.get("id") == self._number:
                self.last = answer
                return line, answer["result"]
        raise AssertionError("the server closed the pipe")

    def refusal(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The protocol's error that answers a request."""
        with pytest.raises(KeyError, match="result"):
            self.request(method, params)
        error: dict[str, Any] = self.last["error"]
        return error

    def call(self, tool: str, **arguments: Any) -> tuple[str, dict[str, Any]]:
        """The line that answers a call, and its structure."""
        line, result = self.request("tools/call", {"name": tool, "arguments": arguments})
        return line, result["structuredContent"]


@pytest.fixture(scope="module")
def lines(store: Path) -> Iterator[Lines]:
    command = [WINNOW, "serve", "--store", store, "--project", "handbook", "--no-daemon", "--legacy-tools"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            pipe = Lines(process)
            pipe.request("initialize", HANDSHAKE)
            yield pipe
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(60)


def calls(lines: Lines) -> Iterator[tuple[str, dict[str, Any]]]:
    """Good calls of every tool, small and large, and refused ones."""
    _, found = lines.call("semantic_search", query=QUESTION, response_mode="ids")
    ids = found["ids"]
    for mode in ("ids", "metadata", "preview", "full"):
        for top_k in (1, 10, 100):
            yield "semantic_search", {"query": QUESTION, "response_mode": mode, "top_k": top_k}
    yield "kb_search", {"query": QUESTION}
    yield "kb_search", {"query": QUESTION, "top_k": 30, "page_size": 30, "options": {"max_per_doc": 9}}
    yield "kb_retrieve_evidence", {"question": QUESTION}
    yield "kb_extract_evidence", {"question": QUESTION, "passage_ids": ids[:3]}
    yield "kb_read_excerpt", {"passage_id": ids[0]}
    yield "kb_expand_excerpt", {"passage_id": ids[0]}
    yield "graph_describe", {}
    yield "graph_expand", {"ids": ids[:1]}
    yield "graph_paths", {"from_ids": ids[:1], "to_ids": ids[1:2]}
    yield "graph_parents", {"ids": ids[:2]}
    yield "graph_children", {"ids": ["Backups handbook"]}
    yield "graph_entities_for_sections", {"section_ids": ids[:2]}
    yield "graph_sections_for_entities", {"entity_ids": ["acme"]}
    yield "find_vendor_info", {"vendor_name": "acme"}
    yield "search_sections", {"query": QUESTION}
    yield "get_section_text", {"section_ids": ids[:3]}
    yield "execute_code", {"code": "return [row.to_dict() for row in kb.search('backups', top_k=5)]"}
    yield "help", {"topic": "sdk"}
    for tool in ("semantic_search", "kb_search", "graph_expand", "help"):
        yield tool, {"start_char": 10**9, "no_such": 1}


@pytest.mark.walls
def test_the_line_that_lists_all_tools_is_read_by_clients_that_take_64_kib_a_line(lines: Lines) -> None:
    line, listed = lines.request("tools/list", {})
    assert {"execute_code", "graph_paths", "search_sections"} <= {tool["name"] for tool in listed["tools"]}
    assert len(line.encode()) < 64_000


def within_a_tenth(said: float, sent: float) -> bool:
    return abs(said - sent) <= sent / 10


@pytest.mark.walls
def test_an_answer_says_within_a_tenth_what_its_line_takes_in_both_channels(
    lines: Lines, settings: Settings
) -> None:
    wrong = []
    for tool, arguments in calls(lines):
        line, structure = lines.call(tool, **arguments)
        tokens, size = count_tokens(line), len(line.encode()) - FRAME_BYTES
        usage = structure["meta"]["usage"]
        said = {"tokens": (usage["tokens"], tokens), "bytes": (usage["bytes"], size)}
        if "estimated_tokens" in structure and "error" not in structure:
            said["estimated"] = (structure["estimated_tokens"], tokens)
        wrong += [(tool, arguments, what, *pair) for what, pair in said.items() if not within_a_tenth(*pair)]
    assert wrong == []


@pytest.mark.walls
@pytest.mark.parametrize(
    ("method", "params", "told"),
    [
        ("tools/call", {}, 'params.name: Field required; it takes {"name": TOOL, "arguments": {NAME: VALUE}}'),
        ("tools/call", {"name": 7}, "params.name: Input should be a valid string; it takes"),
        (
            "tools/call",
            {"name": "help", "arguments": "sdk"},
            "params.arguments: Input should be",
        ),
        ("resources/read", {}, 'params.uri: Field required; it takes {"uri": URI}'),
        (
            "prompts/get",
            {"name": "x", "arguments": {"a": 1}},
            "params.arguments.a: Input should be",
        ),
        ("tools/list", {"cursor": 5}, "params.cursor: Input should be a valid string"),
    ],
)
def test_a_malformed_request_is_refused_with_what_is_wrong_and_what_it_takes(
    lines: Lines, method: str, params: dict[str, Any], told: str
) -> None:
    error = lines.refusal(method, params)
    assert (error["code"], error["message"].startswith(f"Invalid request parameters of {method}: {told}")) == (
        -32602,
        True,
    )
    assert (error["data"]["message"], error["data"]["details"]["reason"]) == (error["message"], "INVALID_REQUEST")
