"""Checks of the doctor: the walls around scripts and around readers of files, and the smaller language."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from winnow.server.commands.terminal.findings import Check, Finding
from winnow.server.settings.settings import Settings

if TYPE_CHECKING:
    from winnow.server.ingest.children.parser import WallsTrial

# The check of a finding about what the smaller language lacks.
GAP = "lacks"


def _walls(settings: Settings) -> Iterator[Finding]:
    from winnow.sandbox import probe
    from winnow.sandbox.runners.runner_table import MANDATORY_WALLS, tier_of
    from winnow.sandbox.walls.consequences import WITHOUT
    from winnow.sandbox.walls.namespace_refusals import advise_on_namespaces, read_host_facts
    from winnow.sandbox.walls.tiers import NAMESPACE_WALLS, TIERS, is_accepted

    accepted = settings.allow_weaker_sandbox
    walls = asyncio.run(probe(settings.sandbox))
    name = tier_of(settings.sandbox, walls)
    lacking = [wall for wall in walls if not wall.stands and not wall.reinforces]
    missing = {wall.name for wall in lacking}
    accepts = is_accepted(missing, accepted)
    is_offered = accepts and not missing & MANDATORY_WALLS
    granting = advise_on_namespaces(read_host_facts()) if missing & NAMESPACE_WALLS else ""
    # Of these, the advice is that of the cause, and each advice is given once.
    others = [wall.advice for wall in lacking if not granting or wall.name not in NAMESPACE_WALLS]
    grants = "; ".join(filter(None, dict.fromkeys((granting, *others))))
    stands = TIERS[name].stands if name in TIERS else _OTHER_TIERS[name]
    detail = f"{name}: {stands}; {_describe_scripts(is_offered, missing)}"
    advice = grants if is_offered else _describe_ways(settings.sandbox, missing, grants)
    yield Finding("walls", "tier", is_offered and name != "none", detail, advice, essential=False)
    # Who accepts a lesser tier wants scripts; otherwise they are off in such a tier, as they should be.
    lacks = TIERS[name].lacks if name in TIERS and not accepted else frozenset()
    for wall in walls:
        needed = settings.execute_code == "on" and not accepts and not wall.reinforces and wall.name not in lacks
        is_granted = wall.name in missing and (
            wall.advice in grants or (granting and wall.name in NAMESPACE_WALLS)
        )
        advice = _ABOVE if is_granted else wall.advice
        protects = f"{wall.protects}; without it, {WITHOUT[wall.name]}" if wall.name in missing else wall.protects
        yield Finding("walls", wall.name, wall.stands, protects, advice, needed, wall.detail)


_OTHER_TIERS: Mapping[str, str] = MappingProxyType(
    {"language": "a smaller language in a process with limits", "none": "too few walls for a tier"}
)
_ABOVE = "granted by the commands in the line of the tier"


def _describe_scripts(is_offered: bool, missing: Collection[str]) -> str:
    """Whether scripts run, and by whose choice where walls are missing."""
    if not is_offered:
        return "scripts do not run"
    names = ", ".join(sorted(missing))
    return (
        f"scripts run without {names}, by the operator's choice (allow_weaker_sandbox)" if names else "scripts run"
    )


def _describe_ways(runner: str, missing: Collection[str], grants: str) -> str:
    """Advice on getting scripts where these walls are missing, or where none is and some are accepted."""
    from winnow.server.tools.scripts.opt_in import describe_opt_in

    if not missing:
        return "every wall stands, so accept nothing: take allow_weaker_sandbox back"
    opt_in = describe_opt_in(missing, runner)
    ways = [f"if you may change how this host or container is started: {grants}"]
    ways += [f"if you may not: {opt_in}"] * bool(opt_in)
    if runner != "monty":
        also = ", here with --allow-weaker-sandbox process_limit" if "process_limit" in missing else ""
        ways.append(f"or choose the smaller language: winnow serve --sandbox monty{also}")
    return "; ".join(ways)


def _smaller_language(settings: Settings) -> Iterator[Finding]:
    """The gaps of the smaller language, if it is installed, and what to write instead."""
    from winnow.sandbox.runners import monty

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
    from winnow.server.ingest.children.parser import try_walls

    trial = try_walls()
    detail, is_read, advice = _describe_readers(trial, accepted=settings.allow_weaker_reader)
    yield Finding(
        "readers", "PDF, office, books, mail", is_read, detail, advice, essential=False, evidence=trial.evidence
    )


def _describe_readers(trial: WallsTrial, *, accepted: bool) -> tuple[str, bool, str]:
    """The finding about reading files here, and advice for more."""
    from winnow.sandbox.walls.tiers import TIERS

    if trial.tier:
        detail = f"read, tier {trial.tier}: {TIERS[trial.tier].stands}"
        return detail, True, _BETTER_READER.format(missing=trial.missing) if trial.missing else ""
    if accepted:
        return f"read without walls (allow_weaker_reader): {trial.missing}", True, ""
    return f"not read: {trial.missing}", False, _WEAKER_READER


_BETTER_READER = "missing are {missing}; the lines of the walls say how to get them"
_WEAKER_READER = (
    "follow the advice in the lines of the walls, or read such files in a process that limits only its memory and "
    "time: winnow ingest --allow-weaker-reader"
)

CHECKS: tuple[Check, ...] = (_walls, _smaller_language, _readers)
