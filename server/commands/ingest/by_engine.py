"""Has the engine of a store ingest: it has the model loaded, and its clients see each batch at once."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from server.commands.terminal.progress import show_progress
from server.settings import Settings

if TYPE_CHECKING:
    from server.ingest.pipeline import IngestReport


def ingest_in_engine(
    settings: Settings, paths: Sequence[Path], labels: Mapping[str, str], **options: Any
) -> IngestReport:
    """Have the engine ingest, with its progress on the terminal. ``options`` are those of ``IngestRequest``."""
    return asyncio.run(_ingest(settings, paths, labels, options))


async def _ingest(
    settings: Settings, paths: Sequence[Path], labels: Mapping[str, str], options: Mapping[str, Any]
) -> IngestReport:
    from server.engine.client import EngineKnowledge
    from server.ingest.pipeline import GraphReport, IngestFailure, IngestReport, Progress
    from server.ingest.references.reference_report import ReferenceReport
    from server.ingest.report import ReadingSummary

    kb = EngineKnowledge(settings, waits_for_model=False)
    try:
        with show_progress() as on_progress:
            report = await kb.ingest(paths, labels, lambda facts: on_progress(Progress(**facts)), **options)
    finally:
        await kb.aclose()
    failures = tuple(IngestFailure(**failure) for failure in report["failures"])
    graph = report["graph"] and GraphReport(**{**report["graph"], "warnings": tuple(report["graph"]["warnings"])})
    references = report["references"] and ReferenceReport.from_json(report["references"])
    warnings = tuple(report["warnings"])
    parts = {"failures": failures, "warnings": warnings, "graph": graph, "references": references}
    return IngestReport(**{**report, **parts, "reading": ReadingSummary(**report["reading"])})
