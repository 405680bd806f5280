"""The audit: attacks that get through and controls that fail are violations, with an exit code."""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import psutil
import pytest

from tests.patience import LIMIT, family, start_process, still_there, until
from winnow.sandbox import SandboxUnavailable
from winnow.security import audit
from winnow.security.audit import Audit, Trial
from winnow.security.suite import Attack, parse_attack
from winnow.server.commands import doctor

pytestmark = [pytest.mark.walls, pytest.mark.both_users]
WINNOW = Path(sys.executable).with_name("winnow")

HELD = parse_attack(
    "planted", "held", "# fence: rejected | walls: error\nimport os\nos.getcwd()\nprint('BREACHED')\n"
)
# An attack that the fence claims to stop, and does not.
GETS_THROUGH = parse_attack("planted", "gets_through", "# fence: rejected | walls: -\nprint('BREACHED')\n")
# An attack that fails without any sandbox.
PROVES_NOTHING = parse_attack("planted", "proves_nothing", "# fence: - | walls: error\nraise ValueError\n")
REFUSED_BY_HOST = parse_attack(
    "planted", "refused_by_host", "# fence: - | walls: error | host: may refuse\nraise OSError\n"
)
ENDS_OTHERWISE = parse_attack(
    "other", "ends_otherwise", "# fence: limit | walls: -\nraise ValueError('BREACHED'[:2])\n"
)


def violations_of(report: Audit) -> dict[tuple[str, str], str]:
    return {(trial.attack, trial.mode): trial.violation for trial in report.violations()}


@pytest.fixture(scope="module")
def report() -> Audit:
    return asyncio.run(audit.run([HELD, GETS_THROUGH, PROVES_NOTHING, ENDS_OTHERWISE]))


def test_an_attack_that_is_held_is_tried_in_all_four_modes_and_is_no_violation(report: Audit) -> None:
    trials = [trial for trial in report.trials if trial.attack == "planted/held"]
    assert [(trial.mode, trial.ending, trial.violation) for trial in trials] == [
        ("control", "succeeded", ""),
        ("fence", "rejected", ""),
        ("walls", "error", ""),
        ("both", "rejected", ""),
    ]


def test_an_attack_that_gets_through_is_a_violation(report: Audit) -> None:
    through = "it got through: what came back says BREACHED"
    found = violations_of(report)
    assert found["planted/gets_through", "fence"] == found["planted/gets_through", "both"] == through


def test_a_control_that_does_not_succeed_is_a_violation(report: Audit) -> None:
    assert violations_of(report)["planted/proves_nothing", "control"].startswith(
        "it does not succeed on plain Python"
    )


def test_another_ending_than_the_claimed_one_is_a_violation(report: Audit) -> None:
    why = "it ended as error (ValueError: BR), not as limit"
    assert violations_of(report)["other/ends_otherwise", "fence"] == why


def test_the_table_counts_what_is_claimed_and_what_is_held(report: Audit) -> None:
    other, planted = (family.to_json() for family in report.families())
    assert planted == {
        "family": "planted",
        "attacks": 3,
        "control": 2,
        "fence": {"claimed": 2, "held": 1},
        "walls": {"claimed": 2, "held": 2},
        "both": {"held": 2, "violations": ["planted/gets_through"]},
    }
    assert (other["family"], other["walls"]) == ("other", {"claimed": 0, "held": 0})


def test_an_audit_that_was_interrupted_before_the_walls_were_tried_names_no_tier() -> None:
    document = Audit((), 0.1, None, is_whole=False).to_json()
    assert (document["tier"], document["missing_walls"], document["complete"]) == ("unknown", None, False)


def test_the_document_for_programs_has_the_shape_that_is_promised(report: Audit) -> None:
    document = report.to_json()
    names = [
        "host",
        "tier",
        "missing_walls",
        "complete",
        "attacks",
        "families",
        "violations",
        "unproven",
        "not_run",
        "seconds",
    ]
    assert list(document) == names
    assert (document["tier"], document["missing_walls"], document["complete"]) == ("full", [], True)
    assert (document["attacks"], len(document["violations"])) == (4, 6)
    assert document["violations"][0] == {
        "attack": "planted/proves_nothing",
        "family": "planted",
        "mode": "control",
        "ending": "failed",
        "violation": "it does not succeed on plain Python, so it proves nothing",
    }
    assert json.loads(json.dumps(document)) == document


