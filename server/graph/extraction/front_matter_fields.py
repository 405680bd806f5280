"""What front matter says of a whole document: tags, vendor, product, people, aliases, relations. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from server.models import Document

# Field -> the type of the entity that the document is about.
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
# Fields whose values are other names of the document. Hugo keeps former paths under "aliases": those are none.
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
# Where a page is or was published says nothing about another document.
_OWN_ADDRESS_FIELDS = frozenset({*ALIAS_FIELDS, "url", "permalink", "slug", "canonical"})
_PATH = re.compile(r"\.{0,2}/[^\s]{1,300}")
_MAX_VALUES = 100  # of one field: longer lists are data


@dataclass(frozen=True, slots=True)
class FieldValue:
    """One value of a field: what it says, and the type of the entity it names."""

    value: str
    type: str


def read_subjects(document: Document) -> Iterator[FieldValue]:
    """Vendors, products and people that the document is about."""
    if document.vendor:
        yield FieldValue(document.vendor, "vendor")
    for field, type in SUBJECT_FIELDS.items():
        yield from (FieldValue(value, type) for value in _read_values(document, field))


def read_tags(document: Document) -> Iterator[FieldValue]:
    """Its tags."""
    return (FieldValue(tag, "tag") for tag in document.tags[:_MAX_VALUES])


def read_aliases(document: Document) -> Iterator[str]:
    """Other names of what the document is about."""
    return (
        value for field in ALIAS_FIELDS for value in _read_values(document, field) if not value.startswith("/")
    )


def read_relations(document: Document) -> Iterator[str]:
    """What the document says it is related to: paths, titles, or names in double brackets.

    In fields of any other name, values that are paths of their own.
    """
    for field in RELATION_FIELDS:
        yield from _read_values(document, field)
    for name in document.metadata:
        if (field := _normalise_field_name(name)) not in RELATION_FIELDS and field not in _OWN_ADDRESS_FIELDS:
            yield from (value for value in _read_values(document, field) if _PATH.fullmatch(value))


def _read_values(document: Document, field: str) -> list[str]:
    """The values of a field, whichever way its name is spelled: ``see_also``, ``see-also``, ``See also``."""
    found = []
    for name, value in document.metadata.items():
        if _normalise_field_name(name) == field:
            values = value if isinstance(value, list | tuple) else [value]
            found += [one.strip() for one in values[:_MAX_VALUES] if isinstance(one, str) and one.strip()]
    return found


def _normalise_field_name(name: str) -> str:
    return name.strip().lower().replace("-", "_").replace(" ", "_")
