"""What ``help(x)`` prints inside a script: the SDK's docstrings, as the reference has them."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from . import hints

_MOST_CHARS = 4_000
_CUT = "\n[... cut here; help of one function at a time is shorter]"


def explained(thing: Any) -> str:
    """An SDK name, or what goes by it, with its parameters; of anything else, what it says of itself.

    None: every name of the SDK with a line each.
    """
    if thing is None:
        return _overview(hints.SDK)
    text = _of_sdk(thing)
    if text is None:
        documented = getattr(thing, "__doc__", None)
        text = inspect.cleandoc(documented) if type(documented) is str else "nothing is said of it"
    return text if len(text) <= _MOST_CHARS else text[: _MOST_CHARS - len(_CUT)] + _CUT


def _of_sdk(thing: Any) -> str | None:
    """By identity, or by name: nothing is asked of an object of the script's."""
    for name, value in hints.OBJECTS.items():
        if thing is value or (type(thing) is str and thing == name):
            inner = {each: function for each, function in hints.SDK.items() if each.startswith(f"{name}.")}
            return f"{inspect.cleandoc(type(value).__doc__ or '')}\n\n{_overview(inner)}"
    for name, function in hints.SDK.items():
        if thing is function or (type(thing) is str and thing == name):
            return f"{name}{hints.shown(hints.SIGNATURES[name])}\n\n{inspect.cleandoc(function.__doc__ or '')}"
    if type(thing) is str:
        guess = hints.close(thing, hints.SDK) or "help() lists what there is"
        return f"no {thing[:100]!r} in the SDK; {guess}"
    return None


def _overview(functions: Mapping[str, Any]) -> str:
    return "\n".join(
        f"{name}: {(function.__doc__ or '').partition(chr(10))[0]}" for name, function in functions.items()
    )
