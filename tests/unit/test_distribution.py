"""What is published: manifests that agree with the command, pins, the bill of materials and archives."""

from __future__ import annotations

import importlib
import io
import json
import os
import re
import subprocess
import tarfile
import tomllib
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from hypothesis import given
from hypothesis import strategies as st
from packaging.markers import Marker
from packaging.utils import canonicalize_name

from distribution.archives import rewrite_tar, rewrite_zip, write_zip
from distribution.bill import bill_of_materials, licenses_of, reference
from distribution.building import build_time, make_empty, runtime_pins, write_bundle
from distribution.facts import ROOT, USER_OPTIONS, read_facts
from distribution.manifests import (
    ENTRY_POINT,
    bundle_manifest,
    plugin_manifest,
    plugin_servers,
    plugin_skills,
    server_document,
)
from distribution.pins import Pin, needed_pins, read_pins
from winnow.server.commands.serve import app as serve
from winnow.server.settings.settings import default_store

FACTS = read_facts()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
REQUIREMENTS, PINS = runtime_pins(ROOT)
DEPLOYED = sorted((ROOT / "deploy").iterdir())


def serve_options() -> set[str]:
    """The options of ``winnow serve``."""
    return {spelling for parameter in typer.main.get_command(serve).params for spelling in parameter.opts}


def test_the_distribution_s_name_is_a_command_too() -> None:
    """`uvx NAME` and `pipx run NAME` start the command of the distribution's name."""
    scripts = PROJECT["scripts"]
    assert set(scripts) == {"winnow", FACTS.name}
    assert len(set(scripts.values())) == 1


@pytest.mark.parametrize(
    "manifest", [bundle_manifest, server_document, plugin_manifest], ids=lambda each: str(each.__name__)
)
def test_a_manifest_repeats_the_project_s_fields(manifest: Any) -> None:
    document = manifest(FACTS)
    assert (document["version"], document["description"]) == (PROJECT["version"], PROJECT["description"])


def test_every_manifest_starts_serve_with_options_that_there_are() -> None:
    bundle = bundle_manifest(FACTS)["server"]["mcp_config"]
    plugin = plugin_servers(FACTS)["mcpServers"]["winnow"]
    (package,) = server_document(FACTS)["packages"]
    registry = [each.get("name", each.get("value")) for each in package["packageArguments"]]
    assert plugin["args"][:2] == [f"{PROJECT['name']}@{PROJECT['version']}", "serve"]
    assert registry == ["serve", *(option.flag for option in USER_OPTIONS)]
    assert (package["identifier"], package["version"]) == (PROJECT["name"], PROJECT["version"])
    given_flags = {word for word in (*bundle["args"], *plugin["args"], *registry) if word.startswith("--")}
    assert given_flags - serve_options() == {"--directory"}  # uv's own


def test_what_a_user_is_not_asked_for_is_the_default_of_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    store, _ = USER_OPTIONS
    assert store.default.replace("${HOME}", str(Path.home())) == str(default_store())


def test_the_registry_s_rules_for_names_and_texts_hold() -> None:
    """Rules of its schema, which tests/flow/test_distribution.py has, and of its check of the package's page."""
    document = server_document(FACTS)
    assert re.fullmatch(r"[a-zA-Z0-9.-]+/[a-zA-Z0-9._-]+", document["name"])
    assert len(document["description"]) <= 100
    marks = re.findall(r"^<!-- mcp-name: (\S+) -->$", (ROOT / "README.md").read_text("utf-8"), re.MULTILINE)
    assert marks == [document["name"]]


@pytest.mark.parametrize(
    ("name", "is_example"),
    [("com.example/winnow", True), ("com.example.winnow/winnow-mcp", True), ("com.examples/winnow", False)],
)
def test_a_namespace_of_an_example_is_known_as_one(name: str, is_example: bool) -> None:
    assert replace(FACTS, registry_name=name).has_example_name is is_example


# --- pins and the bill of materials -------------------------------------------------------------------------


def test_every_pin_is_of_an_installation_or_of_an_extra() -> None:
    pins = read_pins(ROOT / "constraints.txt")
    build = (ROOT / "build-requirements.txt").read_text("utf-8").splitlines()
    extras = [line for name in ("dev", "eval", "monty") for line in PROJECT["optional-dependencies"][name]]
    others = needed_pins(pins, [*extras, *(line for line in build if not line.startswith("#"))])
    assert set(PINS) | set(others) == set(pins)
    assert {pin.name for pin in PINS} >= {
        canonicalize_name(re.split(r"[^\w.-]", each)[0]) for each in REQUIREMENTS
    }
    assert {"pytest", "mypy", "ruff", "hypothesis"} & {pin.name for pin in PINS} == set()


