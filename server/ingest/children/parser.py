"""Parses documents in child processes, so that no document can stall, crash, exhaust or take over an ingest.

Theory of operation. Everything that is not plain text is parsed in a child: markup (HTML, reStructuredText, roff)
and files of the formats in ``readers/formats``. A text that is long, or has a very long line, gets a *dry run*:
the child splits it into chunks and mines it for the graph, as the ingest does afterwards with the same result, so
that a document which takes too much time or memory does so in the child.

Where a tier of the sandbox's walls stands (``sandbox/walls/tiers.py``), each document has a child of its own
behind them (``walled_children.py``), and a report names a tier that is not the full one. Where none stands, markup
and texts are parsed in a process that limits itself (``confined_process.py``); files of other formats are not read
unless the operator accepts that. A child has processor time by the document's size, and
four times that and half a minute on the clock. Its answers are checked like any foreign data (``answers.py``).
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, BinaryIO

from winnow.sandbox.walls.tiers import NO_TIER, TIERS
from winnow.server.bibliographies.packing import SUFFIXES, Bibliography, unpack
from winnow.server.ingest.children import answers
from winnow.server.ingest.children.confined_process import ConfinedProcess
from winnow.server.ingest.children.reader_pool import Children, ReaderPool, StartedChildren, start_walled_children
from winnow.server.models import DocumentType, WantedText
from winnow.server.readers import frames
from winnow.server.readers.bounded_files import open_file, read_whole, size_of
from winnow.server.readers.common import ocr_package
from winnow.server.readers.common.signatures import check_signature
from winnow.server.readers.decoding import decode
from winnow.server.readers.documents import RawDocument, UnreadableFile, apply_facts, clean_text
from winnow.server.readers.failures import STOPPED, ChildFailed
from winnow.server.readers.formats.format_table import Format, format_of
from winnow.server.readers.formats.parsed_file import ParsedFile, ReadOptions
from winnow.server.readers.late_imports import LATE_IMPORTS, find_installed
from winnow.server.readers.reading import ReaderOutput, kind_of, may_be_manual, parse, stem
from winnow.server.readers.tasks.table import Task
from winnow.server.text.sizes import count_of, name_numbers

# Processor seconds for each document, for each MiB of it, and at most: several times those of the slowest real
# documents. A page of a PDF takes about 10 ms and 20 kB; by OCR 20 s and 100 kB.
_SECONDS: Mapping[str, tuple[float, float, float]] = {
    "parse": (10.0, 10.0, 170.0),
    "dry_run": (20.0, 30.0, 500.0),
    "bibliography": (20.0, 30.0, 500.0),
    "read": (20.0, 5.0, 300.0),
    "ocr": (60.0, 600.0, 4 * 3600.0),
    # A page takes 70 ms, some a second. Somebody waits for it, as long as a call may take.
    "draw": (5.0, 0.1, 7.0),
}
_MIB = 1024 * 1024
# Kinds whose parsers take time and memory that grow faster than the text, or recurse with its depth.
_PARSED_IN_CHILD: frozenset[DocumentType] = frozenset({"html", "rst", "manual"})
# A longer text, or one with a longer line, gets a dry run; a shorter one takes at most a few seconds.
_LONG_CHARS, _LONG_LINE_CHARS = 256 * 1024, 20_000
# A larger file of another format than text usually has a long text: a page has 20 kB, and 2,500 characters.
_LONG_FILE_BYTES = 2 * _MIB
LARGEST_DOCUMENT_BYTES = 512 * _MIB
_LARGEST_BIBLIOGRAPHY_BYTES = 32 * _MIB
_NOT_A_BIBLIOGRAPHY = "not a bibliography; its name must end in {suffixes}"
_INVALID = "its parser returned an invalid answer"
_NO_WALLS = (
    "the walls around its reader are missing here (see: winnow doctor); to read such files without them, at the "
    "risk that winnow ingest --help names: --allow-weaker-reader"
)
_LESSER_TIER = (
    "files were read behind the walls of the tier {tier!r}, not all of them ({stands}); winnow doctor says how to "
    "get the others"
)
_UNREAD = (
    "{files} not read (PDF, office files, books, mail): walls around their readers are missing here ({why}); "
    "winnow doctor says how to get them. --allow-weaker-reader reads such files without them, in a process that "
    "limits only its memory and time: a harmful file could then read, change and send all that you can; use it "
    "for files whose origin you trust"
)
_UNWALLED = "files were read without walls, as allow_weaker_reader allows ({why}); a harmful one has your rights"
_LATE_IMPORT = (
    "its reader needs the module {module}, which was not loaded before its walls stood; please report it"
)
_REASON_CHARS = 200
_NEEDS_OCR = "an image; {advice}"
_NO_OPTIONS = ReadOptions()


def expected_tasks(path: Path, size: int, options: ReadOptions) -> frozenset[Task]:
    """The tasks of children that an ingest with these options has with a file of this name and size, usually."""
    if form := format_of(path.name):
        if form.needs_ocr and not options.uses_ocr:
            return frozenset()
        return frozenset({form.task, "dry_run"} if size > _LONG_FILE_BYTES else {form.task})
    is_markup = kind_of(path) in _PARSED_IN_CHILD or may_be_manual(path)
    tasks: dict[Task, bool] = {"parse": is_markup, "dry_run": size > _LONG_CHARS}
    return frozenset(task for task, is_expected in tasks.items() if is_expected)


class ParserProcess:
    """The children of one ingest: taken from a pool at their first use, and given back at the end of the context.

    For one thread at a time. ``allows_weaker``: files of other formats than text are read without walls where
    no tier of them stands. ``pool`` keeps the children for a later ingest; without one they end with this ingest.
    """

    def __init__(
        self,
        options: ReadOptions = _NO_OPTIONS,
        *,
        allows_weaker: bool = False,
        pool: ReaderPool | None = None,
    ) -> None:
        self.options = options
        self._allows_weaker = allows_weaker
        self._pool = pool
        self._is_closed = False
        self._walled: StartedChildren | None = None
        self._expected: frozenset[Task] = frozenset()
        # The walls that files met: the name of a tier, "none", or "" where no file needed them.
        self.tier = ""
        self.wall_warnings: tuple[str, ...] = ()
        self._refused = 0  # files that were not read for want of walls
        self._confined = ConfinedProcess()
        # The readers that were tried on the last file, each with why it failed, "" where it did not.
        self.tried: list[tuple[str, str]] = []
        # Images without text are no documents: how many of them were read.
        self.blank_images = 0

    def __enter__(self) -> ParserProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool and self._walled and not error and not self._is_closed:
            self._pool.give_back(self._walled)
            self._walled = None
        self.close()

    def close(self) -> None:
        """Kill the children; a document that is being read in another thread fails."""
        self._is_closed = True
        self._confined.close()
        if self._walled:
            self._walled.close()

    def expect(self, tasks: frozenset[Task]) -> None:
        """Have the children loaded with these tasks when they start; for any other they start anew."""
        self._expected = tasks

    @contextlib.contextmanager
    def closing_on_error(self) -> Iterator[None]:
        """A context that closes on an exception, so that a thread which waits for a document ends."""
        try:
            yield
        except BaseException:
            self.close()
            raise

    def parse(self, kind: DocumentType, text: str, uri: str) -> ReaderOutput:
        """Parse a text of this kind into documents. Raises ``UnreadableFile``."""
        if kind not in _PARSED_IN_CHILD:
            yield from parse(kind, text, uri)
            return
        facts, body = self._ask_about_text({"do": "parse", "kind": kind, "uri": uri, "text": text}, text)
        yield RawDocument(uri, kind, _checked(answers.check_title, facts), body)

    def dry_run(self, raw: RawDocument) -> None:
        """Raise ``UnreadableFile`` for a document that cannot be split or mined within the limits."""
        if len(raw.text) <= _LONG_CHARS and max(map(len, raw.text.split("\n"))) <= _LONG_LINE_CHARS:
            return
        request = {"do": "dry_run", "kind": raw.type, "uri": raw.uri, "title": raw.title, "text": raw.text}
        facts = {"metadata": dict(raw.metadata), "body_start": raw.body_start}
        self._ask_about_text({**request, **facts, "places": list(map(astuple, raw.places))}, raw.text)

    def read_bibliography(self, path: Path) -> Bibliography:
        """Read the works in a file of BibTeX, RIS or CSL-JSON. Raises ``UnreadableFile``, or ``OSError``."""
        suffix = path.suffix.lower()
        if suffix not in SUFFIXES:
            raise UnreadableFile(_NOT_A_BIBLIOGRAPHY.format(suffixes=", ".join(SUFFIXES)))
        data = read_whole(path, _LARGEST_BIBLIOGRAPHY_BYTES)
        request = {"do": "bibliography", "suffix": suffix, "text": clean_text(decode(data))}
        try:
            answer = self._children("bibliography").ask(request, _seconds("bibliography", len(data)), None)
            _load_facts(answer[0])
            return unpack(answer[1])
        except (ChildFailed, ValueError) as failure:
            raise UnreadableFile(str(failure) if isinstance(failure, ChildFailed) else _INVALID) from None

    def read(self, path: Path, uri: str, form: Format) -> ReaderOutput:
        """Read a file of this format into a document, none for an image without text.

        Raises ``UnreadableFile``, or ``OSError``.
        """
        if form.needs_ocr and not self.options.uses_ocr:
            raise UnreadableFile(_NEEDS_OCR.format(advice=ocr_package.advise("to read it by OCR: --ocr")))
        with open_file(path) as file:
            size = size_of(file, LARGEST_DOCUMENT_BYTES)
            check_signature(file, path.suffix)
            parsed = self._read_file(file, path, size, form)
        if parsed is None:
            self.blank_images += 1
            return iter([])
        title = parsed.title or stem(uri)
        raw = RawDocument(uri, form.type, title, parsed.text, places=parsed.places, reading=parsed.reading)
        return iter([apply_facts(raw, parsed.facts)])

    def draw_page(
        self, file: BinaryIO, path: Path, number: int, wanted: Sequence[WantedText]
    ) -> answers.MarkedPage:
        """Draw a page of the PDF that was opened at this path. Raises ``UnreadableFile``, or ``OSError``."""
        size = size_of(file, LARGEST_DOCUMENT_BYTES)
        request = {
            "do": "draw",
            "path": str(path.absolute()),
            "page": number,
            "wanted": [astuple(each) for each in wanted],
        }
        try:
            facts, data = self._children("draw", needs_walls=True).ask(request, _seconds("draw", size), file)
            return answers.check_page(_load_facts(facts), data, len(wanted))
        except ChildFailed as failure:
            raise UnreadableFile(str(failure)) from None
        except frames.ParserProtocolError:
            raise UnreadableFile(_INVALID) from None

    def _read_file(self, file: BinaryIO, path: Path, size: int, form: Format) -> ParsedFile | None:
        """The file by the first of its format's readers that finds text in it; None for an image without text."""
        children = self._children(form.task, needs_walls=True)
        seconds = _seconds("ocr" if self.options.uses_ocr else "read", size)
        self.tried = []
        for name in form.readers:
            try:
                parsed = self._ask_reader(children, form.task, name, path, file, seconds)
            except (ChildFailed, UnreadableFile) as failure:
                self.tried.append((name, str(failure)))
                if isinstance(failure, UnreadableFile):
                    raise
                continue
            if parsed.text.strip():
                noted = _note_failure(parsed, [reason for _, reason in self.tried])
                self.tried.append((name, ""))
                return noted
            self.tried.append((name, _describe_no_text(parsed, uses_ocr=self.options.uses_ocr)))
            if form.needs_ocr:
                return None
        raise UnreadableFile(self.tried[0][1])

    def _ask_reader(
        self, children: Children, task: Task, name: str, path: Path, file: BinaryIO, seconds: float
    ) -> ParsedFile:
        options = self.options
        request = {
            "do": task,
            "reader": name,
            "path": str(path.absolute()),
            "keeps_hidden": options.keeps_hidden,
            "passwords": options.passwords,
            "uses_ocr": options.uses_ocr,
        }
        facts, text = _ask(children, request, seconds, file)
        try:
            return answers.check_parsed_file(facts, text)
        except frames.ParserProtocolError:
            raise ChildFailed(_INVALID) from None

    def _ask_about_text(self, request: dict[str, Any], text: str) -> tuple[dict[str, Any], str]:
        seconds = _seconds(request["do"], len(text.encode("utf-8", "replace")))
        try:
            return _ask(self._children(request["do"]), request, seconds, None)
        except ChildFailed as failure:
            raise UnreadableFile(str(failure)) from None

    def _children(self, task: Task, *, needs_walls: bool = False) -> Children:
        """The children for a document. Raises ``UnreadableFile`` where it must not be read without walls."""
        if self._is_closed:
            raise UnreadableFile(STOPPED)
        tasks = self._expected | {task}
        if not self._walled:
            start = self._pool.take if self._pool else start_walled_children
            self._walled = start(self.options, tasks)
        if self._walled.children:
            self._walled.children.expect(tasks)
        if needs_walls:
            is_refused = self._walled.children is None and not self._allows_weaker
            self._refused += is_refused
            self._note_tier(self._walled)
            if is_refused:
                raise UnreadableFile(_NO_WALLS)
        return self._walled.children or self._confined

    def _note_tier(self, started: StartedChildren) -> None:
        self.tier = started.tier or NO_TIER
        if started.children is None:
            text = _UNWALLED if self._allows_weaker else _UNREAD
            files = count_of(self._refused, "file was", "files were")
            self.wall_warnings = (text.format(files=files, why=started.missing),)
        elif started.missing:
            self.wall_warnings = (_LESSER_TIER.format(tier=started.tier, stands=TIERS[started.tier].stands),)


