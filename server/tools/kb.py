"""What the ``kb.*`` tools share: when they are offered, and how their answers are told as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from server.text.framing import framed
from server.tools.base import Context


def offered(context: Context) -> bool:
    """Whether this server lists them; the setting is the way back to the legacy tools."""
    return context.settings.kb_v2_enabled


def paged(payload: dict[str, Any]) -> str:
    """How a page ended, for its headline."""
    return f" (partial, stopped by {payload['limit_reason']})" if payload["partial"] else ""


def quote_lines(payload: dict[str, Any]) -> list[str]:
    """Quotes with where they stand, one after the other."""
    looked, quotes = payload["diagnostics"], payload["quotes"]
    headline = f"{len(quotes)} quotes from {looked['passages']} passages ({looked['search_mode']}){paged(payload)}"
    lines = [headline + _addressed(quotes)]
    for number, row in enumerate(quotes, start=1):
        place = f"{row['title']} | section {row['section_id']}"
        likeness = f" likeness {row['likeness']:.3f}" if "likeness" in row else ""
        lines.append(f"{number}. [{row['passage_id']}] {row['confidence']:.3f}{likeness} {place}")
        lines.extend(framed(row["quote"]))
    if payload.get("missing_ids"):
        lines.append(f"missing_ids: {' '.join(payload['missing_ids'])}")
    if payload["next_cursor"]:
        lines.append(f"next_cursor: {payload['next_cursor']}")
    return lines


def _addressed(quotes: Sequence[Mapping[str, Any]]) -> str:
    """The addresses of all of them at once: they differ in the passage's id alone, which stands at each."""
    if not quotes:
        return ""
    session, _, _ = quotes[0]["uri"].rpartition("/")
    return f"; resources: {session}/PASSAGE_ID"


def excerpt_lines(payload: dict[str, Any]) -> list[str]:
    """An excerpt with where it stands and where it goes on."""
    more = f", goes on at start_char {payload['next_start_char']}" if payload["truncated"] else ""
    lines = [f"[{payload['passage_id']}] from character {payload['start_char']}{more}"]
    if "citation" in payload:
        source = payload["citation"]
        place = " | ".join(
            filter(None, (source["title"], source["doc_tag"], f"section {source['section_id']}", source["uri"]))
        )
        lines.append(place)
    return [*lines, *framed(payload["excerpt"])]
