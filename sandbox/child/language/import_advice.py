"""Hints for imports that a script may not write: the module that has the wanted name, or a replacement."""

from __future__ import annotations

from collections.abc import Mapping, Set

from winnow.client_sdk.suggestions import suggest

from .allow_list import WITHHELD_MEMBERS, WITHHELD_MODULES

_SKILLS = "skills"  # the module of the skills, where a script has some


def import_skill(name: str) -> str:
    """The hint to import a skill."""
    return f"write: from {_SKILLS} import {name}"


def advise_module(module: str, allowed: Mapping[str, Set[str]]) -> str:
    """The hint for a module that is not in the allow-list, and the modules that are."""
    offered = ", ".join(sorted(name for name in allowed if "." not in name))
    if module.rpartition(".")[2] == _SKILLS and _SKILLS in allowed:
        advice: str | None = import_skill("NAME")
    else:
        advice = WITHHELD_MODULES.get(module.partition(".")[0]) or suggest(module, allowed, 0.8)
    return f"{advice or 'only the modules listed are there'}; there are: {offered}"


def advise_member(module: str, name: str, allowed: Mapping[str, Set[str]]) -> str:
    """The hint for a name that an allowed module does not offer."""
    if name in allowed.get(_SKILLS, frozenset()):
        return import_skill(name)
    known = sorted(allowed.get(module, frozenset()))
    guess = suggest(name, known) or f"it offers: {', '.join(known)}"
    return WITHHELD_MEMBERS.get(f"{module}.{name}", guess)
