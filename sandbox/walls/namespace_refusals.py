"""Why this host refuses namespaces to winnow, read from the kernel's files, and what grants them.

Several may refuse at once: an AppArmor profile behind the system-call filter of a container. Each is named.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

_FILTERED = "2"  # of a process that is behind a system-call filter


@dataclass(frozen=True, slots=True)
class HostFacts:
    """The kernel's settings for namespaces. Numbers are texts, "" for a file that this kernel does not have."""

    filter_mode: str
    apparmor_restricts: str
    most_user_namespaces: str
    unprivileged_user_namespaces: str
    is_root: bool


def read_host_facts() -> HostFacts:
    """Read the facts of this host and process."""
    return HostFacts(
        filter_mode=_filter_mode(),
        apparmor_restricts=_read("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
        most_user_namespaces=_read("/proc/sys/user/max_user_namespaces"),
        unprivileged_user_namespaces=_read("/proc/sys/kernel/unprivileged_userns_clone"),
        is_root=hasattr(os, "geteuid") and os.geteuid() == 0,
    )


def _read(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return ""


def _filter_mode() -> str:
    lines = dict(line.partition(":")[::2] for line in _read("/proc/self/status").splitlines())
    return lines.get("Seccomp", "").strip()


_CAUSES: tuple[Callable[[HostFacts], str], ...] = (
    lambda facts: "container" if facts.filter_mode == _FILTERED else "",
    lambda facts: "apparmor" if facts.apparmor_restricts == "1" and not facts.is_root else "",
    lambda facts: "sysctl_max" if facts.most_user_namespaces == "0" else "",
    lambda facts: "sysctl_clone" if facts.unprivileged_user_namespaces == "0" and not facts.is_root else "",
)
_GRANTS: Mapping[str, str] = MappingProxyType(
    {
        "container": (
            "a system-call filter refuses them, as that of a container does. Write a filter that grants them, "
            "winnow doctor --seccomp > winnow-seccomp.json, and start the container with "
            "--security-opt seccomp=winnow-seccomp.json --security-opt apparmor=unconfined"
        ),
        "apparmor": (
            "AppArmor refuses them to ordinary users. Load a profile for this installation: winnow doctor "
            "--apparmor | sudo tee /etc/apparmor.d/winnow && sudo apparmor_parser -r /etc/apparmor.d/winnow"
        ),
        "sysctl_max": (
            "this kernel allows no user namespace: on the host, not in a container, sudo sysctl -w "
            "user.max_user_namespaces=15000"
        ),
        "sysctl_clone": (
            "this kernel refuses user namespaces to ordinary users: sudo sysctl -w "
            "kernel.unprivileged_userns_clone=1"
        ),
    }
)


def advise_on_namespaces(facts: HostFacts) -> str:
    """The cause that refuses namespaces on such a host, and the commands that grant them; "" if unknown."""
    found = [cause(facts) for cause in _CAUSES]
    return "; ".join(_GRANTS[name] for name in found if name)
