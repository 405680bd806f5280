"""The reference of the script SDK, generated from its docstrings, the limits and the allowed modules."""

from __future__ import annotations

import dataclasses
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from types import MappingProxyType

from winnow import client_sdk
from winnow.sandbox.child import monty_sdk
from winnow.sandbox.child.diagnosis import hints
from winnow.sandbox.child.language import allow_list
from winnow.sandbox.runners import monty
from winnow.server.text.sizes import describe_bytes
from winnow.server.tools.reference.schemas import table
from winnow.server.tools.scripts.script_runs import ALLOWANCES, Allowance

_CLASSES = ("Results", "Row", "MCPClient", "SDKError")


def _iterate_functions() -> Iterator[tuple[str, object]]:
    functions = {name: value for name, value in vars(client_sdk).items() if name in client_sdk.__all__}
    shared = [value for value in functions.values() if inspect.isfunction(value)]
    owners = {
        "kb": client_sdk.KnowledgeBase,
        "graph": client_sdk.KnowledgeGraph,
        "claims": client_sdk.ClaimNotebook,
    }
    for owner, kind in owners.items():
        for name in client_sdk.client.list_methods(kind):
            value = getattr(kind, name)
            if value not in shared:
                yield f"{owner}.{name}", value
    yield from ((name, value) for name, value in functions.items() if inspect.isfunction(value))
    yield from ((name, functions[name]) for name in _CLASSES)


# The functions and classes of the SDK, by the name that a script writes, in the order of the reference.
SDK: Mapping[str, object] = MappingProxyType(dict(_iterate_functions()))


_SMALLER_RUNNER = "monty"
_PRINTED = "`help(rerank)` prints"  # the beginning of the last sentence, which is not true on Monty
_GAPS_HEADING = "Scripts run in a smaller Python here. What it lacks, and what to write instead:"


def list_functions(runner: str = "auto") -> Mapping[str, object]:
    """The part of ``SDK`` that scripts on this runner have (setting ``sandbox``)."""
    if runner != _SMALLER_RUNNER:
        return SDK
    return {name: value for name, value in SDK.items() if name.partition(".")[0] in monty_sdk.NAMES}


@cache
def sdk_reference(runner: str = "auto") -> str:
    """The SDK functions, the limits of one run and the modules a script may import, as Markdown."""
    opening, missing = [_to_markdown(client_sdk.__doc__)], frozenset[str]()
    if runner == _SMALLER_RUNNER:
        whole, _, _ = opening[0].partition(_PRINTED)
        opening = [whole.rstrip(), _GAPS_HEADING, table(("not there", "instead"), monty.GAPS.items())]
        missing = frozenset(monty.MISSING_MODULES)
    functions = [explain(name) for name in list_functions(runner)]
    return "\n\n".join([*opening, *_describe_limits(), *functions, *_describe_modules(missing)])


_INDEX = (
    "# What a script may call\n\nAll of it is there without an import. help(topic=NAME) explains a name: its "
    "parameters, what its rows have, and an example. Topic reference has all names, the limits of a run and what "
    "a script may import; topic recipes has scripts to copy."
)
_SMALLER_INDEX = "Scripts run in a smaller Python here: topic reference begins with what it lacks."
_REST_OF_SENTENCE = re.compile(r"[.;:](?:\s|\Z)")


def sdk_index(functions: Mapping[str, object], runner: str = "auto") -> str:
    """One line for each of these functions and classes: how it is called, and what it is."""
    smaller = [_SMALLER_INDEX] if runner == _SMALLER_RUNNER else []
    return "\n\n".join([_INDEX, *smaller, "\n".join(_describe_name(*each) for each in functions.items())])


def _describe_name(name: str, value: object) -> str:
    first, *_ = _REST_OF_SENTENCE.split(" ".join((value.__doc__ or "").replace("``", "`").split()), maxsplit=1)
    return f"- {name}{_shorten_signature(value) if inspect.isfunction(value) else ''}: {first}"