@dataclass(frozen=True, slots=True)
class WallsTrial:
    """Whether files can be read here: the ``tier`` of the walls, "" for none, what is missing, what was tried."""

    missing: str
    tier: str = ""
    evidence: str = ""


def try_walls() -> WallsTrial:
    """Start the children, and have one parse a page."""
    task: Task = "parse"
    started = start_walled_children(_NO_OPTIONS, {task})
    children, missing = started.children, started.missing
    if children is None:
        return WallsTrial(missing)
    try:
        began = time.perf_counter()
        request = {"do": task, "kind": "html", "uri": "trial.html", "text": "<title>trial</title>"}
        _ask(children, request, _seconds(task, 0), None)
    except (ChildFailed, UnreadableFile) as error:
        return WallsTrial(str(error))
    finally:
        children.close()
    return WallsTrial(
        missing, started.tier, f"a child parsed a page in {(time.perf_counter() - began) * 1000:.0f} ms"
    )


def _ask(
    children: Children, request: dict[str, Any], seconds: float, document: BinaryIO | None
) -> tuple[dict[str, Any], str]:
    """The checked facts and text of an answer. Raises ``ChildFailed``, or ``UnreadableFile`` with its flaw."""
    body, text = children.ask(request, seconds, document)
    facts = _load_facts(body)
    try:
        return facts, answers.check_text(text)
    except frames.ParserProtocolError:
        raise ChildFailed(_INVALID) from None


