"""The number of contract violations of each tool of the operator, kept in the store's folder.

After three breaks a tool is taken off the list, in every server of the store and after a restart, until a file of
its pack changes or the operator says that it is mended (``winnow pack mend``).
"""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from winnow.server.errors import WinnowError
from winnow.server.runtime.logs import log
from winnow.server.storage.files.private_records import FileState, PrivateRecords
from winnow.server.tools.operator_packs.records import ToolPack

MOST = 3
_KEPT = 500


class Breaks(BaseModel):
    """The breaks of one state of a pack, and why the last one was one."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    id: Annotated[str, Field(max_length=40)]
    count: Annotated[int, Field(ge=0, le=1_000_000)] = 0
    last: Annotated[str, Field(max_length=300)] = ""


class BreakFile(BaseModel):
    """All breaks, by the digest of the pack."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    packs: Annotated[dict[str, Breaks], Field(max_length=_KEPT)] = Field(default_factory=dict)


_FILE = PrivateRecords("tool-packs.json", BreakFile, "mend it, or delete it and its tools are offered again")


class ContractViolations:
    """The breaks of the packs of one store. Thread-safe. Without a store, this process alone counts them."""

    def __init__(self, store: Path) -> None:
        self.store = store
        self._lock = threading.Lock()
        self._state: FileState | None = None
        self._packs: dict[str, Breaks] = {}

    def of(self, pack: ToolPack) -> Breaks:
        """The breaks of a pack as it is now."""
        with self._lock:
            self._refresh()
            return self._packs.get(pack.digest, Breaks(id=pack.id))

    def is_out(self, pack: ToolPack) -> bool:
        """Whether the pack is taken off the list."""
        return self.of(pack).count >= MOST

    def add(self, pack: ToolPack, why: str) -> Breaks:
        """Count a break."""
        with self._lock:
            self._refresh()
            before = self._packs.get(pack.digest, Breaks(id=pack.id))
            now = Breaks(id=pack.id, count=before.count + 1, last=why[:300])
            # Breaks of earlier states of the pack are of no use.
            self._packs = {key: each for key, each in self._packs.items() if each.id != pack.id}
            self._packs[pack.digest] = now
            self._write()
        log("a tool pack broke its contract", level=30, tool=pack.id, breaks=now.count, why=why)
        return now

    def clear(self, id: str) -> bool:
        """Forget the breaks of a tool; returns whether there were any."""
        with self._lock:
            self._refresh()
            kept = {key: each for key, each in self._packs.items() if each.id != id}
            found = len(kept) < len(self._packs)
            self._packs = kept
            if found:
                self._write()
            return found

    def _refresh(self) -> None:
        state = _FILE.state(self.store)
        if state is None or state == self._state:
            return
        try:
            self._packs = dict(_FILE.read(self.store).packs)
        except WinnowError as error:
            log("the breaks of tool packs are not read", level=30, why=error.message)
        self._state = state

    def _write(self) -> None:
        newest = dict(list(self._packs.items())[-_KEPT:])
        try:
            _FILE.write(self.store, BreakFile(packs=newest))
        except OSError as error:
            log("the breaks of tool packs are not kept", level=30, why=error.strerror)
        self._state = _FILE.state(self.store)
