"""The table of operations. Each is declared beside the function that answers it."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from winnow.server.operations.citing import KB_CITE
from winnow.server.operations.claims.table import OF_CLAIMS
from winnow.server.operations.core.auditing import CITATIONS_AUDIT_CHECK
from winnow.server.operations.core.executing import RESEARCH_EXECUTE
from winnow.server.operations.core.exporting import EXPORTS_RENDER_MARKDOWN
from winnow.server.operations.core.loading import DOCS_LOAD_FETCH
from winnow.server.operations.core.planning import PLANNER_MULTI_PERSPECTIVE
from winnow.server.operations.core.searching import VECTOR_QUERY_SEARCH
from winnow.server.operations.corpus.counting import KB_COUNT
from winnow.server.operations.corpus.documents import KB_DOCUMENTS
from winnow.server.operations.corpus.reading import KB_READ
from winnow.server.operations.corpus.repeats import KB_REPEATS
from winnow.server.operations.corpus.scan import KB_SCAN
from winnow.server.operations.corpus.showing import KB_SHOW
from winnow.server.operations.declaration import Operation
from winnow.server.operations.evidence import KB_EXTRACT_EVIDENCE, KB_RETRIEVE_EVIDENCE
from winnow.server.operations.excerpts import KB_EXPAND_EXCERPT, KB_READ_EXCERPT
from winnow.server.operations.explaining.ranking import KB_EXPLAIN_RANKING
from winnow.server.operations.fetching import FETCH
from winnow.server.operations.graph.table import OF_GRAPH
from winnow.server.operations.graph.vendors import FIND_VENDOR_INFO
from winnow.server.operations.jobs import INGEST_FROM_SOURCE, JOB_CANCEL, JOB_STATUS
from winnow.server.operations.kb import KB_SEARCH
from winnow.server.operations.legacy import GET_SECTION_TEXT, SEARCH_SECTIONS
from winnow.server.operations.research.collections import INSPECT_COLLECTION
from winnow.server.operations.research.index_state import INDEX_STATE
from winnow.server.operations.research.projects import LIST_PROJECTS
from winnow.server.operations.research.queries import QUERY, QUERY_HYBRID
from winnow.server.operations.scripting import HYBRID_SEARCH, RERANK, TOKENS
from winnow.server.operations.search import SEMANTIC_SEARCH
from winnow.server.operations.state import OF_SESSIONS
from winnow.server.operations.texts.front_matter import KB_FIELDS
from winnow.server.operations.texts.whole_texts import KB_TEXT

# In the order in which clients list their tools.
_ALL: tuple[Operation, ...] = (
    KB_RETRIEVE_EVIDENCE,
    KB_SEARCH,
    KB_SCAN,
    KB_EXTRACT_EVIDENCE,
    KB_READ_EXCERPT,
    KB_EXPAND_EXCERPT,
    KB_DOCUMENTS,
    KB_READ,
    SEMANTIC_SEARCH,
    *OF_GRAPH,
    FIND_VENDOR_INFO,
    SEARCH_SECTIONS,
    GET_SECTION_TEXT,
    *OF_SESSIONS,
    LIST_PROJECTS,
    QUERY,
    QUERY_HYBRID,
    INSPECT_COLLECTION,
    INGEST_FROM_SOURCE,
    JOB_STATUS,
    JOB_CANCEL,
    VECTOR_QUERY_SEARCH,
    PLANNER_MULTI_PERSPECTIVE,
    RESEARCH_EXECUTE,
    DOCS_LOAD_FETCH,
    CITATIONS_AUDIT_CHECK,
    EXPORTS_RENDER_MARKDOWN,
    KB_SHOW,
    *OF_CLAIMS,
    # Those without a tool.
    FETCH,
    INDEX_STATE,
    HYBRID_SEARCH,
    RERANK,
    TOKENS,
    KB_COUNT,
    KB_REPEATS,
    KB_TEXT,
    KB_FIELDS,
    KB_CITE,
    KB_EXPLAIN_RANKING,
)
OPERATIONS: Mapping[str, Operation] = MappingProxyType({each.name: each for each in _ALL})
_BY_LISTED_NAME: Mapping[str, str] = MappingProxyType(
    {(each.tool.name or each.name).replace(".", "_"): each.name for each in _ALL if each.tool}
)


def operation_of(name: str) -> str:
    """The name of the operation that a tool of this name, with dots or underscores, calls; else the name itself.

    >>> operation_of("citations_audit_check"), operation_of("wild_write"), operation_of("kb.count")
    ('citations.audit.check', 'claims.write', 'kb.count')
    """
    return name if name in OPERATIONS else _BY_LISTED_NAME.get(name.replace(".", "_"), name)
