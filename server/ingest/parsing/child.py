"""The child process that parses documents which may stall, crash or exhaust a parser; ``parser.py`` starts it.

Requests arrive on standard input and answers leave on standard output, one frame each. The child sets its own
limits before it reads the first request: memory for the whole process, processor and wall-clock time for each
request. If one is exceeded, the kernel ends the process, and the parent reports it.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, BinaryIO, get_args

from server.ingest.documents import RawDocument, UnreadableFile
from server.ingest.parsing import frames
from server.ingest.readers import parse
from server.models import Document, DocumentType, Place

if sys.platform != "win32":
    import resource

MEMORY_BYTES = 1024 * 1024 * 1024
_DESCRIPTORS = 64


def main() -> None:
    """Serve requests until standard input ends."""
    requests, answers = _open_streams()
    _set_process_limits()
    while True:
        try:
            request = frames.receive(requests)
        except EOFError:
            return
        _set_time_limits(float(request["seconds"]))
        answer, is_spent = _serve(request)
        frames.send(answers, answer)
        if is_spent:
            return


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
    """Limit the next request to this processor time and, as other processes run too, 4 times that on the clock."""
    if sys.platform == "win32":
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))
    signal.setitimer(signal.ITIMER_REAL, 4 * seconds)


def _serve(request: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """The answer, and whether the process must end before another request."""
    try:
        serve = _parse_markup if request["do"] == "parse" else _rehearse
        return serve(request), False
    except UnreadableFile as error:
        return {"flaw": str(error)}, False
    except MemoryError:
        return {"flaw": f"needs more than {MEMORY_BYTES >> 20} MiB of memory"}, True
    except RecursionError:
        return {"flaw": "nested too deeply"}, True
    except Exception as error:  # of a parser or library, which may still hold memory
        return {"flaw": f"its parser failed ({type(error).__name__})"}, True


def _parse_markup(request: dict[str, Any]) -> dict[str, Any]:
    kind: DocumentType = request["kind"]
    assert kind in get_args(DocumentType)
    (raw,) = parse(kind, str(request["text"]), str(request["uri"]))
    assert isinstance(raw, RawDocument)
    return {"title": raw.title, "text": raw.text}


def _rehearse(request: dict[str, Any]) -> dict[str, Any]:
    """Split and mine the document as the ingest will, to show that both end within the limits."""
    # Imported here: the vocabularies take half a second to load, and most ingests rehearse nothing.
    from server.graph.extraction.document_extraction import extract_document
    from server.graph.extraction.gazetteer import NO_GAZETTEER
    from server.ids import document_id
    from server.ingest.chunking import chunk

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
    return {"chunks": len(chunks)}
