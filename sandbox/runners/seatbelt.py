"""CPython behind the walls of macOS: its Seatbelt and its limits. Written, and not yet seen to hold on a Mac.

That is why an operator must choose it by name. Nothing is taken on trust even then: every wall is tried at the
start, alone and against a child without it, and where one does not hold, no script runs. Tests on Linux cover all
but the system's own answers: the launch, the choice, the trials, and the refusal.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import RestrictedPython  # the child's; here only to know where it lives

from sandbox.protocol.limits import Layers, Limits

from . import child_process
from .child_process import ClaimedWall, Program, Spawner

_REPORT = "please report this host: macOS grants this everywhere"
CLAIMS = (
    ClaimedWall("ordinary_user", "the sandbox runs as an ordinary user", "run the server as an ordinary user"),
    ClaimedWall("descriptors", "one descriptor to speak on", _REPORT),
    ClaimedWall("cpu_limit", "CPU time is bounded", _REPORT),
    ClaimedWall("file_limits", "nothing is written or dumped", _REPORT),
    ClaimedWall("process_limit", "no further process", "run the server as an ordinary user"),
    ClaimedWall("descriptor_limit", "no further descriptor of any kind", _REPORT),
    ClaimedWall("seatbelt", "no files, network, processes or services", "Seatbelt is part of macOS; leave the "
          "setting `sandbox` at auto"),
)  # fmt: skip
NAMES = tuple(claim.name for claim in CLAIMS)


def program(layers: Layers) -> Program:
    """How a child is executed."""
    homes = dict.fromkeys(
        (str(Path(__file__).resolve().parents[2]), str(Path(RestrictedPython.__file__).resolve().parents[1]))
    )
    options = {"fence": layers.fence, "raised": NAMES if layers.walls else ()}
    return Program("sandbox.child.seatbelt_child", tuple(homes), options)


async def start(limits: Limits, layers: Layers) -> Spawner:
    """Try every wall, then be ready to start children."""
    child = program(layers)
    if not layers.walls:
        return Spawner(child, await child_process.trial(child, limits), ())
    tries = [(), *((name,) for name in NAMES), NAMES]
    bare, *alone, behind_all = await asyncio.gather(
        *(child_process.trial(child, limits, raised=each) for each in tries)
    )
    found = {name: _verdict(name, bare, single) for name, single in zip(NAMES, alone, strict=True)}
    engine = Spawner(child, behind_all, child_process.reports(CLAIMS, found))
    engine.breaches = tuple(behind_all["found"]["seatbelt"][1]) if "seatbelt" in behind_all["raised"] else ()
    return engine


def _verdict(name: str, bare: Mapping[str, Any], single: Mapping[str, Any]) -> tuple[bool, str]:
    """What a wall's attempts did without any wall, and behind it alone."""
    if name not in single["raised"]:
        return False, single["found"][name][0] or "it could not be raised"
    through = single["found"][name][1]
    if through:
        return False, f"what it forbids still works: {', '.join(through)}"
    control = bare["found"][name][1]
    return True, "what it forbids was tried and refused" + ("" if control else ", here even without it")
