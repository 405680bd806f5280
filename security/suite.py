"""The attacks of ``security/attacks`` as data, and how to run one of them against a half of the sandbox or none.

An attack is a small program that prints BREACHED when it got what it wanted. Its first line says how it must end
behind each half alone::

    # fence: rejected | walls: error/crashed

On plain Python every one of them must succeed: an attack that fails there proves nothing about the sandbox.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from sandbox import Layers, Outcome, Sandbox

HERE = Path(__file__).parent / "attacks"
BREACHED = "BREACHED"

# The halves of the sandbox, by the name that an attack's first line gives them.
HALVES = {"fence": Layers(fence=True, walls=False), "walls": Layers(fence=False, walls=True)}


@dataclass(frozen=True, slots=True)
class Attack:
    """One program: its family, its name, and the ways it may end behind each half."""

    family: str
    name: str
    source: str
    verdicts: dict[str, tuple[str, ...]]

    def __str__(self) -> str:
        return f"{self.family}/{self.name}"


def attacks() -> Iterator[Attack]:
    """All of them, by family and name."""
    for path in sorted(HERE.glob("*/*.py")):
        source = path.read_text(encoding="utf-8")
        yield Attack(path.parent.name, path.stem, source, _verdicts(source.partition("\n")[0]))


def _verdicts(first_line: str) -> dict[str, tuple[str, ...]]:
    parts = (part.split(":") for part in first_line.lstrip("# ").split("|"))
    return {half.strip(): tuple(endings.strip().split("/")) for half, endings in parts}


def breached(outcome: Outcome) -> bool:
    """Whether the attack got through; what a script printed before it failed counts as well."""
    return BREACHED in outcome.stdout or BREACHED in str(outcome.result)


async def run(attack: Attack, sandbox: Sandbox) -> Outcome:
    """Run one attack in a sandbox."""
    return await sandbox.run(attack.source)


def succeeds_on_plain_python(attack: Attack) -> bool:
    """The positive control: does it work where nothing stops it?"""
    done = subprocess.run(
        [sys.executable, "-I", "-B", "-c", _CONTROL.format(paths=sys.path, source=attack.source)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    return BREACHED in done.stdout


# The SDK is importable in scripts; nothing else is added to plain Python.
_CONTROL = """
import sys
sys.path[:] = {paths!r}
exec(compile({source!r}, '<attack>', 'exec'), {{'__name__': '__main__'}})
"""
