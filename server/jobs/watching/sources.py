"""The sources of a store: folders and files to watch, with their project, labels and patterns.

They are in ``sources.json`` in the store's folder. Only commands of the user write this file: no tool, no script
and no file of a working folder can add a source. A file that others may write, or that is not a regular file, is
refused. If the file has disappeared or was replaced by an older version, that is an error (``CountedRecords``),
because some folders would no longer be watched.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidationError,
    model_serializer,
    model_validator,
)

from winnow.server.errors import WinnowError
from winnow.server.ingest.selection.request import StoredRequest
from winnow.server.models import PROJECT_NAME
from winnow.server.storage.files.counted_records import CountedFile, CountedRecords
from winnow.server.storage.files.lock import SOURCES, StoreLock
from winnow.server.storage.files.private_records import FileState, PrivateRecords

FILE = "sources.json"
# The prefix of a Zotero source's path.
ZOTERO = "zotero:"
_NOT_WORD = re.compile(r"[^a-z0-9]+")
_ID_CHARS = 40

_MOST_PATHS, _PATH_CHARS = 100, 4096
# Fields of a request that no source has.
_UNUSED = ("passwords", "allow_deletions", "linked_below")


class WatchedSource(BaseModel):
    """An ingest that is repeated after each change of its files or libraries of Zotero.

    ``id`` is its name in commands. At the time ``confirmed_at`` (seconds since 1970) the user confirmed that
    ``confirmed`` deletions may be made at once; a confirmation can be used one time. As JSON data, a source has
    the fields of its request at the same level as its own.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)

    id: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,59}$")]
    request: StoredRequest
    project: Annotated[str, Field(pattern=PROJECT_NAME)]
    confirmed: Annotated[int, Field(ge=0)] = 0
    confirmed_at: Annotated[float, Field(ge=0)] = 0.0

    @property
    def paths(self) -> tuple[str, ...]:
        """The paths of the source; for libraries of Zotero, one text that describes them ("zotero:library")."""
        zotero = self.request.zotero
        return (f"{ZOTERO}{zotero.describe()}",) if zotero else tuple(map(str, self.request.paths))

    @model_validator(mode="before")
    @classmethod
    def _gather(cls, fields: Any) -> Any:
        if not isinstance(fields, dict) or "request" in fields:
            return fields
        request = {name: value for name, value in fields.items() if name not in cls.model_fields}
        if request.get("zotero") and isinstance(paths := request.get("paths"), list | tuple):
            request["paths"] = [path for path in paths if not str(path).startswith(ZOTERO)]
        own = {name: value for name, value in fields.items() if name in cls.model_fields}
        return {**own, "request": request}

    @model_validator(mode="after")
    def _has_paths_or_libraries(self) -> WatchedSource:
        request, longest = self.request, max(map(len, self.paths), default=0)
        if bool(request.paths) == bool(request.zotero) or request.linked_below is not None:
            raise ValueError("a source has paths, or libraries of Zotero")
        if len(self.paths) > _MOST_PATHS or longest > _PATH_CHARS:
            raise ValueError("a source has at most 100 paths")
        return self

    @model_serializer(mode="wrap")
    def _spread(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        own = write(self)
        request = {name: value for name, value in own.pop("request").items() if name not in _UNUSED}
        first = {"id": own.pop("id"), "paths": list(self.paths), "project": own.pop("project")}
        return {**first, **request, "paths": first["paths"], **own}


class _SourcesFile(CountedFile):
    """The content of the file."""

    version: Annotated[int, Field(ge=1, le=1)] = 1
    sources: Annotated[tuple[WatchedSource, ...], Field(max_length=100)] = ()


_RECORDS = CountedRecords(
    PrivateRecords(
        FILE,
        _SourcesFile,
        "mend it, bring it back (winnow restore FILE --replace), or delete it and sources-head.json beside it, "
        "and add the sources again (winnow sources add PATH)",
    )
)


def state_of(store: Path) -> FileState | None:
    """The state of the sources' file; None without one."""
    return _RECORDS.state(store)


def read_sources(store: Path) -> tuple[WatchedSource, ...]:
    """The sources of a store, in the order in which they were added.

    Raises ``WinnowError("INVALID_REQUEST")`` if others may write the file, or if it is not valid, has disappeared,
    or is older than the version that was written last.
    """
    return _RECORDS.read(store).sources


def change_sources(
    store: Path, change: Callable[[tuple[WatchedSource, ...]], Sequence[WatchedSource]]
) -> tuple[WatchedSource, ...]:
    """Replace the sources by those that ``change`` returns for them, all or nothing; return the new sources.

    For commands of the user alone. Raises ``WinnowError`` as ``read_sources`` does, and "INVALID_REQUEST" for more
    sources than a store may have.
    """
    lock = StoreLock(store, SOURCES)
    try:
        before = read_sources(store)
        after = tuple(change(before))
        if after != before:
            _write(store, after)
        return after
    finally:
        lock.release()


def replace_sources(store: Path, sources: Sequence[WatchedSource]) -> None:
    """Replace the store's sources, which the caller has saved elsewhere, by these. Raises ``OSError``."""
    lock = StoreLock(store, SOURCES)
    try:
        _write(store, tuple(sources))
    finally:
        lock.release()


def new_id(path: Path, taken: Sequence[str]) -> str:
    """An unused id for a source, made from the name of its first path."""
    base = _NOT_WORD.sub("-", path.name.lower()).strip("-")[:_ID_CHARS] or "source"
    numbered = (f"{base}-{number}" for number in range(2, len(taken) + 3))
    return next(name for name in (base, *numbered) if name not in taken)


def find_source(sources: Sequence[WatchedSource], name: str) -> WatchedSource:
    """The source with this id, otherwise the one with this path.

    Raises ``WinnowError``: "NOT_FOUND", and "INVALID_REQUEST" for a path of several sources.
    """
    path = str(Path(name).expanduser().resolve())
    found = [one for one in sources if name == one.id] or [one for one in sources if path in one.paths]
    if not found:
        ids = ", ".join(one.id for one in sources) or "none"
        raise WinnowError(
            "NOT_FOUND", f"there is no source {name!r}; the sources are: {ids} (winnow sources list)"
        )
    if len(found) > 1:
        named = ", ".join(f"{one.id} (project {one.project})" for one in found)
        raise WinnowError("INVALID_REQUEST", f"{name!r} is in several sources; name one by its id: {named}")
    return found[0]


def _write(store: Path, sources: tuple[WatchedSource, ...]) -> None:
    try:
        content = _SourcesFile(sources=sources)
    except ValidationError:
        raise WinnowError("INVALID_REQUEST", "a store has at most 100 sources; remove some first") from None
    _RECORDS.write(store, content)
