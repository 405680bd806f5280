"""Addresses of servers, which are displayed without user, password and query.

An address may contain credentials (``https://user:password@host``, ``?api_key=...``). It appears in messages of
winnow and of client libraries, and so in models, terminals and logs. Settings therefore hold an ``Address``, whose
text is without credentials; only ``whole`` has them. Messages of a library pass ``without_credentials``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

HIDDEN = "***"
# Up to the last @ before query and fragment: a password may contain an @, and even an unescaped slash.
_USER_INFO = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]*://)[^?#\s]*@")
_QUERY = re.compile(r"(?P<name>[?&;][^=&#;\s]{1,100}=)[^&#;\s'\"<>)\]]+")
_SHORTEST_SECRET = 4  # masking shorter ones would blank half of a message and protect nothing


def show_address(address: str) -> str:
    """The address without user, password and values of its query.

    >>> show_address("openai:https://me:pa@ss@host:8443/v1?key=abc#model")
    'openai:https://***@host:8443/v1?key=***#model'
    """
    return _QUERY.sub(rf"\g<name>{HIDDEN}", _USER_INFO.sub(rf"\g<scheme>{HIDDEN}@", address))


@dataclass(frozen=True, slots=True)
class Address:
    """An address that is displayed without credentials. ``whole`` is for the library that connects."""

    whole: str = field(repr=False)

    def __str__(self) -> str:
        return show_address(self.whole)

    @property
    def is_remote(self) -> bool:
        """Whether it names a server; a model's name or a folder does not."""
        return "://" in self.whole

    @property
    def server(self) -> str:
        """Scheme, host and port, to check where a key may be sent."""
        shown = str(self).partition("#")[0].partition("?")[0]
        scheme, _, rest = shown.partition("://")
        return f"{scheme}://{rest.partition('/')[0].rpartition('@')[2]}".lower()

    @property
    def secrets(self) -> frozenset[str]:
        """The parts that must not be displayed, as written and decoded."""
        rest, _, query = self.whole.partition("://")[2].partition("#")[0].partition("?")
        user_info = rest.rpartition("@")[0]
        values = [pair.partition("=")[2] for pair in re.split("[&;]", query)]
        found = {user_info, *user_info.split(":", 1), *values}
        return frozenset(one for part in found for one in (part, unquote(part)) if len(one) >= _SHORTEST_SECRET)

    def without_credentials(self, text: object) -> str:
        """A library's message about this address, with the credentials masked."""
        shown = show_address(str(text))
        for secret in sorted(self.secrets, key=len, reverse=True):
            shown = shown.replace(secret, HIDDEN)
        return shown


def to_address(value: Any) -> Address:
    """An ``Address`` from the text of a setting."""
    if isinstance(value, Address):
        return value
    if not isinstance(value, str):
        raise ValueError("should be an address, as text")
    return Address(value.strip())
