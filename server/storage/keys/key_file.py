"""The keys of a store: ``keys.json`` in its folder, private to the user who owns it.

Only ``winnow key`` and ``winnow project rename`` write it: no tool, no script and no file of a working folder can
add a key. A file that others may write, or that is no regular file, is refused. A server that cannot use its file
of keys refuses every client.

Where the file is gone or an older one, keys were lost: an error, because an empty list would open a server to
everybody, and an older one accept keys that were revoked. Its head shows that (``CountedRecords``), and for a file
of an earlier version the lock of the first change, which stays beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Annotated

from pydantic import Field, ValidationError

from winnow.server.errors import WinnowError
from winnow.server.storage.files.counted_records import CountedFile, CountedRecords
from winnow.server.storage.files.lock import KEYS, StoreLock, find_holder
from winnow.server.storage.files.private_records import FileState, PrivateRecords
from winnow.server.storage.keys.hashing import digest_of, new_salt
from winnow.server.storage.keys.records import (
    MAX_FORMER,
    MAX_KEYS,
    MAX_RATE,
    AccessKey,
    FormerSecret,
    KeyText,
    RemovedKey,
)
from winnow.server.text.printable import one_line

FILE = "keys.json"
_NO_NAMES: Mapping[str, str] = MappingProxyType({})
# Field of a record -> what it may hold, for errors.
_RULES: Mapping[str, str] = MappingProxyType(
    {
        "name": "name is 1 to 64 letters, digits, dots, dashes and underscores; the first is a letter or digit",
        "projects": "projects are at most 100 names of projects, separated by commas",
        "calls_per_minute": f"rate is 1 to {MAX_RATE:,} calls per minute",
        "expires_at": "end is before the year 10000",
    }
)


class _KeysFile(CountedFile):
    """The content of the file."""

    version: Annotated[int, Field(ge=1, le=1)] = 1
    keys: Annotated[tuple[AccessKey, ...], Field(max_length=MAX_KEYS)] = ()
    removed: Annotated[tuple[RemovedKey, ...], Field(max_length=MAX_KEYS)] = ()


_RECORDS = CountedRecords(
    PrivateRecords(
        FILE,
        _KeysFile,
        "mend it, bring it back (winnow restore FILE --replace), or delete it, keys-head.json and keys beside it, "
        "and add the keys again (winnow key add NAME)",
    )
)


def state_of(store: Path) -> FileState | None:
    """The state of the file of keys; None without one."""
    return _RECORDS.state(store)


def read_keys(store: Path) -> tuple[AccessKey, ...]:
    """The keys of a store, also those that are revoked or have expired, in the order in which they were added.

    Raises ``WinnowError("INVALID_REQUEST")`` for a file that others may write, that is not as it was written, that
    is gone, or that is older than what was written.
    """
    if is_lost(store):
        signs = [sign for sign in (_RECORDS.head(store), store / KEYS) if sign.exists()]
        raise WinnowError(
            "INVALID_REQUEST",
            f"{store / FILE} is missing, though this store had keys; put it back (winnow restore FILE --replace), "
            "serve this computer alone without it (winnow serve --no-keys), or delete "
            f"{' and '.join(map(str, signs))} to begin without keys",
        )
    return _RECORDS.read(store).keys


def read_key_names(store: Path) -> dict[str, str]:
    """The names of all keys by id, also of those that were removed. Raises as ``read_keys`` does."""
    read_keys(store)
    content = _RECORDS.read(store)
    return {key.id: key.name for key in content.removed} | {key.id: key.name for key in content.keys}


def is_lost(store: Path) -> bool:
    """Whether the store had a file of keys that is gone. While the first key is being added it had none."""
    if _RECORDS.is_lost(store):
        return True
    if state_of(store) is not None or not (store / KEYS).exists():
        return False
    return find_holder(store, KEYS) is None and state_of(store) is None


def add_key(store: Path, key: AccessKey, now: int) -> None:
    """Add a key. A full file loses the key that was revoked first.

    Raises ``WinnowError("INVALID_REQUEST")`` if an active key has this name, or no key of a full file is revoked.
    """

    def add(keys: tuple[AccessKey, ...]) -> Sequence[AccessKey]:
        if any(other.name == key.name and other.state(now) == "active" for other in keys):
            raise WinnowError(
                "INVALID_REQUEST",
                f"there is a key {key.name!r} already; choose another name, or run: winnow key rotate {key.name}",
            )
        return [*_make_room(keys), key]

    _change(store, add)


def new_key(name: str, now: int, **options: object) -> tuple[AccessKey, KeyText]:
    """The record of a new key, and its text, which is not stored. ``options`` are fields of ``AccessKey``.

    Raises ``WinnowError("INVALID_REQUEST")`` for a value that the record does not allow.
    """
    text, salt = KeyText.create(), new_salt()
    fields = {"id": text.id, "name": name, "tail": text.tail, "salt": salt, "created_at": now, **options}
    try:
        return AccessKey.model_validate({**fields, "digest": digest_of(text.secret, salt)}), text
    except ValidationError as error:
        field = str(error.errors(include_url=False)[0]["loc"][0])
        raise WinnowError("INVALID_REQUEST", f"a key's {_RULES.get(field, field)}") from None


def revoke_key(store: Path, name: str, now: int) -> AccessKey:
    """Revoke the unrevoked key with this name or id, for good. Raises ``WinnowError("NOT_FOUND")``."""
    return _replace(store, name, lambda key: key.model_copy(update={"revoked_at": now}))


def rotate_key(store: Path, name: str, now: int) -> tuple[AccessKey, KeyText]:
    """Give the unrevoked key with this name or id another secret; the earlier one ends at once.

    Raises ``WinnowError("NOT_FOUND")``.
    """
    salt = new_salt()
    secret = KeyText.create().secret

    def rotate(key: AccessKey) -> AccessKey:
        tail = KeyText(key.id, secret).tail
        digest = digest_of(secret, salt)
        former = (FormerSecret(salt=key.salt, digest=key.digest), *key.former)[:MAX_FORMER]
        changes = {"salt": salt, "digest": digest, "tail": tail, "rotated_at": now, "former": former}
        return key.model_copy(update=changes)

    key = _replace(store, name, rotate)
    return key, KeyText(key.id, secret)


def remove_key(store: Path, name: str, now: int) -> tuple[AccessKey, int]:
    """Remove the key with this id, or all with this name; returns the last of them, and how many keys are left.

    Raises ``WinnowError("NOT_FOUND")``, and ``WinnowError("INVALID_REQUEST")`` for a key that may still be used.
    """

    def remove(keys: tuple[AccessKey, ...]) -> Sequence[AccessKey]:
        found = [key for key in keys if name in (key.id, key.name)]
        if not found:
            raise _unknown(name, keys)
        if any(key.state(now) == "active" for key in found):
            raise WinnowError(
                "INVALID_REQUEST",
                f"the key {name} may still be used; end it (winnow key revoke {name}), or name another by its id",
            )
        return [key for key in keys if key not in found]

    before, after = _change(store, remove)
    return [key for key in before if key not in after][-1], len(after)


def rename_in_keys(store: Path, old: str, new: str) -> tuple[str, ...]:
    """Put the project's new name into the keys that name it; returns the names of the keys that changed.

    Otherwise a key would reach the next project that is called ``old``, and not this one.
    """
    if not any(old in key.projects for key in read_keys(store)):
        return ()
    before, after = _change(store, lambda keys: [_with_renamed(key, old, new) for key in keys])
    return tuple(key.name for key, one in zip(after, before, strict=True) if key != one)


def _with_renamed(key: AccessKey, old: str, new: str) -> AccessKey:
    projects = tuple(dict.fromkeys(new if name == old else name for name in key.projects))
    return key.model_copy(update={"projects": projects})


def keys_for_only(store: Path, project: str, now: float) -> tuple[str, ...]:
    """The names of the valid keys that reach this project and no other."""
    return tuple(key.name for key in read_keys(store) if key.projects == (project,) and key.state(now) == "active")


def replace_keys(store: Path, keys: Sequence[AccessKey], names: Mapping[str, str] = _NO_NAMES) -> None:
    """Write these keys in place of the store's, which the caller has kept. Raises ``OSError``.

    ``names``: those of the store's keys by id; lines of the audit log have the ids, also of keys that are gone.
    """
    left = {key.id for key in keys}
    removed = tuple(RemovedKey(id=id, name=name) for id, name in names.items() if id not in left)[-MAX_KEYS:]
    lock = StoreLock(store, KEYS)
    try:
        _RECORDS.write(store, _KeysFile(keys=tuple(keys), removed=removed))
    finally:
        lock.release()


def _replace(store: Path, name: str, change: Callable[[AccessKey], AccessKey]) -> AccessKey:
    def replace(keys: tuple[AccessKey, ...]) -> Sequence[AccessKey]:
        found = _find(keys, name)
        return [change(key) if key.id == found.id else key for key in keys]

    before, after = _change(store, replace)
    return next(new for old, new in zip(before, after, strict=True) if old != new)


def _find(keys: Sequence[AccessKey], name: str) -> AccessKey:
    """The unrevoked key with this id or name; of several with one name, which have expired but one, the last."""
    usable = [key for key in keys if key.revoked_at is None]
    found = [key for key in usable if key.id == name] or [key for key in usable if key.name == name]
    if not found:
        raise _unknown(name, keys)
    return found[-1]


def _unknown(name: str, keys: Sequence[AccessKey]) -> WinnowError:
    if any(name in (key.id, key.name) for key in keys):
        return WinnowError("NOT_FOUND", f"the key {name} was revoked; add another one (winnow key add NAME)")
    names = ", ".join(key.name for key in keys if key.revoked_at is None) or "none"
    return WinnowError(
        "NOT_FOUND", one_line(f"there is no key {name[:80]!r}; keys (winnow key list): {names}", 290)
    )


def _make_room(keys: tuple[AccessKey, ...]) -> Sequence[AccessKey]:
    if len(keys) < MAX_KEYS:
        return keys
    revoked = sorted((key for key in keys if key.revoked_at is not None), key=lambda key: key.revoked_at or 0)
    if not revoked:
        raise WinnowError(
            "INVALID_REQUEST", f"a store has at most {MAX_KEYS:,} keys; revoke one (winnow key list shows them)"
        )
    return [key for key in keys if key.id != revoked[0].id]


def _change(
    store: Path, change: Callable[[tuple[AccessKey, ...]], Sequence[AccessKey]]
) -> tuple[tuple[AccessKey, ...], tuple[AccessKey, ...]]:
    """Replace the keys by what ``change`` returns for them, all or nothing; returns both."""
    # What is refused makes no lock, which would be the sign of keys.
    change(read_keys(store))
    lock = StoreLock(store, KEYS)
    try:
        content = _RECORDS.read(store)
        after = tuple(change(content.keys))
        left = {key.id for key in after}
        gone = (RemovedKey(id=key.id, name=key.name) for key in content.keys if key.id not in left)
        removed = (*content.removed, *gone)[-MAX_KEYS:]
        _RECORDS.write(store, content.model_copy(update={"keys": after, "removed": removed}))
        return content.keys, after
    finally:
        lock.release()
