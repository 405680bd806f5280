"""The report of an ingest, as lines and as JSON."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from winnow.server.bibliographies.locators import count_pages
from winnow.server.commands.terminal.output import complete, print_json, print_lines
from winnow.server.models import DocumentType
from winnow.server.readers.common import ocr_package
from winnow.server.settings.settings import Settings
from winnow.server.text.printable import one_line
from winnow.server.text.sizes import count_of, name_counts

if TYPE_CHECKING:
    from winnow.server.ingest.pipeline import GraphReport, IngestFailure, IngestReport
    from winnow.server.ingest.references.reference_report import NamedReason, ReferenceReport
    from winnow.server.ingest.report import ReadingSummary

_FAILURES_SHOWN = 20
# Failures of one reason are one line from that many on.
_LEAST_ALIKE = 3
_FLAWS_SHOWN = 10
# Formats of office programs before 2007, and those in which the programs save today.
_SUCCESSORS = {".doc": ".docx", ".dot": ".docx", ".ppt": ".pptx", ".pps": ".pptx"}
# Types of text, which have no reader with a name of its own.
_TEXTS: frozenset[DocumentType] = frozenset({"markdown", "text", "html", "rst", "manual", "code", "record"})


def print_report(report: IngestReport, settings: Settings, *, as_json: bool) -> None:
    """Print what an ingest did, with whole commands in its warnings."""
    failures = tuple(replace(failure, reason=complete(failure.reason)) for failure in report.failures)
    report = replace(report, failures=failures, warnings=tuple(map(complete, report.warnings)))
    if as_json:
        print_json(to_json(report, settings))
        return
    rate = f" ({report.chunks / report.seconds:.0f} chunks/s)" if report.chunks and report.seconds else ""
    moved = f"{report.moved:,} moved, " if report.moved else ""
    chunks = count_of(report.chunks, "chunk")
    print_lines(
        f"{report.project}: {count_of(report.documents, 'document')} written, {moved}{report.unchanged:,} "
        f"unchanged, {report.deleted:,} deleted; {chunks} in {report.seconds:.1f} s{rate}"
    )
    print_lines(*_format_left_out(report))
    print_lines(*_format_failures(report.failures))
    print_lines(*map(complete, _format_reading(report.reading)))
    print_lines(*map(complete, _format_advice(report)))
    if report.references:
        print_lines(*_format_references(report.references))
    if report.graph:
        print_lines(*format_graph_report(report.graph))
    print_lines(*report.warnings)


def _format_left_out(report: IngestReport) -> Iterator[str]:
    """Lines for files that were not looked at."""
    if report.skipped:
        kinds = ", ".join(f"{suffix or '(no suffix)'} {n:,}" for suffix, n in report.skipped_suffixes.items())
        files = count_of(report.skipped, "file of an unknown type was", "files of unknown types were")
        yield f"{files} skipped: {one_line(kinds)}{_advise_on_old_files(report.skipped_suffixes)}"
    if report.images_skipped:
        them = "it" if report.images_skipped == 1 else "them"
        images = count_of(report.images_skipped, "image was", "images were")
        yield f"{images} skipped; {ocr_package.advise(f'--ocr reads {them}')}"
    if report.images_blank:
        yield f"{count_of(report.images_blank, 'image has', 'images have')} no text"
    if report.ignored:
        ignored = count_of(report.ignored, "file or folder was", "files and folders were")
        yield f"{ignored} ignored (.gitignore, .winnowignore, stores)"
    if report.links:
        links = count_of(report.links, "link was", "links were")
        yield f"{links} not followed: {_first(report.link_names, report.links)}; name what they lead to"
    if report.hidden:
        hidden = count_of(report.hidden, "hidden file or folder was", "hidden files and folders were")
        names = _first(report.hidden_names, report.hidden)
        yield f"{hidden} not looked at (names that begin with a dot): {names}"


def _first(names: Sequence[str], count: int) -> str:
    """The names, and whether there are more."""
    return ", ".join([*map(one_line, names), *(["..."] if count > len(names) else [])])


def _format_failures(failures: Sequence[IngestFailure]) -> Iterator[str]:
    """Lines for what was not read: a line for all that have one reason, and for each of the others."""
    counts = Counter(failure.reason for failure in failures).most_common(_FLAWS_SHOWN)
    common = {reason: count for reason, count in counts if count >= _LEAST_ALIKE}
    for reason, count in common.items():
        alike = [each.name for each in failures if each.reason == reason]
        yield f"{count:,} not read: {one_line(reason)}"
        yield f"  {_first(alike[:_FAILURES_SHOWN], count)}"
    single = [each for each in failures if each.reason not in common]
    for failure in single[:_FAILURES_SHOWN]:
        yield f"not read: {one_line(failure.name)}: {one_line(failure.reason)}"
    if len(single) > _FAILURES_SHOWN:
        yield f"... and {len(single) - _FAILURES_SHOWN:,} more; --json lists all"
        yield from _format_flaws(single)


def _format_flaws(failures: Sequence[IngestFailure]) -> Iterator[str]:
    """The number of files that were not read, by reason."""
    from winnow.server.ingest.report import group_failures

    groups = group_failures(failures)
    for reason, count in groups[:_FLAWS_SHOWN]:
        yield f"  {count:,} not read: {one_line(reason)}"
    if len(groups) > _FLAWS_SHOWN:
        yield f"  ... and {len(groups) - _FLAWS_SHOWN:,} other reasons"


def _format_reading(reading: ReadingSummary) -> Iterator[str]:
    """Lines for how files were read; none where all were text."""
    if reading.readers.keys() - _TEXTS:
        readers = ", ".join(f"{name} ({count:,})" for name, count in reading.readers.items())
        yield "; ".join(filter(None, (f"documents by reader: {readers}", count_pages(reading.pages_by_type))))
    yield from _format_hidden(reading)
    if reading.ocr_pages:
        yield f"{count_of(reading.ocr_pages, 'page was', 'pages were')} read by OCR"
    if (images := reading.needs_ocr - reading.ocr_pages) > 0:
        pages = count_of(images, "page is an image", "pages are images")
        yield f"{pages} without text; {ocr_package.advise('--ocr reads such pages')}"
        yield from _list_files([f"{name}: {_name_pages(pages)}" for name, pages in reading.image_files.items()])
    if reading.attachments:
        yield f"{count_of(reading.attachments, 'file within a file was', 'files within files were')} not read"
    for note, count in list(reading.notes.items())[:_FLAWS_SHOWN]:
        yield f"  {count_of(count, 'document')}: {one_line(note)}"


def _format_hidden(reading: ReadingSummary) -> Iterator[str]:
    """Lines for text that a person does not see, with the files that have such text."""
    if left_out := reading.hidden_runs - reading.hidden_kept:
        runs = count_of(left_out, "run of text", "runs of text")
        yield (
            f"left out: {runs} that a person does not see{_why(reading)}; "
            "--hidden keep indexes such text; to look at it first: winnow ingest --explain FILE --hidden keep"
        )
    if reading.hidden_kept:
        runs = count_of(reading.hidden_kept, "run of text", "runs of text")
        yield f"in the index: {runs} that a person does not see{_why(reading)}"
    yield from _list_files(
        [f"{name}: {count_of(runs, 'run', 'runs')}" for name, runs in reading.hidden_files.items()]
    )


def _why(reading: ReadingSummary) -> str:
    """The reasons in brackets; documents of an older index have none."""
    return f" ({name_counts(reading.hidden_reasons)})" if reading.hidden_reasons else ""


def _list_files(lines: Sequence[str]) -> Iterator[str]:
    yield from (f"  {one_line(line)}" for line in lines[:_FAILURES_SHOWN])
    if len(lines) > _FAILURES_SHOWN:
        yield f"  ... and {len(lines) - _FAILURES_SHOWN:,} more; --json lists the first 100"


def _name_pages(numbers: str) -> str:
    """Numbers of pages in words: "page 3", "pages 1-2"."""
    return f"page {numbers}" if numbers.isdigit() else f"pages {numbers}"


def _advise_on_old_files(skipped: Iterable[str]) -> str:
    """The advice on files of old word processors and slides; "" without any."""
    old = [suffix for suffix in skipped if suffix in _SUCCESSORS]
    return "".join(f"; save {suffix} as {_SUCCESSORS[suffix]}" for suffix in old)


def _format_advice(report: IngestReport) -> Iterator[str]:
    """Advice for when something was not read, or has little text."""
    images = report.reading.needs_ocr - report.reading.ocr_pages
    if report.failures or images > 0:
        yield (
            "to see how a file is read: winnow ingest --explain FILE; "
            "which documents have little text: winnow doctor --documents"
        )


def _format_references(references: ReferenceReport) -> Iterator[str]:
    """Lines for how the bibliography and the files fit together."""
    yield (
        f"references: {count_of(references.entries, 'entry', 'entries')}, "
        f"{count_of(references.matched, 'file')} matched, "
        f"{count_of(references.without_file, 'entry', 'entries')} indexed by title and abstract"
        + (f", {references.replaced:,} in place of an older bibliography's" if references.replaced else "")
    )
    yield from _list_reasons("entry", references.matched_files, references.matched)
    yield from _list_reasons("not read", references.flaws, len(references.flaws))
    yield from _list_reasons("not changed", references.newer, references.newer_count)
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
        f"graph: {count_of(graph.documents, 'document')} drawn, {graph.deleted:,} deleted in {graph.seconds:.1f} s"
        f"; {count_of(sum(graph.nodes.values()), 'node')}, {count_of(sum(graph.edges.values()), 'edge')}"
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
    from winnow.server.ingest.report import group_failures

    facts = asdict(report)
    facts["flaws"] = [{"reason": reason, "count": count} for reason, count in group_failures(report.failures)]
    facts["seconds"] = round(report.seconds, 3)
    facts["chunks_per_second"] = round(report.chunks / report.seconds, 1) if report.seconds else 0.0
    facts["store"] = str(settings.store)
    if report.graph:
        facts["graph"]["seconds"] = round(report.graph.seconds, 3)
    return facts
