"""Starts an engine as a detached process in a session of its own.

Settings, with their secrets, are passed over a pipe, so that neither the command line nor the environment shows
them. The environment is reduced to what libraries need. The engine reports over another pipe that it listens, or
why it cannot.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

from winnow import SEARCH_PATH
from winnow.server.engine.compatibility import SECRET_SETTINGS, settings_to_json
from winnow.server.engine.endpoint import is_listening
from winnow.server.errors import WinnowError
from winnow.server.settings.settings import Settings
from winnow.server.storage.files.lock import STARTER, StoreLock

READY, TAKEN = "ready", "taken"
_PROGRAM = "winnow.server.engine.process"
_START_SECONDS = 20.0  # for a cold disk or a busy machine; usually half a second
# For the interpreter, locales, certificates and proxies; all other variables are dropped.
_INHERITED = (
    *("PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR"),
    *("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "OMP_NUM_THREADS"),
    *("SSL_CERT_FILE", "SSL_CERT_DIR"),
    *("HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy"),
)


def launch(settings: Settings) -> bool:
    """Start an engine for the store. True if it listens now; False if another one does or is starting.

    Raises ``WinnowError("INDEX_UNAVAILABLE")`` with the engine's message if it does not start, or if the store
    cannot be used.
    """
    try:
        lock = StoreLock(settings.store, STARTER)
    except WinnowError as error:
        if error.reason != "INDEX_HELD":
            raise
        return False  # another process is starting one; a start takes half a second of processor time
    try:
        return not is_listening(settings.store) and _start_process(settings)
    finally:
        lock.release()


def _start_process(settings: Settings) -> bool:
    settings_text = json.dumps(_settings_with_secrets(settings))
    process = subprocess.Popen(
        [sys.executable, "-m", _PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        encoding="utf-8",
        start_new_session=True,
        # So that it imports the same code as this process; the engine changes to another folder at once.
        cwd=SEARCH_PATH,
        env={name: value for name, value in os.environ.items() if name in _INHERITED},
    )
    with process:
        try:
            message, _ = process.communicate(settings_text, timeout=_START_SECONDS)
        except subprocess.TimeoutExpired:
            raise start_failure(settings, f"no answer within {_START_SECONDS:.0f} s") from None
    if message not in (READY, TAKEN):
        raise start_failure(settings, message or "it died")
    return message == READY


def _settings_with_secrets(settings: Settings) -> dict[str, Any]:
    secrets = {name: getattr(settings, name) for name in SECRET_SETTINGS}
    return settings_to_json(settings) | {
        name: secret.get_secret_value() for name, secret in secrets.items() if secret
    }


def start_failure(settings: Settings, why: str) -> WinnowError:
    """The error for an engine that does not start."""
    log = settings.store / "engine.log"
    return WinnowError(
        "INDEX_UNAVAILABLE",
        f"the engine of {settings.store} does not start: {why}; see {log}, or work in one process: set "
        "daemon = off",
        retryable=True,
    )
