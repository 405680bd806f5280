"""The errors of imports that the policy lets through and that fail while the script runs, with hints."""

from __future__ import annotations

from collections.abc import Iterable

from winnow.sandbox.child.language.allow_list import WITHHELD_MEMBERS, WITHHELD_MODULES

from . import hints


class _HintedImportError(ModuleNotFoundError):
    """An import that failed while the script ran, with a hint."""

    hint: str | None = None


# Scripts see the class that CPython raises.
_HintedImportError.__name__ = _HintedImportError.__qualname__ = "ModuleNotFoundError"
_HintedImportError.__module__ = "builtins"


def unknown_module(name: str) -> ImportError:
    """The error for a module that scripts cannot import."""
    error = _HintedImportError(f"No module named {name!r} in a script", name=name)
    error.hint = WITHHELD_MODULES.get(name.partition(".")[0])
    return error


def unknown_member(module: str, name: str, offered: Iterable[str]) -> AttributeError:
    """The error for a member that the module's façade does not have."""
    known = sorted(offered)
    guess = hints.suggest_public(name, known) or f"it offers: {', '.join(known)}"
    advice = WITHHELD_MEMBERS.get(f"{module}.{name}", guess)
    return AttributeError(f"the module {module!r} offers no {name!r} to a script; {advice}")


def unknown_import(module: str, name: str, offered: Iterable[str]) -> ImportError:
    """The same as an ImportError, for ``from module import name``; a script may catch it and do without."""
    return ImportError(str(unknown_member(module, name, offered)), name=module)
