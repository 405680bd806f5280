"""The functions of the SDK that call operations, in the smaller language (see ``monty_calls``).

Written by docs/generate.py from the operations that they call. Change it there.
"""

from __future__ import annotations

FUNCTIONS = """
class SemanticSearch:
    def __call__(self, query=None, *, top_k=10, response_mode="metadata", vendor_filter=None, min_score=0.0,
            include_relationships=False, filter_ids=None, filters=None, scope=None, syntax="fields",
            missing="raise", cursor=None):
        return _request_page("semantic_search", {"query": query, "top_k": top_k, "response_mode": response_mode,
            "vendor_filter": vendor_filter, "min_score": min_score, "include_relationships": include_relationships,
            "filter_ids": filter_ids, "filters": filters, "scope": scope, "syntax": syntax, "missing": missing,
            "cursor": cursor})

semantic_search = SemanticSearch()

class FindVendorInfo:
    def __call__(self, vendor_name, include_content=False, max_results=50, entity_types=None, *, scope=None,
            cursor=None):
        return _request_page("find_vendor_info", {"vendor_name": vendor_name, "include_content": include_content,
            "max_results": max_results, "entity_types": entity_types, "scope": scope, "cursor": cursor})

find_vendor_info = FindVendorInfo()

class Fetch:
    def __call__(self, ids, level="full", max_tokens=None, *, missing="raise", scope=None, cursor=None):
        return _request_page("fetch", {"ids": ids, "level": level, "max_tokens": max_tokens, "missing": missing,
            "scope": scope, "cursor": cursor})

fetch = Fetch()

class HybridSearch:
    def __call__(self, query, bm25_weight=0.5, vector_weight=0.5, top_k=10, filters=None, *,
            response_mode="metadata", min_score=0.0, scope=None, syntax="fields", cursor=None):
        return _request_page("hybrid_search", {"query": query, "bm25_weight": bm25_weight, "vector_weight":
            vector_weight, "top_k": top_k, "filters": filters, "response_mode": response_mode, "min_score":
            min_score, "scope": scope, "syntax": syntax, "cursor": cursor})

hybrid_search = HybridSearch()

class Scan:
    def __call__(self, pattern, *, literal=False, word=False, case=True, path=None, where=None, filters=None,
            scope=None, group_by=None, context=80, max_match=None, limit=1_000, cursor=None):
        return _request_page("kb.scan", {"pattern": pattern, "literal": literal, "word": word, "case": case,
            "path": path, "where": where, "filters": filters, "scope": scope, "group_by": group_by, "context":
            context, "max_match": max_match, "limit": limit, "cursor": cursor})

scan = Scan()

class Documents:
    def __call__(self, path=None, *, where=None, filters=None, scope=None, sort="path", group_by=None, limit=1_000,
            cursor=None):
        return _request_page("kb.documents", {"path": path, "where": where, "filters": filters, "scope": scope,
            "sort": sort, "group_by": group_by, "limit": limit, "cursor": cursor})

documents = Documents()

class Read:
    def __call__(self, document, start=0, max_tokens=800, *, page=None, scope=None):
        return _request_row("kb.read", {"document": document, "start": start, "max_tokens": max_tokens, "page":
            page, "scope": scope})

read = Read()

class Count:
    def __call__(self, pattern=None, *, literal=False, word=False, case=True, path=None, where=None, filters=None,
            scope=None):
        return _request_row("kb.count", {"pattern": pattern, "literal": literal, "word": word, "case": case,
            "path": path, "where": where, "filters": filters, "scope": scope})

count = Count()

class Repeats:
    def __call__(self, min_chars=200, *, path=None, where=None, filters=None, scope=None, limit=100, cursor=None):
        return _request_page("kb.repeats", {"min_chars": min_chars, "path": path, "where": where, "filters":
            filters, "scope": scope, "limit": limit, "cursor": cursor})

repeats = Repeats()

class KnowledgeBase:
    def __init__(self):
        self.semantic_search = semantic_search
        self.search_many = search_many
        self.grep = grep
        self.fetch = fetch
        self.text = text
        self.texts = texts
        self.page = page
        self.fields = fields
        self.sections = sections
        self.code_blocks = code_blocks
        self.tables = tables
        self.links = links
        self.row = row
        self.scan = scan
        self.documents = documents
        self.read = read
        self.count = count
        self.repeats = repeats
    def retrieve_evidence(self, question, *, top_k=5, max_quotes=6, max_quote_tokens=80, include_context_tokens=20,
            filters=None, scope=None, cursor=None):
        return _request_page("kb.retrieve_evidence", {"question": question, "top_k": top_k, "max_quotes":
            max_quotes, "max_quote_tokens": max_quote_tokens, "include_context_tokens": include_context_tokens,
            "filters": filters, "scope": scope, "cursor": cursor})
    def search(self, query, *, top_k=5, max_per_doc=1, filters=None, scope=None, cursor=None):
        return _request_page("kb.search", {"query": query, "top_k": top_k, "max_per_doc": max_per_doc, "filters":
            filters, "scope": scope, "cursor": cursor})
    def extract_evidence(self, question, passage_ids, *, max_quotes=6, max_quote_tokens=80,
            include_context_tokens=20, missing="raise", scope=None, cursor=None):
        return _request_page("kb.extract_evidence", {"question": question, "passage_ids": passage_ids,
            "max_quotes": max_quotes, "max_quote_tokens": max_quote_tokens, "include_context_tokens":
            include_context_tokens, "missing": missing, "scope": scope, "cursor": cursor})
    def read_excerpt(self, passage_id, max_tokens=300, start_char=0, *, format="text", scope=None):
        return _request_row("kb.read_excerpt", {"passage_id": passage_id, "max_tokens": max_tokens, "start_char":
            start_char, "format": format, "scope": scope})
    def expand_excerpt(self, passage_id, before_tokens=150, after_tokens=150, *, scope=None):
        return _request_row("kb.expand_excerpt", {"passage_id": passage_id, "before_tokens": before_tokens,
            "after_tokens": after_tokens, "scope": scope})

kb = KnowledgeBase()

class KnowledgeGraph:
    def describe(self, ids=(), *, include_snippet=False, page_size=25, missing="raise", scope=None, cursor=None):
        return _request_page("graph.describe", {"ids": ids, "include_snippet": include_snippet, "page_size":
            page_size, "missing": missing, "scope": scope, "cursor": cursor})
    def expand(self, ids, hops=1, *, direction="both", types=None, include_snippet=False, page_size=25,
            missing="raise", scope=None, cursor=None):
        return _request_page("graph.expand", {"ids": ids, "hops": hops, "direction": direction, "types": types,
            "include_snippet": include_snippet, "page_size": page_size, "missing": missing, "scope": scope,
            "cursor": cursor})
    def paths(self, from_ids, to_ids, max_hops=3, *, types=None, limit=10, missing="raise", scope=None,
            cursor=None):
        return _request_page("graph.paths", {"from_ids": from_ids, "to_ids": to_ids, "max_hops": max_hops, "types":
            types, "limit": limit, "missing": missing, "scope": scope, "cursor": cursor})
    def parents(self, ids, hops=5, *, include_snippet=False, page_size=25, missing="raise", scope=None,
            cursor=None):
        return _request_page("graph.parents", {"ids": ids, "hops": hops, "include_snippet": include_snippet,
            "page_size": page_size, "missing": missing, "scope": scope, "cursor": cursor})
    def children(self, ids, hops=1, *, include_snippet=False, page_size=25, missing="raise", scope=None,
            cursor=None):
        return _request_page("graph.children", {"ids": ids, "hops": hops, "include_snippet": include_snippet,
            "page_size": page_size, "missing": missing, "scope": scope, "cursor": cursor})
    def entities_for_sections(self, section_ids, *, page_size=25, missing="raise", scope=None, cursor=None):
        return _request_page("graph.entities_for_sections", {"section_ids": section_ids, "page_size": page_size,
            "missing": missing, "scope": scope, "cursor": cursor})
    def sections_for_entities(self, entity_ids, *, include_snippet=False, page_size=25, missing="raise",
            scope=None, cursor=None):
        return _request_page("graph.sections_for_entities", {"entity_ids": entity_ids, "include_snippet":
            include_snippet, "page_size": page_size, "missing": missing, "scope": scope, "cursor": cursor})

graph = KnowledgeGraph()

class ClaimNotebook:
    def search(self, query, *, mode="hybrid", top_k=10, topic_prefix=None, integration_status=None,
            min_similarity=0.3, max_claims=5, project=None):
        return _request_page("claims.search", {"query": query, "mode": mode, "top_k": top_k, "topic_prefix":
            topic_prefix, "integration_status": integration_status, "min_similarity": min_similarity, "max_claims":
            max_claims, "project": project})
    def related(self, entry_id, direction="all", max_results=10, *, project=None):
        return _request_page("claims.related", {"entry_id": entry_id, "direction": direction, "max_results":
            max_results, "project": project})
    def claims(self, entry_ids, *, missing="raise", project=None):
        return _request_page("claims.claims", {"entry_ids": entry_ids, "missing": missing, "project": project})
    def read(self, entry_id, start_char=0, *, project=None):
        return _request_row("claims.read", {"entry_id": entry_id, "start_char": start_char, "project": project})
    def topics(self, prefix=None, min_entries=1, *, project=None):
        return _request_page("claims.topics", {"prefix": prefix, "min_entries": min_entries, "project": project})
    def friction(self, min_friction=0.3, *, topic_prefix=None, integration_status=None, limit=10, project=None):
        return _request_page("claims.friction", {"min_friction": min_friction, "topic_prefix": topic_prefix,
            "integration_status": integration_status, "limit": limit, "project": project})
    def recent(self, since_sequence=0, limit=20, *, project=None):
        return _request_page("claims.recent", {"since_sequence": since_sequence, "limit": limit, "project":
            project})
    def status(self, *, project=None):
        return _request_row("claims.status", {"project": project})

claims = ClaimNotebook()
"""
