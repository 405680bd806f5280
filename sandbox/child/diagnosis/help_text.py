"""The text that ``help(x)`` prints in a script: the SDK's docstrings, as in the reference."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from . import hints

_MOST_CHARS = 4_000
_CUT = "\n[... cut here; help of one function at a time is shorter]"


def help_on(thing: Any) -> str:
    """The help on an SDK object or name, with its parameters; for anything else, its docstring.

    None: every SDK name with one line each.
    """
    if thing is None:
        return _overview(hints.SDK)
    text = _help_on_sdk(thing)
    if text is None:
        documented = getattr(thing, "__doc__", None)
        text = inspect.cleandoc(documented) if type(documented) is str else "no documentation"
    return text if len(text) <= _MOST_CHARS else text[: _MOST_CHARS - len(_CUT)] + _CUT


def _help_on_sdk(thing: Any) -> str | None:
    """The help on an SDK object, found by identity or name; no code of the script is called."""
    for name, value in hints.OBJECTS.items():
        if thing is value or (type(thing) is str and thing == name):
            inner = {each: function for each, function in hints.SDK.items() if each.startswith(f"{name}.")}
            return f"{inspect.cleandoc(type(value).__doc__ or '')}\n\n{_overview(inner)}"
    for name, function in hints.SDK.items():
        if thing is function or (type(thing) is str and thing == name):
            signature = hints.format_signature(hints.SIGNATURES[name])
            return f"{name}{signature}\n\n{inspect.cleandoc(function.__doc__ or '')}"
    if type(thing) is str:
        guess = hints.suggest_public(thing, hints.SDK) or "help() lists what there is"
        return f"no {thing[:100]!r} in the SDK; {guess}"
    return None


def _overview(functions: Mapping[str, Any]) -> str:
    return "\n".join(
        f"{name}: {(function.__doc__ or '').partition(chr(10))[0]}" for name, function in functions.items()
    )
