"""The report of an ingest, as lines and as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from server.commands.terminal.output import print_json, print_lines
from server.settings import Settings
from server.text.printable import one_line

if TYPE_CHECKING:
    from server.ingest.pipeline import GraphReport, IngestReport
    from server.ingest.references.reference_report import NamedReason, ReferenceReport
    from server.ingest.report import ReadingSummary

_FAILURES_SHOWN = 20
_FLAWS_SHOWN = 10


def print_report(report: IngestReport, settings: Settings, *, as_json: bool) -> None:
    """Print what an ingest did."""
    if as_json:
        print_json(to_json(report, settings))
        return
    rate = f" ({report.chunks / report.seconds:.0f} chunks/s)" if report.chunks and report.seconds else ""
    print_lines(
        f"{report.project}: {report.documents:,} documents written, {report.unchanged:,} unchanged, "
        f"{report.deleted:,} deleted; {report.chunks:,} chunks in {report.seconds:.1f} s{rate}"
    )
    if report.skipped:
        print_lines(f"{report.skipped:,} files of unknown types were skipped")
    if report.images_skipped:
        print_lines(f"{report.images_skipped:,} images were skipped; --ocr reads them")
    if report.images_blank:
        print_lines(f"{report.images_blank:,} images have no text")
    if report.ignored:
        print_lines(f"{report.ignored:,} files and folders were ignored (.gitignore, .winnowignore, stores)")
    for failure in report.failures[:_FAILURES_SHOWN]:
        print_lines(f"not read: {one_line(failure.name)}: {one_line(failure.reason)}")
    if len(report.failures) > _FAILURES_SHOWN:
        print_lines(f"... and {len(report.failures) - _FAILURES_SHOWN:,} more; --json lists all")
        print_lines(*_format_flaws(report))
    print_lines(*_format_reading(report.reading))
    if report.references:
        print_lines(*_format_references(report.references))
    if report.graph:
        print_lines(*format_graph_report(report.graph))
    print_lines(*report.warnings)


def _format_flaws(report: IngestReport) -> Iterator[str]:
    """How many files were not read, by reason."""
    from server.ingest.report import group_failures

    groups = group_failures(report.failures)
    for reason, count in groups[:_FLAWS_SHOWN]:
        yield f"  {count:,} not read: {one_line(reason)}"
    if len(groups) > _FLAWS_SHOWN:
        yield f"  ... and {len(groups) - _FLAWS_SHOWN:,} other reasons"


def _format_reading(reading: ReadingSummary) -> Iterator[str]:
    """Lines for how files were read; none where all were text."""
    if reading.pages:
        readers = ", ".join(f"{name} {count:,}" for name, count in reading.readers.items())
        yield f"read by {readers}; {reading.pages:,} pages, slides and sheets"
    if left_out := reading.hidden_runs - reading.hidden_kept:
        yield f"{left_out:,} runs of text that a person does not see were left out; --hidden keep indexes them"
    if reading.hidden_kept:
        yield f"{reading.hidden_kept:,} runs of text that a person does not see are in the index"
    if reading.ocr_pages:
        yield f"{reading.ocr_pages:,} pages were read by OCR"
    if (images := reading.needs_ocr - reading.ocr_pages) > 0:
        yield f"{images:,} pages are images without text; --ocr reads them, winnow doctor --documents lists them"
    if reading.attachments:
        yield f"{reading.attachments:,} files within files were not read"
    for note, count in list(reading.notes.items())[:_FLAWS_SHOWN]:
        yield f"  {count:,} documents: {one_line(note)}"


def _format_references(references: ReferenceReport) -> Iterator[str]:
    """Lines for how the bibliography and the files fit together."""
    yield (
        f"references: {references.entries:,} entries, {references.matched:,} files matched, "
        f"{references.without_file:,} entries indexed by title and abstract"
    )
    yield from _list_reasons("not read", references.flaws, len(references.flaws))
    yield from _list_reasons("no entry", references.unmatched_files, references.unmatched_files_count)
    yield from _list_reasons("no file", references.missing_files, references.missing_files_count)


def _list_reasons(head: str, named: Sequence[NamedReason], count: int) -> Iterator[str]:
    for each in named[:_FLAWS_SHOWN]:
        yield f"  {head}: {one_line(each.name)}: {one_line(each.reason)}"
    if count > _FLAWS_SHOWN:
        yield f"  ... and {count - _FLAWS_SHOWN:,} more; --json lists them"


def format_graph_report(graph: GraphReport) -> Iterator[str]:
    """Lines for the changes of the graph and its size."""
    yield (
        f"graph: {graph.documents:,} documents drawn, {graph.deleted:,} deleted in {graph.seconds:.1f} s; "
        f"{sum(graph.nodes.values()):,} nodes, {sum(graph.edges.values()):,} edges"
    )
    yield from format_graph_counts(graph.nodes, graph.entities, graph.edges)


def format_graph_counts(
    nodes: Mapping[str, int], entities: Mapping[str, int], edges: Mapping[str, int]
) -> Iterator[str]:
    """A line each for nodes, entities and edges, with their counts by type."""
    for name, counts in (("nodes", nodes), ("entities", entities), ("edges", edges)):
        sorted_counts = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
        yield f"  {name}: {', '.join(f'{kind} {count:,}' for kind, count in sorted_counts) or 'none'}"


def to_json(report: IngestReport, settings: Settings) -> dict[str, Any]:
    """The report as JSON data: its fields, and the reasons of its failures with how many have each."""
    from server.ingest.report import group_failures

    facts = asdict(report)
    facts["flaws"] = [{"reason": reason, "count": count} for reason, count in group_failures(report.failures)]
    facts["seconds"] = round(report.seconds, 3)
    facts["chunks_per_second"] = round(report.chunks / report.seconds, 1) if report.seconds else 0.0
    facts["store"] = str(settings.store)
    if report.graph:
        facts["graph"]["seconds"] = round(report.graph.seconds, 3)
    return facts
