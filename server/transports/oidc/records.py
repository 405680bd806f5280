"""Tokens as records: what a server asks of them, their owners, and why one is refused."""

from __future__ import annotations

from dataclasses import dataclass

from winnow.server.transports.oidc.token_rules import DEFAULT_RULES, TokenRule


@dataclass(frozen=True, slots=True)
class OidcOptions:
    """The issuer of tokens, the audience that they must name, the scopes that they must have, and the rules."""

    issuer: str
    audience: str
    scopes: tuple[str, ...] = ()
    rules: tuple[TokenRule, ...] = DEFAULT_RULES


class TokenError(Exception):
    """A token that is refused. ``error`` is the code of RFC 6750; ``is_attempt``: as a wrong key is."""

    def __init__(self, error: str, message: str, *, is_attempt: bool = True) -> None:
        super().__init__(message)
        self.error = error
        self.message = message
        self.is_attempt = is_attempt


@dataclass(frozen=True, slots=True)
class TokenClient:
    """The owner of a token: the id and the name of its connections, and its rights.

    ``expires_at`` is in seconds since 1970, with the skew of clocks.
    """

    id: str
    name: str
    subject: str
    projects: tuple[str, ...]
    expires_at: float
