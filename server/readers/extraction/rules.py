"""The extraction rules and their confidences.

A confidence is the probability, estimated from samples, that an edge states what the author meant. Facts in a
formal language have 1.0: structure, front matter, source code, a link that names a file.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

Rule = Literal[
    "structure",
    "link",
    "near link",
    "wiki link",
    "relation",
    "front matter",
    "alias",
    "title",
    "heading",
    "gazetteer",
    "pattern",
    "role",
    "link text",
    "code span",
    "identifier",
    "acronym",
    "expansion",
    "capitalised",
    "part of a span",
    "word of a span",
    "term",
    "parsed code",
    "call",
    "definition",
    "short name",
]

CONFIDENCE: Mapping[Rule, float] = MappingProxyType(
    {
        "structure": 1.0,  # document, sections, chunks, their order
        "link": 1.0,  # a link whose path is a document's uri
        "near link": 0.8,  # a link that matches a document only without its leading folders or extension
        "wiki link": 0.9,  # [[name]], by title or file name
        "relation": 0.9,  # related:, depends_on: ... in front matter
        "front matter": 1.0,  # tags, vendor, product, people
        "alias": 1.0,  # aka: in front matter, aliases in entities.toml
        "title": 1.0,  # a document defines the entity of its title
        "heading": 0.8,  # a section defines the entity of its heading
        "gazetteer": 1.0,  # a name from entities.toml
        "pattern": 0.9,  # a pattern from entities.toml
        "role": 0.9,  # :class:`Name` and the like
        "link text": 0.8,
        "code span": 0.8,
        "identifier": 0.7,  # camelCase, snake_case, dotted.names in prose
        "acronym": 0.8,
        "expansion": 0.9,  # Custom Resource Definition (CRD)
        "capitalised": 0.6,
        "part of a span": 0.5,  # a known name within a longer capitalised span
        "word of a span": 0.25,  # the same for a single word that is not the title of a page
        "term": 0.5,  # by C-value
        "parsed code": 1.0,  # definitions and imports of Python
        "call": 0.9,  # a call of a name that the module binds
        "definition": 0.8,  # a definition by keyword, in other languages than Python
        "short name": 0.7,  # Walker for graph.walk.Walker
    }
)