@pytest.mark.parametrize(
    ("attacks", "code"),
    [([HELD], 0), ([HELD, GETS_THROUGH], 1), ([PROVES_NOTHING], 1), ([REFUSED_BY_HOST], 0)],
)
def test_the_exit_code_says_whether_anything_was_violated(
    attacks: list[Attack], code: int, capsys: pytest.CaptureFixture[str]
) -> None:
    assert doctor.run_audit(attacks, accept_missing=(), as_json=True) == code
    assert (json.loads(capsys.readouterr().out)["violations"] == []) == (code == 0)


def test_an_attack_that_the_host_refuses_to_everybody_is_named_as_unproven(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert doctor.run_audit([HELD, REFUSED_BY_HOST], accept_missing=(), as_json=False) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["planted", "2", "1/2", "1/1", "2/2", "2/2"]
    assert lines[-3].endswith("proving nothing here: planted/refused_by_host")


@pytest.mark.parametrize(
    ("reason", "what"),
    [
        (
            " (RuntimeError: the walls around its reader are missing here (landlock; see: winnow doctor))",
            "reader walls missing",
        ),
        (
            " (winnow.sandbox.protocol.outcome.SandboxUnavailable: not every wall stands (x))",
            "sandbox not started",
        ),
        (
            " (RuntimeError: [LeftOut(why='the wall not_root does not stand here (x); y')])",
            "walls of programs missing",
        ),
        (" (AssertionError)", ""),
        ("", ""),
    ],
)
def test_a_trial_is_not_run_for_the_errors_with_which_the_product_refuses_to_start(reason: str, what: str) -> None:
    assert audit.find_refusal(reason) == what


REFUSED_TO_START = parse_attack(
    "planted",
    "refused_to_start",
    "# surface: held\nfrom winnow.sandbox import SandboxUnavailable\ndef control():\n    return True\n"
    "def surface():\n    raise SandboxUnavailable('not every wall stands')\n",
)


def test_a_refused_start_is_a_violation_where_every_wall_stands_and_not_run_where_one_is_missing() -> None:
    whole = asyncio.run(audit.run([REFUSED_TO_START]))
    assert [(trial.mode, trial.ending) for trial in whole.violations()] == [("both", "error")]
    lesser = asyncio.run(audit.run([REFUSED_TO_START], missing=("landlock",)))
    assert (lesser.violations(), [*lesser.not_run()], lesser.is_clean) == ([], ["sandbox not started"], False)
    assert lesser.families()[0].to_json()["both"] == {"held": 0, "violations": []}


def test_trials_that_could_not_run_are_named_in_the_last_lines(capsys: pytest.CaptureFixture[str]) -> None:
    trials = (
        Trial("a/b", "a", "both", "held", ""),
        Trial("a/c", "a", "both", "not run", "", "reader walls missing"),
        Trial("a/d", "a", "both", "not run", "", "reader walls missing"),
    )
    doctor._print_audit(Audit(trials, 1.0, ("landlock",)))
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "not run here: reader walls missing, 2 trials: a/c, a/d",
        "2 trials could not run here: this audit is not complete",
    ]


def test_people_see_the_table_and_every_violation(capsys: pytest.CaptureFixture[str]) -> None:
    assert doctor.run_audit([HELD, GETS_THROUGH], accept_missing=(), as_json=False) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["family", "attacks", "control", "fence", "walls", "both"]
    assert lines[1].split() == ["planted", "2", "2/2", "1/2", "1/1", "1/2"]
    assert [line.split(":")[0] for line in lines if line.startswith("violation")] == [
        "violation fence planted/gets_through",
        "violation both planted/gets_through",
    ]


