"""The child that parses documents which may stall, crash or exhaust a parser; ``parser.py`` beside it starts it.

Requests arrive on standard input, answers leave on standard output, one frame each. Limits are set here before the
first request is read: memory for the whole process, processor and wall-clock time for each request. Where one is
exceeded the kernel ends the process, and the other end says so.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any, BinaryIO, get_args

from server.ingest.documents import RawDocument, UnreadableFile
from server.ingest.parsing import frames
from server.ingest.readers import parse
from server.models import Document, DocumentType

if sys.platform != "win32":
    import resource

MEMORY_BYTES = 1024 * 1024 * 1024
_DESCRIPTORS = 64


def main() -> None:
    """Serve requests until there is no more."""
    requests, answers = _streams()
    _limit()
    while True:
        try:
            request = frames.receive(requests)
        except EOFError:
            return
        _allow(float(request["seconds"]))
        answer, is_spent = _served(request)
        frames.send(answers, answer)
        if is_spent:
            return


def _streams() -> tuple[BinaryIO, BinaryIO]:
    """The two ends, out of reach of what a library prints."""
    requests, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    null = os.open(os.devnull, os.O_RDWR)
    for standard in (0, 1, 2):
        os.dup2(null, standard)
    return requests, answers


def _limit() -> None:
    if sys.platform == "win32":
        return
    limits = [
        (resource.RLIMIT_AS, MEMORY_BYTES),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_NOFILE, _DESCRIPTORS),
    ]
    for what, most in limits:
        _, hard = resource.getrlimit(what)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(what, (most, most))


def _allow(seconds: float) -> None:
    """So much processor time for the next request, and four times as much on the clock: others compute as well."""
    if sys.platform == "win32":
        return
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    soft = int(used.ru_utime + used.ru_stime + seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (soft if hard == resource.RLIM_INFINITY else min(soft, hard), hard))
    signal.setitimer(signal.ITIMER_REAL, 4 * seconds)


def _served(request: dict[str, Any]) -> tuple[dict[str, Any], bool]:
    """The answer, and whether this process is no longer good for another request."""
    try:
        serve = _parsed if request["do"] == "parse" else _rehearsed
        return serve(request), False
    except UnreadableFile as error:
        return {"flaw": str(error)}, False
    except MemoryError:
        return {"flaw": f"needs more than {MEMORY_BYTES >> 20} MiB of memory"}, True
    except RecursionError:
        return {"flaw": "nested too deeply"}, True
    except Exception as error:  # of a parser's or a library's: what was read may still be held
        return {"flaw": f"its parser failed ({type(error).__name__})"}, True


def _parsed(request: dict[str, Any]) -> dict[str, Any]:
    kind: DocumentType = request["kind"]
    assert kind in get_args(DocumentType)
    (found,) = parse(kind, str(request["text"]), str(request["uri"]))
    assert isinstance(found, RawDocument)
    return {"title": found.title, "text": found.text}


def _rehearsed(request: dict[str, Any]) -> dict[str, Any]:
    """Do with the document what the ingest is about to do with it, and say that it ended."""
    # Vocabularies take half a second to load, and most ingests rehearse nothing.
    from server.graph.extraction.document_extraction import extract_document
    from server.graph.extraction.gazetteer import NO_GAZETTEER
    from server.ids import document_id
    from server.ingest.chunking import chunk

    uri, metadata = str(request["uri"]), request["metadata"]
    document = Document(
        document_id("p", uri), "p", uri, "", request["title"], request["kind"], "", metadata=metadata
    )
    chunks = chunk(document, request["text"])
    extract_document(document, request["text"], chunks, NO_GAZETTEER)
    return {"chunks": len(chunks)}