def _shorten_signature(function: Callable[..., object]) -> str:
    """The parameters that are given by position; "…" stands for others, which are given by name."""
    parameters = inspect.signature(function).parameters.values()
    names = [each.name for each in parameters if each.kind is not inspect.Parameter.KEYWORD_ONLY]
    return f"({', '.join([*names, *['…'] * (len(names) < len(parameters))])})"


@cache
def explain(name: str) -> str:
    """The reference of one function or class, by the name that a script writes. Raises KeyError for others."""
    return "\n\n".join(_document(name, SDK[name]))


def _document(name: str, value: object) -> Iterator[str]:
    yield f"## {name}"
    if inspect.isfunction(value):
        yield f"`{name}{hints.format_signature(inspect.signature(value))}`"
    yield _to_markdown(value.__doc__)


def _to_markdown(docstring: str | None) -> str:
    """A docstring with its indented examples as Python blocks. The tests run these."""
    parts = re.split(r"\n\n(?! )", _dedent(docstring or "").replace("``", "`"))
    return "\n\n".join(_fence_example(part) for part in parts)


def _dedent(docstring: str) -> str:
    """Remove the indentation of the closing quotes (``inspect.cleandoc`` would also remove an example's)."""
    margin = len(docstring.rpartition("\n")[2]) if docstring.endswith(" ") else 0
    return "\n".join(line.removeprefix(" " * margin) for line in docstring.splitlines()).strip()


def _fence_example(part: str) -> str:
    text, gap, example = part.partition("\n\n    ")
    return f"{text}\n\n```python\n{textwrap.dedent('    ' + example)}\n```" if gap else text


def _describe_limits() -> Iterator[str]:
    yield "## What one run may use"
    usual = ALLOWANCES["standard"]
    yield (
        f"A run may take in {describe_bytes(usual.text_bytes)} of passage text, make {usual.limits.sdk_calls:,} "
        f"SDK calls and take {usual.limits.wall_seconds:g} seconds; its result has at most "
        f"{usual.limits.result_tokens:,} tokens. Passage text is text of documents in answers: contents, "
        "previews, quotes, what `read` reads, matches of `scan` and keys that are text; the same text counts "
        "once. What `scan`, `count`, `documents` and `repeats` look through costs nothing. `budget()` says what "
        "is left."
    )
    yield (
        "The setting `limits` chooses a column of this table; `timeout` and other settings change single rows, up "
        "to their ceilings."
    )
    columns = [_limits_of(allowed) for allowed in ALLOWANCES.values()]
    names = dict.fromkeys(name for column in columns for name in column)
    rows = ((name.replace("_", " "), *(_format_limit(column.get(name)) for column in columns)) for name in names)
    yield table(("at most", *ALLOWANCES), rows)
    yield (
        "text bytes: passage text, in UTF-8. kept bytes: a result that is too large to return, stored for "
        "`read_result`. request bytes: one call. reply bytes: one answer; reply total bytes: all answers."
    )
    yield (
        "Where a limit of time, calls, text, rows, output or memory ends a script, the value of its variable "
        "`result` is returned, with `partial: true`: assign it early and add to it. The limits of every result "
        "hold; a larger value is stored for `read_result`."
    )


def _limits_of(allowed: Allowance) -> dict[str, float]:
    return {**dataclasses.asdict(allowed.limits), "text bytes": allowed.text_bytes, **allowed.rows}


def _format_limit(limit: float | None) -> str:
    return "no limit" if limit is None else f"{limit:,}"


def _describe_modules(missing: frozenset[str]) -> Iterator[str]:
    yield "## What a script may import"
    yield "These names of these modules, and nothing else of them."
    missing |= {"winnow", "client_sdk"}
    # From the tables, not from this Python's modules, so that the page is the same on every machine.
    rows = (
        (f"`{name}`", _format_names(name, offered))
        for name, offered in allow_list.TABLE.items()
        if name not in missing
    )
    yield table(("module", "names"), rows)


def _format_names(module: str, offered: str) -> str:
    since = {name: allow_list.SINCE.get(f"{module}.{name}") for name in sorted(offered.split())}
    always = f"`{' '.join(name for name, version in since.items() if version is None)}`"
    return ", ".join([always, *(f"`{name}` from {v[0]}.{v[1]}" for name, v in since.items() if v is not None)])
