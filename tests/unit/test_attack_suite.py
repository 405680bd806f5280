"""The syntax of an attack's first line, and the errors for malformed lines."""

from __future__ import annotations

from pathlib import Path

import pytest

from winnow.sandbox import Limits, Outcome, ScriptError
from winnow.security import suite
from winnow.security.suite import SuiteError, has_breached, parse_attack, read_attacks

CODE = "print('BREACHED')\n"


@pytest.mark.parametrize(
    ("line", "verdicts"),
    [
        ("fence: rejected | walls: error", {"fence": ("rejected",), "walls": ("error",), "both": ("rejected",)}),
        ("fence: rejected/error | walls: -", {"fence": ("rejected", "error"), "both": ("rejected", "error")}),
        ("fence: - | walls: crashed", {"walls": ("crashed",), "both": ("crashed",)}),
        ("fence: - | walls: ok | both: timeout", {"walls": ("ok",), "both": ("timeout",)}),
    ],
)
def test_a_first_line_claims_an_ending_for_each_mode(line: str, verdicts: dict[str, tuple[str, ...]]) -> None:
    """Behind both halves the attack ends as behind the fence, unless the line says otherwise."""
    assert dict(parse_attack("family", "name", f"# {line}\n{CODE}").verdicts) == verdicts


@pytest.mark.parametrize(
    ("line", "complaint"),
    [
        ("", "the first line is not of the form"),
        ("fence: rejected | walls: error", "the first line is not of the form"),
        ("# fence: rejected", "does not speak for both"),
        ("# fence: rejected | both: ok", "does not speak for both"),
        ("# walls: error | fence: rejected", "other parts than"),
        ("# fence: rejected | walls: error | walls: ok", "other parts than"),
        ("# fence: rejected | walls: error | mood: bad", "other parts than"),
        ("# fence: rejected | walls", "other parts than"),
        ("# fence: rejected: yes | walls: error", "other parts than"),
        ("# fence: refused | walls: error", "no outcome ends as 'refused'"),
        ("# fence: rejected | walls: ", "no outcome ends as ''"),
        ("# fence: rejected | walls: error/-", "no outcome ends as '-'"),
        ("# fence: rejected | walls: unavailable", "no outcome ends as 'unavailable'"),
        ("# fence: - | walls: -", "neither half claims"),
        ("# fence: - | walls: ok | limits: patience=3", "no limit 'patience'"),
        ("# fence: - | walls: ok | limits: sdk_calls=few", "'few' is no value for sdk_calls"),
        ("# fence: - | walls: ok | limits: sdk_calls=1.5", "'1.5' is no value for sdk_calls"),
        ("# fence: - | walls: ok | limits: wall_seconds=0", "wall_seconds is above 0"),
        ("# fence: - | walls: ok | limits: wall_seconds=nan", "wall_seconds is above 0"),
        ("# fence: - | walls: ok | limits: memory_bytes=1000000000000", "limits are only lowered"),
        ("# fence: - | walls: ok | source: given", "a source is 'computed'"),
        ("# surface: ok", "an attack on a surface claims 'held'"),
        ("# surface: held | walls: ok", "other parts than"),
        ("# surface: held | seconds: soon", "seconds is a number above 0"),
        ("# surface: held | seconds: nan", "seconds is a number above 0"),
        ("# surface: held | seconds: 301", "at most 300"),
    ],
)
def test_a_first_line_that_says_anything_else_is_an_error_that_names_the_file(
    tmp_path: Path, line: str, complaint: str
) -> None:
    """A claim that cannot be tested must not look like one that was tested."""
    path = tmp_path / "family" / "name.py"
    path.parent.mkdir()
    path.write_text(f"{line}\n{CODE}", "utf-8")
    with pytest.raises(SuiteError) as raised:
        list(read_attacks(tmp_path))
    assert str(raised.value).startswith(f"{path}: ")
    assert complaint in str(raised.value)


def test_limits_are_lowered_by_name() -> None:
    """Limits that are not named keep the suite's values."""
    attack = parse_attack("f", "n", f"# fence: - | walls: ok | limits: wall_seconds=0.5 sdk_calls=7\n{CODE}")
    assert attack.limits == Limits(wall_seconds=0.5, sdk_calls=7)
    assert parse_attack("f", "n", f"# fence: - | walls: ok\n{CODE}").limits == suite.LIMITS


def test_a_computed_source_is_the_value_of_its_expression() -> None:
    """The first line is then not part of the program."""
    assert (
        parse_attack("f", "n", "# fence: - | walls: ok | source: computed\n'x = 1\\n' * 2\n").source
        == "x = 1\nx = 1\n"
    )
    with pytest.raises(SuiteError, match="not a text"):
        parse_attack("f", "n", "# fence: - | walls: ok | source: computed\n1 + 1\n")


def test_an_attack_on_a_surface_claims_that_the_product_holds() -> None:
    """It is not a script: no half of the sandbox is tested with it."""
    attack = parse_attack("family", "name", f"# surface: held | seconds: 5\n{CODE}")
    assert (dict(attack.verdicts), attack.is_script, attack.seconds) == ({"both": ("held",)}, False, 5.0)
    assert parse_attack("family", "name", f"# fence: - | walls: ok\n{CODE}").is_script


def test_no_attack_on_a_surface_has_less_time_than_a_loaded_machine_needs() -> None:
    """Some run a command twenty times; what takes five seconds alone takes minutes beside other work."""
    assert {attack.seconds for attack in read_attacks() if not attack.is_script} == {300.0}


@pytest.mark.parametrize(
    ("outcome", "got_through"),
    [
        (Outcome("ok", result="harmless", stdout="no\n"), False),
        (Outcome("ok", stdout="BREACHED\n"), True),
        (Outcome("ok", result={"said": ["BREACHED"]}), True),
        (Outcome("error", error=ScriptError("E", "BREACHED")), True),
        (Outcome("error", error=ScriptError("E", "no", source_line="print('BREACHED')")), False),
    ],
)
def test_whatever_comes_back_may_show_a_breach(outcome: Outcome, got_through: bool) -> None:
    """The quoted source line of a refused script does not count as a breach."""
    assert has_breached(outcome) == got_through


def test_no_attack_is_there_twice() -> None:
    """Attacks differ in more than their names."""
    sources = [attack.source.partition("\n")[2] for attack in read_attacks()]
    assert len(set(sources)) == len(sources)


def test_an_attack_that_is_to_be_refused_has_the_time_to_be_refused() -> None:
    """On a busy machine a script may not be read within a tenth of a second."""
    hasty = [
        str(attack)
        for attack in read_attacks()
        if attack.is_script
        and attack.limits.wall_seconds < 1
        and any("timeout" not in endings for endings in attack.verdicts.values())
    ]
    assert hasty == []
