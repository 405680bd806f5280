"""Descriptions and reports where scripts run in the smaller language (Monty)."""

from __future__ import annotations

import ast

import pytest

from winnow import client_sdk
from winnow.client_sdk.client import list_methods
from winnow.sandbox import WallReport
from winnow.sandbox.child import monty_sdk
from winnow.sandbox.runners import monty
from winnow.sandbox.runners.runner_table import tier_of
from winnow.server.commands.doctor import _fold_gaps
from winnow.server.commands.health import examine
from winnow.server.commands.health.walls import GAP
from winnow.server.commands.terminal.findings import Finding
from winnow.server.settings.loading import load_settings
from winnow.server.settings.settings import Settings
from winnow.server.tools.execute_code import _SMALLER_LANGUAGE, DESCRIPTION, TOOL
from winnow.server.tools.reference.sdk import SDK, sdk_reference


def test_the_description_tells_the_agent_of_the_smaller_language() -> None:
    told = DESCRIPTION + TOOL.describe_arguments(Settings())["code"]
    assert [part for part in _SMALLER_LANGUAGE if part not in told] == []
    smaller = Settings(sandbox="monty")
    worded = TOOL.fit_description(DESCRIPTION, smaller), TOOL.describe_arguments(smaller)["code"]
    assert [part for part in _SMALLER_LANGUAGE.values() if part not in "".join(worded)] == []
    assert max(map(len, worded)) <= 1000


def test_its_reference_has_what_it_has_and_says_what_it_has_not() -> None:
    reference = sdk_reference("monty")
    told = {line.removeprefix("## ") for line in reference.splitlines() if line.startswith("## ")}
    functions = told - {"What one run may use", "What a script may import"}
    owners = {name.partition(".")[0] for name in functions}
    assert (owners, functions < set(SDK)) == (set(monty_sdk.NAMES), True)
    assert [gap for gap in monty.GAPS if gap not in reference] == []
    assert [name for name in monty.MISSING_MODULES if f"| `{name}` |" in reference] == []
    assert "help(rerank)" not in reference
    assert "| `json` |" in reference
    assert sdk_reference("auto") == sdk_reference()


def _assigned(statements: list[ast.stmt]) -> set[str]:
    """The names and attributes that these statements assign."""
    targets = [each for node in statements if isinstance(node, ast.Assign) for each in node.targets]
    return {ast.unparse(target).removeprefix("self.") for target in targets}


def test_it_has_every_object_of_the_sdk_with_all_methods() -> None:
    """Functions that are written by hand for the smaller language are in `monty_calls`, others are generated."""
    body = ast.parse(monty_sdk.prelude()).body
    assert set(monty_sdk.NAMES) - _assigned(body) == set()
    classes = {node.name: node.body for node in body if isinstance(node, ast.ClassDef)}
    for owner in (client_sdk.kb, client_sdk.graph, client_sdk.claims):
        functions = [each for each in classes[type(owner).__name__] if isinstance(each, ast.FunctionDef)]
        shared = {name for each in functions if each.name == "__init__" for name in _assigned(each.body)}
        methods = {each.name for each in functions if each.name != "__init__"}
        assert (owner, methods | shared) == (owner, set(list_methods(type(owner))))


def test_the_description_stays_where_the_language_is_python() -> None:
    assert TOOL.fit_description(DESCRIPTION, load_settings(sandbox="auto")) == DESCRIPTION


def test_what_runs_scripts_has_one_name_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (load_settings().sandbox, load_settings(sandbox="monty").sandbox) == ("auto", "monty")
    monkeypatch.setenv("WINNOW_SANDBOX", "monty")
    assert load_settings().sandbox == "monty"


def _reports(*missing: str) -> tuple[WallReport, ...]:
    names = ("user_namespace", "network_namespace", "ipc_namespace", "host_name_namespace", "pid_namespace")
    names += ("empty_root", "landlock", "process_limit", "seccomp")
    return tuple(WallReport(name, "", name not in missing) for name in names)


NAMESPACES = (
    "user_namespace",
    "network_namespace",
    "ipc_namespace",
    "host_name_namespace",
    "pid_namespace",
    "empty_root",
)


@pytest.mark.parametrize(
    ("runner", "missing", "named"),
    [
        ("auto", (), "full"),
        ("auto", NAMESPACES, "container"),
        ("auto", ("empty_root",), "container"),
        ("auto", ("landlock",), "namespaces"),
        ("auto", ("landlock", "pid_namespace"), "none"),
        ("auto", (*NAMESPACES, "landlock"), "none"),
        ("auto", (*NAMESPACES, "seccomp"), "none"),
        ("monty", (), "language"),
    ],
)
def test_a_host_has_the_tier_of_the_walls_that_stand(runner: str, missing: tuple[str, ...], named: str) -> None:
    assert tier_of(runner, _reports(*missing)) == named


def test_a_wall_that_only_reinforces_others_does_not_count() -> None:
    assert tier_of("auto", (*_reports(), WallReport("memory_group", "", stands=False, reinforces=True))) == "full"


@pytest.mark.skipif(monty.installed_version() is None, reason=f"the interpreter is missing: {monty.INSTALL}")
def test_the_doctor_lists_what_the_smaller_language_lacks_and_for_which_version() -> None:
    first, *gaps, modules = [each for each in examine(load_settings()) if each.group == "smaller language"]
    assert (first.check, monty.MEASURED_FOR in first.detail) == ("monty", True)
    assert {gap.detail: gap.advice for gap in gaps} == dict(monty.GAPS)
    assert [module for module in monty.MISSING_MODULES if module not in modules.detail] == []
    assert not any(finding.essential for finding in (first, *gaps, modules))


def test_the_doctor_counts_the_gaps_in_one_line_unless_all_are_asked_for() -> None:
    first, last = Finding("g", "monty", True, "1.0"), Finding("h", "model", True, "here")
    gaps = [Finding("g", GAP, False, name, "instead", essential=False) for name in ("del", "yield")]
    folded = list(_fold_gaps([first, *gaps, last]))
    assert [finding.check for finding in folded] == ["monty", GAP, "model"]
    assert folded[1].detail == "2 parts of Python; they are listed by: winnow doctor --all"
    assert list(_fold_gaps([first, last])) == [first, last]


def test_the_doctor_names_the_tier() -> None:
    (told,) = [
        finding for finding in examine(load_settings()) if (finding.group, finding.check) == ("walls", "tier")
    ]
    assert told.detail.split(":")[0] in ("full", "container", "none")
    assert told.ok or told.advice
