"""The program of a child that parses documents: markup, long texts, and files of the formats in the table.

It also draws pages of a PDF.

Behind walls (``walled_children.py``) a child is forked for each document: the request and the answer travel over
one descriptor, the file is another. Without walls (``confined_process.py``) one process serves requests on its
standard input, opens files by their path, and sets its own limits: memory for the whole process at its start,
processor and wall-clock time for each request that it has read. The kernel ends a process that exceeds its time; a
request that needs more memory is answered with an error.
After a file of a format in the table it says that it is spent, and ends.
"""

from __future__ import annotations

import ctypes
import encodings
import importlib
import os
import pkgutil
import signal
import sys
from collections.abc import Callable
from dataclasses import asdict, astuple
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, get_args

from winnow.server.bibliographies.formats import latex
from winnow.server.bibliographies.reading import SUFFIXES, pack, read_bibliography
from winnow.server.ids import document_id
from winnow.server.models import Document, DocumentType, Place, WantedText
from winnow.server.readers import frames, markup
from winnow.server.readers.bounded_files import open_file
from winnow.server.readers.chunking import chunk
from winnow.server.readers.documents import RawDocument, UnreadableFile
from winnow.server.readers.extraction.document_extraction import extract_document
from winnow.server.readers.extraction.gazetteer import NO_GAZETTEER
from winnow.server.readers.failures import TOO_LARGE
from winnow.server.readers.formats.format_table import FORMATS
from winnow.server.readers.formats.parsed_file import FormatReader, NotForThisReader, ReadOptions
from winnow.server.readers.late_imports import LATE_IMPORTS, LateImports
from winnow.server.readers.page_pictures.drawing import draw_page
from winnow.server.readers.pdf import ocr
from winnow.server.readers.reading import parse

if sys.platform != "win32":
    import resource

MEMORY_BYTES = 1024 * 1024 * 1024
_DESCRIPTORS = 64
_RPC, _DOCUMENT = 3, 4  # of a walled child; see sandbox/walls/profiles.py
_FORMATS = "winnow.server.readers.formats"

READERS: dict[str, FormatReader] = {}
_UNAVAILABLE: dict[str, str] = {}  # reader -> why it cannot be imported

# The facts, and a text or the bytes of a picture.
ReaderAnswer = tuple[dict[str, Any], str | bytes]


# --- behind walls


def warm_up(*, uses_ocr: bool) -> None:
    """Import every reader and codec, and load OCR if it is used: a child cannot open their files any more."""
    markup.warm_up()
    latex.warm_up()
    for suffix in SUFFIXES:
        read_bibliography("", suffix)
    # Callbacks of native libraries need executable memory. ctypes keeps what it has, and the child gets no more.
    ctypes.CFUNCTYPE(None)(_set_process_limits)
    for module in pkgutil.iter_modules(encodings.__path__):
        if module.name not in ("mbcs", "oem"):  # of Windows
            importlib.import_module(f"encodings.{module.name}")
    for name in dict.fromkeys(name for each in FORMATS.values() for name in each.readers):
        _import_reader(name)
    if uses_ocr:
        ocr.load()


def _import_reader(name: str) -> None:
    try:
        READERS[name] = importlib.import_module(f"{_FORMATS}.{name}").read
    except ImportError as error:  # a library without a build for this system must not take the others with it
        _UNAVAILABLE[name] = str(error)


def prepare(*, uses_ocr: bool) -> Callable[[], None]:
    """Open the streams over the descriptors, which the walls forbid; return the function for one request."""
    requests, answers = os.fdopen(_RPC, "rb", closefd=False), os.fdopen(_RPC, "wb", closefd=False)
    return partial(_serve_one, requests, answers, os.fdopen(_DOCUMENT, "rb", closefd=False))


def _serve_one(requests: BinaryIO, answers: BinaryIO, document: BinaryIO) -> None:
    request = frames.load(frames.receive(requests, frames.MAX_REQUEST_BYTES))
    late = LateImports()
    late.watch()
    facts, content = _serve(request, lambda: document)[0]
    _send(answers, ({**facts, LATE_IMPORTS: late.names} if late.names else facts, content))


def _send(stream: BinaryIO, answer: ReaderAnswer) -> None:
    facts, content = answer
    body = content if isinstance(content, bytes) else content.encode("utf-8", "replace")
    frames.send(stream, frames.dump(facts), body)


# --- without walls


def main() -> None:
    """Serve requests until standard input ends."""
    requests, answers = _open_streams()
    _set_process_limits()
    while True:
        try:
            request = frames.load(frames.receive(requests, frames.MAX_REQUEST_BYTES))
        except EOFError:
            return
        _set_time_limits(float(request["seconds"]))
        answer, is_spent = _serve(request, partial(_open_document, request))
        _clear_alarm()
        _send(answers, answer)
        frames.send(answers, frames.SPENT if is_spent else b"")
        if is_spent:
            return


