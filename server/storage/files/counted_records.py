"""Private records of which a loss is noticed: how often they were written is kept in a file beside them, too.

A file that is gone looks like one that never was, and an older copy like one in which less was written: keys
that were revoked would be accepted again, and folders no longer be watched. So the number of changes is in the
file and, after it is on the disk, in its *head* (``keys-head.json``). The file may be ahead of its head, where a
process ended between the two writes, and never behind it. A person may mend the file by hand: the number stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from winnow.server.errors import WinnowError
from winnow.server.storage.files.private_file import ForeignFile, UntrustedFile, read_private, write_private
from winnow.server.storage.files.private_records import FileState, PrivateRecords

_BYTES = 1024
_BACK = "bring it back (winnow restore FILE --replace)"


class CountedFile(BaseModel):
    """The content of a file that counts its changes; 0 where an earlier version wrote it."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)

    changes: Annotated[int, Field(ge=0)] = 0


class _Head(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True, strict=True)

    changes: Annotated[int, Field(ge=1)]


C = TypeVar("C", bound=CountedFile)


@dataclass(frozen=True, slots=True)
class CountedRecords(Generic[C]):
    """``records``, of which no change may be missing."""

    records: PrivateRecords[C]

    def state(self, store: Path) -> FileState | None:
        """See ``PrivateRecords.state``."""
        return self.records.state(store)

    def head(self, store: Path) -> Path:
        """The path of the file with the number of changes."""
        return store / f"{Path(self.records.name).stem}-head.json"

    def is_lost(self, store: Path) -> bool:
        """Whether the file is gone, though it was written."""
        # In this order: a process that writes the first change makes the head last.
        return self.head(store).exists() and self.state(store) is None

    def read(self, store: Path) -> C:
        """The content of the file.

        Raises ``WinnowError("INVALID_REQUEST")`` as ``PrivateRecords.read`` does, and for a file that is gone or
        older than what was written.
        """
        changes = self._changes(store)  # before the file, which is written first
        content = self.records.read(store)
        if content.changes < changes:
            path, head = store / self.records.name, self.head(store)
            if self.state(store) is None:
                raise _loss(
                    f"{path} is gone, though it was written; {_BACK}, or delete {head} to begin without it"
                )
            raise _loss(
                f"{path} is older than what was written, or another file: it has {content.changes:,} of "
                f"{changes:,} changes; {_BACK}, or delete {head} to go on with it as it is"
            )
        return content

    def write(self, store: Path, content: C) -> None:
        """Replace the file, all or nothing. Raises ``OSError``."""
        changes = max(content.changes, self._changes_or_none(store)) + 1
        self.records.write(store, content.model_copy(update={"changes": changes}))
        head = self.head(store)
        write_private(head, head.with_name(f".{head.name}"), _Head(changes=changes).model_dump_json())

    def _changes(self, store: Path) -> int:
        head = self.head(store)
        try:
            return _Head.model_validate_json(read_private(head, _BYTES)).changes
        except FileNotFoundError:
            return 0
        except ForeignFile as error:
            raise _loss(f"{head} is not used: {error}") from None
        except (OSError, UntrustedFile, ValidationError):
            path = store / self.records.name
            raise _loss(
                f"{head} is not as it was written, so nothing shows whether changes of {path} are lost; look at "
                f"it, then delete {head}"
            ) from None

    def _changes_or_none(self, store: Path) -> int:
        """The changes that the head has, 0 where it cannot be read: what is written now replaces it."""
        try:
            return self._changes(store)
        except WinnowError:
            return 0


def _loss(message: str) -> WinnowError:
    return WinnowError("INVALID_REQUEST", message)
