"""Checks of the doctor: the walls around scripts and around readers of files, and the smaller language."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

from server.findings import Check, Finding
from server.settings import Settings

# The check of a finding about what the smaller language lacks.
GAP = "lacks"


def _walls(settings: Settings) -> Iterator[Finding]:
    from sandbox import probe
    from sandbox.runners.runner_table import tier_of

    accepted = settings.allow_weaker_sandbox
    walls = asyncio.run(probe(settings.sandbox))
    name = tier_of(settings.sandbox, walls)
    description, advice = _TIERS[name]
    missing = {wall.name for wall in walls if not wall.stands and not wall.reinforces}
    is_offered = not missing or (name == "container" and missing == set(accepted))
    advice = advice if settings.sandbox == "auto" and len(walls) > 1 else "see the advice in the lines below"
    yield Finding(
        "walls", "tier", is_offered, f"{name}: {description}", "" if is_offered else advice, essential=False
    )
    for wall in walls:
        needed = settings.execute_code == "on" and wall.name not in accepted and not wall.reinforces
        yield Finding("walls", wall.name, wall.stands, wall.protects, wall.advice, needed, wall.detail)


_OPT_IN = "follow the advice in the lines below, or accept each missing wall: --allow-weaker-sandbox WALL"
_TIERS = {
    "full": ("all kernel walls are available", ""),
    "container": ("no namespaces; seccomp, Landlock and limits block files, network and processes twice", _OPT_IN),
    "language": ("a smaller language in a process with limits", ""),
    "none": ("too few walls to run scripts by default", _OPT_IN),
}


def _smaller_language(settings: Settings) -> Iterator[Finding]:
    """The gaps of the smaller language, if it is installed, and what to write instead."""
    from sandbox.runners import monty

    version = monty.installed_version()
    if version is None:
        return
    group = "smaller language"
    state = "in use" if settings.sandbox == "monty" else "use it with --sandbox monty"
    detail = f"{version}, {state}; the gaps below were measured for {monty.MEASURED_FOR}"
    yield Finding(group, "monty", True, detail, essential=False)
    for gap, instead in monty.GAPS.items():
        yield Finding(group, GAP, False, gap, instead, essential=False)
    missing = f"the modules {', '.join(monty.MISSING_MODULES)}"
    yield Finding(group, GAP, False, missing, "builtins, json, re, math, itertools, collections", essential=False)


def _readers(settings: Settings) -> Iterator[Finding]:
    """Whether PDF, office files, books and mail are read here, by a trial of the child that reads them."""
    from server.ingest.parsing.parser import try_walls

    trial = try_walls()
    accepted = settings.allow_weaker_reader
    behind = "behind the same walls as scripts" if not trial.missing else f"without {trial.missing}"
    detail = f"read {behind}" if accepted or not trial.missing else f"not read: {trial.missing}"
    yield Finding(
        "readers",
        "PDF, office, books, mail",
        accepted or not trial.missing,
        detail,
        "" if accepted or not trial.missing else _WEAKER_READER,
        essential=False,
        evidence=trial.evidence,
    )


_WEAKER_READER = (
    "follow the advice in the lines of the walls, or read such files in a process that limits only its memory and "
    "time: winnow ingest --allow-weaker-reader"
)

CHECKS: tuple[Check, ...] = (_walls, _smaller_language, _readers)
