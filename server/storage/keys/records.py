"""Access keys as records, and the text of a key, which a client sends and the server does not store."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from winnow.server.models import PROJECT_NAME

MAX_KEYS = 1_000
KEY_NAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
MAX_FORMER = 3  # secrets before the present one; each takes a hash to compare
MAX_RATE = 100_000  # calls per minute, as in the settings
_ID_BYTES, _SECRET_BYTES = 4, 32
_TAIL_CHARS = 4
_KEY = re.compile(r"winnow_([0-9a-f]{8})_([0-9a-f]{64})")

KeyState = Literal["active", "expired", "revoked"]
_Time = Annotated[int, Field(ge=0, le=253_402_300_799)]  # seconds since 1970, until the year 9999


@dataclass(frozen=True, slots=True)
class KeyText:
    """The text of a key: a public id, by which its record is found, and a secret of 256 random bits."""

    id: str
    secret: str

    def __str__(self) -> str:
        return f"winnow_{self.id}_{self.secret}"

    def __repr__(self) -> str:
        return f"KeyText({self.id!r}, ...{self.tail})"

    @property
    def tail(self) -> str:
        """The last four characters, the only part of the secret that is logged or listed."""
        return self.secret[-_TAIL_CHARS:]

    @classmethod
    def create(cls, id: str = "") -> KeyText:
        """A new key, with this id or a random one."""
        return cls(id or secrets.token_hex(_ID_BYTES), secrets.token_hex(_SECRET_BYTES))

    @classmethod
    def parse(cls, text: str) -> KeyText | None:
        """The key of a text; None if the text is not one."""
        match = _KEY.fullmatch(text)
        return cls(match[1], match[2]) if match else None


def find_key(text: str) -> KeyText | None:
    """The first key anywhere in the text; None if there is none."""
    match = _KEY.search(text)
    return KeyText(match[1], match[2]) if match else None


class RemovedKey(BaseModel):
    """The name of a key that is not in the list any more; lines of the audit log have its id."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]
    name: Annotated[str, Field(pattern=KEY_NAME)]


class FormerSecret(BaseModel):
    """The hash of a secret that a rotation replaced: a client that still has it makes no guess."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    salt: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$", repr=False)]
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", repr=False)]


class AccessKey(BaseModel):
    """A key as it is stored. Times are in seconds since 1970.

    ``name`` is for people; ``id`` identifies the client: its session, its limits, its lines in the audit log.
    ``projects``: those that the key reaches, of the server's; empty: all of them. ``calls_per_minute`` replaces
    the server's setting of that name. ``salt`` and ``digest`` are those of the secret (``hashing.py``); ``former``
    are those of the secrets before, the last first.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{8}$")]
    name: Annotated[str, Field(pattern=KEY_NAME)]
    tail: Annotated[str, Field(pattern=r"^[0-9a-f]{4}$")]
    salt: Annotated[str, Field(pattern=r"^[0-9a-f]{32}$", repr=False)]
    digest: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$", repr=False)]
    projects: Annotated[tuple[Annotated[str, Field(pattern=PROJECT_NAME)], ...], Field(max_length=100)] = ()
    read_only: bool = False
    calls_per_minute: Annotated[int, Field(ge=1, le=MAX_RATE)] | None = None
    created_at: _Time
    rotated_at: _Time | None = None
    expires_at: _Time | None = None
    revoked_at: _Time | None = None
    former: Annotated[tuple[FormerSecret, ...], Field(max_length=MAX_FORMER, repr=False)] = ()

    def state(self, now: float) -> KeyState:
        """Whether the key may be used at the time ``now``."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and now >= self.expires_at else "active"