def _open_document(request: dict[str, Any]) -> BinaryIO:
    _import_reader(request["reader"])
    return open_file(Path(request["path"]))


def _open_streams() -> tuple[BinaryIO, BinaryIO]:
    """The request and answer streams, duplicated so that output of a library cannot reach them."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    return requests, answers


def _set_process_limits() -> None:
    if sys.platform == "win32":
        return
    limits = [
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, _DESCRIPTORS),
    ]
    for limit, most in limits:
        _, hard = resource.getrlimit(limit)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(limit, (most, most))


def _set_time_limits(seconds: float) -> None:
    """Limit the next request to this processor time, and to 4 times as much wall-clock time."""
    if sys.platform == "win32":
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))
    signal.setitimer(signal.ITIMER_REAL, 4 * seconds)


def _clear_alarm() -> None:
    """Stop the alarm, so that the limit of a request does not end the process while it waits for the next one."""
    if sys.platform != "win32":
        signal.setitimer(signal.ITIMER_REAL, 0)


# --- requests


def _serve(request: dict[str, Any], open_document: Callable[[], BinaryIO]) -> tuple[ReaderAnswer, bool]:
    """The answer, and whether the process must end before another request.

    "flaw" is the reason why the file cannot be read; "failure" is what happened to its reader, and another reader
    may read it.
    """
    try:
        match request["do"]:
            case "parse":
                return _parse_markup(request), False
            case "bibliography":
                return _read_bibliography(request), False
            case "dry_run":
                return _dry_run(request), False
            case "draw":
                return _draw_page(request, open_document), True
            case _:
                return _read_file(request, open_document), True
    except UnreadableFile as error:
        return ({"flaw": str(error)}, ""), False
    except NotForThisReader as error:
        return ({"failure": str(error)}, ""), False
    except MemoryError:
        return ({"failure": TOO_LARGE}, ""), True
    except RecursionError:
        return ({"failure": "nested too deeply"}, ""), True
    except (
        BaseException
    ) as error:  # of a parser or library, which may still hold memory; a panic is a BaseException
        return ({"failure": f"its parser failed ({type(error).__name__})"}, ""), True


def _parse_markup(request: dict[str, Any]) -> ReaderAnswer:
    kind: DocumentType = request["kind"]
    assert kind in get_args(DocumentType)
    (raw,) = parse(kind, str(request["text"]), str(request["uri"]))
    assert isinstance(raw, RawDocument)
    return {"title": raw.title}, raw.text


def _read_bibliography(request: dict[str, Any]) -> ReaderAnswer:
    packed = pack(read_bibliography(str(request["text"]), str(request["suffix"])))
    if len(packed.encode("utf-8", "replace")) > frames.MAX_TEXT_BYTES:
        raise UnreadableFile(f"its entries take more than {frames.MAX_TEXT_BYTES >> 20} MiB; split it")
    return {}, packed


def _dry_run(request: dict[str, Any]) -> ReaderAnswer:
    """Split the document and extract its entities as the ingest will, to show that both end within the limits."""
    uri, metadata = str(request["uri"]), request["metadata"]
    document = Document(
        document_id("p", uri),
        "p",
        uri,
        "",
        request["title"],
        request["kind"],
        "",
        metadata=metadata,
        body_start=request["body_start"],
    )
    chunks = chunk(document, request["text"], [Place(*place) for place in request["places"]])
    extract_document(document, request["text"], chunks, NO_GAZETTEER)
    return {"chunks": len(chunks)}, ""


def _draw_page(request: dict[str, Any], open_document: Callable[[], BinaryIO]) -> ReaderAnswer:
    with open_document() as document:
        document.seek(0)
        wanted = [WantedText(*each) for each in request["wanted"]]
        drawn = draw_page(document, int(request["page"]), wanted)
    return {"marks": list(drawn.marks)}, drawn.data


def _read_file(request: dict[str, Any], open_document: Callable[[], BinaryIO]) -> ReaderAnswer:
    name = request["reader"]
    options = ReadOptions(request["keeps_hidden"], tuple(request["passwords"]), request["uses_ocr"])
    with open_document() as document:
        document.seek(0)  # the parent has looked at its beginning, and shares the position
        if name not in READERS:
            return {"failure": f"the reader {name} is not available: {_UNAVAILABLE.get(name, 'unknown')}"}, ""
        parsed = READERS[name](document, options)
    if len(parsed.text) > frames.MAX_TEXT_CHARS:
        raise UnreadableFile(f"its text is longer than {frames.MAX_TEXT_CHARS >> 20} million characters; split it")
    facts = {
        "title": parsed.title,
        "places": list(map(astuple, parsed.places)),
        "reading": asdict(parsed.reading),
        "facts": dict(parsed.facts),
    }
    return facts, parsed.text
