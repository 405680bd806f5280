"""A client starts an engine: a process of its own session that nobody waits for.

Settings travel over a pipe, secrets among them: neither a command line nor an environment shows them. The
environment is cut down to what a library needs. The engine says over another pipe that it listens, or why not.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import server
from server.backends.files.lock import STARTER, StoreLock
from server.engine.endpoint import is_listening
from server.engine.wire import SECRET_SETTINGS, plain
from server.errors import WinnowError
from server.settings import Settings

READY, TAKEN = "ready", "taken"
_PROGRAM = "server.engine.process"
_SECONDS = 20.0  # a cold disk, a busy machine; usually half a second
# What an interpreter, a locale, a certificate store or a proxy may need; whatever else is there stays behind.
_INHERITED = (
    *("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
    *("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "OMP_NUM_THREADS"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
)


def launch(settings: Settings) -> bool:
    """Start an engine for the store of these settings; whether it listens now, or another one does or is about to.

    Raises ``WinnowError("INDEX_UNAVAILABLE")`` where it does not come up, with what it said, or where the store
    cannot be used.
    """
    try:
        lock = StoreLock(settings.store, STARTER)
    except WinnowError as error:
        if error.reason != "INDEX_HELD":
            raise
        return False  # a process that starts takes half a second of processor time: one is enough
    try:
        return not is_listening(settings.store) and _launched(settings)
    finally:
        lock.release()


def _launched(settings: Settings) -> bool:
    told = json.dumps(_told(settings))
    process = subprocess.Popen(
        [sys.executable, "-m", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        start_new_session=True,
        # The code of this process, wherever it comes from; the engine leaves the folder at once.
        cwd=Path(server.__file__).parents[1],
        env={name: value for name, value in os.environ.items() if name in _INHERITED},
    )
    with process:
        try:
            said, _ = process.communicate(told, timeout=_SECONDS)
        except subprocess.TimeoutExpired:
            raise failed(settings, f"it said nothing for {_SECONDS:.0f} s") from None
    if said not in (READY, TAKEN):
        raise failed(settings, said or "it died")
    return said == READY


def _told(settings: Settings) -> dict[str, Any]:
    secrets = {name: getattr(settings, name) for name in SECRET_SETTINGS}
    return plain(settings) | {name: one.get_secret_value() for name, one in secrets.items() if one}


def failed(settings: Settings, why: str) -> WinnowError:
    """That there is no engine for this store, why, and what to do."""
    log = settings.store / "engine.log"
    return WinnowError(
        "INDEX_UNAVAILABLE",
        f"the engine of {settings.store} does not start: {why}; see {log}, or work in one process: the setting "
        "daemon = off",
        retryable=True,
    )
