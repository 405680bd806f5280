"""The printed text of a script: its end, which is kept, and its total, which is limited."""

from __future__ import annotations

_FRAME_BYTES = 16  # the least that a frame of printed text counts: reading a frame costs, however short it is
CUT_MARK = "[... {} bytes of output cut here ...]\n"


class OutputTail:
    """The end of the printed text, its total length, and its weight against the limit."""

    def __init__(self, keep: int) -> None:
        self.total = 0
        self.weight = 0
        self._keep = keep
        self._kept = bytearray()

    def add(self, data: bytes) -> None:
        """Add text; now and then drop what is older than the tail."""
        self.total += len(data)
        self.weight += max(len(data), _FRAME_BYTES)
        self._kept += data
        if len(self._kept) > 4 * self._keep + len(data):
            del self._kept[: -self._keep]

    def text(self) -> str:
        """The kept text, with a mark in front where something is cut."""
        if self.total <= self._keep:
            return self._kept.decode()
        tail = self._kept[-self._keep :].decode(errors="ignore")
        return CUT_MARK.format(f"{self.total - self._keep:,}") + tail
