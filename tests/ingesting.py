"""Ingests of files and folders by tests, each choice an argument."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from winnow.server.ingest.file_discovery import find_parts
from winnow.server.ingest.pipeline import Target, ingest_files, ingest_parts
from winnow.server.ingest.report import IngestReport, OnProgress
from winnow.server.ingest.selection.deletions import DeletionRule
from winnow.server.ingest.selection.file_rules import FileRules
from winnow.server.ingest.selection.request import IngestRequest
from winnow.server.readers.documents import DefaultLabels
from winnow.server.readers.formats.parsed_file import ReadOptions


def ingest_paths(
    target: Target,
    paths: Sequence[Path],
    *,
    labels: DefaultLabels | None = None,
    options: ReadOptions | None = None,
    rules: FileRules | None = None,
    deletions: DeletionRule | None = None,
    allows_weaker: bool = False,
    progress: OnProgress | None = None,
    **choices: Any,
) -> IngestReport:
    """Ingest these files and folders; ``choices`` are more fields of ``IngestRequest``."""
    target = replace(target, allows_weaker=True) if allows_weaker else target
    choices |= {name: value for part in (labels, options, rules) if part for name, value in asdict(part).items()}
    request = IngestRequest(paths=tuple(path.absolute() for path in paths), **choices)
    if deletions is None:
        return ingest_files(target, request, progress)
    sources = target.catalogue.sources(target.project)
    parts = find_parts(
        request.paths, sources, request.rules, project=target.project, allows_missing=deletions.admits_all
    )
    return ingest_parts(target, parts, request, progress, deletions=deletions)
