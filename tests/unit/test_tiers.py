"""Tiers of walls, what an operator accepts, why a host refuses namespaces, and profiles that grant them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from winnow.sandbox.runners.monty import CLAIMS
from winnow.sandbox.walls.consequences import WITHOUT
from winnow.sandbox.walls.namespace_refusals import HostFacts, advise_on_namespaces, read_host_facts
from winnow.sandbox.walls.tiers import NAMESPACE_WALLS, TIERS, describe_mismatch, find_tier, is_accepted
from winnow.sandbox.walls.wall_table import ALL_WALLS
from winnow.server.commands.health.host_profiles import apparmor_profile, find_program, seccomp_profile
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.tools.scripts.opt_in import describe_opt_in, name_opt_in

pytestmark = pytest.mark.both_users

_NAMES = frozenset(wall.name for wall in ALL_WALLS)
# The calls that raising the walls makes, and that the usual profile of a container refuses.
_GRANTED = {"unshare", "setns", "mount", "mount_setattr", "umount2", "pivot_root", "sethostname"}
_NO_NAMESPACES = 0x7E020000  # of clone
_HOST = HostFacts("0", "", "15000", "", is_root=False)


def test_tiers_name_walls_that_there_are_and_none_lacks_the_filter() -> None:
    lacked = frozenset().union(*(tier.lacks for tier in TIERS.values()))
    assert (lacked - _NAMES, "seccomp" in lacked) == (frozenset(), False)


@pytest.mark.parametrize("wall", sorted(_NAMES - NAMESPACE_WALLS - {"landlock"}))
def test_no_tier_does_without_a_limit_or_the_filter(wall: str) -> None:
    assert find_tier([wall]) is None


@pytest.mark.parametrize("namespace", sorted(NAMESPACE_WALLS))
def test_there_is_no_tier_without_landlock_and_a_namespace(namespace: str) -> None:
    assert find_tier(["landlock", namespace]) is None


@pytest.mark.parametrize(
    ("missing", "accepted", "is_right"),
    [
        ((), (), True),
        (("landlock",), (), False),
        (("landlock",), ("landlock",), True),
        (("landlock",), ("landlock", "pid_namespace"), False),
        ((), ("landlock",), False),
        (("pid_namespace",), ("container",), True),
        ((), ("container",), True),
        (("landlock",), ("container",), False),
        (("landlock",), ("namespaces",), True),
        (("pid_namespace",), ("full",), False),
        (("landlock", "pid_namespace"), ("container", "namespaces"), False),
    ],
)
def test_an_operator_accepts_exactly_the_missing_walls_or_a_tier(
    missing: tuple[str, ...], accepted: tuple[str, ...], is_right: bool
) -> None:
    assert is_accepted(missing, accepted) is is_right


@pytest.mark.parametrize(
    ("missing", "accepted", "differences"),
    [
        (("a", "b"), ("a",), ["also missing: b", "name exactly the missing walls"]),
        (("a",), ("a", "c"), ["named without need: c", "name exactly the missing walls"]),
        (("a", "b"), ("b", "c"), ["also missing: a", "named without need: c", "name exactly the missing walls"]),
        (
            ("pid_namespace", "not_root"),
            ("container",),
            ["also missing: not_root", "name exactly the missing walls"],
        ),
        (
            ("landlock",),
            ("container",),
            ["also missing: landlock", "name exactly the missing walls, or the tier namespaces"],
        ),
        ((), ("landlock",), ["named without need: landlock", "every wall stands, so accept nothing"]),
    ],
)
def test_an_opt_in_that_does_not_fit_is_told_what_it_lacks_and_what_it_does_not_need(
    missing: tuple[str, ...], accepted: tuple[str, ...], differences: list[str]
) -> None:
    told = "; ".join((f"accepted is {', '.join(accepted)}", *differences))
    assert describe_mismatch(missing, accepted) == told


def test_each_wall_of_every_runner_has_its_consequence() -> None:
    assert {*WITHOUT} == {*_NAMES, *(claim.name for claim in CLAIMS)}


@pytest.mark.parametrize(
    ("missing", "name"),
    [
        ((), ""),
        (("pid_namespace",), "container"),
        (("landlock",), "namespaces"),
        (("process_limit", "landlock"), "landlock,process_limit"),
        (("process_limit", "seccomp"), ""),
    ],
)
def test_the_opt_in_is_the_tier_or_each_missing_wall_and_never_without_the_filter(
    missing: tuple[str, ...], name: str
) -> None:
    assert name_opt_in(missing) == name
    assert (f"--allow-weaker-sandbox {name}" in describe_opt_in(missing)) is bool(name)
    if name:
        assert is_accepted(missing, load_settings(allow_weaker_sandbox=name).allow_weaker_sandbox)


@pytest.mark.parametrize(
    ("changes", "commands"),
    [
        ({}, ()),
        ({"filter_mode": "2"}, ("winnow doctor --seccomp", "--security-opt seccomp=")),
        ({"apparmor_restricts": "1"}, ("winnow doctor --apparmor", "apparmor_parser -r")),
        ({"apparmor_restricts": "1", "is_root": True}, ()),
        ({"most_user_namespaces": "0"}, ("sysctl -w user.max_user_namespaces=",)),
        ({"unprivileged_user_namespaces": "0"}, ("sysctl -w kernel.unprivileged_userns_clone=1",)),
        (
            {"filter_mode": "2", "apparmor_restricts": "1"},
            ("winnow doctor --seccomp", "winnow doctor --apparmor"),
        ),
    ],
)
def test_the_advice_names_the_command_for_what_refuses_namespaces(
    changes: dict[str, str | bool], commands: tuple[str, ...]
) -> None:
    facts = {name: getattr(_HOST, name) for name in HostFacts.__slots__}
    advice = advise_on_namespaces(HostFacts(**{**facts, **changes}))  # type: ignore[arg-type]
    assert [command for command in commands if command not in advice] == []
    assert bool(advice) is bool(commands)


def test_the_facts_of_this_host_are_read() -> None:
    assert read_host_facts().filter_mode in ("", "0", "2")


def test_the_filter_for_containers_grants_what_the_walls_need_and_no_namespaces_by_clone() -> None:
    profile = json.loads(seccomp_profile())
    rules = profile["syscalls"]
    plain = {
        name
        for rule in rules
        if rule["action"] == "SCMP_ACT_ALLOW" and not rule.get("args")
        for name in rule["names"]
    }
    (clone,) = (rule for rule in rules if rule["names"] == ["clone"])
    assert (profile["defaultAction"], profile["defaultErrnoRet"]) == ("SCMP_ACT_ERRNO", 1)
    assert _GRANTED - plain == set()
    assert clone["args"] == [{"index": 0, "value": _NO_NAMESPACES, "valueTwo": 0, "op": "SCMP_CMP_MASKED_EQ"}]
    refused = {"bpf", "ptrace", "keyctl", "add_key", "kexec_load", "init_module", "perf_event_open", "reboot"}
    refused |= {"io_uring_setup", "userfaultfd", "open_by_handle_at", "process_vm_readv", "fsopen", "move_mount"}
    assert plain & (refused | {"clone", "clone3", "socket"}) == set()


def test_the_profile_for_apparmor_names_the_program_and_grants_user_namespaces_alone() -> None:
    text = apparmor_profile(Path("/opt/winnow/bin/winnow"))
    assert 'profile winnow "/opt/winnow/bin/winnow" flags=(unconfined) {\n  userns,\n' in text
    assert find_program().name == "winnow"


@pytest.mark.parametrize("path", ['/opt/a"b/winnow', "/opt/{a,b}/winnow", "/opt/*/winnow", "/opt/@{HOME}/winnow"])
def test_a_path_that_apparmor_reads_as_a_pattern_is_refused(path: str) -> None:
    with pytest.raises(WinnowError, match="install it elsewhere"):
        apparmor_profile(Path(path))
