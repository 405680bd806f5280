"""Parses documents in a child process, so that no document can stall, crash or exhaust an ingest.

Theory of operation. Markup (HTML, reStructuredText) is parsed in the child, whatever its size. A text that is
long, or has a very long line, is *rehearsed* there: the child splits it into chunks and mines it for the graph, as
the ingest does afterwards with the same result, so that a document which takes too much time or memory does so in
the child. One child serves all documents of an ingest; if a document kills it, the next one gets a new child.

The child has 1 GiB of address space. For each document it has processor time by the document's size, and four
times that on the clock. Its environment holds no secrets; its process group is killed at the end. Its answers are
checked like any foreign data. To confine it further, change ``_COMMAND`` and ``child._set_process_limits``.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import astuple
from pathlib import Path
from types import TracebackType
from typing import Any

from server.ingest.documents import RawDocument, UnreadableFile
from server.ingest.parsing import frames
from server.ingest.readers import ReaderOutput, parse
from server.models import DocumentType

# Processor seconds per document, and per MiB of it: several times those of the slowest real documents.
_SECONDS = {"parse": (10.0, 10.0), "rehearse": (20.0, 30.0)}
# The limit on the clock is a multiple, because other processes run too, and the child needs time to start.
_CLOCK_FACTOR, _START_SECONDS = 4, 30.0
_MIB = 1024 * 1024
# Kinds whose parsers take time and memory that grow faster than the text, or recurse with its depth.
_PARSED_IN_CHILD: frozenset[DocumentType] = frozenset({"html", "rst"})
# A longer text, or one with a longer line, is rehearsed; a shorter one takes at most a few seconds.
_LONG_CHARS, _LONG_LINE_CHARS = 256 * 1024, 20_000
_OUT_OF_TIME = frozenset(getattr(signal, name, -1) for name in ("SIGXCPU", "SIGALRM"))
_STOPPED = "the ingest was stopped"
# The child imports the modules of this process, not files of the working folder.
_HOME = str(Path(__file__).parents[3])
_PROGRAM = f"import sys; sys.path.insert(0, {_HOME!r}); from server.ingest.parsing.child import main; main()"
_COMMAND = (sys.executable, "-P", "-c", _PROGRAM)
_KEPT_VARIABLES = ("PATH", "PYTHONPATH", "PYTHONHOME", "SYSTEMROOT", "LANG", "LC_ALL", "TMPDIR")
# Libraries that start a thread for each core reserve address space for each.
_VARIABLES = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


class ParserProcess:
    """The child process of one ingest: started at its first use, killed at the end. For one thread at a time."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._is_closed = False

    def __enter__(self) -> ParserProcess:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Kill the child; a document that is being read in another thread fails."""
        self._is_closed = True
        self._end()

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
        answer = self._ask({"do": "parse", "kind": kind, "uri": uri, "text": text}, text)
        yield RawDocument(uri, kind, _text(answer, "title"), _text(answer, "text"))

    def rehearse(self, raw: RawDocument) -> None:
        """Raise ``UnreadableFile`` for a document that cannot be split or mined within the limits."""
        if len(raw.text) <= _LONG_CHARS and max(map(len, raw.text.split("\n"))) <= _LONG_LINE_CHARS:
            return
        request = {"do": "rehearse", "kind": raw.type, "uri": raw.uri, "title": raw.title, "text": raw.text}
        facts = {"metadata": dict(raw.metadata), "body_start": raw.body_start}
        self._ask({**request, **facts, "places": list(map(astuple, raw.places))}, raw.text)

    def _ask(self, request: dict[str, Any], text: str) -> dict[str, Any]:
        fixed, per_mib = _SECONDS[request["do"]]
        seconds = fixed + per_mib * len(text.encode("utf-8", "replace")) / _MIB
        child = self._running_child()
        timer = threading.Timer(_CLOCK_FACTOR * seconds + _START_SECONDS, _kill, (child,))
        timer.daemon = True
        timer.start()
        try:
            assert child.stdin
            assert child.stdout
            frames.send(child.stdin, {**request, "seconds": seconds})
            answer = frames.receive(child.stdout)
        except (OSError, EOFError, frames.ParserProtocolError, ValueError):
            raise UnreadableFile(self._failure_reason(seconds)) from None
        finally:
            timer.cancel()
        if (flaw := answer.get("flaw")) is not None:
            raise UnreadableFile(str(flaw)[:200])
        return answer

    def _running_child(self) -> subprocess.Popen[bytes]:
        if self._is_closed:
            raise UnreadableFile(_STOPPED)
        if self._child is None or self._child.poll() is not None:
            self._end()
            self._child = _start()
        return self._child

    def _failure_reason(self, seconds: float) -> str:
        """End a child that did not answer, and return the reason; the next document gets a new child."""
        child = self._child
        self._end()
        code = child.returncode if child else 0
        if self._is_closed:
            return _STOPPED
        if -code in _OUT_OF_TIME or -code == getattr(signal, "SIGKILL", 9):
            return f"takes longer than {seconds:.0f} s to parse, or more memory than is available; split it"
        return f"its parser crashed ({_exit_name(code)})"

    def _end(self) -> None:
        child, self._child = self._child, None
        if child is None:
            return
        _kill(child)
        child.wait()
        for stream in (child.stdin, child.stdout):
            with contextlib.suppress(OSError):  # the rest of a request cannot be sent
                if stream:
                    stream.close()


def _start() -> subprocess.Popen[bytes]:
    environment = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    try:
        return subprocess.Popen(
            _COMMAND,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environment | _VARIABLES,
            start_new_session=True,
        )
    except OSError as error:
        raise UnreadableFile(f"the process that parses it could not be started: {error.strerror}") from None


def _kill(child: subprocess.Popen[bytes]) -> None:
    if child.poll() is None:
        with contextlib.suppress(OSError):
            if sys.platform == "win32":
                child.kill()
            else:
                os.killpg(child.pid, signal.SIGKILL)


def _text(answer: dict[str, Any], name: str) -> str:
    value = answer.get(name)
    if not isinstance(value, str):
        raise UnreadableFile("its parser returned an invalid answer")
    return value


def _exit_name(code: int) -> str:
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"
