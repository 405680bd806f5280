"""Which tests run as which user, how processes share them, and access to what is behind a closed folder."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import everybody, file_queue
from tests.patience import LIMIT

pytestmark = pytest.mark.both_users

PROGRAM = Path(__file__).parents[1] / "everybody.py"


def test_paths_behind_one_closed_folder_are_opened_together(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    shut = tmp_path / "shut"
    kept = [shut / "python" / "3", shut / "checkout"]
    for path in (*kept, tmp_path / "open"):
        path.mkdir(parents=True)
    shut.chmod(0o700)
    before = dict(everybody.closed_folders([tmp_path / "open"]))
    found = dict(everybody.closed_folders([*kept, tmp_path / "open"]))
    outermost = next(iter(before), shut)  # temporary folders may be closed to others
    assert found == {outermost: [*kept, *before.get(outermost, [])]}


@pytest.mark.parametrize(
    ("text", "marks"),
    [
        ("pytestmark = pytest.mark.both_users\n", {"both_users"}),
        ("import x\n\npytestmark = [\n    pytest.mark.walls,\n    pytest.mark.as_root,\n]\nX = 1\n", {"as_root"}),
        ("pytestmark = pytest.mark.anyio\n\n\n@pytest.mark.both_users\ndef test_x(): ...\n", set()),
        ("# pytestmark = pytest.mark.both_users\n", set()),
        ("", set()),
    ],
)
def test_a_module_says_as_whom_it_runs(text: str, marks: set[str]) -> None:
    assert everybody.read_marks(text) == marks


def test_each_file_that_is_not_rare_runs_and_those_of_the_sandbox_as_both_users() -> None:
    root = PROGRAM.parents[1]
    rare = everybody._files_of(everybody._RARE)
    users = everybody._files_of_users()
    assert [name for name in everybody._RARE if not list(root.glob(name))] == []
    assert users["root"] | users["ordinary"] == everybody._files_of(["tests"]) - rare
    assert "tests/walls/test_sandbox_walls.py" in users["root"] & users["ordinary"]
    assert "tests/walls/test_surface_attacks.py" in users["root"] - users["ordinary"]
    assert "tests/unit/test_quotes.py" in users["ordinary"] - users["root"]


def test_marks_of_users_are_those_of_modules() -> None:
    """A mark elsewhere would say nothing: files are given to users, and before they are imported."""
    marked = {
        str(file.relative_to(PROGRAM.parents[1]))
        for file in PROGRAM.parent.rglob("test_*.py")
        if re.search(r"^[^\"'#]*\bmark\.(both_users|as_root)\b", file.read_text("utf-8"), re.MULTILINE)
    }
    users = everybody._files_of_users()
    assert marked == users["root"]


@pytest.mark.parametrize(
    ("codes", "joined"), [([0, 0, 0], 0), ([0, 1, 0], 1), ([0, 5, 0], 0), ([5, 2, 0], 2), ([5, 5, 5], 5)]
)
def test_one_run_that_fails_fails_all_and_one_without_tests_does_not(codes: list[int], joined: int) -> None:
    assert everybody._join_codes(codes) == joined


def test_what_failed_is_said_with_the_first_line_of_its_reason(tmp_path: Path) -> None:
    lines = (
        "ERROR    root:x.py:3 a log",
        "FAILED tests/a.py::test_a[x] - ValueError: one",
        "two",
        "1 failed in 1s",
    )
    (tmp_path / "output").write_text("\n".join(lines), "utf-8")
    found = everybody.Worker(0, "root", tmp_path).find_failures()
    assert found == ["FAILED tests/a.py::test_a[x] - ValueError: one (root)"]


def test_processes_that_share_a_queue_run_each_file_once_and_record_it(tmp_path: Path) -> None:
    """Fixtures of a session live as long as the process, those of a module as long as its file."""
    conftest = """
import pytest
@pytest.fixture(scope="session")
def made():
    yield []
    print("end of the session")
"""
    test = """
import pytest
@pytest.fixture(scope="module")
def own(made):
    made.append(__name__)
    yield made
    print(f"end of {__name__}")
def test_first(own): assert len(own) == LENGTH
def test_second(own): assert True
"""
    own = tmp_path / "own"
    own.mkdir()
    (own / "conftest.py").write_text(conftest, "utf-8")
    for number, name in enumerate(("test_c.py", "test_a.py"), 1):
        (own / name).write_text(test.replace("LENGTH", str(number)), "utf-8")
    (own / "test_b.py").write_text("def test_red(): assert False\n", "utf-8")
    (own / "test_d.py").write_text("no test", "utf-8")
    (tmp_path / "queue").mkdir()
    files = [f"own/{name}.py" for name in ("test_c", "test_a", "test_b", "test_d")]
    file_queue.write_queue(tmp_path / "queue", "anyone", files)
    (tmp_path / "queue" / "anyone" / "test_taken.py").touch()  # by another process
    first = _take_files(tmp_path)
    ran = file_queue.read_claims(tmp_path / "queue", "anyone")
    assert first.returncode == 1
    assert ran.pop("test_taken.py") is None
    assert {file: (one.tests, one.failed) for file, one in ran.items() if one} == {
        "own/test_c.py": (2, 0),
        "own/test_a.py": (2, 0),
        "own/test_b.py": (1, 1),
        "own/test_d.py": (0, 1),
    }
    ends = [line for line in first.stdout.splitlines() if "end of" in line]
    assert [end.rpartition(" ")[2] for end in ends] == ["test_c", "test_a", "session"]
    assert _take_files(tmp_path).returncode == everybody._NOTHING_COLLECTED


def _take_files(folder: Path) -> subprocess.CompletedProcess[str]:
    queue = f"--queue={folder / 'queue' / 'anyone'}.json"
    command = [sys.executable, "-m", "pytest", "-q", "-s", "-p", "tests.file_queue", "--rootdir", folder, queue]
    paths = os.pathsep.join([str(PROGRAM.parents[1]), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": paths}
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=LIMIT, env=environment, check=False
    )
