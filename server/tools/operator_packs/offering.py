"""Which tool packs a server offers now: usable ones whose walls stand here, and that kept their contract."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from winnow.sandbox.runners.programs import try_program_walls
from winnow.server.runtime.logs import log
from winnow.server.runtime.operator_files import LeftOut
from winnow.server.tools.operator_packs.contract_violations import MOST, ContractViolations
from winnow.server.tools.operator_packs.pack_files import find_closed, state_of
from winnow.server.tools.operator_packs.reading import ToolPacks, load_packs
from winnow.server.tools.operator_packs.records import PackProgram, ToolPack

_LOOK_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class Offer:
    """A pack that was read, how often it broke its contract, and why it is not offered, "" where it is."""

    pack: ToolPack
    breaks: int = 0
    why_not: str = ""


class ToolRegistry:
    """The packs of some folders, read again when a file changes. Thread-safe; ``refresh`` alone blocks."""

    def __init__(
        self, folders: Sequence[Path], taken: Collection[str], contract_violations: ContractViolations
    ) -> None:
        self._folders, self._taken, self._contract_violations = tuple(folders), taken, contract_violations
        self._read = ToolPacks()
        self._obstacles: Mapping[str, str] = {}
        self._state: object = None
        self._looked = -_LOOK_SECONDS
        self._lock = threading.Lock()

    @property
    def is_due(self) -> bool:
        """Whether it is time to look at the files again."""
        return bool(self._folders) and time.monotonic() - self._looked >= _LOOK_SECONDS

    def refresh(self) -> None:
        """Read the packs, if a file of their folders has changed since."""
        with self._lock:
            self._looked = time.monotonic()
            state = state_of(self._folders)
            if state == self._state:
                return
            read = load_packs(self._folders, self._taken)
            self._obstacles = {pack.id: why for pack in read.packs if (why := _find_obstacle(pack))}
            self._read, self._state = read, state
        for each in self.left_out:
            log("a tool pack is not offered", level=30, what=each.what, why=each.why)

    @property
    def offers(self) -> Sequence[Offer]:
        """Every pack that could be read."""
        return [self._offer(pack) for pack in self._read.packs]

    @property
    def packs(self) -> Sequence[ToolPack]:
        """The packs that are offered."""
        return [offer.pack for offer in self.offers if not offer.why_not]

    @property
    def left_out(self) -> Sequence[LeftOut]:
        """The packs that are not offered, and why."""
        hidden = [LeftOut(str(offer.pack.file), offer.why_not) for offer in self.offers if offer.why_not]
        return [*self._read.left_out, *hidden]

    def _offer(self, pack: ToolPack) -> Offer:
        breaks = self._contract_violations.of(pack)
        why_not = self._obstacles.get(pack.id, "")
        if not why_not and breaks.count >= MOST:
            last = f"the last time because it {breaks.last}"
            mend = f"mend its files, or run: winnow pack mend {pack.id}"
            why_not = f"it broke its contract {breaks.count} times, {last}; {mend}"
        return Offer(pack, breaks.count, why_not)


def _find_obstacle(pack: ToolPack) -> str:
    """Why this host cannot run the pack; "" where it can."""
    if not isinstance(pack.execution, PackProgram):
        return ""
    if not sys.platform.startswith("linux"):
        return "programs run behind kernel walls, which this system lacks; only kind http is offered here"
    if why := _find_missing_wall(bool(pack.network)):
        return why
    return _find_closed(pack, pack.execution) if os.geteuid() == 0 else ""


@lru_cache(maxsize=2)
def _find_missing_wall(is_online: bool) -> str:
    """The first wall that does not stand on this host; "" where all do. Tried once for each process."""
    for wall in try_program_walls(is_online=is_online):
        if not wall.stands:
            return f"the wall {wall.name} does not stand here ({wall.detail}); {wall.advice}"
    return ""


def _find_closed(pack: ToolPack, program: PackProgram) -> str:
    """The files that the walls' user cannot read: programs of a server that runs as root run as another user."""
    paths = (pack.folder, program.script, program.program, *pack.readable)
    closed = next((found for path in paths if path and (found := find_closed(path))), None)
    return (
        f"programs of root's server run as another user, who cannot read {closed}; run: chmod o+rx"
        if closed
        else ""
    )
