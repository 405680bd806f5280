"""Verification of tokens: JSON Web Tokens of one issuer, signed for this server.

A token passes these checks in order::

    at most 8 KiB, three parts; of a type that grants access              401
    signed with an algorithm of the list, by a key of the issuer          401, 503 without keys
    issuer and audience of the options; a subject; valid now              401
    not bound to a key of its owner, which this server does not check     401
    the scopes of the options                                             403
    a rule of the operator (``token_rules.py``)                           403

The clocks of both may differ by a minute.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from typing import Any

import jwt

from winnow.server.runtime.sessions.identities import key_name
from winnow.server.transports.oidc.issuer_keys import ALGORITHMS, IssuerKeys
from winnow.server.transports.oidc.records import OidcOptions, TokenClient, TokenError
from winnow.server.transports.oidc.token_rules import find_rule

MAX_TOKEN_CHARS = 8 * 1024
SKEW_SECONDS = 60
_MAX_SUBJECT_CHARS = 255
_ID_CHARS = 32
_ALLOWED = frozenset(name for names in ALGORITHMS.values() for name in names)
# Tokens of other types are for other purposes, such as a logout. Many issuers name none, or "JWT".
_TYPES = frozenset({"", "jwt", "at+jwt", "application/at+jwt"})
_NEEDED = ["iss", "sub", "aud", "exp"]


class TokenVerifier:
    """Verifies tokens. Used from one event loop. ``now``: seconds since 1970."""

    def __init__(
        self, options: OidcOptions, keys: IssuerKeys | None = None, now: Callable[[], float] = time.time
    ) -> None:
        self.options = options
        self._keys = keys or IssuerKeys(options.issuer)
        self._now = now

    def is_active(self, client: TokenClient) -> bool:
        """Whether the token of this client is still valid."""
        return self._now() < client.expires_at

    async def verify(self, text: str) -> TokenClient:
        """The owner of a token.

        Raises ``TokenError``, and ``WinnowError("SOURCE_UNAVAILABLE")`` while the issuer's keys are not known.
        """
        if len(text) > MAX_TOKEN_CHARS:
            raise _invalid("the token is too long")
        try:
            name, algorithm = _read_header(text)
            key = await self._keys.get(name, algorithm)
            if key is None:
                raise _invalid("the token is signed with an unknown key")
            claims = self._read_claims(text, key, algorithm)
        except jwt.ExpiredSignatureError:
            # It was right: a client learns by this answer that it needs the next one.
            raise TokenError("invalid_token", "the token has expired", is_attempt=False) from None
        except jwt.ImmatureSignatureError:
            raise TokenError("invalid_token", "the token is not valid yet", is_attempt=False) from None
        except (jwt.PyJWTError, ValueError, TypeError, OverflowError, RecursionError):
            raise _invalid("the token is not valid for this server") from None
        return self._admit(claims)

    def _read_claims(self, text: str, key: jwt.PyJWK, algorithm: str) -> dict[str, Any]:
        claims = jwt.decode(
            text,
            key,
            algorithms=[algorithm],
            audience=self.options.audience,
            issuer=self.options.issuer,
            leeway=SKEW_SECONDS,
            options={"require": _NEEDED},
        )
        if "cnf" in claims:
            raise ValueError("bound to a key of its owner")
        if not 0 < len(claims["sub"]) <= _MAX_SUBJECT_CHARS:
            raise ValueError("subject")
        return claims

    def _admit(self, claims: Mapping[str, Any]) -> TokenClient:
        missing = [scope for scope in self.options.scopes if scope not in _scopes_of(claims)]
        if missing:
            raise TokenError(
                "insufficient_scope", f"the token lacks the scope {' '.join(missing)}", is_attempt=False
            )
        rule = find_rule(self.options.rules, claims)
        if rule is None:
            message = "no rule of this server admits the owner of this token; ask its operator"
            raise TokenError("insufficient_scope", message, is_attempt=False)
        id = identify(claims["iss"], claims["sub"])
        name = key_name(id, rule.projects, is_read_only=rule.read_only, calls_per_minute=rule.calls_per_minute)
        expires_at = int(claims["exp"]) + SKEW_SECONDS
        return TokenClient(id, name, claims["sub"], rule.projects, expires_at)


def identify(issuer: str, subject: str) -> str:
    """The id of a subject of an issuer, under which its session, limits and lines of the audit log are kept."""
    return "oidc-" + hashlib.sha256(json.dumps([issuer, subject]).encode()).hexdigest()[:_ID_CHARS]


def _invalid(message: str) -> TokenError:
    return TokenError("invalid_token", message)


def _read_header(text: str) -> tuple[str | None, str]:
    """The name of the key and the algorithm that a token states; nothing else of its header counts."""
    header = jwt.get_unverified_header(text)
    name, algorithm = header.get("kid"), header.get("alg")
    if algorithm not in _ALLOWED:
        raise _invalid("the token is signed with an algorithm that this server does not accept")
    if str(header.get("typ", "")).lower() not in _TYPES or "crit" in header or "b64" in header:
        raise _invalid("the token is of another type")
    if not (name is None or isinstance(name, str)):
        raise _invalid("the token names its key in a wrong way")
    return name, algorithm


def _scopes_of(claims: Mapping[str, Any]) -> frozenset[str]:
    """The scopes of a token: words in ``scope``, or words or a list in ``scp``."""
    found: set[str] = set()
    for name in ("scope", "scp"):
        value = claims.get(name)
        if isinstance(value, str):
            found.update(value.split(" "))
        elif isinstance(value, list):
            found.update(scope for scope in value if isinstance(scope, str))
    return frozenset(found)
