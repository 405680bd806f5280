"""Notebooks that another server keeps, asked over HTTP: ``/notebooks/PROJECT/…``, JSON, a bearer token.

The address and the token come from the operator's settings, never from a call. The answers of the server are
untrusted: their size, type and status are checked here, their content by the callers. Redirects are not followed.
Proxies and credentials of the environment are not used.
"""

from __future__ import annotations

import json
import ssl
import time
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any
from urllib.parse import quote
from uuid import uuid4

import httpx

from winnow.server.errors import WinnowError
from winnow.server.runtime.deadlines import current_deadline
from winnow.server.runtime.remote import remote_backend
from winnow.server.text.printable import one_line

# An answer of a tool has at most 256 KiB.
MAX_ANSWER_BYTES = 1024 * 1024
_CONNECT_SECONDS, _ANSWER_SECONDS = 5.0, 20.0
_MESSAGE_CHARS, _LONGEST_WAIT_SECONDS = 300, 3_600.0
# Requests with a body that change nothing, and so may be repeated.
_READING, _ATTEMPTS = frozenset({"/semantic-search", "/claims/batch"}), 2
# Refusals that the caller can correct: reason of the other server -> reason here.
_REFUSALS: Mapping[str, str] = MappingProxyType(
    {
        "INVALID_REQUEST": "INVALID_REQUEST",
        "INPUT_BYTES": "INVALID_REQUEST",
        "INVALID_PROJECT": "INVALID_PROJECT",
        "NOT_FOUND": "NOT_FOUND",
        "SCOPE_VIOLATION": "SCOPE_VIOLATION",
        "UNSUPPORTED": "UNSUPPORTED",
    }
)
_OF_STATUS: Mapping[int, str] = MappingProxyType(
    {400: "INVALID_REQUEST", 404: "NOT_FOUND", 413: "INVALID_REQUEST", 422: "INVALID_REQUEST"}
)


class HttpNotebook:
    """The notebooks of the server at ``url``; ``token`` grants access. Safe to use from several threads."""

    def __init__(self, url: str, token: str = "", *, answer_bytes: int = MAX_ANSWER_BYTES) -> None:
        self.url, self._answer_bytes = url.rstrip("/"), answer_bytes
        self._subject = f"the server of notebooks at {self.url}"
        self._remote = remote_backend("notebooks", self._subject, "SOURCE_UNAVAILABLE")
        headers = {"Accept": "application/json", "Accept-Encoding": "identity", "User-Agent": "winnow"}
        if token:
            headers["Authorization"] = f"Bearer {token}"
        # The authorities that this system trusts, or those in the file that SSL_CERT_FILE names.
        context = ssl.create_default_context()
        self._client = httpx.Client(verify=context, trust_env=False, follow_redirects=False, headers=headers)

    def ask(
        self, method: str, project: str, below: str, query: Mapping[str, Any] | None = None, body: Any = None
    ) -> dict[str, Any]:
        """The JSON object that the route ``below`` a notebook returns. A value None in ``query`` is not sent.

        Raises ``WinnowError``: "SOURCE_UNAVAILABLE", retryable if the server does not answer or fails;
        "RATE_LIMIT";
        for other refusals, the reason that the server gives.
        """
        url = f"{self.url}/notebooks/{quote(project, safe='')}{below}"
        sent: dict[str, Any] = {
            "params": {name: value for name, value in (query or {}).items() if value is not None}
        }
        is_reading = method == "GET" or below in _READING
        if body is not None:
            sent["json"] = body
        if not is_reading:  # a write is sent once; its key makes the server complete it even if the answer is lost
            sent["headers"] = {"Idempotency-Key": str(uuid4())}
        with self._remote.call():
            status, wait, data = self._send(method, url, sent, _ATTEMPTS if is_reading else 1)
            return self._read(status, wait, data)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _send(self, method: str, url: str, sent: Mapping[str, Any], attempts: int) -> tuple[int, str, bytes]:
        """The status, ``Retry-After`` and body of the answer. A read is repeated if the connection was closed."""
        deadline = current_deadline()
        for left in reversed(range(attempts)):
            deadline.check()
            timeout = httpx.Timeout(deadline.at_most(_ANSWER_SECONDS), connect=deadline.at_most(_CONNECT_SECONDS))
            try:
                with self._client.stream(method, url, timeout=timeout, **sent) as answer:
                    return answer.status_code, answer.headers.get("retry-after", ""), self._read_body(answer)
            except (httpx.RemoteProtocolError, httpx.ReadError) as error:
                failure: Exception = error
                if not left:
                    break
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                failure = error
                break
        deadline.check()
        why = one_line(str(failure)) or type(failure).__name__
        raise self._unavailable(f"does not answer ({why}); check notebook_url", is_retryable=True) from None

    def _read_body(self, answer: httpx.Response) -> bytes:
        body, end = bytearray(), time.monotonic() + current_deadline().at_most(_ANSWER_SECONDS)
        if answer.headers.get("content-encoding", "identity").lower() != "identity":
            raise self._unavailable("compresses its answer, which was not asked for")
        for part in answer.iter_raw():
            body += part
            if len(body) > self._answer_bytes:
                raise self._unavailable(f"answers with more than {self._answer_bytes:,} bytes")
            if time.monotonic() > end:
                raise self._unavailable("takes too long with its answer", is_retryable=True)
        return bytes(body)

    def _read(self, status: int, wait: str, data: bytes) -> dict[str, Any]:
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            found = None
        if status == httpx.codes.OK:
            if isinstance(found, dict):
                return found
            raise self._unavailable("answers with what is no JSON object")
        raise self._refusal(status, wait, found)

    def _refusal(self, status: int, wait: str, found: Any) -> WinnowError:
        """The error for an unsuccessful answer, with the server's message quoted."""
        reason, said = _read_error(found)
        quoted = f': "{said}"' if said else ""
        if status == httpx.codes.TOO_MANY_REQUESTS:
            seconds = min(float(wait), _LONGEST_WAIT_SECONDS) if wait.isascii() and wait.isdecimal() else 1.0
            return WinnowError(
                "RATE_LIMIT",
                f"{self._subject} takes no more calls now; repeat it in {seconds:g} s",
                retryable=True,
                retry_after_s=seconds,
            )
        known = _REFUSALS.get(reason) or ("" if reason else _OF_STATUS.get(status, ""))
        if known and status < httpx.codes.INTERNAL_SERVER_ERROR:
            return WinnowError(known, f"{self._subject} refuses it{quoted}")
        if status in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            return self._unavailable(f"does not admit this server (status {status}); check notebook_token")
        return self._unavailable(
            f"answers with status {status}{quoted}", is_retryable=status >= httpx.codes.INTERNAL_SERVER_ERROR
        )

    def _unavailable(self, what: str, *, is_retryable: bool = False) -> WinnowError:
        return WinnowError("SOURCE_UNAVAILABLE", f"{self._subject} {what}", retryable=is_retryable)


def _read_error(found: Any) -> tuple[str, str]:
    """The reason and the message of an error, "" where there is none; both are the server's words."""
    try:
        error = found["errors"][0]
        reason, message = error["details"]["reason"], error["message"]
    except (TypeError, KeyError, IndexError):
        return "", ""
    if not (isinstance(reason, str) and isinstance(message, str)):
        return "", ""
    return reason, one_line(message, _MESSAGE_CHARS).replace('"', "'")
