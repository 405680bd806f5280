"""Claims that cite a passage, in the text of its row: the server's facts, then what an agent wrote, marked."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from winnow.server.text.framing import frame_text


def render_citing(row: dict[str, Any]) -> Iterator[str]:
    """The claims of a row of a passage."""
    for claim in row.get("claims", ()):
        yield f"   claim [{claim['claim']}] {claim['stance']}, {claim['integration_status']}:"
        by = f" (by {claim['author']})" if "author" in claim else ""
        yield from frame_text(f"{claim['text']}{by}")
    if total := row.get("claims_total"):
        yield f"   {len(row['claims'])} of {total} claims that cite it"
