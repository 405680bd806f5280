"""The wording of relations, as people read them."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

# Relation and direction -> its wording, seen from the node, in the order of output: what the node is, how it
# relates to others, where it occurs.
PHRASES: Mapping[tuple[str, str], str] = MappingProxyType(
    {
        ("ALIAS_OF", "out"): "alias of",
        ("ALIAS_OF", "in"): "also called",
        ("EXPANDS_TO", "out"): "stands for",
        ("EXPANDS_TO", "in"): "abbreviated",
        ("DEFINES", "out"): "defines",
        ("DEFINES", "in"): "defined in",
        ("ABOUT", "out"): "about",
        ("ABOUT", "in"): "subject of",
        ("TAGGED", "out"): "tagged",
        ("TAGGED", "in"): "tag of",
        ("PART_OF", "out"): "part of",
        ("PART_OF", "in"): "consists of",
        ("NEXT", "out"): "followed by",
        ("NEXT", "in"): "preceded by",
        ("RELATED_TO", "out"): "related to",
        ("RELATED_TO", "in"): "related from",
        ("LINKS_TO", "out"): "links to",
        ("LINKS_TO", "in"): "linked from",
        ("IMPORTS", "out"): "imports",
        ("IMPORTS", "in"): "imported by",
        ("CALLS", "out"): "calls",
        ("CALLS", "in"): "called by",
        ("CO_OCCURS", "out"): "named together with",
        ("CO_OCCURS", "in"): "named together with",
        ("MENTIONS", "out"): "mentions",
        ("MENTIONS", "in"): "mentioned in",
    }
)
