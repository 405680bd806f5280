"""The engine's program: detach from the client that started it, take the lock, listen, serve, exit.

    python -m winnow.server.engine.process < settings.json

Writes "ready" to stdout once it listens, "taken" if another engine has the store, or the reason why it cannot;
then it closes stdin and stdout.

Theory of operation. There are two processes. The *supervisor* holds the lock and the socket, imports nothing
large, opens nothing and starts no thread, so it can fork at any time and takes little memory. Its child is the
*engine*: it imports what it needs, opens the store and answers. When the engine is killed, the supervisor still
has the socket and forks the next one: clients reconnect at once, wait in the socket's queue, and are answered as
soon as the store is open, without the start of an interpreter. An engine that hangs is killed (see
``heartbeat``). When the engine exits by itself or crashes repeatedly, the supervisor exits too, and the next call
of a client starts anew. When the supervisor is killed, the engine goes on; it holds the lock as well.
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
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, NoReturn

from winnow.server.engine import endpoint, heartbeat
from winnow.server.engine.launch import READY, TAKEN
from winnow.server.errors import WinnowError
from winnow.server.runtime.logs import log, set_up_logs
from winnow.server.runtime.priority import SWITCH_SECONDS
from winnow.server.runtime.reports.log_files import SharedLogFile
from winnow.server.runtime.reports.traces import set_up_traces, shut_down_traces
from winnow.server.settings.settings import MIB, Settings
from winnow.server.storage.files.lock import ENGINE, StoreLock
from winnow.server.text.words.tokens import count_tokens

if TYPE_CHECKING:
    from winnow.server.backends.opening import Backends
    from winnow.server.engine.client_connection import IngestJob
    from winnow.server.jobs.records import Job, JobResult
    from winnow.server.jobs.watching.watcher import Watcher

_LOG_BYTES = MIB  # and one older file of the same size
# After so many crashes within so many seconds the supervisor gives up.
_MAX_CRASHES, _CRASH_SECONDS = 3, 60.0


def main() -> None:
    """Become the supervisor of an engine, or report why not."""
    settings_text = sys.stdin.read()
    if os.fork():
        os._exit(0)  # detached: the client need neither outlive nor reap this process
    os.chdir("/")
    sys.argv = ["winnow", "engine"]  # the name of this process in lock files
    settings = Settings(**json.loads(settings_text))
    try:
        lock = StoreLock(settings.store, ENGINE)
    except WinnowError as error:
        _report(TAKEN if error.reason == "INDEX_HELD" else error.message)
        return
    try:
        _supervise(settings, lock)
    finally:
        lock.release()


def _supervise(settings: Settings, lock: StoreLock) -> None:
    try:
        listener = endpoint.open_listener(settings.store)
        set_up_logs(handler=SharedLogFile(settings.store / "engine.log", _LOG_BYTES, kept=1))
    except WinnowError as error:
        _report(error.message)
        return
    except OSError as error:
        _report(f"{error.filename}: {error.strerror}")
        return
    _report(READY)
    crashes: list[float] = []
    while len(crashes) < _MAX_CRASHES or time.monotonic() - crashes[-_MAX_CRASHES] > _CRASH_SECONDS:
        read_end, write_end = os.pipe()
        engine = os.fork()
        if engine == 0:
            os.close(read_end)
            lock.write_owner()
            _run_engine(settings, listener, write_end)
        os.close(write_end)
        status = heartbeat.wait_for_end(engine, read_end)
        os.close(read_end)
        if os.waitstatus_to_exitcode(status) == 0:
            return
        crashes.append(time.monotonic())
        log("engine died", level=logging.CRITICAL, pid=engine, status=os.waitstatus_to_exitcode(status))
    endpoint.close_listener(settings.store, listener)


def _warm_up() -> None:
    """Load the tokenizer, which every client needs, before the first request."""
    count_tokens("warm")


def _run_engine(settings: Settings, listener: endpoint.Listener, pipe: int) -> NoReturn:
    """Run the engine, then exit: the code after the fork belongs to the supervisor."""
    log("engine started", pid=os.getpid())
    try:
        _warm_up()
        asyncio.run(_serve(settings, listener, pipe))
    except BaseException:
        log("engine failed", level=logging.CRITICAL, exc_info=True)
        logging.shutdown()
        os._exit(1)
    log("engine left", pid=os.getpid())
    logging.shutdown()
    os._exit(0)


async def _serve(settings: Settings, listener: endpoint.Listener, pipe: int) -> None:
    # Large imports: the supervisor must not have them.
    from winnow.server.engine.service import EngineService

    sys.setswitchinterval(SWITCH_SECONDS)
    with suppress(WinnowError):  # the server that started this engine has the same settings, and said it
        set_up_traces(settings, "winnow-engine")
    backends = _EngineBackends(settings)
    service = EngineService(settings, backends.open, backends.ingest, backends.run_job, backends.make_watcher)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, service.stop)
    heartbeats = loop.create_task(heartbeat.send_heartbeats(pipe))
    try:
        await service.serve(listener)
    finally:
        await service.close()
        heartbeats.cancel()
        await asyncio.to_thread(shut_down_traces)


class _EngineBackends:
    """The open backends that all clients share, and the ingests that write to them."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def open(self) -> Backends:
        """Open the backends; the model is loaded in the background. Raises as ``open_backends`` does."""
        # Vector stores and model runtimes take half a second to import; the socket must be there before.
        from winnow.server.backends.opening import open_backends

        self._backends = open_backends(self._settings, wait_for_model=False, builds_in_subprocess=True)
        gc.freeze()  # what is open now stays: the garbage collector need not visit it
        return self._backends

    def make_watcher(self) -> Watcher:
        """A watcher of the store's sources, which does not run yet; the backends are open."""
        from winnow.server.jobs.watching.store_watcher import watcher_of

        return watcher_of(self._settings, lambda: self._backends)

    def run_job(self, job: Job, on_progress: Callable[[Any], None]) -> JobResult:
        """Run a job that an agent asked for; the backends are open."""
        from winnow.server.jobs.ingesting import run_ingest
        from winnow.server.projects.rebuilding import rebuild_vectors

        return run_ingest(self._settings, self._backends, job, on_progress, rebuild_vectors)

    def ingest(self, settings: Settings, job: IngestJob, on_progress: Callable[[Any], None]) -> dict[str, Any]:
        """Run a client's ingest under that client's settings; returns the report as JSON data."""
        from winnow.server.jobs.target import run_request

        return asdict(run_request(settings, self._backends, job.request, on_progress))


def _report(message: str) -> None:
    """Send the client that started this process its one message, then release the client's descriptors."""
    sys.stdout.write(message)
    sys.stdout.flush()
    nothing = os.open(os.devnull, os.O_RDWR)
    for number in range(3):
        os.dup2(nothing, number)
    os.close(nothing)


if __name__ == "__main__":
    main()
