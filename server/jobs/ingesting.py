"""Runs a job into open backends: checks its path again, lists it, and has the pipeline ingest it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

from winnow.server.backends.catalogue import Catalogue
from winnow.server.backends.opening import Backends
from winnow.server.errors import WinnowError
from winnow.server.ingest.file_discovery import SourcePart, find_files, root_of
from winnow.server.ingest.pipeline import ingest_parts
from winnow.server.ingest.references.reference_report import ReferenceReport
from winnow.server.ingest.report import IngestReport, Progress, group_failures
from winnow.server.jobs.admission import check_unmoved
from winnow.server.jobs.records import MAX_WARNINGS, WARNING_CHARS, Job, JobRequest, JobResult
from winnow.server.jobs.target import open_target
from winnow.server.models import SPARSE_MODEL
from winnow.server.settings.settings import Settings
from winnow.server.storage.base import Embedder
from winnow.server.text.printable import one_line
from winnow.server.text.sizes import count_of

# Embeds every chunk of a store again. The caller supplies it, because this room may not import
# ``server.projects``.
Rebuild = Callable[[Settings, Catalogue, Embedder, Callable[[Progress], None]], object]

_HIDDEN = (
    "force_rebuild embeds the whole store again, and its deleted projects could not be restored then; ask the "
    "operator to run: winnow reindex"
)
_FAILURES_SHOWN, _REASONS_SHOWN, _NAMED_SHOWN = 10, 10, 5


def run_ingest(
    settings: Settings,
    backends: Backends,
    job: Job,
    on_progress: Callable[[Progress], None],
    rebuild: Rebuild,
) -> JobResult:
    """Ingest the source of a job into its project; returns what this run wrote.

    ``rebuild`` embeds the whole store again; it is called only for a job with ``may_rebuild``.

    Raises ``WinnowError`` as ``ingest_parts`` does, and "SCOPE_VIOLATION" if a link has replaced the source.
    ``on_progress`` may raise an exception, which ends the run at a point where it can be resumed.
    """
    request = job.request
    own = settings.model_copy(update={"project": request.project, "allow_weaker_reader": request.reads_weaker})
    _check_unmoved(request)
    if request.may_rebuild:
        _replace_other_vectors(own, backends, on_progress, rebuild)
    target, warnings = open_target(own, backends)
    if request.ingest.zotero:
        from winnow.server.ingest.zotero.ingesting import ingest_zotero

        report = ingest_zotero(target, request.ingest, own.store, on_progress)
    else:
        sources = target.catalogue.sources(request.project)
        roots = [root_of(path, sources) for path in request.ingest.paths]
        parts = [SourcePart(each, find_files(each)) for each in roots]
        _check_unmoved(request)
        report = ingest_parts(target, parts, request.ingest, on_progress)
    return JobResult(
        chunks_written=report.chunks,
        documents_processed=report.documents + report.moved + report.unchanged,
        documents_deleted=report.deleted,
        dense_model=target.embedder.fingerprint if target.embedder else "",
        sparse_model=SPARSE_MODEL,
        duration_seconds=round(report.seconds, 3),
        warnings=_bound([*warnings, *_describe(report, request)]),
    )


def _check_unmoved(request: JobRequest) -> None:
    """Check the source and the bibliography of a job again, as ``check_unmoved`` does."""
    for path in request.ingest.paths:
        check_unmoved(path, Path(request.root))
    if request.ingest.references and request.references_root:
        check_unmoved(request.ingest.references, Path(request.references_root))


def _replace_other_vectors(
    settings: Settings,
    backends: Backends,
    on_progress: Callable[[Progress], None],
    rebuild: Rebuild,
) -> None:
    """Embed the store again where the project's vectors come from another model than this process has."""
    embedder = backends.embedder.wait()
    if embedder is not None and _needs_rebuild(backends, settings.project, embedder.fingerprint):
        if backends.catalogue.hidden_projects():
            raise WinnowError("SCOPE_VIOLATION", _HIDDEN)
        rebuild(settings, backends.catalogue, embedder, on_progress)


def _needs_rebuild(backends: Backends, project: str, fingerprint: str) -> bool:
    """Whether the project's vectors come from a model with another fingerprint."""
    return backends.catalogue.embedding(project) not in ("", fingerprint)


def _describe(report: IngestReport, request: JobRequest) -> Iterator[str]:
    """The notes for the caller about an ingest, each in one line."""
    yield from report.warnings
    for failure in report.failures[:_FAILURES_SHOWN]:
        yield f"not read: {failure.name}: {failure.reason}"
    if len(report.failures) > _FAILURES_SHOWN:
        yield f"not read: {len(report.failures):,} files in all; by reason:"
        yield from (
            f"{count_of(count, 'file')}: {reason}"
            for reason, count in group_failures(report.failures)[:_REASONS_SHOWN]
        )
    yield from _describe_references(report.references)
    if report.skipped:
        skipped = count_of(report.skipped, "file of an unknown type was", "files of unknown types were")
        yield f"{skipped} skipped"
    images = report.reading.needs_ocr - report.reading.ocr_pages
    if images > 0:
        advice = "" if request.languages else "; name ocr_languages to have them read"
        pages = count_of(images, "page is an image", "pages are images")
        yield f"{pages} without text{advice}"
    yield from (
        f"{count_of(count, 'document')}: {note}"
        for note, count in islice(report.reading.notes.items(), _REASONS_SHOWN)
    )


def _describe_references(references: ReferenceReport | None) -> Iterator[str]:
    """The number and the first of: entries not read or not taken, files without an entry, missing files."""
    if references is None:
        return
    for head, named, count in (
        ("entry not read", references.flaws, len(references.flaws)),
        ("not changed", references.newer, references.newer_count),
        ("no entry", references.unmatched_files, references.unmatched_files_count),
        ("no file", references.missing_files, references.missing_files_count),
    ):
        yield from (f"{head}: {each.name}: {each.reason}" for each in named[:_NAMED_SHOWN])
        if count > _NAMED_SHOWN:
            yield f"{head}: {count:,} in all"


def _bound(warnings: list[str]) -> tuple[str, ...]:
    lines = [one_line(warning, WARNING_CHARS) for warning in warnings]
    more = len(lines) - MAX_WARNINGS
    return (*lines[:MAX_WARNINGS], *([f"and {more} more warnings"] if more > 0 else []))
