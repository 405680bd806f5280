"""The tiers of kernel walls: which sets of walls are enough, and what each leaves to a single layer.

A tier names the walls that it does without. Each tier holds files, the network and other processes by at least two
layers that hold alone. Less than a tier is none: without Landlock and without namespaces, the system calls that
take a path would be held by the filter alone.

Scripts run in ``full`` unless an operator names another tier. Readers of files use the best tier that stands, and
say which.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

# The walls that the usual profile of a container rules out, and distributions that restrict user namespaces.
NAMESPACE_WALLS = frozenset(
    ("user_namespace", "network_namespace", "ipc_namespace", "host_name_namespace", "pid_namespace", "empty_root")
)


@dataclass(frozen=True, slots=True)
class Tier:
    """A set of walls that is enough: ``lacks`` are those that may be missing, ``stands`` says what holds."""

    name: str
    lacks: frozenset[str]
    stands: str


FULL = Tier("full", frozenset(), "all kernel walls stand")
CONTAINER = Tier(
    "container",
    NAMESPACE_WALLS,
    "no namespaces; seccomp, Landlock and limits hold files, network and processes, each at least twice; "
    "seccomp alone holds stat, chmod and chown of paths, and System V memory",
)
NAMESPACES = Tier(
    "namespaces",
    frozenset(("landlock",)),
    "no Landlock; namespaces, an empty root, seccomp and limits hold files, network and processes, each at least "
    "twice",
)
# The first one whose walls stand is the tier of a host.
TIERS: Mapping[str, Tier] = MappingProxyType({tier.name: tier for tier in (FULL, CONTAINER, NAMESPACES)})

# In reports, the tier of a host where too few walls stand.
NO_TIER = "none"


def find_tier(missing: Iterable[str]) -> Tier | None:
    """The tier of a host where these walls are missing; None where too few stand."""
    names = frozenset(missing)
    return next((tier for tier in TIERS.values() if names <= tier.lacks), None)


def is_accepted(missing: Collection[str], accepted: Collection[str]) -> bool:
    """Whether an operator accepts that exactly these walls are missing.

    ``accepted`` are names of walls, exactly those that are missing; or the name of one tier, which accepts what
    that tier lacks, and any better host.
    """
    if len(accepted) == 1 and (tier := TIERS.get(next(iter(accepted)))):
        return tier.lacks.issuperset(missing)
    return frozenset(missing) == frozenset(accepted)


def describe_mismatch(missing: Collection[str], accepted: Collection[str]) -> str:
    """The difference between an opt-in and the walls that are missing, where `is_accepted` is False."""
    lacks = frozenset().union(*(TIERS[name].lacks if name in TIERS else (name,) for name in accepted))
    is_tier = not TIERS.keys().isdisjoint(accepted)
    parts = [
        ("also missing", frozenset(missing) - lacks),
        # A tier accepts a better host, too.
        ("named without need", frozenset() if is_tier else lacks - frozenset(missing)),
    ]
    differences = [f"{what}: {', '.join(sorted(walls))}" for what, walls in parts if walls]
    tier = find_tier(missing)
    or_tier = f", or the tier {tier.name}" if tier else ""
    advice = f"name exactly the missing walls{or_tier}" if missing else "every wall stands, so accept nothing"
    return "; ".join((f"accepted is {', '.join(sorted(accepted))}", *differences, advice))
