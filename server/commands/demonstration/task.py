"""The research task of the demonstration: its question, its script, and the expected answer.

The question needs every matching function, not only the best hit, and the documentation has a trap
(``asyncio.wait`` mentions ``TimeoutError`` to say that it does *not* raise it). Without a script, an agent reads
full search results and selects; with one, the same searches run in the sandbox and only the table is returned.

Both arms select by the same rule; they differ only in whether the texts pass through the model's context.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from winnow.server.commands.demonstration.stdlib import ModuleDocs

QUESTION = (
    "Which functions and methods of the standard library take a `timeout`, and which exception does their "
    "documentation name for the case that time runs out?"
)
SEARCHES = (
    "raises TimeoutError if not done before the given timeout",
    "TimeoutExpired exception when the timeout expires",
    "block at most timeout seconds and raise Empty or Full",
    "wait with a timeout in seconds",
)
TOP_K = 40
_QUERIES = ",\n    ".join(f'"{query}"' for query in SEARCHES)

# As an agent writes it: search metadata, read the full text of functions with a timeout, return a table.
SCRIPT = f"""\
import re

found = {{}}
for query in (
    {_QUERIES},
):
    for row in semantic_search(query, top_k={TOP_K}):
        name, _, arguments = row.section.split(" > ")[-1].partition("(")
        if re.search(r"\\btimeout\\b", arguments):
            found[row.id] = name
answer = {{}}
for row in fetch(list(found)[:50]):
    named = re.findall(r"(?<!not raise )\\b(?:TimeoutError|TimeoutExpired|Empty|Full)\\b", row.content)
    if named:
        answer.setdefault(found[row.id], set()).update(named)
return {{name: sorted(named) for name, named in sorted(answer.items())}}
"""

TaskAnswer = Mapping[str, list[str]]

_TIMEOUT = re.compile(r"\btimeout\b")
_EXPIRY = re.compile(r"(?<!not raise )\b(?:TimeoutError|TimeoutExpired|Empty|Full)\b")


def extract_answer(rows: Iterable[Mapping[str, Any]]) -> TaskAnswer:
    """The answer that these ``full`` rows give by the rule."""
    headed = ((row["metadata"]["section"].rpartition(" > ")[2].partition("("), row["content"]) for row in rows)
    return _collect_exceptions((name, text) for (name, _, arguments), text in headed if _TIMEOUT.search(arguments))


def expected_answer(documentation: Iterable[ModuleDocs]) -> TaskAnswer:
    """The answer from the docstrings themselves, without search or index."""
    entries = (entry for module in documentation for entry in module.entries if entry.kind == "function")
    return _collect_exceptions((entry.name, entry.doc) for entry in entries if _TIMEOUT.search(entry.signature))


def _collect_exceptions(texts: Iterable[tuple[str, str]]) -> TaskAnswer:
    answer: dict[str, set[str]] = {}
    for name, text in texts:
        named = _EXPIRY.findall(text)
        if named:
            answer.setdefault(name, set()).update(named)
    return {name: sorted(named) for name, named in sorted(answer.items())}
