"""The advice to an operator on running scripts although walls are missing, for every command."""

from __future__ import annotations

from collections.abc import Collection

from winnow.sandbox.runners.availability import tier_name_of
from winnow.sandbox.runners.runner_table import MANDATORY_WALLS

PAGE = "docs/containers.md"


def name_opt_in(missing: Collection[str]) -> str:
    """The value of ``allow_weaker_sandbox`` that fits: a tier, or each missing wall; "" where there is none."""
    if not missing or not MANDATORY_WALLS.isdisjoint(missing):
        return ""
    return tier_name_of(missing) or ",".join(sorted(missing))


def describe_opt_in(missing: Collection[str], runner: str = "auto") -> str:
    """The ways to run scripts although these walls are missing; "" where no opt-in accepts that."""
    name = name_opt_in(missing)
    if not name:
        return ""
    option = f"{'' if runner == 'auto' else f'--sandbox {runner} '}--allow-weaker-sandbox {name}"
    if not tier_name_of(missing):  # the names are long: once is enough
        return (
            f"to run scripts without these walls, accept each by its name: winnow serve {option} ({PAGE}). "
            "winnow exec and, for clients, winnow setup take the same option, and the variable "
            "WINNOW_ALLOW_WEAKER_SANDBOX the same names before any command"
        )
    return (
        f"to run scripts behind the walls of the tier {name}, accept it by its name: "
        f"WINNOW_ALLOW_WEAKER_SANDBOX={name} before any command, winnow serve {option}, or "
        f"winnow setup --allow-weaker-sandbox {name} for clients ({PAGE})"
    )


def tell_agent(name: str, why_not: str) -> str:
    """The sentence for an agent that asks for a tool or a topic of scripts where none runs."""
    return f"{name} is off on this server, and only its operator can change that: {why_not}"


def with_opt_in(reason: str, missing: Collection[str], runner: str = "auto") -> str:
    """The reason why no script runs, and the opt-in that lets scripts run."""
    return "; ".join(filter(None, (reason, describe_opt_in(missing, runner))))