def _load_facts(body: bytes) -> dict[str, Any]:
    """The facts of an answer. Raises ``ChildFailed``, or ``UnreadableFile`` with its flaw."""
    try:
        facts = frames.load(body)
    except frames.ParserProtocolError:
        raise ChildFailed(_INVALID) from None
    if module := find_installed(facts.pop(LATE_IMPORTS, [])):
        raise ChildFailed(_LATE_IMPORT.format(module=module))
    for name, error in (("flaw", UnreadableFile), ("failure", ChildFailed)):
        if (reason := facts.get(name)) is not None:
            raise error(str(reason)[:_REASON_CHARS])
    return facts


def _seconds(work: str, size: int) -> float:
    fixed, per_mib, most = _SECONDS[work]
    return min(fixed + per_mib * size / _MIB, most)


def _note_failure(parsed: ParsedFile, reasons: list[str]) -> ParsedFile:
    """The file with a note on the readers that failed before."""
    notes = tuple(f"another reader did not read it: {reason}" for reason in reasons)
    return replace(parsed, reading=replace(parsed.reading, notes=(*notes, *parsed.reading.notes)))


def _describe_no_text(parsed: ParsedFile, *, uses_ocr: bool) -> str:
    scans = len(parsed.reading.needs_ocr)
    if scans and not uses_ocr:
        pages = count_of(scans, "page that is an image", "pages that are images")
        advice = ocr_package.advise(f"to read {'it' if scans == 1 else 'them'} by OCR: --ocr")
        return f"no text in it, but {pages} ({name_numbers(parsed.reading.needs_ocr)}); {advice}"
    return "no text in it; if you see some when you open it, save it again from its program"


def _checked(check: Any, facts: Mapping[str, Any]) -> Any:
    try:
        return check(facts)
    except frames.ParserProtocolError:
        raise UnreadableFile(_INVALID) from None
