"""Hosts without some walls: scripts are off unless exactly those are named; each asset is still held twice."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.patience import LIMIT
from winnow.sandbox.runners import monty
from winnow.sandbox.walls.consequences import WITHOUT

pytestmark = [
    pytest.mark.walls,
    pytest.mark.skipif(sys.platform != "linux", reason="emulated by a filter of Linux"),
    pytest.mark.as_root,
]

WINNOW = str(Path(sys.executable).with_name("winnow"))
PROGRAM = Path(__file__).with_name("lesser_hosts.py")

INNER = ("network_namespace", "ipc_namespace", "host_name_namespace", "pid_namespace", "empty_root")
NAMESPACES = ("user_namespace", *INNER)
MISSING = {
    "docker": NAMESPACES,
    "old_docker": (*NAMESPACES, "landlock"),
    "no_landlock": ("landlock",),
    "no_user_namespaces": NAMESPACES,
    "apparmor": INNER,
}
GRANTS = {
    "landlock": "Linux 5.13",
    **dict.fromkeys(NAMESPACES, "--security-opt seccomp=winnow-seccomp.json"),
}


def _on(host: str, task: str, *accepted: str) -> Any:
    command = [sys.executable, str(PROGRAM), host, task, *accepted]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize("host", MISSING)
def test_a_lesser_host_is_closed_and_told_each_wall_and_what_to_grant(host: str) -> None:
    told = _on(host, "start")
    assert sorted(told["missing"]) == sorted(MISSING[host])
    assert [wall for wall in MISSING[host] if wall not in told["refused"]] == []
    assert [wall for wall in MISSING[host] if told["refused"].count(GRANTS[wall]) != 1] == []


@pytest.mark.parametrize("host", MISSING)
def test_an_opt_in_that_names_exactly_these_walls_starts_and_every_result_names_them(host: str) -> None:
    told = _on(host, "start", *MISSING[host])
    assert (told["result"], sorted(told["missing"])) == (2, sorted(MISSING[host]))


@pytest.mark.parametrize("host", [*MISSING, "no_seccomp"])
def test_a_server_there_knows_before_the_start_which_walls_are_refused(host: str) -> None:
    refused = MISSING.get(host, ("seccomp",))
    assert _on(host, "outlook") == {"possible": False, "refused": sorted(refused)}


@pytest.mark.parametrize(
    ("host", "accepted", "possible"),
    [
        ("docker", ("container",), True),
        ("docker", NAMESPACES, True),
        ("docker", NAMESPACES[1:], False),
        ("docker", (*NAMESPACES, "landlock"), False),
        ("old_docker", ("container",), False),
        ("no_landlock", ("namespaces",), True),
        ("no_seccomp", ("seccomp",), False),
    ],
)
def test_a_server_promises_scripts_for_an_opt_in_with_which_they_start(
    host: str, accepted: tuple[str, ...], possible: bool
) -> None:
    told = _on(host, "outlook", *accepted)["possible"], "result" in _on(host, "start", *accepted)
    assert told == (possible, possible)


@pytest.mark.parametrize(
    ("host", "accepted"),
    [
        ("docker", NAMESPACES[1:]),
        ("docker", (*NAMESPACES, "landlock")),
        ("no_landlock", NAMESPACES),
        ("apparmor", NAMESPACES),
    ],
)
def test_an_opt_in_that_names_more_or_less_is_refused(host: str, accepted: tuple[str, ...]) -> None:
    tier = "namespaces" if host == "no_landlock" else "container"
    refused = _on(host, "start", *accepted)["refused"]
    more, less = sorted({*accepted} - {*MISSING[host]}), sorted({*MISSING[host]} - {*accepted})
    differences = [f"also missing: {', '.join(less)}"] * bool(less)
    differences += [f"named without need: {', '.join(more)}"] * bool(more)
    assert f"; {'; '.join(differences)}; name exactly the missing walls, or the tier {tier}" in refused


@pytest.mark.parametrize("accepted", [(), ("seccomp",)])
def test_without_its_filter_nothing_starts_whatever_is_accepted(accepted: tuple[str, ...]) -> None:
    told = _on("no_seccomp", "start", *accepted)
    assert told["refused"].startswith("no sandbox without seccomp (seccomp: ")
    assert (told["missing"], "CONFIG_SECCOMP_FILTER" in told["refused"]) == ([], True)


@pytest.mark.skipif(monty.installed_version() is None, reason=f"the interpreter is missing: {monty.INSTALL}")
@pytest.mark.parametrize("host", [*MISSING, "no_seccomp"])
def test_the_smaller_language_needs_none_of_them(host: str) -> None:
    told = _on(host, "smaller")
    assert (told["result"], told["missing"]) == (2, [])
    own = {claim.name for claim in monty.CLAIMS if not claim.reinforces}
    assert own <= set(told["stood"])


@pytest.mark.parametrize("host", MISSING)
def test_each_asset_is_held_by_two_of_the_remaining_layers_alone(host: str) -> None:
    held = _on(host, "layers")
    landlock = [] if "landlock" in MISSING[host] else ["landlock"]
    assert held == {
        "files": [*landlock, "descriptor_limit", "seccomp"],
        "network": [*landlock, "descriptor_limit", "seccomp"],
        "processes": ["process_limit", "seccomp"],
    }


@pytest.mark.parametrize(
    ("host", "accepted", "code"),
    [
        ("docker", "", 0),
        ("docker", "container", 0),
        ("docker", "namespaces", 1),  # scripts are wanted, and do not run
        ("no_landlock", "", 0),
        ("old_docker", "", 1),
        ("no_seccomp", "", 1),
    ],
)
def test_the_doctor_ends_with_0_where_everything_stands_that_the_tier_has(
    host: str, accepted: str, code: int, tmp_path: Path
) -> None:
    done = _run_there(host, "doctor", "--json", "--store", str(tmp_path), WINNOW_ALLOW_WEAKER_SANDBOX=accepted)
    essential = [check for check in json.loads(done.stdout)["checks"] if check["essential"] and not check["ok"]]
    assert (done.returncode, {check["group"] for check in essential} - {"walls"}) == (code, set())


@pytest.mark.parametrize("host", ["docker", "old_docker"])
def test_no_attack_gets_through_in_a_container(host: str) -> None:
    report = _on(host, "attack", *MISSING[host])
    assert report["violations"] == []
    assert report["families"] == ["descriptors", "files", "kernel", "network", "processes", "signals"]
    assert report["trials"] > 100


READER_TIERS = {
    "docker": "container",
    "old_docker": "",
    "no_landlock": "namespaces",
    "no_user_namespaces": "container",
    "apparmor": "container",
}


@pytest.mark.parametrize("host", MISSING)
def test_readers_of_files_use_the_tier_that_stands_and_the_missing_walls_are_named(host: str) -> None:
    """Without namespaces or Landlock the other walls hold each asset twice; without both there is no tier."""
    told = _on(host, "readers")
    assert (sorted(told["missing"].split(", ")), told["tier"]) == (sorted(MISSING[host]), READER_TIERS[host])
    assert (told["walled"], told["text"]) == (bool(READER_TIERS[host]), "Words.")


@pytest.mark.timeout(1200)
@pytest.mark.parametrize("host", [host for host, tier in READER_TIERS.items() if tier])
def test_no_attack_by_a_file_gets_through_in_a_lesser_tier(host: str) -> None:
    told = _on(host, "attack_readers")
    assert (told["violations"], told["trials"] > 25, told["clean"]) == ([], True, True)


def test_attacks_by_files_where_no_reader_starts_are_not_run_and_neither_held_nor_violations() -> None:
    told = _on("old_docker", "attack_readers", "fork", "network")
    assert told == {"trials": 2, "violations": [], "not_run": {"reader walls missing": 2}, "clean": False}


@pytest.mark.parametrize(
    ("host", "tier", "starts"),
    [
        ("docker", "container", True),
        ("apparmor", "container", True),
        ("no_landlock", "namespaces", True),
        ("no_landlock", "container", False),
        ("docker", "full", False),
        ("old_docker", "container", False),
    ],
)
def test_a_tier_accepts_by_its_name_what_it_lacks_and_no_more(host: str, tier: str, starts: bool) -> None:
    told = _on(host, "start", tier)
    assert sorted(told["missing"]) == sorted(MISSING[host])
    assert told.get("result") == (2 if starts else None)


@pytest.mark.parametrize("host", MISSING)
def test_no_program_of_the_operator_runs_without_one_of_its_walls(host: str) -> None:
    told = _on(host, "programs")
    own = {"scratch" if wall == "empty_root" else wall for wall in MISSING[host]}
    assert own <= set(told["missing"])
    assert " was not raised: " in told["said"]


def _run_there(host: str, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A command of winnow on such a host, with an empty input."""
    command = [sys.executable, str(PROGRAM), host, "command", WINNOW, *words]
    own = {"env": {**os.environ, **variables}, "stdin": subprocess.DEVNULL}
    return subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False, **own)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store with one note, indexed without a model; hosts are emulated in front of it."""
    folder = tmp_path_factory.mktemp("lesser")
    (folder / "notes").mkdir()
    (folder / "notes" / "a.md").write_text("# Pumps\n\nThe pump runs at night.\n")
    command = [WINNOW, "ingest", str(folder / "notes"), "--store", str(folder / "store")]
    variables = {**os.environ, "WINNOW_EMBEDDING": "off"}
    subprocess.run(command, capture_output=True, timeout=LIMIT, check=True, env=variables)
    return folder / "store"


def test_exec_says_once_what_is_refused_and_how_to_accept_the_tier(store: Path) -> None:
    script = store.parent / "script.py"
    script.write_text("return 1 + 1")
    refused = _run_there("docker", "exec", str(script), "--store", str(store))
    assert (refused.returncode, refused.stderr.count("Operation not permitted")) == (4, 1)
    assert "WINNOW_ALLOW_WEAKER_SANDBOX=container before any command" in refused.stderr
    assert (refused.stderr.count("docs/containers.md"), "sysctl" in refused.stderr) == (1, False)
    done = _run_there("docker", "exec", str(script), "--store", str(store), "--allow-weaker-sandbox", "container")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "result: 2")


@pytest.mark.parametrize(("accepted", "lines"), [("", 1), ("container", 0)])
def test_a_server_there_says_once_as_it_starts_that_scripts_are_off(
    accepted: str, lines: int, store: Path
) -> None:
    done = _run_there("docker", "serve", "--store", str(store), WINNOW_ALLOW_WEAKER_SANDBOX=accepted)
    off = [line for line in done.stderr.splitlines() if "execute_code is off on this host" in line]
    assert (done.returncode, len(off)) == (0, lines)
    assert all("winnow serve --allow-weaker-sandbox container" in line for line in off)


@pytest.mark.parametrize("accepted", ["", "landlock"])
def test_an_agent_there_learns_which_walls_are_missing_and_none_of_the_operators_commands(
    accepted: str, store: Path
) -> None:
    call = {"name": "execute_code", "arguments": {"code": "return 1"}}
    handshake = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}
    lines = [
        {"id": 1, "method": "initialize", "params": handshake},
        {"method": "notifications/initialized"},
        {"id": 2, "method": "tools/call", "params": call},
    ]
    asked = "".join(json.dumps({"jsonrpc": "2.0", **line}) + "\n" for line in lines)
    serve = ("serve", "--no-daemon", "--store", str(store))
    command = [sys.executable, str(PROGRAM), "docker", "command", WINNOW, *serve]
    variables = {**os.environ, "WINNOW_ALLOW_WEAKER_SANDBOX": accepted, "WINNOW_EMBEDDING": "off"}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
    with subprocess.Popen(command, text=True, env=variables, **pipes) as server:  # type: ignore[call-overload]
        server.stdin.write(asked)
        server.stdin.flush()  # the end of its input would cancel the call
        told = next(answer for answer in map(json.loads, server.stdout) if answer.get("id") == 2)["error"][
            "message"
        ]
        server.stdin.close()
    why, _, tools = told.partition("; this server has: ")
    assert (why, bool(tools)) == (
        "execute_code is off on this server, and only its operator can change that: walls are missing: "
        + ", ".join(sorted(NAMESPACES)),
        True,
    )


@pytest.mark.parametrize("accepted", ["", "container"])
def test_the_doctor_says_there_what_holds_once_and_what_holds_meanwhile(accepted: str, store: Path) -> None:
    done = _run_there("docker", "doctor", "--json", "--store", str(store), WINNOW_ALLOW_WEAKER_SANDBOX=accepted)
    found = {check["check"]: check for check in json.loads(done.stdout)["checks"]}
    assert "seccomp alone holds stat, chmod and chown of paths" in found["tier"]["detail"]
    assert "winnow doctor --seccomp > winnow-seccomp.json" in found["tier"]["advice"]
    meanwhile = "only the walls of the tier container hold" if accepted else "no script runs here"
    advice = found["interpreter"]["advice"]  # none for a Python without known faults
    assert (f"{meanwhile} meanwhile" in advice) is bool(advice)
    assert (
        found["not_root"]["detail"]
        == "not root; another user than the server's only where the server is root and may change it"
    )


BARE_ROOT = (*sorted({*NAMESPACES, "not_root", "process_limit"}),)
only_root = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="the kernel limits the processes of other users"
)


@only_root
def test_a_root_that_may_not_change_its_user_lacks_the_limit_of_processes_before_and_after_the_start() -> None:
    outlook, started = _on("bare_root", "outlook"), _on("bare_root", "start")
    assert (outlook["possible"], outlook["refused"]) == (False, [*BARE_ROOT])
    assert sorted(started["missing"]) == [*BARE_ROOT]
    assert "the limit of user namespaces is " in started["refused"]
    assert "No space left on device" not in started["refused"]


@only_root
def test_an_opt_in_without_the_limit_of_processes_fails_before_the_start_as_it_does_at_it() -> None:
    accepted = [wall for wall in BARE_ROOT if wall != "process_limit"]
    assert _on("bare_root", "outlook", *accepted)["possible"] is False
    assert "; also missing: process_limit; " in _on("bare_root", "start", *accepted)["refused"]
    assert _on("bare_root", "outlook", *BARE_ROOT)["possible"] is True
    assert _on("bare_root", "start", *BARE_ROOT)["result"] == 2


@only_root
def test_there_files_and_the_network_are_held_by_three_layers_alone_and_processes_by_the_filter() -> None:
    held = ["landlock", "descriptor_limit", "seccomp"]
    assert _on("bare_root", "layers") == {"files": held, "network": held, "processes": ["seccomp"]}


@only_root
def test_the_doctor_there_says_both_ways_and_with_the_opt_in_what_is_not_stopped(store: Path) -> None:
    names = ",".join(BARE_ROOT)
    told = _run_there("bare_root", "doctor", "--store", str(store))
    assert told.stdout.splitlines()[-1] == f"  winnow serve --allow-weaker-sandbox {names}"
    found = _find_there("bare_root", store, "")
    advice = found["tier"]["advice"]
    assert advice.startswith("if you may change how this host or container is started: ")
    for part in ("docker run --user 1000", f"--allow-weaker-sandbox {names}", "--sandbox monty", "CAP_SETUID"):
        assert advice.count(part) == 1, part
    found = _find_there("bare_root", store, names)
    assert f"scripts run without {', '.join(BARE_ROOT)}, by the operator's choice" in found["tier"]["detail"]
    assert found["process_limit"]["detail"].endswith("; without it, " + WITHOUT["process_limit"])
    chosen = _run_there("bare_root", "doctor", "--store", str(store), WINNOW_ALLOW_WEAKER_SANDBOX=names)
    assert chosen.stdout.splitlines()[-1] == (
        f"Scripts run without {', '.join(BARE_ROOT)}: by the operator's choice (docs/containers.md)."
    )


def _find_there(host: str, store: Path, accepted: str) -> dict[str, dict[str, Any]]:
    """The doctor's findings by check."""
    done = _run_there(host, "doctor", "--json", "--store", str(store), WINNOW_ALLOW_WEAKER_SANDBOX=accepted)
    return {check["check"]: check for check in json.loads(done.stdout)["checks"]}


