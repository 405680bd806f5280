"""The request for an ingest: commands, jobs and watchers build it, the pipeline takes it as it is."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer, StrictBool

from winnow.server.bibliographies.zotero.choice import ZoteroChoice
from winnow.server.ingest.selection.deletions import ANY_DELETION, CAUTIOUS, GUARDED, DeletionRule
from winnow.server.ingest.selection.file_rules import FileRules
from winnow.server.models import Environment
from winnow.server.readers.documents import DefaultLabels
from winnow.server.readers.formats.parsed_file import ReadOptions

_Text = Annotated[str, Field(max_length=200)]
_Pattern = Annotated[str, Field(min_length=1, max_length=500)]
_STORABLE = re.compile(r"/[^\x00-\x1f\x7f\ud800-\udfff]{0,4095}")
_MaybePath = Annotated[
    Path | None,
    BeforeValidator(lambda value: value or None),
    PlainSerializer(lambda path: str(path or ""), when_used="json"),
]


class IngestRequest(BaseModel):
    """Files and folders by their absolute ``paths``, or libraries of Zotero, and how they are ingested.

    Labels (``doc_tag``, ``environment``, ``repository``, ``forced``) are those of ``DefaultLabels``; ``include``,
    ``exclude`` and ``ignore_files`` those of ``FileRules``; ``keeps_hidden``, ``passwords`` and ``uses_ocr`` those
    of ``ReadOptions``. ``references`` is the resolved path of a bibliography. ``allow_deletions``: any deletion is
    made. ``linked_below``: the folders below which linked files of Zotero are read, None for everywhere.
    """

    # Built on first use: a server that answers a handshake imports it, and may never need it.
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True, hide_input_in_errors=True)

    paths: Annotated[tuple[Path, ...], Field(max_length=100_000)] = ()
    doc_tag: _Text = ""
    environment: Environment | Annotated[str, Field(max_length=0)] = ""
    repository: _Text = ""
    forced: StrictBool = False
    include: Annotated[tuple[_Pattern, ...], Field(max_length=1000)] = ()
    exclude: Annotated[tuple[_Pattern, ...], Field(max_length=1000)] = ()
    ignore_files: StrictBool = True
    keeps_hidden: StrictBool = False
    uses_ocr: StrictBool = False
    references: _MaybePath = None
    zotero: ZoteroChoice | None = None
    passwords: Annotated[tuple[str, ...], Field(max_length=100, repr=False)] = ()
    allow_deletions: StrictBool = False
    linked_below: Annotated[tuple[Path, ...], Field(max_length=100)] | None = None

    @property
    def labels(self) -> DefaultLabels:
        """The labels of its documents."""
        return DefaultLabels(self.doc_tag, self.environment, self.repository, self.forced)

    @property
    def options(self) -> ReadOptions:
        """The options by which its files are read."""
        return ReadOptions(self.keeps_hidden, self.passwords, self.uses_ocr)

    @property
    def rules(self) -> FileRules:
        """Which files are its documents."""
        return FileRules(self.include, self.exclude, self.ignore_files)

    @property
    def deletions(self) -> DeletionRule:
        """Which deletions are made; a watcher, which knows of earlier ones, has a rule of its own."""
        if self.allow_deletions:
            return ANY_DELETION
        return GUARDED if self.zotero else CAUTIOUS


def _refuse_unstorable(request: IngestRequest) -> IngestRequest:
    paths = (*request.paths, *(request.linked_below or ()), *([request.references] if request.references else ()))
    if request.passwords or request.allow_deletions or not all(_STORABLE.fullmatch(str(path)) for path in paths):
        raise ValueError("a store keeps absolute, printable paths, and neither passwords nor leave to delete")
    return request


# A request as files of a store may hold it.
StoredRequest = Annotated[IngestRequest, AfterValidator(_refuse_unstorable)]
