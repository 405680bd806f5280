"""The history of a notebook as a chain of digests, which shows a change that was altered or removed."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b

from winnow.server.claims.store import Change

_BYTES = 32


def digest_of(previous: str, sequence: int, entry_id: str, kind: str, at: float, body: str) -> str:
    """The digest of a change, over the digest of the one before ("" for the first)."""
    state = blake2b(digest_size=_BYTES)
    for part in (previous, str(sequence), entry_id, kind, repr(at), body):
        data = part.encode("utf-8", "surrogatepass")
        state.update(len(data).to_bytes(8, "big"))
        state.update(data)
    return state.hexdigest()


def first_flaw(changes: Iterable[Change]) -> int | None:
    """The sequence of the first change that does not fit those before; None if all do."""
    previous, expected = "", 1
    for change in changes:
        digest = digest_of(previous, change.sequence, change.entry_id, change.kind, change.at, change.body)
        if change.sequence != expected or change.digest != digest:
            return expected
        previous, expected = digest, expected + 1
    return None
