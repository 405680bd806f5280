"""Private JSON files of records in a store's folder (its keys, its watched sources): read, written, looked at."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, TypeVar

from pydantic import BaseModel, ValidationError

from winnow.server.errors import WinnowError
from winnow.server.storage.files.private_file import ForeignFile, UntrustedFile, read_private, write_private

_BYTES = 4 * 1024 * 1024
_PLACE_CHARS = 100

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class FileState:
    """The identity of one state of a file."""

    modified_ns: int
    changed_ns: int
    inode: int
    size: int


@dataclass(frozen=True, slots=True)
class PrivateRecords(Generic[M]):
    """A file of this name with the fields of ``model``, which without a file has its defaults.

    ``advice`` says what to do about a file that is not as it was written: "mend it, or delete it and begin anew".
    """

    name: str
    model: type[M]
    advice: str

    def state(self, store: Path) -> FileState | None:
        """The state of the file; None without one."""
        try:
            status = (store / self.name).lstat()
        except OSError:
            return None
        return FileState(status.st_mtime_ns, status.st_ctime_ns, status.st_ino, status.st_size)

    def read(self, store: Path) -> M:
        """The content of the file.

        Raises ``WinnowError("INVALID_REQUEST")`` for a file that others may write, or that is not as it was
        written.
        """
        path = store / self.name
        try:
            return self.model.model_validate_json(read_private(path, _BYTES))
        except FileNotFoundError:
            return self.model()
        except OSError as error:
            raise self._refusal(path, error.strerror or "it cannot be opened") from None
        except ForeignFile as error:
            raise WinnowError("INVALID_REQUEST", f"{path} is not used: {error}") from None
        except UntrustedFile as error:
            raise self._refusal(path, str(error)) from None
        except ValidationError as error:
            where = ".".join(map(str, error.errors()[0]["loc"]))[:_PLACE_CHARS]
            raise self._refusal(path, f"{where or 'it'} is not valid") from None

    def write(self, store: Path, content: M) -> None:
        """Replace the file, all or nothing. Raises ``OSError``."""
        text = json.dumps(content.model_dump(mode="json"), indent=2)
        write_private(store / self.name, store / f".{self.name}", text)

    def _refusal(self, path: Path, why: str) -> WinnowError:
        return WinnowError("INVALID_REQUEST", f"{path} is not used: {why}; {self.advice}")
