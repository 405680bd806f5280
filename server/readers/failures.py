"""Failures of a child that parses a document, and the reasons as reports show them."""

from __future__ import annotations

import signal

STOPPED = "the ingest was stopped"
TOO_LARGE = "needs more memory than its reader may have; split it"
NO_PAGE = "has no page"  # how the reason begins where a page is asked for that a file does not have
NO_ANSWER = "its parser gave no answer"


class ChildFailed(Exception):
    """A child ended without an answer, or gave an invalid answer; the message is the reason for reports."""


def too_slow(seconds: float) -> str:
    """The reason of the failure of a child that was killed at the end of its time."""
    return f"takes longer than {seconds:.0f} s to parse, or more memory than is available; split it"


def crashed(code: int) -> str:
    """The reason of the failure of a child that ended by itself; ``code`` is as in ``Popen.returncode``."""
    return f"its parser crashed ({name_exit(code)}); the file may be damaged: save it again from its program"


def name_exit(code: int) -> str:
    """The name of the signal that ended a process, or its exit code; ``code`` is as in ``Popen.returncode``."""
    try:
        return signal.Signals(-code).name
    except ValueError:
        return f"exit code {code}"