def test_pins_are_written_as_they_were_read() -> None:
    pins = read_pins(ROOT / "constraints.txt")
    assert "".join(f"{pin.lines()}\n" for pin in pins) == (ROOT / "constraints.txt").read_text("utf-8")


def test_a_line_that_is_no_pin_is_refused(tmp_path: Path) -> None:
    (tmp_path / "pins.txt").write_text("numpy>=2\n", "utf-8")
    with pytest.raises(ValueError, match="not a pin: 'numpy>=2'"):
        read_pins(tmp_path / "pins.txt")


INSTALLED = [pin for pin in PINS if not pin.marker or Marker(pin.marker).evaluate()]


@pytest.mark.parametrize("pin", INSTALLED, ids=lambda pin: str(pin.name))
def test_every_distribution_of_an_installation_has_a_licence_and_digests(pin: Pin) -> None:
    assert licenses_of(pin) != []
    assert pin.hashes != ()


def test_a_licence_is_stated_as_the_metadata_has_it() -> None:
    """The classifier of BSD licences names none of them; a distribution may have several licences."""
    pins = {pin.name: pin for pin in INSTALLED}
    assert licenses_of(pins["cobble"]) == [{"license": {"name": "BSD License"}}]
    assert [row["license"] for row in licenses_of(pins["docutils"])] == [
        {"name": "Public Domain"},
        {"name": "BSD License"},
        {"name": "GNU General Public License (GPL)"},
    ]
    assert licenses_of(replace(pins["docutils"], version="0.1")) == []  # another version may have others


def test_the_bill_of_materials_joins_all_its_parts() -> None:
    bill = bill_of_materials(FACTS, PINS, REQUIREMENTS, 1_700_000_000)
    own, parts = bill["metadata"]["component"]["bom-ref"], [each["bom-ref"] for each in bill["components"]]
    joined = {each["ref"]: each["dependsOn"] for each in bill["dependencies"]}
    assert parts == sorted(set(parts), key=parts.index) == [reference(pin) for pin in PINS]
    assert joined.keys() == {own, *parts}
    reached, waiting = set(), [own]
    while waiting:
        if (one := waiting.pop()) not in reached:
            reached.add(one)
            waiting += joined[one]
    assert reached == {own, *parts}


def test_the_time_in_a_bill_is_that_of_the_build_and_nothing_else_changes() -> None:
    first, second = (bill_of_materials(FACTS, PINS, REQUIREMENTS, seconds) for seconds in (0, 1_700_000_000))
    assert first["metadata"].pop("timestamp") == "1970-01-01T00:00:00Z"
    assert second["metadata"].pop("timestamp") == "2023-11-14T22:13:20Z"
    assert first == second


# --- the bundle and archives --------------------------------------------------------------------------------


def test_the_bundle_has_what_its_manifest_and_its_project_name(tmp_path: Path) -> None:
    wheel = tmp_path / "winnow_mcp-0.0-py3-none-any.whl"
    wheel.write_bytes(b"a wheel")
    write_bundle(tmp_path / "winnow.mcpb", FACTS, wheel, PINS, 1_700_000_000)
    with zipfile.ZipFile(tmp_path / "winnow.mcpb") as bundle:
        files = {name: bundle.read(name) for name in bundle.namelist()}
    manifest, project = json.loads(files["manifest.json"]), tomllib.loads(files["pyproject.toml"].decode())
    assert manifest["server"]["entry_point"] in files
    assert files[project["tool"]["uv"]["sources"][FACTS.name]["path"]] == b"a wheel"
    assert project["project"]["dependencies"] == [f"{FACTS.name}=={FACTS.version}"]
    assert project["tool"]["uv"]["constraint-dependencies"] == [pin.requirement for pin in PINS]
    compile(files[ENTRY_POINT], ENTRY_POINT, "exec")
    assert {"LICENSE", "NOTICE"} <= files.keys()
    named = set(re.findall(r"\$\{user_config\.(\w+)\}", json.dumps(manifest["server"])))
    assert named == manifest["user_config"].keys()


FILES = st.dictionaries(
    st.from_regex(r"[a-z]{1,8}(\.dist-info/[a-z]{1,8})?", fullmatch=True), st.binary(), max_size=8
)


@given(FILES, st.integers(0, 2_000_000_000), st.randoms())
def test_a_zip_file_depends_on_its_contents_alone(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes], seconds: int, order: Any
) -> None:
    folder = tmp_path_factory.mktemp("zip")
    names = list(files)
    order.shuffle(names)
    write_zip(folder / "one", files, seconds)
    with zipfile.ZipFile(folder / "other", "w") as archive:  # as another program writes it
        for name in names:
            archive.writestr(zipfile.ZipInfo(name, (2001, 2, 3, 4, 5, 6)), files[name])
    rewrite_zip(folder / "other", seconds)
    assert (folder / "one").read_bytes() == (folder / "other").read_bytes()
    with zipfile.ZipFile(folder / "one") as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == files


