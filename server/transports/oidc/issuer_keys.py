"""The public keys of an issuer: fetched within bounds, kept, and looked for anew.

Theory of operation. The issuer's own document (``/.well-known/openid-configuration``) names the address of its
keys. Both are fetched when a token comes that needs a key, over https, or http where the issuer is on loopback.
A request that names an unknown key makes the server look again, at most once a minute, so that tokens with
invented names of keys cost the issuer nothing. Keys that are older than ten minutes are fetched anew beside the
requests, so that one that the issuer withdrew ends. While the issuer is away the keys of before go on, for a day.

No address in a token is ever read: ``jku``, ``x5u``, ``jwk`` and ``x5c`` of its header mean nothing here.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any
from urllib.parse import urlsplit

import httpx
from jwt import PyJWK, PyJWTError

from winnow.server.errors import WinnowError
from winnow.server.runtime.logs import log
from winnow.server.text.printable import one_line
from winnow.server.transports.addresses import is_loopback

# Seconds for both documents together, and bytes of each: an issuer has some ten keys of half a kilobyte.
FETCH_SECONDS = 5.0
MAX_BYTES = 256 * 1024
_MAX_KEYS = 100
_MAX_NAME_CHARS = 256
LOOK_SECONDS = 60.0
FRESH_SECONDS = 600.0
KEEP_SECONDS = 86_400.0
_RSA_BITS = 2_048
_RSA = ("RS256", "RS384", "RS512", "PS256", "PS384", "PS512")
# Type and curve of a key -> the signatures that it verifies. All are asymmetric: no key of an issuer is a secret
# that signs, and "none" is not a signature.
ALGORITHMS: Mapping[tuple[str, str], Sequence[str]] = MappingProxyType(
    {
        ("RSA", ""): _RSA,
        ("EC", "P-256"): ("ES256",),
        ("EC", "P-384"): ("ES384",),
        ("EC", "P-521"): ("ES512",),
        ("OKP", "Ed25519"): ("EdDSA",),
    }
)
_ADDRESS = re.compile(r"[!-~]{1,2000}")
# What is read of a key: never its private part, and no certificate.
_PUBLIC = ("kty", "crv", "n", "e", "x", "y")


def check_issuer(address: str) -> str:
    """An issuer's address as given. Raises ``WinnowError("INVALID_REQUEST")`` for one that is not https.

    http is accepted on loopback alone.
    """
    if not _is_trusted(address, on_loopback=True):
        raise WinnowError(
            "INVALID_REQUEST",
            f"--oidc-issuer takes the https address of an issuer, as its tokens name it (got {address[:200]!r})",
        )
    return address


def _is_trusted(address: object, *, on_loopback: bool) -> bool:
    """Whether keys may be read from there: over https, or from this machine."""
    try:
        parts = urlsplit(address if isinstance(address, str) else "")
        host, _ = parts.hostname or "", parts.port
    except ValueError:
        return False
    if not host or parts.username is not None or parts.fragment or _ADDRESS.fullmatch(str(address)) is None:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and on_loopback and is_loopback(host))


class IssuerKeys:
    """The keys of one issuer. Used from one event loop. ``now``: a clock in seconds."""

    def __init__(self, issuer: str, now: Callable[[], float] = time.monotonic) -> None:
        self._issuer = issuer
        self._now = now
        self._keys: Mapping[str, Mapping[str, PyJWK]] = MappingProxyType({})
        self._fetched = self._looked = -math.inf
        self._looking = asyncio.Lock()
        self._refreshing: asyncio.Task[None] | None = None

    def find(self, name: str | None, algorithm: str) -> PyJWK | None:
        """The key with this name for this algorithm; without a name that of an issuer that has only one."""
        if self._now() - self._fetched >= KEEP_SECONDS:
            return None
        if name is None:
            name = next(iter(self._keys)) if len(self._keys) == 1 else ""
        return self._keys.get(name, {}).get(algorithm)

    async def get(self, name: str | None, algorithm: str) -> PyJWK | None:
        """The same, after a look at the issuer's keys where there is reason for one; None for an unknown key.

        Raises ``WinnowError("SOURCE_UNAVAILABLE")`` while there are no keys because the issuer does not answer.
        """
        found = self.find(name, algorithm)
        if found is not None:
            self._refresh_beside()
            return found
        await self._look()
        if self._now() - self._fetched >= KEEP_SECONDS:
            raise WinnowError(
                "SOURCE_UNAVAILABLE",
                "the issuer of tokens does not answer, so none can be verified; try again",
                retryable=True,
                retry_after_s=max(1.0, self._looked + LOOK_SECONDS - self._now()),
            )
        return self.find(name, algorithm)

    def _refresh_beside(self) -> None:
        """Fetch keys that are no longer fresh, without a request that waits for it."""
        is_due = min(self._now() - self._fetched - FRESH_SECONDS, self._now() - self._looked - LOOK_SECONDS) >= 0
        if is_due and (self._refreshing is None or self._refreshing.done()):
            self._refreshing = asyncio.get_running_loop().create_task(self._look())

    async def _look(self) -> None:
        """Fetch the keys, unless that was tried within a minute."""
        async with self._looking:
            if self._now() - self._looked < LOOK_SECONDS:
                return
            self._looked = self._now()
            try:
                async with asyncio.timeout(FETCH_SECONDS):
                    self._keys = await self._fetch()
            except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, ValueError, OSError, RecursionError) as error:
                reason = one_line(str(error), 200) or type(error).__name__
                log("the keys of the issuer cannot be fetched", level=30, issuer=self._issuer, why=reason)
                return
            self._fetched = self._now()

    async def _fetch(self) -> Mapping[str, Mapping[str, PyJWK]]:
        """The issuer's usable keys by name and algorithm. Raises ``ValueError`` for what is not as needed."""
        context = await asyncio.to_thread(ssl.create_default_context)
        # No proxy and no credentials from the environment, and no redirect to an address that nobody checked.
        async with httpx.AsyncClient(
            verify=context, trust_env=False, follow_redirects=False, timeout=FETCH_SECONDS
        ) as client:
            facts = await _get(client, f"{self._issuer.rstrip('/')}/.well-known/openid-configuration")
            if facts.get("issuer") != self._issuer:
                raise ValueError("the issuer's document names another issuer")
            address = facts.get("jwks_uri")
            is_local = is_loopback(urlsplit(self._issuer).hostname or "")
            if not _is_trusted(address, on_loopback=is_local):
                raise ValueError("the address of the issuer's keys is not https")
            rows = (await _get(client, str(address))).get("keys")
        if not isinstance(rows, list) or len(rows) > _MAX_KEYS:
            raise ValueError(f"the issuer's keys are no list of at most {_MAX_KEYS}")
        keys = {str(row.get("kid", "")): _read_key(row) for row in rows if isinstance(row, dict)}
        usable = {name: key for name, key in keys.items() if key and len(name) <= _MAX_NAME_CHARS}
        if not usable:
            raise ValueError("the issuer has no key for signatures")
        return MappingProxyType(usable)


