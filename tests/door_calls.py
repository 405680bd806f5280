"""A call of every tool and of every error of its callers, with what two doors must have in common of the answers.

A tool that no call here names fails the suite of doors: the calls are compared with the product's own tables.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tests.doors import Door
from tests.operator_packs import CALLS as PACK_CALLS

QUESTION = "how are backups encrypted"
QUOTE = "Backups are encrypted with AES-256"
# Differ between two calls of the same door: ids of sessions and what is in them, moments, and measured times.
OWN = frozenset(
    {
        *("session_id", "passage_id", "scratch_uri", "next_cursor", "job_id", "execution_id", "result_uri"),
        *("wall_ms", "cpu_ms", "memory_peak_bytes", "created_at", "started_at", "finished_at", "updated_at"),
        *("ids", "at"),
        "url",  # addresses of files are for pipes alone
    }
)
# How far a job is differs from one moment to the next.
STATE_OF_JOBS = frozenset({"ingest_from_source", "job_status", "job_cancel"})


# Every kind of error that a caller can cause: the tool, the arguments, the reason.
ERRORS: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("kb.search", {"query": 1}, "INVALID_REQUEST"),
    ("kb.search", {}, "INVALID_REQUEST"),
    ("kb.search", {"query": QUESTION, "cursor": "none of ours"}, "INVALID_CURSOR"),
    ("kb.read_excerpt", {"passage_id": "p_0"}, "NOT_FOUND"),
    ("kb.search", {"query": QUESTION, "scope": {"project_id": "another"}}, "SCOPE_VIOLATION"),
    ("no.such.tool", {}, "NOT_FOUND"),
    ("wild_read", {"entry_id": "000000000000"}, "NOT_FOUND"),
    ("wild_search", {"query": QUESTION, "project": "another"}, "SCOPE_VIOLATION"),
    ("wild_write", {"topic": "operations"}, "INVALID_REQUEST"),
    ("wild_write", {"topic": "a", "claims": [{"text": "x", "status": "verified"}]}, "INVALID_REQUEST"),
    ("wild_write", {"topic": "a", "content": "A text.", "references": ["000000000000"]}, "NOT_FOUND"),
    ("wild_revise", {"entry_id": "000000000000", "title": "x"}, "NOT_FOUND"),
    ("site.ask", {}, "INVALID_REQUEST"),
    ("site.ask", {"text": "x" * 101}, "INVALID_REQUEST"),
    ("site.ask", {"text": "..", "more": 1}, "INVALID_REQUEST"),
    ("execute_code", {"code": "import os"}, "CODE_REJECTED"),
    ("execute_code", {"code": "return 1 / 0"}, "USER_CODE_ERROR"),
    ("execute_code", {"code": "while True: pass", "timeout": 1}, "TIMEOUT"),
    ("execute_code", {"code": "return ['row %d' % n for n in range(6_000)]"}, "OUTPUT_BYTES"),
)


async def calls_of(door: Door) -> Mapping[str, dict[str, Any]]:
    """A call of every tool; ids of passages, results, jobs and entries are those of this door's own calls."""
    rows = (await _data(door, "kb.search", {"query": QUESTION}))["results"]
    passages, sections = ([row[name] for row in rows] for name in ("passage_id", "section_id"))
    job = await _data(door, "ingest_from_source", {"project": "handbook", "source": "."})
    large = await door.call("execute_code", {"code": "return ['row %d' % n for n in range(6_000)]"})
    assert large.details is not None
    kb: dict[str, dict[str, Any]] = {
        "kb.retrieve_evidence": {"question": QUESTION},
        "kb.search": {"query": QUESTION, "top_k": 2},
        "kb.scan": {"pattern": r"rule (\d+)"},
        "kb.extract_evidence": {"question": QUESTION, "passage_ids": passages},
        "kb.read_excerpt": {"passage_id": passages[0]},
        "kb.expand_excerpt": {"passage_id": passages[0]},
        "kb.documents": {},
        "kb.read": {"document": "guide/backups.md"},
        "kb.show": {"document": "guide/backups.md", "quote": QUOTE},
        "semantic_search": {"query": QUESTION, "response_mode": "full"},
        "graph.describe": {},
        "graph.expand": {"ids": sections[:1]},
        "graph.paths": {"from_ids": sections[:1], "to_ids": sections[1:2]},
        "graph.parents": {"ids": sections[:1]},
        "graph.children": {"ids": sections[:1]},
        "graph.entities_for_sections": {"section_ids": sections},
        "graph.sections_for_entities": {"entity_ids": ["acme"]},
        "find_vendor_info": {"vendor_name": "acme"},
        "search_sections": {"query": QUESTION},
        "get_section_text": {"section_ids": sections},
        "execute_code": {"code": "print('seen')\nreturn [1, None, 'é']"},
        "read_result": {"execution_id": large.details["execution_id"]},
        "help": {"topic": "kb.search"},
    }
    core = {
        "vector.query.search": {"query": QUESTION},
        "docs.load.fetch": {"uri": "guide/backups.md"},
        "citations.audit.check": {"quotes": [{"quote": QUOTE, "source": "backups"}]},
        "exports.render.markdown": {"title": "Backups", "sections": [{"heading": "Keys"}]},
        "planner.multi_perspective": {"question": QUESTION},
        "research.execute": {"question": QUESTION, "max_perspectives": 2},
    }
    research = {
        "list_projects": {},
        "query": {"project": "handbook", "text": QUESTION},
        "query_hybrid": {"project": "handbook", "text": QUESTION},
        "inspect_collection": {"project": "handbook"},
        "ingest_from_source": {"project": "handbook", "source": "."},
        "job_status": {"job_id": job["job_id"]},
        "job_cancel": {"job_id": job["job_id"]},
    }
    return {**kb, **core, **research, **await _calls_of_claims(door, sections[0]), **PACK_CALLS}


