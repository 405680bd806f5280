"""Access to the interpreter and the checkout where a parent folder is closed to users other than root."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path
from types import ModuleType

import pytest

from tests.patience import LIMIT

PROGRAM = Path(__file__).parents[1] / "everybody.py"


@pytest.fixture(scope="module")
def everybody() -> ModuleType:
    """The program, as a module."""
    spec = importlib.util.spec_from_file_location("everybody", PROGRAM)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_paths_behind_one_closed_folder_are_opened_together(everybody: ModuleType, tmp_path: Path) -> None:
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


def test_no_test_is_in_two_of_the_parts_that_run_once(everybody: ModuleType) -> None:
    root = PROGRAM.parents[1]
    parts = (everybody._ROOT_ALONE, everybody._ORDINARY_ALONE, everybody._BESIDE)
    files = [path for names in parts for name in names for path in root.glob(name)]
    assert sorted(files) == sorted(set(files))
    assert [name for names in parts for name in names if not list(root.glob(name))] == []


def test_each_part_leaves_out_what_another_has_and_what_is_rare(everybody: ModuleType) -> None:
    root = PROGRAM.parents[1]
    rare = {Path(name) for name in everybody._files_of(everybody._RARE)}
    all_files = {path.relative_to(root) for path in root.glob("tests/*/test_*.py")} - rare
    assert [name for name in everybody._RARE if not list(root.glob(name))] == []
    runs = [
        {path for path in all_files | rare if not any(_matches(path, name) for name in left_out)}
        for left_out in everybody.LEFT_OUT.values()
    ]
    by_root, by_ordinary, beside = runs
    assert by_root | by_ordinary | beside == all_files
    assert beside & (by_root | by_ordinary) == set()
    assert Path("tests/walls/test_sandbox_walls.py") in by_root & by_ordinary


def _matches(path: Path, name: str) -> bool:
    """As pytest ignores: the path itself, or a folder above it."""
    return any(fnmatch(str(each), name) for each in (path, *path.parents))


@pytest.mark.parametrize(
    ("codes", "joined"), [([0, 0, 0], 0), ([0, 1, 0], 1), ([0, 5, 0], 0), ([5, 2, 0], 2), ([5, 5, 5], 5)]
)
def test_one_run_that_fails_fails_all_and_one_without_tests_does_not(
    everybody: ModuleType, codes: list[int], joined: int
) -> None:
    assert everybody._join_codes(codes) == joined


@pytest.mark.parametrize(
    ("codes", "failures", "repeated"),
    [
        ([0, 0, 0], [[], [], []], False),
        ([1, 0, 1], [["a"], [], ["b", "c"]], True),
        ([1, 0, 1], [["a", "d"], [], ["b", "c"]], False),
        ([1, 2, 0], [["a"], [], []], False),
        ([1, 5, 0], [["a"], [], []], True),
    ],
)
def test_few_tests_that_failed_are_run_again_unless_more_went_wrong(
    everybody: ModuleType, codes: list[int], failures: list[list[str]], repeated: bool
) -> None:
    assert everybody._may_be_repeated(codes, failures) == repeated


def test_failures_are_read_from_the_record_that_pytest_writes(everybody: ModuleType, tmp_path: Path) -> None:
    red = tmp_path / "test_red.py"
    red.write_text("def test_red(): assert False\ndef test_green(): pass\n", "utf-8")
    command = [sys.executable, "-m", "pytest", "-q", *everybody._cache_in(tmp_path), "--rootdir", tmp_path, red]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, timeout=LIMIT)
    assert (done.returncode, everybody._read_failures(tmp_path)) == (1, ["test_red.py::test_red"])
    assert everybody._read_failures(tmp_path / "none") == []
