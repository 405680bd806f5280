"""The advice to an operator on running scripts behind the walls of a lesser tier, for every command."""

from __future__ import annotations

from collections.abc import Collection

from winnow.sandbox.runners.availability import tier_name_of

PAGE = "docs/containers.md"


def describe_opt_in(missing: Collection[str]) -> str:
    """The ways to run scripts although these walls are missing; "" where too few stand for any tier."""
    tier = tier_name_of(missing) if missing else ""
    if not tier:
        return ""
    return (
        f"to run scripts behind the walls of the tier {tier}, accept it by its name: "
        f"WINNOW_ALLOW_WEAKER_SANDBOX={tier} before any command, winnow serve --allow-weaker-sandbox {tier}, or "
        f"winnow setup --allow-weaker-sandbox {tier} for clients ({PAGE})"
    )


def tell_agent(name: str, why_not: str) -> str:
    """The sentence for an agent that asks for a tool or a topic of scripts where none runs."""
    return f"{name} is off on this server, and only its operator can change that: {why_not}"


def with_opt_in(reason: str, missing: Collection[str]) -> str:
    """The reason why no script runs, and the opt-in that lets scripts run."""
    return "; ".join(filter(None, (reason, describe_opt_in(missing))))
