"""The build of everything that is published, by the programs that it is for.

Where a program of others or a registry cannot be had, its tests are skipped, and say so.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import jsonschema
import pytest
from mcp import Client, StdioServerParameters

from distribution.building import NOT_PACKED, build_all
from distribution.facts import ROOT, read_facts
from tests.patience import LIMIT

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

FACTS = read_facts()
MCPB = "@anthropic-ai/mcpb@2.1.2"
CLAUDE_CODE = "@anthropic-ai/claude-code@2.1.332"
REGISTRY = "github.com/modelcontextprotocol/registry@v1.8.9"
CYCLONEDX = "cyclonedx-python-lib[json-validation]==11.12.0"
UV = "uv==0.13.9"
WHEEL = f"{FACTS.name.replace('-', '_')}-{FACTS.version}-py3-none-any.whl"
BUNDLE = f"{FACTS.name}-{FACTS.version}.mcpb"
TIME = "1700000000"
# As another machine has them: the time of files, and a mask that takes rights away.
_OLD, _MASK = 1_000_000_000, 0o077


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with everything that is published."""
    folder = tmp_path_factory.mktemp("built") / "dist"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOURCE_DATE_EPOCH", TIME)
        build_all(folder)
    return folder


def run(*command: str | Path, folder: Path | None = None, **variables: str) -> str:
    """The output of a command that ends with 0."""
    environment = {**os.environ, **variables}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=LIMIT)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_two_builds_are_the_same_bytes(built: Path, tmp_path: Path) -> None:
    """In another folder, with files of another time and another mask, and at another time of the clock."""
    other = tmp_path / "elsewhere"
    shutil.copytree(ROOT, other, symlinks=True, ignore=shutil.ignore_patterns(*NOT_PACKED))
    for path in other.rglob("*"):
        if not path.is_symlink():
            os.utime(path, (_OLD, _OLD))
            path.chmod(path.stat().st_mode & ~_MASK)
    run(sys.executable, "-m", "distribution", tmp_path / "dist", folder=other, SOURCE_DATE_EPOCH=TIME)
    first, second = (
        {each.name: _digest(each) for each in sorted(place.iterdir())} for place in (built, tmp_path / "dist")
    )
    assert first == second
    assert len(first) == 11


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def test_the_sums_are_those_of_the_files(built: Path) -> None:
    listed = dict(reversed(line.split("  ")) for line in (built / "SHA256SUMS").read_text("utf-8").splitlines())
    assert listed == {path.name: _digest(path) for path in built.iterdir() if path.name != "SHA256SUMS"}


