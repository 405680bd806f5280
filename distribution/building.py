"""The build: everything that is published, into one folder, with its digests.

Two builds of one commit are the same bytes. The time inside is ``SOURCE_DATE_EPOCH``, or that of the commit.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path

from distribution.archives import rewrite_tar, rewrite_zip, write_zip
from distribution.bill import bill_of_materials
from distribution.facts import ROOT, Facts, read_facts
from distribution.manifests import ENTRY_POINT, as_text, bundle_manifest, bundle_program, bundle_project
from distribution.pins import Pin, needed_pins, read_pins
from winnow.server.commands.shell.command_tree import read_tree
from winnow.server.commands.shell.completion_scripts import SCRIPTS
from winnow.server.commands.shell.man_page import man_page

# Left out of the copy from which archives are built.
NOT_PACKED = (".venv", ".git", "build", "dist", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis")
_TIME = "SOURCE_DATE_EPOCH"
_SUMS = "SHA256SUMS"
# Packed beside the program; the bundle is a distribution of its own.
_NOTICES = ("LICENSE", "NOTICE")


def build_all(target: Path, root: Path = ROOT) -> list[Path]:
    """Build everything into a folder, in place of an earlier build; return the files."""
    seconds, facts = build_time(root), read_facts(root)
    make_empty(target)
    wheel = build_archives(target, root, seconds)
    requirements, pins = runtime_pins(root)
    write_bundle(target / f"{facts.name}-{facts.version}.mcpb", facts, wheel, pins, seconds)
    for name, text in _texts(facts, pins, requirements, seconds).items():
        (target / name).write_text(text, "utf-8")
    shutil.copy(root / "server.json", target)
    (target / _SUMS).write_text("".join(_sums(target)), "utf-8")
    return sorted(target.iterdir())


def make_empty(target: Path) -> None:
    """Make the folder, without an earlier build. RuntimeError where it has anything else, which nobody loses."""
    if target.exists() and any(target.iterdir()):
        if not (target / _SUMS).exists():
            raise RuntimeError(
                f"{target} has files, and no {_SUMS} of an earlier build: delete it, or name another"
            )
        shutil.rmtree(target)
    target.mkdir(parents=True, exist_ok=True)


def build_time(root: Path) -> int:
    """The time of the build. RuntimeError where neither the variable nor a commit of these very files gives it."""
    if given := os.environ.get(_TIME):
        return int(given)
    asked = _git(root, "log", "-1", "--format=%ct")
    if asked.returncode:
        raise RuntimeError(f"this is no clone with a commit: set {_TIME} to the time of the build")
    if changed := _git(root, "status", "--porcelain").stdout:
        raise RuntimeError(f"files differ from the commit: commit them, or set {_TIME} to pack them:\n{changed}")
    return int(asked.stdout)


def _git(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(root), *words], capture_output=True, text=True, check=False)


def build_archives(target: Path, root: Path, seconds: int) -> Path:
    """Build the wheel and the sdist from a copy of the tree, without a network; return the wheel."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder) / "source"
        shutil.copytree(root, source, symlinks=True, ignore=shutil.ignore_patterns(*NOT_PACKED))
        command = [sys.executable, "-m", "build", "--no-isolation", "--sdist", "--wheel", "--outdir"]
        command += [str(target), str(source)]
        done = subprocess.run(command, env={**os.environ, _TIME: str(seconds)}, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"the build failed:\n{done.stdout}{done.stderr}")
    (wheel,), (sdist,) = target.glob("*.whl"), target.glob("*.tar.gz")
    rewrite_zip(wheel, seconds)
    rewrite_tar(sdist, seconds)
    return wheel


def runtime_pins(root: Path) -> tuple[list[str], tuple[Pin, ...]]:
    """The dependencies of an installation without extras, and the pins that they lead to."""
    requirements = tomllib.loads((root / "pyproject.toml").read_text("utf-8"))["project"]["dependencies"]
    return requirements, needed_pins(read_pins(root / "constraints.txt"), requirements)


def write_bundle(target: Path, facts: Facts, wheel: Path, pins: tuple[Pin, ...], seconds: int) -> None:
    """Write the MCPB bundle: manifest, program, project and wheel."""
    texts = {
        "manifest.json": as_text(bundle_manifest(facts)),
        "pyproject.toml": bundle_project(facts, wheel.name, (pin.requirement for pin in pins)),
        ENTRY_POINT: bundle_program(),
    }
    notices = {name: (ROOT / name).read_bytes() for name in _NOTICES}
    files = {name: text.encode() for name, text in texts.items()}
    write_zip(target, {**files, **notices, wheel.name: wheel.read_bytes()}, seconds)


def _texts(facts: Facts, pins: tuple[Pin, ...], requirements: list[str], seconds: int) -> Mapping[str, str]:
    tree = read_tree()
    return {
        "requirements.txt": "".join(f"{pin.lines()}\n" for pin in pins),
        f"{facts.name}-{facts.version}.cdx.json": as_text(bill_of_materials(facts, pins, requirements, seconds)),
        "winnow.1": man_page(tree, facts.version),
        **{f"winnow.{shell}": script(tree) for shell, script in SCRIPTS.items()},
    }


def _sums(folder: Path) -> Iterator[str]:
    for path in sorted(folder.iterdir()):
        yield f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n"
