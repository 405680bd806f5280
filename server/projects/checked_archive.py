"""An archive from anybody that is open for reading: bounded entries, a manifest of one version, checked values.

Whatever is wrong with it is an ``INVALID_REQUEST`` that names the file and says that nothing was changed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import BinaryIO, TypeVar

from pydantic import BaseModel, ValidationError

from winnow.server.errors import WinnowError
from winnow.server.readers.common.archives import open_archive
from winnow.server.readers.documents import UnreadableFile
from winnow.server.settings.project_settings import describe_flaw
from winnow.server.text.printable import one_line

MANIFEST = "manifest.json"
T = TypeVar("T", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class ArchiveKind:
    """A kind of archive: its format and version, the bounds of reading it, and the words of its refusals.

    ``unread`` is what does not happen to a refused archive ("restored"), ``other_version`` what to do with one of
    another version.
    """

    name: str
    format: str
    version: int
    most_bytes: int
    most_small_bytes: int
    unread: str
    other_version: str


class CheckedArchive:
    """The entries of an archive of this kind. Raises ``WinnowError`` for what is no archive within its bounds."""

    def __init__(self, file: BinaryIO, name: str, kind: ArchiveKind) -> None:
        self._name, self._kind = one_line(name), kind
        try:
            self._archive = open_archive(file, kind.name, kind.most_bytes)
        except UnreadableFile as error:
            raise self.refusal(str(error)) from None

    @property
    def names(self) -> list[str]:
        """The names of all entries."""
        return list(self._archive.names())

    def manifest(self, model: type[T]) -> T:
        """The manifest. Raises ``WinnowError`` that names the version of another one."""
        text = self.read(MANIFEST)
        try:
            facts = json.loads(text)
        except (ValueError, RecursionError):
            facts = None
        if isinstance(facts, dict) and facts.get("format") == self._kind.format:
            version = facts.get("version")
            if version != self._kind.version:
                raise self.refusal(
                    f"it has version {str(version)[:20]} of the format, this winnow reads {self._kind.version}; "
                    f"{self._kind.other_version}"
                )
        return self.parse(model, text, MANIFEST)

    def read(self, name: str) -> bytes:
        """A small entry, whole."""
        try:
            return self._archive.read(name, self._kind.most_small_bytes)
        except UnreadableFile as error:
            raise self.refusal(str(error)) from None

    def blocks(self, name: str) -> Iterator[bytes]:
        """An entry of any size, in blocks."""
        try:
            yield from self._archive.blocks(name)
        except UnreadableFile as error:
            raise self.refusal(str(error)) from None

    def parse(self, model: type[T], text: bytes, where: str) -> T:
        """A record of JSON that the model admits; ``where`` it stands."""
        try:
            return model.model_validate_json(text)
        except ValidationError as error:
            raise self.refusal(f"{where}: {describe_flaw(error)}") from None

    def refusal(self, why: str) -> WinnowError:
        """The error for this archive, of which nothing is used."""
        return WinnowError(
            "INVALID_REQUEST", one_line(f"{self._name} is not {self._kind.unread}, nothing was changed: {why}")
        )