async def _get(client: httpx.AsyncClient, address: str) -> dict[str, Any]:
    """The JSON object at an address. Raises ``ValueError`` for anything else, and one that is too large."""
    body = bytearray()
    headers = {"accept": "application/json", "accept-encoding": "identity"}
    async with client.stream("GET", address, headers=headers) as answer:
        if answer.status_code != httpx.codes.OK:
            raise ValueError(f"{answer.status_code} instead of a document")
        async for part in answer.aiter_raw():
            body += part
            if len(body) > MAX_BYTES:
                raise ValueError(f"a document of more than {MAX_BYTES:,} bytes")
    value = json.loads(body)
    if not isinstance(value, dict):
        raise ValueError("a document that is no object")
    return value


def _read_key(row: Mapping[str, Any]) -> Mapping[str, PyJWK]:
    """A key by the algorithms that it verifies; empty for one that is not for signatures, weak or malformed."""
    purposes = row.get("key_ops") or ["verify"]  # some issuers send null, or an empty list
    if (row.get("use") or "sig") != "sig" or not isinstance(purposes, list) or "verify" not in purposes:
        return {}
    kind = str(row.get("kty")), "" if row.get("kty") == "RSA" else str(row.get("crv"))
    stated = row.get("alg")
    names = [name for name in ALGORITHMS.get(kind, ()) if stated in (None, name)]
    public = {name: row[name] for name in _PUBLIC if name in row}
    try:
        keys = {name: PyJWK(public, name) for name in names}
    except (PyJWTError, ValueError, TypeError, AttributeError):
        return {}
    is_weak = kind[0] == "RSA" and any(key.key.key_size < _RSA_BITS for key in keys.values())
    return {} if is_weak else keys