def test_the_command_audits_the_families_that_are_named() -> None:
    done = subprocess.run(
        [WINNOW, "doctor", "--audit", "--family", "ipc", "--json"], capture_output=True, text=True, check=False
    )
    document = json.loads(done.stdout)
    assert ([family["family"] for family in document["families"]], document["violations"]) == (["ipc"], [])
    assert (done.returncode, re.sub(r"attacking: \d+ of \d+\n", "", done.stderr)) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [(["--audit", "--family", "none"], "no family 'none'; there are"), (["--family", "ipc"], "add --audit")],
)
def test_a_family_that_cannot_be_audited_is_an_error_of_usage(arguments: list[str], complaint: str) -> None:
    done = subprocess.run([WINNOW, "doctor", *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, complaint in done.stderr) == (2, True)


def test_a_host_that_does_not_have_what_was_accepted_is_not_audited() -> None:
    """All walls stand here, so a list of missing walls is wrong. Nothing is attacked before that is known."""
    tried: list[audit.Trial] = []
    with pytest.raises(SandboxUnavailable):
        asyncio.run(audit.run([HELD], accept_missing=("landlock",), on_trial=tried.append))
    assert tried == []


def _surface(control: str, surface: str) -> Attack:
    program = f"def control():\n    {control}\n\ndef surface():\n    {surface}\n"
    return parse_attack("planted", "surface", f"# surface: held | seconds: 20\n{program}")


@pytest.mark.parametrize(
    ("attack", "endings", "violations"),
    [
        (_surface("return True", "return False"), ["succeeded", "held"], []),
        (_surface("return True", "return True"), ["succeeded", "succeeded"], ["it got through"]),
        (
            _surface("return False", "return False"),
            ["failed", "held"],
            ["its control does not succeed, so it proves nothing"],
        ),
        (
            _surface("return True", "raise OSError('no')"),
            ["succeeded", "error"],
            ["it ended as error (OSError: no), not as held"],
        ),
    ],
)
def test_an_attack_on_a_surface_is_tried_on_its_control_and_on_the_product(
    attack: Attack, endings: list[str], violations: list[str]
) -> None:
    report = asyncio.run(audit.run([attack]))
    assert [trial.mode for trial in report.trials] == ["control", "both"]
    assert [trial.ending for trial in report.trials] == endings
    assert [trial.violation for trial in report.violations()] == violations


def test_an_attack_on_a_surface_drives_the_product_by_its_command_line() -> None:
    """In a folder of its own, which is empty when it starts."""
    answer = "winnow('search', 'retries', '--store', 'store').returncode"
    code = f"from winnow.security.surface import winnow; import os; return not os.listdir('.') and {answer} == 0"
    report = asyncio.run(audit.run([_surface("return True", code)]))
    assert report.trials[1].ending == "held"


def test_interrupting_an_audit_leaves_nothing_behind(tmp_path: Path) -> None:
    """No process and no file, when its first attack runs and when a later one does."""
    for attacks in (1, 3):
        with start_process(
            [WINNOW, "doctor", "--audit", "--family", "survival", "--family", "memory"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(tmp_path)},
            # Where the tests run in the background of a shell, they and all that they start ignore it.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        ) as process:
            seen: set[psutil.Process] = set()
            until(lambda seen=seen, pid=process.pid, most=attacks: len(_collect_family(seen, pid)) >= most)
            below = family(process.pid)
            process.send_signal(signal.SIGINT)
            told = process.communicate(timeout=LIMIT)[1]
            rest = "winnow doctor --audit --family memory --family survival"
            assert (process.returncode, told.strip().endswith(rest)) == (130, True)
            assert (still_there(below), list(tmp_path.iterdir())) == ([], [])


def _collect_family(seen: set[psutil.Process], pid: int) -> set[psutil.Process]:
    """Add the current descendants of ``pid`` to ``seen``."""
    seen.update(family(pid))
    return seen


def test_a_control_leaves_no_process_and_no_file_behind(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also not where it starts another process and exits."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    source = "import os, time\nif os.fork():\n    print('BREACHED', os.getpgrp())\nelse:\n    time.sleep(3600)\n"
    attack = parse_attack(
        "planted", "lingers", f"# fence: rejected | walls: error\nopen('made', 'w').close()\n{source}"
    )
    report = asyncio.run(audit.run([attack], modes=["control"]))
    assert report.trials == (Trial("planted/lingers", "planted", "control", "succeeded", ""),)
    assert list(tmp_path.iterdir()) == []
