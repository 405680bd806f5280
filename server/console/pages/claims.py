"""Claims: what agents wrote about documents, the quotes that support each claim, and what contradicts it."""

from __future__ import annotations

from typing import Any

from winnow.server.console.records import Asked, PageView

_ENTRIES = 50  # the most that one answer has


async def list_claims(asked: Asked) -> PageView:
    """The notebook of clients without keys: its figures, friction, and entries by change or by a search."""
    query, topic = asked.text("q"), asked.text("topic")
    since = asked.number("since", 0, 10**12)
    named = _in_notebook(asked)
    topics = {"topic_prefix": topic} if topic else {}
    async with asked.desk.opened() as desk:
        status = (await desk.call("claims.status", named)).payload
        friction = (await desk.call("claims.friction", {**named, **topics, "limit": _ENTRIES})).payload
        if query or topic:
            found = {"query": query or topic, "top_k": _ENTRIES, **topics, **named}
            entries = (await desk.call("claims.search", found)).payload["results"]
            following = None
        else:
            recent = await desk.call("claims.recent", {"since_sequence": since, "limit": _ENTRIES, **named})
            entries = recent.payload["changes"]
            following = recent.payload["next_sequence"] if len(entries) == _ENTRIES else None
    values = {
        "status": status,
        "friction": friction["results"],
        "entries": entries,
        "following": following,
        "query": query,
        "topic": topic,
        "projects": asked.desk.settings.reachable,
        "project": asked.project,
    }
    return PageView("claims.html", "Claims", values)


async def show_entry(asked: Asked) -> PageView:
    """An entry: its claims with their evidence and friction, its content, comparisons and history."""
    arguments = {
        "entry_id": asked.text("id"),
        "start_char": asked.number("start", 0, 50_000),
        **_in_notebook(asked),
    }
    async with asked.desk.opened() as desk:
        entry = (await desk.call("claims.read", arguments)).payload
        related = {"entry_id": asked.text("id"), "direction": "contradicts", **_in_notebook(asked)}
        contradicting = (await desk.call("claims.related", related)).payload
    values = {"entry": entry, "contradicting": contradicting, "project": asked.project}
    return PageView("claim.html", entry["title"] or entry["topic"], values)


def _in_notebook(asked: Asked) -> dict[str, Any]:
    return {"project": asked.project} if asked.project else {}
