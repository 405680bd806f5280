"""Access to the interpreter and the checkout where a parent folder is closed to users other than root."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

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


def test_every_test_is_run_by_one_of_the_two_at_least(everybody: ModuleType) -> None:
    root = PROGRAM.parents[1]
    alone = [
        {path for name in names for path in root.glob(name)}
        for names in (everybody._ROOT_ALONE, everybody._ORDINARY_ALONE)
    ]
    missing = [name for name in (*everybody._ROOT_ALONE, *everybody._ORDINARY_ALONE) if not list(root.glob(name))]
    assert (alone[0] & alone[1], missing) == (set(), [])