def test_the_wheel_of_the_sdist_has_what_the_wheel_has(built: Path, tmp_path: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    shutil.unpack_archive(sdist, tmp_path, filter="data")
    (source,) = tmp_path.iterdir()
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", tmp_path / "again", source)
    contents = []
    for place in (built, tmp_path / "again"):
        with zipfile.ZipFile(place / WHEEL) as archive:
            contents.append({name: archive.read(name) for name in archive.namelist()})
    assert contents[0] == contents[1]


def test_an_installed_wheel_has_both_commands(built: Path, tmp_path: Path) -> None:
    """In an environment of its own; what winnow needs is that of this one."""
    home = tmp_path / "environment"
    run(sys.executable, "-m", "venv", "--without-pip", home)
    pip = [sys.executable, "-m", "pip", "--python", home / "bin/python", "--quiet", "install", "--no-deps"]
    run(*pip, "--no-index", built / WHEEL)
    (packages,) = home.glob("lib/python*/site-packages")
    (packages / "needed.pth").write_text(f"{Path(pytest.__file__).parents[1]}\n", "utf-8")
    assert run(home / "bin/winnow", "--version") == f"winnow {FACTS.version}\n"
    assert run(home / "bin" / FACTS.name, "--help").startswith("winnow: agents take only the grain")
    place = run(home / "bin/python", "-c", "import winnow; print(winnow.__file__)", folder=tmp_path)
    assert place.startswith(str(packages))


# --- programs of others -------------------------------------------------------------------------------------


def npm_program(package: str) -> str:
    """The search path on which npx keeps this package's programs; skips the test where it cannot be had."""
    if shutil.which("npx") is None:
        pytest.skip(f"{package} needs npx, and there is none here")
    fetch = ["npx", "-y", "-p", package, "-c", 'echo "$PATH"']
    fetched = subprocess.run(fetch, capture_output=True, text=True, timeout=LIMIT, check=False)
    if fetched.returncode:
        pytest.skip(f"{package} cannot be had here: {(fetched.stderr.strip().splitlines() or ['?'])[-1]}")
    return fetched.stdout.strip()


def environment_with(folder: Path, requirement: str) -> Path:
    """The programs of a new environment with this distribution; skips the test where it cannot be had."""
    run(sys.executable, "-m", "venv", "--without-pip", folder)
    pip = [sys.executable, "-m", "pip", "--python", folder / "bin/python", "--quiet", "--retries", "1"]
    done = subprocess.run([*pip, "install", requirement], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"{requirement} cannot be installed here: {done.stderr.strip().splitlines()[-1]}")
    return folder / "bin"


def test_the_bundle_s_own_program_accepts_its_manifest(built: Path, tmp_path: Path) -> None:
    path = npm_program(MCPB)
    shutil.unpack_archive(built / BUNDLE, tmp_path, "zip")
    told = run("mcpb", "validate", tmp_path / "manifest.json", PATH=path)
    assert "Manifest schema validation passes!" in told


def test_claude_code_accepts_the_plugin_and_the_list_of_plugins(tmp_path: Path) -> None:
    """In a home of its own, which has no settings and no account."""
    path = npm_program(CLAUDE_CODE)
    for folder in (ROOT / "plugin", ROOT):
        command = ["claude", "plugin", "validate", folder]
        environment = {"PATH": path, "HOME": str(tmp_path)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
        assert (done.returncode, "Validation passed" in done.stdout) == (0, True), done.stdout + done.stderr


def test_the_registry_s_schema_accepts_the_document(tmp_path: Path) -> None:
    if shutil.which("go") is None:
        pytest.skip(f"{REGISTRY} needs go, and there is none here")
    fetch = ["go", "mod", "download", "-json", REGISTRY]
    fetched = subprocess.run(fetch, cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT, check=False)
    if fetched.returncode:
        pytest.skip(f"{REGISTRY} cannot be had here: {json.loads(fetched.stdout)['Error']}")
    document = json.loads((ROOT / "server.json").read_text("utf-8"))
    version = document["$schema"].split("/")[-2]
    schemas = Path(json.loads(fetched.stdout)["Dir"]) / "internal/validators/schemas"
    schema = json.loads((schemas / f"{version}.json").read_text("utf-8"))
    assert schema["$id"] == document["$schema"]
    jsonschema.validate(document, schema)
    assert version == max(path.stem for path in schemas.glob("*.json"))


CHECK_BILL = """
import sys
from cyclonedx.schema import SchemaVersion
from cyclonedx.validation.json import JsonStrictValidator
print(JsonStrictValidator(SchemaVersion.V1_6).validate_str(open(sys.argv[1]).read()))
"""


def test_cyclonedx_accepts_the_bill_of_materials(built: Path, tmp_path: Path) -> None:
    programs = environment_with(tmp_path / "cyclonedx", CYCLONEDX)
    (bill,) = built.glob("*.cdx.json")
    assert run(programs / "python", "-c", CHECK_BILL, bill) == "None\n"


@pytest.fixture(scope="module")
def uv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with uv and uvx."""
    return environment_with(tmp_path_factory.mktemp("uv") / "environment", UV)


def uv_variables(folder: Path, built: Path) -> dict[str, str]:
    """The variables by which uv finds the wheel and keeps to this interpreter and to folders of the test."""
    places = {
        "HOME": folder,
        "UV_CACHE_DIR": folder / "cache",
        "UV_FIND_LINKS": built,
        "UV_PYTHON": sys.executable,
    }
    return {name: str(place) for name, place in places.items()}


def test_uvx_runs_the_command_by_the_distribution_s_name(uv: Path, built: Path, tmp_path: Path) -> None:
    """As the plugin and the registry's document have it."""
    ((_, server),) = json.loads((ROOT / "plugin/.mcp.json").read_text("utf-8"))["mcpServers"].items()
    command = [uv / server["command"], server["args"][0], "--version"]
    assert run(*command, **uv_variables(tmp_path, built)) == f"winnow {FACTS.version}\n"


@pytest.mark.anyio
async def test_the_bundle_serves_a_client(uv: Path, built: Path, tmp_path: Path) -> None:
    """As a client starts it: uv makes the environment, and a new home has no index yet.

    The home within a default stays as it is written, as the library of mcpb leaves it.
    """
    home, bundle = tmp_path / "home", tmp_path / "bundle"
    home.mkdir()
    shutil.unpack_archive(built / BUNDLE, bundle, "zip")
    manifest = json.loads((bundle / "manifest.json").read_text("utf-8"))
    filled = {f"user_config.{name}": row["default"] for name, row in manifest["user_config"].items()}
    filled |= {"__dirname": str(bundle)}
    started = manifest["server"]["mcp_config"]
    arguments = [_fill(word, filled) for word in started["args"]]
    variables = {**os.environ, **uv_variables(home, built), "WINNOW_DAEMON": "off"}
    server = StdioServerParameters(command=str(uv / started["command"]), args=arguments, env=variables)
    async with Client(server) as client:
        listed = {tool.name for tool in (await client.list_tools()).tools}
        await client.call_tool("kb_documents", {})  # which opens the store
    assert {tool["name"] for tool in manifest["tools"]} - listed <= {"execute_code"}  # where walls are missing
    assert listed & {tool["name"] for tool in manifest["tools"]} != set()
    assert [path.name for path in bundle.iterdir() if "HOME" in path.name] == []
    assert (home / ".local/share/winnow").is_dir()


def _fill(text: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        text = text.replace(f"${{{name}}}", value)
    return text
