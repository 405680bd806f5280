"""The reference of the script SDK, made from its docstrings, the limits in force and the sandbox's menu."""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from collections.abc import Iterator, Mapping
from functools import cache
from types import MappingProxyType

import client_sdk
from sandbox.child import monty_sdk
from sandbox.diagnosis import hints
from sandbox.language import allow_list
from sandbox.runners import monty
from server.reference.schemas import table
from server.scripts.script_runs import ALLOWANCES, Allowance

_CLASSES = ("Results", "Row", "MCPClient", "SDKError")


def _at_hand() -> Iterator[tuple[str, object]]:
    functions = {name: value for name, value in vars(client_sdk).items() if name in client_sdk.__all__}
    shared = [value for value in functions.values() if inspect.isfunction(value)]
    for owner, kind in (("kb", client_sdk.KnowledgeBase), ("graph", client_sdk.KnowledgeGraph)):
        for name in vars(kind):
            value = getattr(kind, name)
            if not name.startswith("_") and value not in shared:
                yield f"{owner}.{name}", value
    yield from ((name, value) for name, value in functions.items() if inspect.isfunction(value))
    yield from ((name, functions[name]) for name in _CLASSES)


# What a script has at hand, by the name it writes, in the order it is explained.
SDK: Mapping[str, object] = MappingProxyType(dict(_at_hand()))


_SMALLER = "monty"
_PRINTED = "`help(rerank)` prints"  # so begins the last sentence, which is not true there
_GAPS = "Scripts run in a smaller Python here. What it has not, and what to write instead:"


def at_hand(engine: str = "auto") -> Mapping[str, object]:
    """Of ``SDK``, what a script has that runs on this engine (setting ``sandbox``)."""
    if engine != _SMALLER:
        return SDK
    return {name: value for name, value in SDK.items() if name.partition(".")[0] in monty_sdk.NAMES}


@cache
def sdk_reference(engine: str = "auto") -> str:
    """What a script may call, what it gets, what one run may use and what it may import, as Markdown."""
    opening, missing = [_markdown(client_sdk.__doc__)], frozenset[str]()
    if engine == _SMALLER:
        whole, _, _ = opening[0].partition(_PRINTED)
        opening = [whole.rstrip(), _GAPS, table(("not there", "instead"), monty.GAPS.items())]
        missing = frozenset(monty.MISSING_MODULES)
    functions = [explained(name) for name in at_hand(engine)]
    return "\n\n".join([*opening, *functions, *_bounds_of_a_run(), *_modules(missing)])


@cache
def explained(name: str) -> str:
    """One function or class of the SDK, by the name that a script writes; KeyError for any other."""
    return "\n\n".join(_documented(name, SDK[name]))


def _documented(name: str, value: object) -> Iterator[str]:
    yield f"## {name}"
    if inspect.isfunction(value):
        yield f"`{name}{hints.format_signature(inspect.signature(value))}`"
    yield _markdown(value.__doc__)


def _markdown(docstring: str | None) -> str:
    """A docstring with its indented examples as Python blocks, which the tests run."""
    parts = re.split(r"\n\n(?! )", _dedented(docstring or "").replace("``", "`"))
    return "\n\n".join(_with_example(part) for part in parts)


def _dedented(docstring: str) -> str:
    """Without the indentation of the closing quotes (``inspect.cleandoc`` would take an example's with it)."""
    margin = len(docstring.rpartition("\n")[2]) if docstring.endswith(" ") else 0
    return "\n".join(line.removeprefix(" " * margin) for line in docstring.splitlines()).strip()


def _with_example(part: str) -> str:
    text, gap, example = part.partition("\n\n    ")
    return f"{text}\n\n```python\n{textwrap.dedent('    ' + example)}\n```" if gap else text


def _bounds_of_a_run() -> Iterator[str]:
    yield "## What one run may use"
    yield (
        "`timeout` and the settings change the first three within their ceilings; the setting `limits` chooses "
        "between these columns."
    )
    columns = [_allowed(allowed) for allowed in ALLOWANCES.values()]
    rows = ((name.replace("_", " "), *(f"{column[name]:,}" for column in columns)) for name in columns[0])
    yield table(("at most", *ALLOWANCES), rows)


def _allowed(allowed: Allowance) -> dict[str, float]:
    return {**dataclasses.asdict(allowed.limits), **allowed.rows}


def _modules(missing: frozenset[str]) -> Iterator[str]:
    yield "## What a script may import"
    yield "These names of these modules, and nothing else of them."
    missing |= {"winnow", "client_sdk"}
    # The tables themselves, not what this Python makes of them: the page is the same wherever it is written.
    rows = (
        (f"`{name}`", _names(name, offered)) for name, offered in allow_list.TABLE.items() if name not in missing
    )
    yield table(("module", "names"), rows)


def _names(module: str, offered: str) -> str:
    since = {name: allow_list.SINCE.get(f"{module}.{name}") for name in sorted(offered.split())}
    always = f"`{' '.join(name for name, version in since.items() if version is None)}`"
    return ", ".join([always, *(f"`{name}` from {v[0]}.{v[1]}" for name, v in since.items() if v is not None)])