@only_root
@pytest.mark.skipif(monty.installed_version() is None, reason=f"the interpreter is missing: {monty.INSTALL}")
def test_the_smaller_language_there_names_the_one_wall_that_it_lacks_and_runs_with_it_accepted(
    store: Path,
) -> None:
    script = store.parent / "one.py"
    script.write_text("return 1 + 1")
    command = ("bare_root", "exec", str(script), "--store", str(store), "--sandbox", "monty")
    refused = _run_there(*command)
    assert (refused.returncode, "only Linux limits" in refused.stderr) == (4, False)
    assert "--sandbox monty --allow-weaker-sandbox process_limit (docs/containers.md)" in refused.stderr
    done = _run_there(*command, "--allow-weaker-sandbox", "process_limit")
    assert (done.returncode, done.stdout.splitlines()[0]) == (0, "result: 2")


def test_an_audit_there_runs_only_with_the_opt_in_and_its_report_names_what_is_missing() -> None:
    audit = ("docker", "doctor", "--audit", "--family", "ipc")
    refused = _run_there(*audit)
    assert (refused.returncode, refused.stdout) == (4, "")
    assert "WINNOW_ALLOW_WEAKER_SANDBOX=container before any command" in refused.stderr
    told = json.loads(_run_there(*audit, "--json", WINNOW_ALLOW_WEAKER_SANDBOX="container").stdout)
    assert (told["tier"], sorted(told["missing_walls"]), told["complete"]) == (
        "container",
        sorted(NAMESPACES),
        True,
    )
    shown = _run_there(*audit, WINNOW_ALLOW_WEAKER_SANDBOX="container").stdout.splitlines()[-1]
    assert shown.startswith("tier container: attacked without ")


@pytest.mark.parametrize(
    ("host", "first", "behind", "name"),
    [
        ("docker", "empty_root, host_name_namespace", "behind the walls of the tier container", "container"),
        (
            "old_docker",
            "empty_root, host_name_namespace",
            "without these walls",
            ",".join(sorted((*NAMESPACES, "landlock"))),
        ),
    ],
)
def test_the_demonstration_says_there_in_one_sentence_which_command_shows_both_ways(
    host: str, first: str, behind: str, name: str
) -> None:
    program = (
        "from winnow.server.commands.demo import explain_no_script; "
        "from winnow.server.settings.loading import load_settings; print(explain_no_script(load_settings()))"
    )
    command = [sys.executable, str(PROGRAM), host, "command", sys.executable, "-c", program]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=True).stdout
    assert shown.startswith(f"walls are missing: {first}")
    assert shown.endswith(f"{behind} (docs/containers.md): WINNOW_ALLOW_WEAKER_SANDBOX={name} winnow demo\n")
