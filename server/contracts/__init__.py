"""The contracts: models of the arguments and the answer of every operation, and their JSON schemas.

The same models validate direct tools and sandboxed scripts. Every number and string has bounds. Unknown arguments
are ignored with a warning, or refused where they resemble a known one.
"""

from __future__ import annotations

from winnow.server.contracts.base import (
    MAX_TOP_K,
    PREVIEW_CHARS,
    Arguments,
    ErrorEnvelope,
    Limit,
    Meta,
    Mode,
    Payload,
    Scope,
    SearchFilters,
)
from winnow.server.contracts.evidence import EvidenceAnswer, ExtractEvidence, RetrievedEvidence, RetrieveEvidence
from winnow.server.contracts.excerpts import ExcerptAnswer, ExcerptOptions, ExpandExcerpt, ReadExcerpt
from winnow.server.contracts.graph import (
    DescribeAnswer,
    EntitiesForSections,
    FindVendorInfo,
    GraphChildren,
    GraphDescribe,
    GraphExpand,
    GraphParents,
    GraphPaths,
    PathsAnswer,
    ReachedAnswer,
    SectionsForEntities,
    VendorAnswer,
)
from winnow.server.contracts.kb import KbSearch, KbSearchAnswer
from winnow.server.contracts.legacy import GetSectionText, SearchSections, SectionsAnswer, SectionTextsAnswer
from winnow.server.contracts.parsing import parse
from winnow.server.contracts.schema import answer_schema, empty_answer, flat_schema, wire_schema
from winnow.server.contracts.scripts import ExecuteCode, OutcomeAnswer
from winnow.server.contracts.search import Fetch, SearchAnswer, SemanticSearch

__all__ = [
    "MAX_TOP_K",
    "PREVIEW_CHARS",
    "Arguments",
    "DescribeAnswer",
    "EntitiesForSections",
    "ErrorEnvelope",
    "EvidenceAnswer",
    "ExcerptAnswer",
    "ExcerptOptions",
    "ExecuteCode",
    "ExpandExcerpt",
    "ExtractEvidence",
    "Fetch",
    "FindVendorInfo",
    "GetSectionText",
    "GraphChildren",
    "GraphDescribe",
    "GraphExpand",
    "GraphParents",
    "GraphPaths",
    "KbSearch",
    "KbSearchAnswer",
    "Limit",
    "Meta",
    "Mode",
    "OutcomeAnswer",
    "PathsAnswer",
    "Payload",
    "ReachedAnswer",
    "ReadExcerpt",
    "RetrieveEvidence",
    "RetrievedEvidence",
    "Scope",
    "SearchAnswer",
    "SearchFilters",
    "SearchSections",
    "SectionTextsAnswer",
    "SectionsAnswer",
    "SectionsForEntities",
    "SemanticSearch",
    "VendorAnswer",
    "answer_schema",
    "empty_answer",
    "flat_schema",
    "parse",
    "wire_schema",
]
