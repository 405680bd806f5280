"""Shared parts of the ``kb.*`` tools: when they are offered, and their answers as text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from winnow.server.bibliographies.locators import cite_place
from winnow.server.text.framing import frame_text
from winnow.server.text.verdicts import render_verdict
from winnow.server.tools.base import Context


def is_offered(context: Context) -> bool:
    """Whether this server lists the ``kb.*`` tools; the setting switches back to the earlier tools."""
    return context.settings.kb_v2_enabled


def partial_note(payload: dict[str, Any], page_size: str = "page_size") -> str:
    """Why a page is incomplete, for its headline; "" if it is complete.

    ``page_size``: the parameter of the tool that sets the number of rows in one answer.
    """
    reason = page_size if payload["limit_reason"] == "page_size" else payload["limit_reason"]
    return f" (partial, stopped by {reason})" if payload["partial"] else ""


def render_quotes(payload: dict[str, Any]) -> list[str]:
    """Quotes, each with its source."""
    quotes = payload["quotes"]
    passages, mode = payload["diagnostics"]["passages"], payload["diagnostics"]["search_mode"]
    headline = f"{len(quotes)} quotes from {passages} passages ({mode}){partial_note(payload, 'max_quotes')}"
    lines = [render_verdict(payload)] if "verdict" in payload else []
    lines.append(headline + _render_addresses(quotes))
    for number, row in enumerate(quotes, start=1):
        place = " | ".join(filter(None, (row["title"], cite_place(row), f"section {row['section_id']}")))
        likeness = f" likeness {row['likeness']:.3f}" if "likeness" in row else ""
        lines.append(f"{number}. [{row['passage_id']}] {row['confidence']:.3f}{likeness} {place}")
        lines.extend(frame_text(row["quote"]))
    if payload.get("missing_ids"):
        lines.append(f"missing_ids: {' '.join(payload['missing_ids'])}")
    if payload["next_cursor"]:
        lines.append(f"next_cursor: {payload['next_cursor']}")
    return lines


def _render_addresses(quotes: Sequence[Mapping[str, Any]]) -> str:
    """The URIs of all quotes as one pattern: they differ only in the passage's id, which each row has."""
    if not quotes:
        return ""
    session, _, _ = quotes[0]["uri"].rpartition("/")
    return f"; resources: {session}/PASSAGE_ID"


def render_excerpt(payload: dict[str, Any]) -> list[str]:
    """An excerpt with its source and where to continue."""
    more = f", goes on at start_char {payload['next_start_char']}" if payload["truncated"] else ""
    lines = [f"[{payload['passage_id']}] from character {payload['start_char']}{more}"]
    if "citation" in payload:
        source = payload["citation"]
        section = f"section {source['section_id']}"
        parts = (source["title"], cite_place(payload), source["doc_tag"], section, source["uri"])
        lines.append(" | ".join(filter(None, parts)))
    return [*lines, *frame_text(payload["excerpt"])]
