"""Errors and warnings as clients with an access key receive them: without paths and processes of the host.

An error says what its reader can do about it. On a pipe that is the person whose files these are, who can end a
process and free a disk. A client with a key is elsewhere: it receives the reason, and the operator's log the rest.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from winnow.server.errors import ErrorCode, WinnowError
from winnow.server.runtime.audit import trace_of_call
from winnow.server.runtime.logs import log
from winnow.server.runtime.sessions.identities import describe_client, identity_of

_ROUTES = ("mcp", "v1", "notebooks", "health", "ready", "metrics", "openapi")
# A path that no quotation mark precedes, so that it is no text of the caller's own, nor part of an address.
_PATH = re.compile(r"(?<![\w'\"`:./<>~*-])~?/(?!(?:" + "|".join(_ROUTES) + r")\b)[\w.@+~-]+")
# An error about an argument begins with its name. It may name the folders that clients may ingest from.
_ARGUMENT = re.compile(r"[a-z_]+(\.[a-z_]+)*: ")
_PROCESS = re.compile(r"\bprocess(?:es)? \d|\bpid\b", re.IGNORECASE)
_DETAILS = frozenset({"pid", "command", "leaving"})
# What is said instead. Codes without a line use the text of BACKEND_UNAVAILABLE.
_WORDS: Mapping[ErrorCode, str] = MappingProxyType(
    {
        ErrorCode.TIMEOUT: "the server did not answer in time; try again; if this repeats, tell its operator, "
        "whose log says why",
        ErrorCode.INVALID_ARGUMENT: "the server cannot do this; tell its operator, whose log says why",
        ErrorCode.BACKEND_UNAVAILABLE: "a part of the server cannot be used now; try again; if this repeats, tell "
        "its operator, whose log says why",
    }
)
_WITHHELD_WARNING = "a warning about the server itself was left out; its operator's log has it"


def error_for(error: WinnowError, client: str) -> WinnowError:
    """The error as the client on this connection may see it; what is withheld goes to the log."""
    if not identity_of(client).access_key or not _names_host(error):
        return error
    _log_withheld("an error", error.message, client, reason=error.reason)
    return WinnowError(
        error.reason,
        _WORDS.get(error.code, _WORDS[ErrorCode.BACKEND_UNAVAILABLE]),
        retryable=error.retryable,
        retry_after_s=error.retry_after_s,
        details={name: value for name, value in error.details.items() if name not in _DETAILS},
    )


def warnings_for(warnings: Sequence[str], client: str) -> tuple[str, ...]:
    """The warnings of an answer as the client on this connection may see them, as with errors."""
    if not identity_of(client).access_key:
        return tuple(warnings)
    return tuple(_warning_for(warning, client) for warning in warnings)


def _warning_for(warning: str, client: str) -> str:
    if not (_PROCESS.search(warning) or _PATH.search(warning)) or _ARGUMENT.match(warning):
        return warning
    _log_withheld("a warning", warning, client)
    return _WITHHELD_WARNING


def _log_withheld(what: str, text: str, client: str, reason: str = "") -> None:
    log(
        f"{what} was sent without what it says of this host",
        level=30,
        trace_id=trace_of_call.get(),
        why=text,
        client=describe_client(client),
        reason=reason,
    )


def _names_host(error: WinnowError) -> bool:
    if _DETAILS & error.details.keys() or _PROCESS.search(error.message):
        return True
    is_argument = error.code is ErrorCode.INVALID_ARGUMENT and _ARGUMENT.match(error.message)
    is_of_caller = error.code is ErrorCode.SCOPE_VIOLATION or is_argument
    return not is_of_caller and _PATH.search(error.message) is not None
