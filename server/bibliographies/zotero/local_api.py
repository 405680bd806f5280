"""Reads libraries through Zotero's local API, which a running Zotero offers on loopback.

What changed is found by comparing the versions of all objects with those of the last run. Zotero 10 counts every
saved change, also what is not synchronized; it says so with the header ``Zotero-Server-ID``. Before it, versions
are those of the last synchronization, so the library is read as a whole each time. Two kinds of changes give no
object a new version even in Zotero 10: moving to the trash, which the list of versions shows, because it has no
objects in the trash; and renaming a tag, which the list of tags shows.

Zotero answers one request at a time, in HTTP/1.0 without a length. An answer is complete if it is JSON to its end
and the counts agree. The address is not left: redirections to files are read as paths, all others are refused.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import urlsplit
from urllib.request import url2pathname

import httpx

from winnow.server.bibliographies.zotero.files import LINKED_BASE, LINKED_MODE, STORED_MODES, FilePlaces
from winnow.server.bibliographies.zotero.objects import (
    MOST_OBJECTS,
    USER_LIBRARY,
    USER_LIBRARY_NAME,
    LibraryName,
    LibraryObjects,
    NotZotero,
    ZoteroCollection,
    ZoteroObject,
    read_collection,
    read_group,
    read_object,
    read_tags,
    read_versions,
)
from winnow.server.errors import WinnowError
from winnow.server.runtime.remote import remote_backend
from winnow.server.text.printable import one_line

LOCAL_API = "http://127.0.0.1:23119/api"
# The hosts that Zotero answers to.
_HOSTS = frozenset(("127.0.0.1", "localhost", "::1"))
# A page of 1,000 items has about 3 MiB; notes with pictures can be far larger. Zotero searches anew for each page.
_PAGE_ITEMS, _ANSWER_BYTES = 1_000, 256 * 1024**2
_CONNECT_SECONDS, _SILENT_SECONDS, _ANSWER_SECONDS = 2.0, 60.0, 300.0
_KEYS_AT_ONCE = 50
# More changed objects than these are fetched with all others: one search of Zotero takes as long as one page.
_FEW_CHANGED = 1_000
_ROUNDS = 4
_SERVER_ID, _VERSION, _TOTAL = "Zotero-Server-ID", "Last-Modified-Version", "Total-Results"
_EXAMINED_ATTACHMENTS = 100

_NOT_LOOPBACK = "{url} is not an address of Zotero's local API, which is {usual} or another port of this machine"
_SILENT = "Zotero's local API at {url} does not answer ({reason}); start Zotero or read its database: --no-api"
_SWITCHED_OFF = (
    "Zotero's local API at {url} is switched off: in Zotero's settings, under Advanced, allow other applications "
    "on this computer to communicate with Zotero; or read its database with --no-api"
)
_NO_LIBRARY = "Zotero has no library {id} (any more); list them with: winnow zotero libraries"
_STATUS = "Zotero's local API at {url} answers {status} to {path}"
_REDIRECTED = "{url} sends {path} to another address, which Zotero does not; is another program at this port?"
_TOO_LARGE = "Zotero's local API at {url} answers {path} without end"
_NOT_ITS_ANSWER = "what {url} answers to {path} is not from Zotero, or is incomplete: {reason}"
_CHANGING = "the library {name} changes while it is read; try again when Zotero has synchronized"


_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class _Answer:
    """An answer in JSON, how many objects there are in all, and the library's version and Zotero's identity."""

    value: Any
    total: int
    version: int
    server: str


class LocalApi:
    """Libraries through the local API at ``url``. Raises ``WinnowError`` for an address that is not loopback.

    An answer has at most ``answer_bytes``.
    """

    def __init__(self, url: str = LOCAL_API, *, answer_bytes: int = _ANSWER_BYTES) -> None:
        parts = urlsplit(url)
        if parts.scheme != "http" or parts.hostname not in _HOSTS or parts.username or parts.query:
            raise WinnowError("INVALID_REQUEST", _NOT_LOOPBACK.format(url=one_line(url), usual=LOCAL_API))
        self.url, self._answer_bytes = url.rstrip("/"), answer_bytes
        self._remote = remote_backend("zotero", f"Zotero's local API at {self.url}", "SOURCE_UNAVAILABLE")
        timeout = httpx.Timeout(_SILENT_SECONDS, connect=_CONNECT_SECONDS)
        # Neither proxies nor credentials from the environment, no compression, no redirections.
        headers = {"Zotero-API-Version": "3", "Accept-Encoding": "identity"}
        self._client = httpx.Client(trust_env=False, timeout=timeout, headers=headers)

    def close(self) -> None:
        """Close the connection."""
        self._client.close()

    def libraries(self) -> tuple[LibraryName, ...]:
        """The user's own library, then those of groups. Raises ``WinnowError``."""
        groups = sorted(self._list("users/0/groups", read_group))
        names = (LibraryName(f"groups/{number}", name) for number, name in groups)
        return (LibraryName(USER_LIBRARY, USER_LIBRARY_NAME), *names)

    def read(self, name: LibraryName, kept: LibraryObjects | None = None) -> LibraryObjects:
        """All objects of a library. What did not change is taken from ``kept``. Raises ``WinnowError``."""
        prefix = "users/0" if name.id == USER_LIBRARY else name.id
        listed = self._get(f"{prefix}/items", format="versions")
        is_continued = kept is not None and _may_continue(name, kept, listed)
        known = {item.key: item for item in kept.items} if kept is not None and is_continued else {}
        for round_number in range(_ROUNDS):
            versions = self._versions(listed, f"{prefix}/items")
            changed = [key for key, version in versions.items() if not _has(known, key, version)]
            if not changed:
                break
            is_whole = not known or round_number > 0 or len(changed) > _FEW_CHANGED
            known |= {item.key: item for item in self._items(prefix, [] if is_whole else changed)}
            listed = self._get(f"{prefix}/items", format="versions")
        else:
            raise WinnowError("SOURCE_UNAVAILABLE", _CHANGING.format(name=name.name), retryable=True)
        items = tuple(known[key] for key in sorted(versions))
        if is_continued and not self._has_all_tags(prefix, items):
            return self.read(name)
        collections = sorted(self._list(f"{prefix}/collections", read_collection), key=_key_of)
        return LibraryObjects(name, listed.version, items, tuple(collections), listed.server)

    def find_places(self) -> FilePlaces | None:
        """The place of files by Zotero's own account; None where it has no stored file."""
        path = "users/0/items"
        query = {"itemType": "attachment", "limit": f"{_EXAMINED_ATTACHMENTS}"}
        found = list(self._convert(self._get(path, **query).value, read_object, path))
        stored = (self._data_folder(item) for item in found if item.link_mode in STORED_MODES)
        linked = (self._base_folder(item) for item in found if item.link_mode == LINKED_MODE)
        data = next((folder for folder in stored if folder), None)
        return FilePlaces(data, next((folder for folder in linked if folder), None)) if data else None

    def _data_folder(self, item: ZoteroObject) -> Path | None:
        path = self._file_of(item)
        is_stored = path is not None and path.parts[-3:-1] == ("storage", item.key) and len(path.parts) > 3
        return path.parents[2] if path is not None and is_stored else None

    def _base_folder(self, item: ZoteroObject) -> Path | None:
        relative = item.path.removeprefix(LINKED_BASE)
        path = self._file_of(item) if relative != item.path else None
        if path is None or not path.as_posix().endswith(f"/{relative}"):
            return None
        return Path(path.as_posix().removesuffix(relative))

    # --- objects

    def _versions(self, listed: _Answer, path: str) -> dict[str, int]:
        try:
            versions = read_versions(listed.value)
        except NotZotero as error:
            raise self._not_its_answer(path, error) from None
        if len(versions) != listed.total or len(versions) > MOST_OBJECTS:
            raise self._not_its_answer(path, f"{len(versions):,} versions of {listed.total:,}")
        return versions

    def _items(self, prefix: str, keys: Sequence[str]) -> Iterator[ZoteroObject]:
        """The items with these keys, all without any."""
        path = f"{prefix}/items"
        if not keys:
            yield from self._list(path, read_object)
        for start in range(0, len(keys), _KEYS_AT_ONCE):
            some = keys[start : start + _KEYS_AT_ONCE]
            yield from self._convert(self._get(path, itemKey=",".join(some)).value, read_object, path)

    def _has_all_tags(self, prefix: str, items: tuple[ZoteroObject, ...]) -> bool:
        """Whether Zotero still has each tag of the items."""
        path = f"{prefix}/tags"
        try:
            names = read_tags(self._get(path).value)
        except NotZotero as error:
            raise self._not_its_answer(path, error) from None
        return all(tag in names for item in items for tag in item.tags)

    def _list(self, path: str, read: Callable[[Any], _T]) -> list[_T]:
        """All objects at a path, page by page."""
        found: list[_T] = []
        while True:
            page = self._get(path, limit=f"{_PAGE_ITEMS}", start=f"{len(found)}")
            more = list(self._convert(page.value, read, path))
            if page.total > MOST_OBJECTS or len(more) != max(0, min(_PAGE_ITEMS, page.total - len(found))):
                reason = f"{len(more):,} objects from {len(found):,} on, of {page.total:,}"
                raise self._not_its_answer(path, reason)
            found += more
            if len(found) >= page.total:
                return found

    def _convert(self, value: Any, read: Callable[[Any], _T], path: str) -> Iterator[_T]:
        if not isinstance(value, list):
            raise self._not_its_answer(path, "a list is expected")
        try:
            yield from map(read, value)
        except NotZotero as error:
            raise self._not_its_answer(path, error) from None

    # --- requests

    def _get(self, path: str, **query: str) -> _Answer:
        """The answer to a request. Raises ``WinnowError`` for anything but a complete answer of Zotero."""
        with self._remote.call():
            try:
                with self._client.stream("GET", f"{self.url}/{path}", params=query) as response:
                    self._check_status(response, path)
                    body = self._read_body(response, path)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise self._silent(error) from None
        try:
            value = json.loads(body)
            total, version = (int(response.headers.get(name, "0")) for name in (_TOTAL, _VERSION))
        except (ValueError, RecursionError) as error:
            raise self._not_its_answer(path, error) from None
        return _Answer(value, total, version, response.headers.get(_SERVER_ID, ""))

    def _check_status(self, response: httpx.Response, path: str) -> None:
        status = response.status_code
        if status == httpx.codes.OK:
            return
        if status == httpx.codes.FORBIDDEN:
            raise WinnowError("SOURCE_UNAVAILABLE", _SWITCHED_OFF.format(url=self.url))
        if status == httpx.codes.NOT_FOUND:
            raise WinnowError("NOT_FOUND", _NO_LIBRARY.format(id=path.rpartition("/")[0]))
        message = _REDIRECTED if response.is_redirect else _STATUS
        raise WinnowError("SOURCE_UNAVAILABLE", message.format(url=self.url, path=path, status=status))

    def _read_body(self, response: httpx.Response, path: str) -> bytes:
        body, end = bytearray(), time.monotonic() + _ANSWER_SECONDS
        for part in response.iter_raw():
            body += part
            if len(body) > self._answer_bytes or time.monotonic() > end:
                raise WinnowError("SOURCE_UNAVAILABLE", _TOO_LARGE.format(url=self.url, path=path))
        return bytes(body)

    def _file_of(self, attachment: ZoteroObject) -> Path | None:
        """The path that Zotero redirects to; None for anything but a file."""
        try:
            with self._client.stream("GET", f"{self.url}/users/0/items/{attachment.key}/file") as response:
                parts = urlsplit(response.headers.get("Location", ""))
            path = Path(url2pathname(parts.path)) if parts.scheme == "file" and not parts.netloc else None
        # The client refuses locations that are no addresses, although it does not follow them.
        except (httpx.RemoteProtocolError, httpx.InvalidURL, ValueError):
            return None
        except httpx.HTTPError as error:
            raise self._silent(error) from None
        return path if path is not None and path.is_absolute() and "\0" not in str(path) else None

    def _silent(self, error: Exception) -> WinnowError:
        reason = one_line(str(error)) or type(error).__name__
        return WinnowError("SOURCE_UNAVAILABLE", _SILENT.format(url=self.url, reason=reason), retryable=True)

    def _not_its_answer(self, path: str, reason: object) -> WinnowError:
        message = _NOT_ITS_ANSWER.format(url=self.url, path=path, reason=one_line(str(reason)))
        return WinnowError("SOURCE_UNAVAILABLE", message)


def _has(known: Mapping[str, ZoteroObject], key: str, version: int) -> bool:
    return key in known and known[key].version == version


def _may_continue(name: LibraryName, kept: LibraryObjects, listed: _Answer) -> bool:
    """Whether versions tell what changed since: they are those of the same Zotero, and it was not set back."""
    is_same = bool(kept.server) and kept.server == listed.server and kept.name.id == name.id
    return is_same and kept.version <= listed.version


def _key_of(collection: ZoteroCollection) -> str:
    return collection.key
