"""The reports of commands that the console shows: settings, findings of the doctor, sources and jobs.

Each imports what it needs when its page is asked for: the first page does not wait for that.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from typing import Any

from winnow.server.commands.config import build_row
from winnow.server.console.examination import Examination
from winnow.server.console.records import Reports
from winnow.server.settings.loading import Configuration
from winnow.server.settings.permissions import TOPICS
from winnow.server.settings.settings import Settings


def make_reports(configuration: Configuration) -> Reports:
    """The reports of the commands with these settings."""
    settings = configuration.settings
    return Reports(
        settings=lambda: {
            topic: {name: build_row(configuration, name) for name in names} for topic, names in TOPICS.items()
        },
        findings=Examination(lambda: [*_findings(settings)]).findings,
        thin=lambda: [*_thin(settings)],
        sources=lambda: _sources(settings),
        jobs=lambda: _jobs(settings),
    )


def _findings(settings: Settings) -> Iterator[dict[str, Any]]:
    from winnow.server.commands.health import examine
    from winnow.server.commands.terminal.findings_table import complete_finding

    yield from (complete_finding(finding).to_json() for finding in examine(settings))


def _thin(settings: Settings) -> Iterator[dict[str, Any]]:
    """The documents in reach of which little came into the index."""
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.backends.opening import catalogue_path
    from winnow.server.ingest.inspection.thin_documents import find_thin_documents

    with closing(Catalogue(catalogue_path(settings))) as catalogue:
        for project in settings.reachable:
            yield from (found.to_json() for found in find_thin_documents(catalogue, project))


def _sources(settings: Settings) -> Mapping[str, Any]:
    """The sources, with a line for the state of each path and lines for what needs a person."""
    from winnow.server.commands.watching.sources import describe_sources, format_attention, format_status
    from winnow.server.jobs.watching.sources import read_sources
    from winnow.server.jobs.watching.status import read_status

    sources = read_sources(settings.store)
    described = describe_sources(settings.store, sources)
    status = read_status(settings.store)
    rows = {(row.source, row.path): row for row in status.paths}
    for source, facts in zip(sources, described["sources"], strict=True):
        facts["states"] = [
            {
                "path": path,
                "state": format_status(row, is_watched=status.holder is not None) if row else "not scanned yet",
                "attention": [*format_attention(row)] if row else [],
            }
            for path in source.paths
            for row in [rows.get((source.id, path))]
        ]
    return described


def _jobs(settings: Settings) -> Sequence[Mapping[str, Any]]:
    from winnow.server.commands.jobs import describe_jobs
    from winnow.server.jobs.job_files import JobFiles

    return describe_jobs(settings.store, JobFiles(settings.store).list_jobs(), None)
