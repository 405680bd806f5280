"""Protocols of a store's reads by filters, and of its projects."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from winnow.server.models import Document, DocumentRecord, Filters, Labels, ProjectInfo
from winnow.server.settings.project_settings import ProjectSettings
from winnow.server.storage.project_states import HiddenProject, ProjectState


class FilteredReads(Protocol):
    """The reads that take filters; a part of ``DocumentStore``."""

    def labels(self, filters: Filters) -> Labels:
        """The labels of the documents that these filters admit."""

    def documents_within(self, filters: Filters) -> list[Document]:
        """The documents that these filters admit, by uri."""

    def has_documents(self, filters: Filters) -> bool:
        """Whether these filters admit any document."""

    def paths(self, filters: Filters) -> list[str]:
        """The uris of the documents that these filters admit, in order; filters on dates are ignored."""

    def fields(self, filters: Filters) -> frozenset[str]:
        """The names of the metadata of the documents that these filters admit; filters on dates are ignored."""

    def field_values(self, filters: Filters, name: str, most: int) -> list[str]:
        """The most frequent values of a field of these documents, as text; filters on dates are ignored."""

    def titles(self, filters: Filters) -> list[str]:
        """Their titles, each once; filters on dates are ignored."""

    def section_chunks(self, filters: Filters, is_within: Callable[[Sequence[str]], bool], most: int) -> list[str]:
        """The chunks of these documents whose headings satisfy ``is_within``, by id; at most ``most``."""

    def has_pages(self, filters: Filters) -> bool:
        """Whether any of these documents has pages, slides or sheets."""

    def find_documents(self, filters: Filters, name: str) -> list[Document]:
        """The document with this id or uri, else those with this title, in any case."""

    def count_documents(self, filters: Filters) -> tuple[int, int]:
        """The number of documents that these filters admit, and of their chunks."""

    def list_documents(self, filters: Filters, sort: str, offset: int, limit: int) -> list[DocumentRecord]:
        """A part of the documents that these filters admit, in this order."""

    def iterate_values(self, filters: Filters, name: str) -> Iterator[tuple[Any, int]]:
        """The value of a fact, a field or ``FOLDER`` of each of these documents, and how many chunks it has."""


class ProjectReads(Protocol):
    """Reads of projects; a part of ``DocumentStore``."""

    def projects(self) -> list[ProjectInfo]: ...

    def existing_projects(self) -> list[ProjectInfo]:
        """All projects that were created or hold documents, by name."""

    def has_project(self, project: str) -> bool:
        """Whether the project was created or holds documents, and is in use."""

    def hidden_projects(self) -> Mapping[str, HiddenProject]:
        """The projects that are not in use, by name."""

    def embedding(self, project: str) -> str:
        """The fingerprint that all documents of the project share; "" where they have none or several."""

    def languages(self, project: str) -> dict[str, int]:
        """The number of documents of a project in each language (ISO 639-1); "" stands for unknown."""

    def generation(self, project: str) -> int:
        """Grows with every change of the project's index; 0 for a project that does not exist."""

    def project_settings(self, project: str) -> ProjectSettings:
        """The settings of the project; the defaults where none are stored."""

    def project_state(self, project: str) -> ProjectState:
        """The state of the project; "" also if there is none."""
