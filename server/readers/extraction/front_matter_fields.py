"""The front matter fields that describe a document: tags, vendor, product, people, aliases, relations. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from winnow.server.models import Document

# Field -> the type of the entity that its values name.
SUBJECT_FIELDS: Mapping[str, str] = MappingProxyType(
    {
        "vendor": "vendor",
        "vendors": "vendor",
        "manufacturer": "vendor",
        "product": "product",
        "products": "product",
        "author": "person",
        "authors": "person",
        "owner": "person",
        "owners": "person",
        "maintainer": "person",
        "maintainers": "person",
        "person": "person",
        "people": "person",
        "reviewers": "person",
    }
)
# Fields whose values are other names of the document. Hugo keeps former paths under "aliases": those are left out.
ALIAS_FIELDS = ("aka", "aliases", "alias", "synonyms", "also_known_as")
# Fields whose values are other documents, by path, title or [[name]].
RELATION_FIELDS = (
    "related",
    "related_to",
    "relates_to",
    "see_also",
    "depends_on",
    "requires",
    "part_of",
    "parent",
    "supersedes",
    "superseded_by",
    "replaces",
    "extends",
    "implements",
)
# Addresses of the document itself: paths in these fields do not refer to another document.
_OWN_ADDRESS_FIELDS = frozenset({*ALIAS_FIELDS, "url", "permalink", "slug", "canonical"})
_PATH = re.compile(r"\.{0,2}/[^\s]{1,300}")
_MAX_VALUES = 100  # of one field; longer lists are data


@dataclass(frozen=True, slots=True)
class FieldValue:
    """One value of a field, and the type of the entity that it names."""

    value: str
    type: str


def read_subjects(document: Document) -> Iterator[FieldValue]:
    """Read the vendors, products and people that the document is about."""
    if document.vendor:
        yield FieldValue(document.vendor, "vendor")
    for field, type in SUBJECT_FIELDS.items():
        yield from (FieldValue(value, type) for value in _read_values(document, field))


def read_tags(document: Document) -> Iterator[FieldValue]:
    """Read the tags."""
    return (FieldValue(tag, "tag") for tag in document.tags[:_MAX_VALUES])


def read_aliases(document: Document) -> Iterator[str]:
    """Read the other names of the document's subject."""
    return (
        value for field in ALIAS_FIELDS for value in _read_values(document, field) if not value.startswith("/")
    )


def read_relations(document: Document) -> Iterator[str]:
    """Read the documents that a document is related to: paths, titles, or names in double brackets.

    In fields of any other name, only values that are paths count.
    """
    for field in RELATION_FIELDS:
        yield from _read_values(document, field)
    for name in document.metadata:
        field = _normalise_field_name(name)
        if field not in RELATION_FIELDS and field.rpartition(".")[2] not in _OWN_ADDRESS_FIELDS:
            yield from (value for value in _read_values(document, field) if _PATH.fullmatch(value))


def _read_values(document: Document, field: str) -> list[str]:
    """Read the values of a field under any spelling of its name: ``see_also``, ``see-also``, ``See also``."""
    strings: list[str] = []
    for name, value in document.metadata.items():
        if _normalise_field_name(name) == field:
            values = value if isinstance(value, list | tuple) else [value]
            strings += [item.strip() for item in values[:_MAX_VALUES] if isinstance(item, str) and item.strip()]
    return strings


def _normalise_field_name(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")
