"""What may be asked and what is answered: one model per operation, and their JSON schemas.

Direct tools and sandboxed scripts are validated by the same models. Bounds stand at every number and string;
unknown arguments are ignored with a warning, and refused where they look like known ones.
"""

from __future__ import annotations

from server.contracts.base import (
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
from server.contracts.graph import (
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
from server.contracts.kb import (
    EvidenceAnswer,
    ExcerptAnswer,
    ExcerptOptions,
    ExpandExcerpt,
    ExtractEvidence,
    KbSearch,
    KbSearchAnswer,
    ReadExcerpt,
    RetrieveEvidence,
)
from server.contracts.legacy import GetSectionText, SearchSections, SectionsAnswer, SectionTextsAnswer
from server.contracts.parsing import parse
from server.contracts.schema import answer_schema, empty_answer, flat_schema, wire_schema
from server.contracts.scripts import ExecuteCode, OutcomeAnswer
from server.contracts.search import Fetch, SearchAnswer, SemanticSearch

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
