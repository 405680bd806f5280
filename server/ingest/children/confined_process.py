"""One child process that parses one document after another, without walls, within limits that it sets itself.

Its environment holds no secrets; its process group is killed at the end. It serves markup and long texts where the
walls are missing, and files of other formats where the operator accepts that.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import threading
from typing import Any, BinaryIO

from winnow import SEARCH_PATH
from winnow.server.readers import frames
from winnow.server.readers.documents import UnreadableFile
from winnow.server.readers.failures import NO_ANSWER, STOPPED, ChildFailed, crashed, too_slow

# The limit on the clock is a multiple, because other processes run too, and the child needs time to start.
_CLOCK_FACTOR, _START_SECONDS = 4, 30.0
_END_SECONDS = 5.0  # of a child that has closed its answers, or sent an invalid one, on a busy machine
_OUT_OF_TIME = frozenset(getattr(signal, name, -1) for name in ("SIGXCPU", "SIGALRM", "SIGKILL"))
# The child imports the modules of this process, not files of the working folder.
_PROGRAM = f"import sys; sys.path.insert(0, {SEARCH_PATH!r}); from winnow.server.readers.child import main; main()"
_COMMAND = (sys.executable, "-P", "-c", _PROGRAM)
_KEPT_VARIABLES = ("PATH", "PYTHONPATH", "PYTHONHOME", "SYSTEMROOT", "LANG", "LC_ALL", "TMPDIR")
# Libraries that start a thread for each core reserve address space for each.
_VARIABLES = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": "1"}


class ConfinedProcess:
    """The process: started at its first use, killed at the end. For one thread at a time."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._is_closed = False

    def close(self) -> None:
        """Kill the child; a document that is being read in another thread fails."""
        self._is_closed = True
        self._end()

    def ask(self, request: dict[str, Any], seconds: float, document: BinaryIO | None) -> tuple[bytes, bytes]:
        """The facts and the text of the answer. Raises ``ChildFailed``, and ``UnreadableFile`` once closed."""
        child = self._running_child()
        timer = threading.Timer(_CLOCK_FACTOR * seconds + _START_SECONDS, _kill, (child,))
        timer.daemon = True
        timer.start()
        try:
            assert child.stdin
            assert child.stdout
            frames.send(child.stdin, frames.dump({**request, "seconds": seconds}))
            facts = frames.receive(child.stdout, frames.MAX_FACTS_BYTES)
            text = frames.receive(child.stdout, frames.MAX_TEXT_BYTES)
            is_spent = frames.receive(child.stdout, len(frames.SPENT)) == frames.SPENT
        except (OSError, EOFError, frames.ParserProtocolError, ValueError):
            raise ChildFailed(self._failure_reason(seconds)) from None
        finally:
            timer.cancel()
        if is_spent:  # it may take a moment to end, and would leave the next request without an answer
            self._end()
        return facts, text

    def _running_child(self) -> subprocess.Popen[bytes]:
        if self._is_closed:
            raise UnreadableFile(STOPPED)
        if self._child is None or self._child.poll() is not None:
            self._end()
            self._child = _start()
        return self._child

    def _failure_reason(self, seconds: float) -> str:
        """End a child that did not answer, and return the reason; the next document gets a new child."""
        # Its own end says why; the kill below would look like the end of its time.
        code = _await_end(self._child) if self._child else None
        self._end()
        if self._is_closed:
            raise UnreadableFile(STOPPED)
        if code is None:
            return NO_ANSWER
        if -code in _OUT_OF_TIME:
            return too_slow(seconds)
        return crashed(code)

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


def _await_end(child: subprocess.Popen[bytes]) -> int | None:
    """The exit code of a child that ends by itself; None for one that goes on."""
    try:
        return child.wait(_END_SECONDS)
    except subprocess.TimeoutExpired:
        return None


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