@given(FILES, st.integers(0, 2_000_000_000), st.randoms())
def test_a_tar_file_depends_on_its_contents_alone(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes], seconds: int, order: Any
) -> None:
    folder = tmp_path_factory.mktemp("tar")
    for name in ("one", "other"):
        names = list(files)
        order.shuffle(names)
        with tarfile.open(folder / name, "w:gz") as archive:
            for each in names:
                entry = tarfile.TarInfo(each)
                entry.size, entry.uid, entry.uname = len(files[each]), order.randrange(1_000), f"user-{name}"
                entry.mtime, entry.mode = order.randrange(1_000_000_000), order.choice((0o600, 0o644, 0o664))
                archive.addfile(entry, io.BytesIO(files[each]))
        rewrite_tar(folder / name, seconds)
    assert (folder / "one").read_bytes() == (folder / "other").read_bytes()
    with tarfile.open(folder / "one") as archive:
        assert {entry.name: archive.extractfile(entry).read() for entry in archive} == files  # type: ignore[union-attr]


def test_the_time_of_a_build_is_given_or_that_of_the_commit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert build_time(tmp_path) == 1_700_000_000
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", os.fspath(tmp_path.parent))
    with pytest.raises(RuntimeError, match="set SOURCE_DATE_EPOCH"):
        build_time(tmp_path)
    git = ["git", "-C", os.fspath(tmp_path), "-c", "user.name=a", "-c", "user.email=a@example.com"]
    subprocess.run([*git, "init", "-q"], check=True)
    committed = [*git, "commit", "-q", "--allow-empty", "-m", "first"]
    subprocess.run(committed, env={**os.environ, "GIT_COMMITTER_DATE": "1700000001 +0000"}, check=True)
    assert build_time(tmp_path) == 1_700_000_001
    (tmp_path / "notes.txt").write_text("of this machine", "utf-8")
    with pytest.raises(RuntimeError, match=r"differ from the commit.*\n\?\? notes\.txt"):
        build_time(tmp_path)


def test_a_build_takes_the_place_of_a_build_alone(tmp_path: Path) -> None:
    target = tmp_path / "dist"
    make_empty(target)
    (target / "mine.txt").write_text("kept", "utf-8")
    with pytest.raises(RuntimeError, match="delete it, or name another"):
        make_empty(target)
    assert [path.name for path in target.iterdir()] == ["mine.txt"]
    (target / "SHA256SUMS").write_text("", "utf-8")
    make_empty(target)
    assert list(target.iterdir()) == []


# --- examples for operators ---------------------------------------------------------------------------------


@pytest.mark.parametrize("file", DEPLOYED, ids=lambda file: str(file.name))
def test_a_file_for_operators_is_shown_on_one_page_as_it_is(file: Path) -> None:
    shown = [
        page.name
        for page in (ROOT / "docs").glob("*.md")
        if f"\n{file.read_text('utf-8')}```\n" in page.read_text("utf-8")
    ]
    assert len(shown) == 1


def test_the_image_takes_files_that_a_build_writes_and_commands_that_there_are() -> None:
    text = (ROOT / "deploy/Containerfile").read_text("utf-8")
    assert re.findall(r"^COPY (.*) /opt/winnow/$", text, re.MULTILINE) == ["requirements.txt winnow_mcp-*.whl"]
    variables = set(re.findall(r"\bWINNOW_(\w+)=", text))
    assert {name.lower() for name in variables} - importlib.import_module(
        "winnow.server.settings.settings"
    ).Settings.model_fields.keys() == set()
    assert re.findall(r"^RUN winnow (.*)$", text, re.MULTILINE) == ["model install"]


def test_the_service_of_compose_uses_options_secrets_and_volumes_that_there_are() -> None:
    document = yaml.safe_load((ROOT / "deploy/compose.yaml").read_text("utf-8"))
    (service,) = document["services"].values()
    words = service["command"].split()
    assert {word for word in words if word.startswith("--")} - serve_options() == set()
    assert {word.removeprefix("/run/secrets/") for word in words if word.startswith("/run/secrets/")} == set(
        service["secrets"]
    )
    assert set(service["secrets"]) == document["secrets"].keys()
    named = {volume.partition(":")[0] for volume in service["volumes"] if not volume.startswith((".", "/"))}
    assert named == document["volumes"].keys()


def test_the_plugin_has_the_agent_skills_and_no_other_file() -> None:
    """``python docs/generate.py`` writes them; a file of a skill that went has to be removed."""
    folder = ROOT / "plugin" / "skills"
    there = {str(path.relative_to(ROOT)) for path in folder.rglob("*") if path.is_file()}
    assert there == {*plugin_skills()}
