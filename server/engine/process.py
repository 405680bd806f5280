"""The program that an engine runs: leave the client that started it, take the lock, listen, serve, leave.

    python -m server.engine.process < settings.json

Says "ready" on stdout once it listens, "taken" where another engine has the store, or why it cannot; then it has
neither stdin nor stdout.

Theory of operation. Two processes. The *keeper* has the lock and the socket, imports nothing that is large, opens
nothing and starts no thread; so it can fork at any time, and takes little memory. Its child is the *engine*: it
imports what it needs, opens the library and answers. One that is killed leaves its socket with the keeper, who
forks the next: clients connect again at once, wait in the socket's queue, and are answered as soon as the library
is open, without an interpreter's start. One that hangs is killed (see ``pulse``). One that leaves by itself takes
its keeper along, and so does one that dies again and again: the next call of a client then starts anew. Where the
keeper is killed, the engine goes on and has the lock as well.
"""

from __future__ import annotations

import asyncio
import gc
import json
import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, replace
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from server.backends.files.lock import ENGINE, StoreLock
from server.engine import endpoint, heartbeat
from server.engine.launch import READY, TAKEN
from server.errors import WinnowError
from server.runtime.logs import log, set_up_logs
from server.settings import MIB, Settings
from server.text.tokens import count_tokens

if TYPE_CHECKING:
    from server.engine.service import IngestJob
    from server.opening import Backends

# An ingest computes beside the queries. With the usual 5 ms a query waits that long wherever it needs the
# interpreter again: at the 95th percentile 13.5 ms for one read of the catalogue, against 1.9 ms.
_SWITCH_SECONDS = 0.0005
_LOG_BYTES = MIB  # and one file of the same size before it
# An engine that dies so often in so many seconds is not started again before somebody asks.
_MOST_DEATHS, _DEATHS_SECONDS = 3, 60.0


def main() -> None:
    """Become an engine, or say why not."""
    told = sys.stdin.read()
    if os.fork():
        os._exit(0)  # nobody's child: no client has to outlive it, none has to wait for it
    os.chdir("/")
    sys.argv = ["winnow", "engine"]  # what locks call this process
    settings = Settings(**json.loads(told))
    try:
        lock = StoreLock(settings.store, ENGINE)
    except WinnowError as error:
        _say(TAKEN if error.reason == "INDEX_HELD" else error.message)
        return
    try:
        _listen(settings, lock)
    finally:
        lock.release()


def _listen(settings: Settings, lock: StoreLock) -> None:
    try:
        door = endpoint.listening(settings.store)
        set_up_logs(handler=_log_file(settings.store))
    except WinnowError as error:
        _say(error.message)
        return
    except OSError as error:
        _say(f"{error.filename}: {error.strerror}")
        return
    _say(READY)
    died: list[float] = []
    while len(died) < _MOST_DEATHS or time.monotonic() - died[-_MOST_DEATHS] > _DEATHS_SECONDS:
        heard, told = os.pipe()
        engine = os.fork()
        if engine == 0:
            os.close(heard)
            lock.sign()
            _run(settings, door, told)
        os.close(told)
        status = heartbeat.ended(engine, heard)
        os.close(heard)
        if os.waitstatus_to_exitcode(status) == 0:
            return
        died.append(time.monotonic())
        log("engine died", level=logging.CRITICAL, pid=engine, status=os.waitstatus_to_exitcode(status))
    endpoint.shut(settings.store, door)


def _make_ready() -> None:
    """Import what every client needs, before the first one is answered."""
    count_tokens("warm")


def _run(settings: Settings, door: endpoint.Listener, pipe: int) -> NoReturn:
    """Be the engine. It ends here, whatever happens: what follows a fork is the keeper's."""
    log("engine started", pid=os.getpid())
    try:
        _make_ready()
        asyncio.run(_serve(settings, door, pipe))
    except BaseException:
        log("engine failed", level=logging.CRITICAL, exc_info=True)
        logging.shutdown()
        os._exit(1)
    log("engine left", pid=os.getpid())
    logging.shutdown()
    os._exit(0)


async def _serve(settings: Settings, door: endpoint.Listener, pipe: int) -> None:
    from server.engine.service import EngineService

    sys.setswitchinterval(_SWITCH_SECONDS)
    library = _Library(settings)
    host = EngineService(settings, library.open, library.ingest)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, host.leave)
    beating = loop.create_task(heartbeat.beat(pipe))
    try:
        await host.serve(door)
    finally:
        await host.close()
        beating.cancel()


class _Library:
    """What the engine shares: the open backends, and the ingests that write to them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def open(self) -> Backends:
        """Open it; its model is still being loaded. Raises as ``open_backends`` does."""
        # Engines and model runtimes take half a second to import; a client waits for the socket only.
        from server.opening import open_backends

        self._backends = open_backends(self._settings, wait_for_model=False, builds_apart=True)
        gc.freeze()  # what is open now stays: no look for garbage has to pass it
        return self._backends

    def ingest(self, settings: Settings, work: IngestJob, on_progress: Callable[[Any], None]) -> dict[str, Any]:
        """One ingest of a client's, under that client's settings; the report as JSON data."""
        from server.ingest.documents import labels_of
        from server.ingest.pipeline import ingest_paths
        from server.ingest.target import target_of

        embedder = self._backends.embedder.wait()
        warnings = () if embedder else (f"indexed by words alone: {self._backends.embedder.why}",)
        target = target_of(settings, self._backends, embedder)
        paths = [Path(path) for path in work.paths]
        report = ingest_paths(target, paths, labels=labels_of(work.labels), progress=on_progress)
        return asdict(replace(report, warnings=warnings + report.warnings))


def _log_file(store: Path) -> logging.Handler:
    path = store / "engine.log"
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
    os.close(os.open(path, flags, 0o600))
    return RotatingFileHandler(path, maxBytes=_LOG_BYTES, backupCount=1, encoding="utf-8")


def _say(word: str) -> None:
    """The one thing that whoever started this waits for; then nothing of theirs is left."""
    sys.stdout.write(word)
    sys.stdout.flush()
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    os.close(nothing)


if __name__ == "__main__":
    main()