async def _calls_of_claims(door: Door, section: str) -> Mapping[str, dict[str, Any]]:
    """Writes first: what the others read is what this door wrote, two entries that contradict each other."""
    first = await write_claim(door, "backups", "Backups are encrypted before they leave the machine.", section)
    second = await write_claim(door, "keys", "What leaves this machine can be read by everybody.", section)
    verdict = {"claim": 1, "other": f"{second}.1", "judgement": "contradicts", "note": "another year"}
    return {
        "wild_write": {"topic": "people", "content": "A new colleague gets a laptop on the first day. It is new."},
        "wild_revise": {"entry_id": first, "title": "Encrypted backups", "verdicts": [verdict]},
        "wild_search": {"query": "encrypted backups"},
        "wild_related": {"entry_id": first},
        "wild_claims": {"entry_ids": [second, first, "000000000000"]},
        "wild_read": {"entry_id": first},
        "wild_topics": {},
        "wild_friction": {"topic_prefix": "operations/keys"},  # two of the same friction are in order of their ids
        "wild_recent": {"since_sequence": 1},
        "wild_status": {},
    }


async def write_claim(door: Door, topic: str, text: str, section: str) -> str:
    """The id of an entry with this claim and a verified quote."""
    claims = [{"text": text, "evidence": [{"section_id": section, "quote": QUOTE}]}]
    written = await _data(door, "wild_write", {"topic": f"operations/{topic}", "author": "ada", "claims": claims})
    return str(written["entry_id"])


async def _data(door: Door, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    seen = await door.call(tool, arguments)
    assert seen.data is not None, seen
    assert not seen.reason, seen
    return seen.data


def entries_of(calls: Mapping[str, dict[str, Any]]) -> Sequence[str]:
    """The ids of the entries that the calls are about, in the order in which they were written."""
    second, first, _ = calls["wild_claims"]["entry_ids"]
    return first, second


def shared(value: Any, own_ids: Sequence[str] = ()) -> Any:
    """What two doors must have in common of an answer; ``own_ids`` stand in texts, and become their numbers."""
    if isinstance(value, dict):
        return {name: shared(part, own_ids) for name, part in value.items() if name not in OWN}
    if isinstance(value, list):
        return [shared(item, own_ids) for item in value]
    if not isinstance(value, str):
        return value
    for number, own in enumerate(own_ids, 1):
        value = value.replace(own, f"id {number}")
    return "winnow://scratch/" if value.startswith("winnow://scratch/") else value
