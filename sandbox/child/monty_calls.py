"""Rows and calls of the host, in the smaller language: source text that the interpreter is fed before a script.

The language has no ``__getattr__`` and no classes with bases, so that the SDK's own classes cannot be used. Calls
go through ``_ask``, which the host gives; names that begin with an underscore are not a script's.
"""

from __future__ import annotations

CALLS = """
import json as _plain_json
import re as _re

class Row:
    def __init__(self, fields, whole=True):
        self._fields = fields
        self._known = {}
        for part in (fields.get("citation"), fields.get("metadata"), fields):
            for name in part or {}:
                self._known[name] = part[name]
        for name, others in _ALIASES.items():
            for other in others:
                if name not in self._known and other in self._known:
                    self._known[name] = self._known[other]
        self._empty = []
        if whole:
            self._empty += [name for name in _COMMON if name not in self._known]
            for mark, names in _OPTIONAL.items():
                if mark in fields:
                    self._empty += [name for name in names if name not in self._known]
        for name in self._empty:
            setattr(self, name, None)
        for name in self._known:
            setattr(self, name, self._known[name])
        for name in ("citation", "metadata"):
            if fields.get(name) is not None:
                setattr(self, name, _Row(fields[name], False))
        if "file" in fields:
            self.metadata = self
    def __getitem__(self, name):
        return None if name in self._empty else self._known[name]
    def __contains__(self, name):
        return name in self._known
    def __iter__(self):
        return iter(self._fields)
    def __repr__(self):
        return repr(self._fields)
    def get(self, name, default=None):
        return self._known.get(name, default)
    def to_dict(self):
        return self._fields
    def keys(self):
        return self._fields.keys()
    def values(self):
        return self._fields.values()
    def items(self):
        return self._fields.items()

_Row = Row  # a script may have a Row of its own

def _rows(page):
    for name in ("results", "quotes", "entities", "entries", "topics", "changes"):
        if page.get(name) is not None:
            return [_Row(fields) for fields in page[name]]
    return [_Row({"id": identity}) for identity in page.get("ids") or []]

def _identities(ids):
    if isinstance(ids, str):
        return [ids]
    return [each if isinstance(each, str) else each["id"] for each in ids]

def _passage(passage):
    if isinstance(passage, str):
        return passage
    return passage["passage_id"] if "passage_id" in passage else passage["id"]

def _found(page, missing):
    unknown = page.get("missing_ids")
    if unknown and missing != "skip":
        named = ", ".join([repr(identity) for identity in unknown[:5]])
        raise ValueError("unknown ids: " + named + '; missing="skip" leaves out what is not there')
    return _rows(page)

class SemanticSearch:
    def __call__(self, query=None, *, top_k=10, response_mode="metadata", vendor_filter=None, min_score=0.0,
                 include_relationships=False, filter_ids=None, filters=None, scope=None, missing="raise",
                 cursor=None):
        asked = {"query": query, "top_k": top_k, "response_mode": response_mode, "vendor_filter": vendor_filter,
                 "min_score": min_score, "include_relationships": include_relationships, "filters": filters,
                 "scope": scope, "cursor": cursor}
        if filter_ids is not None:
            asked["filter_ids"] = _identities(filter_ids)
        narrowed = filters is not None or vendor_filter is not None
        return _found(_ask("semantic_search", asked), "skip" if narrowed else missing)

class SearchMany:
    def __call__(self, queries, *, top_k=10, response_mode="metadata", min_score=0.0, filters=None, scope=None,
                 errors="raise"):
        if errors != "raise":
            raise ValueError("here a page has no error: call semantic_search for each question, with try")
        return [semantic_search(query, top_k=top_k, response_mode=response_mode, min_score=min_score,
                                filters=filters, scope=scope) for query in queries]

class Grep:
    def __call__(self, query, pattern, *, top_k=10, min_score=0.0, filters=None, scope=None):
        kept = []
        for row in semantic_search(query, top_k=top_k, response_mode="full", min_score=min_score, filters=filters,
                                   scope=scope):
            matches = []
            for match in _re.findall(pattern, row["content"] + "\\n" + row["section"]):
                if match and match not in matches:
                    matches.append(match)
            if matches:
                known = {name: row[name] for name in _GREP_FIELDS}
                known.update({name: row[name] for name in _PLACE_FIELDS if name in row})
                kept.append(_Row({**known, "match": matches[0], "matches": matches}))
        return kept

def _patterned(pattern, literal, word, case, path, where, filters, scope):
    return {"pattern": pattern, "literal": literal, "word": word, "case": case, "path": path, "where": where,
            "filters": filters, "scope": scope}

class Scan:
    def __call__(self, pattern, *, literal=False, word=False, case=True, path=None, where=None, filters=None,
                 scope=None, group_by=None, context=80, max_match=None, limit=1_000, cursor=None):
        given = _patterned(pattern, literal, word, case, path, where, filters, scope)
        return _rows(_ask("kb.scan", {
            **given, "group_by": group_by, "context": context, "max_match": max_match, "limit": limit,
            "cursor": cursor}))

class Count:
    def __call__(self, pattern=None, *, literal=False, word=False, case=True, path=None, where=None, filters=None,
                 scope=None):
        return _Row(_ask("kb.count", _patterned(pattern, literal, word, case, path, where, filters, scope)))

class Documents:
    def __call__(self, path=None, *, where=None, filters=None, scope=None, sort="path", group_by=None, limit=1_000,
                 cursor=None):
        return _rows(_ask("kb.documents", {
            "path": path, "where": where, "filters": filters, "scope": scope, "sort": sort, "group_by": group_by,
            "limit": limit, "cursor": cursor}))

class Repeats:
    def __call__(self, min_chars=200, *, path=None, where=None, filters=None, scope=None, limit=100, cursor=None):
        return _rows(_ask("kb.repeats", {
            "min_chars": min_chars, "path": path, "where": where, "filters": filters, "scope": scope,
            "limit": limit, "cursor": cursor}))

class Read:
    def __call__(self, document, start=0, max_tokens=800, *, scope=None):
        name = document if isinstance(document, str) else document["document_id"]
        return _Row(_ask("kb.read", {
            "document": name, "start": start or None, "max_tokens": None if max_tokens == 800 else max_tokens,
            "scope": scope}))

class Fetch:
    def __call__(self, ids, level="full", max_tokens=None, *, missing="raise", scope=None, cursor=None):
        return _rows(_ask("fetch", {
            "ids": _identities(ids), "level": level, "max_tokens": max_tokens, "missing": missing, "scope": scope,
            "cursor": cursor}))

class HybridSearch:
    def __call__(self, query, bm25_weight=0.5, vector_weight=0.5, top_k=10, filters=None, *,
                 response_mode="metadata", min_score=0.0, scope=None, cursor=None):
        return _rows(_ask("hybrid_search", {
            "query": query, "bm25_weight": bm25_weight, "vector_weight": vector_weight, "top_k": top_k,
            "filters": filters, "response_mode": response_mode, "min_score": min_score, "scope": scope,
            "cursor": cursor}))

class Rerank:
    def __call__(self, query, rows, top_k=5, threshold=0.0, *, missing="raise", scope=None):
        given = {}
        for row in rows:
            identity = row if isinstance(row, str) else row["id"]
            if identity not in given:
                given[identity] = {"id": identity} if isinstance(row, str) else row._fields
        if not given:
            return []
        reply = _ask("rerank", {
            "query": query, "ids": list(given), "top_k": top_k, "threshold": threshold, "scope": scope})
        _found(reply, missing)
        return [_Row({**given[one["id"]], "rerank_score": one["rerank_score"]}) for one in reply["results"]]

def _counts(texts):
    texts, found = list(texts), []
    while texts:
        size = len(texts[0])
        many = 1
        while many < min(len(texts), 200) and size + len(texts[many]) <= 8_000:
            size += len(texts[many])
            many += 1
        found += _ask("tokens", {"texts": texts[:many]})["counts"]
        texts = texts[many:]
    return found

def _pieces(text):
    pieces = []
    while len(text) > 8_000:
        cut = text.rfind(" ", 1, 8_000)
        cut = cut if cut > 0 else 8_000
        pieces.append(text[:cut])
        text = text[cut:]
    return [*pieces, text]

class Tokens:
    def __call__(self, text):
        return sum(_counts(_pieces(text if isinstance(text, str) else str(text))))

class ReadResult:
    def __call__(self, execution_id):
        return _rows_again(_json.loads(_ask("read_result", {"execution_id": execution_id})["text"]))

class Save:
    def __call__(self, name, value):
        text = _plain_json.dumps(_json_data(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        total, sent = len(text.encode()), 0
        for start in range(0, len(text), 15_000):
            piece = text[start : start + 15_000]
            _ask("save", {"name": name, "text": piece, "start": sent, "bytes": total})
            sent += len(piece.encode())

class Load:
    def __call__(self, name, default=None):
        text, version, start = "", None, 0
        while start is not None:
            part = _ask("load", {"name": name, "start": start})
            if part["version"] is None:
                return default
            if start and part["version"] != version:
                text, start = "", 0
            else:
                text, version, start = text + part["text"], part["version"], part["next"]
        return _rows_again(_plain_json.loads(text))

class Saved:
    def __call__(self):
        return _ask("saved", {})["sizes"]

def _json_data(value, depth=0):
    if depth > 64:
        raise ValueError("save: value is nested deeper than 64 levels, or contains itself")
    if isinstance(value, _Row):
        return _json_data(value._fields, depth)
    if isinstance(value, dict):
        return {key: _json_data(value[key], depth + 1) for key in value}
    if isinstance(value, (list, tuple)):
        return [_json_data(each, depth + 1) for each in value]
    return value

def _rows_again(value):
    if isinstance(value, list) and all(isinstance(one, dict) for one in value):
        return [_Row(one) for one in value]
    return _Row(value) if isinstance(value, dict) else value

class Budget:
    def __call__(self):
        return _Row(_ask("budget", {}))

class Progress:
    def __call__(self, message):
        _ask("progress", {"message": str(message)[:200]})

class KnowledgeBase:
    def __init__(self):
        self.semantic_search = semantic_search
        self.search_many = search_many
        self.grep = grep
        self.scan = scan
        self.count = count
        self.documents = documents
        self.repeats = repeats
        self.read = read
        self.fetch = fetch
    def search(self, query, *, top_k=5, max_per_doc=1, filters=None, scope=None, cursor=None):
        options = None if max_per_doc == 1 else {"max_per_doc": max_per_doc}
        return _rows(_ask("kb.search", {"query": query, "top_k": top_k, "page_size": top_k, "options": options,
                                        "filters": filters, "scope": scope, "cursor": cursor}))
    def retrieve_evidence(self, question, *, top_k=5, max_quotes=6, max_quote_tokens=80, include_context_tokens=20,
                          filters=None, scope=None, cursor=None):
        return _rows(_ask("kb.retrieve_evidence", {
            "question": question, "top_k": top_k, "max_quotes": max_quotes, "max_quote_tokens": max_quote_tokens,
            "include_context_tokens": include_context_tokens, "filters": filters, "scope": scope,
            "cursor": cursor}))
    def extract_evidence(self, question, passage_ids, *, max_quotes=6, max_quote_tokens=80,
                         include_context_tokens=20, missing="raise", scope=None, cursor=None):
        wanted = [passage_ids] if isinstance(passage_ids, (str, _Row)) else passage_ids
        return _found(_ask("kb.extract_evidence", {
            "question": question, "passage_ids": [_passage(each) for each in wanted], "max_quotes": max_quotes,
            "max_quote_tokens": max_quote_tokens, "include_context_tokens": include_context_tokens,
            "scope": scope, "cursor": cursor}), missing)
    def read_excerpt(self, passage_id, max_tokens=300, start_char=0, *, format="text", scope=None):
        options = None if format == "text" else {"format": format}
        return _Row(_ask("kb.read_excerpt", {
            "passage_id": _passage(passage_id), "max_tokens": max_tokens, "start_char": start_char,
            "options": options, "scope": scope}))
    def expand_excerpt(self, passage_id, before_tokens=150, after_tokens=150, *, scope=None):
        return _Row(_ask("kb.expand_excerpt", {
            "passage_id": _passage(passage_id), "before_tokens": before_tokens, "after_tokens": after_tokens,
            "scope": scope}))

def _nodes(ids):
    return [_node(each) for each in ([ids] if isinstance(ids, (str, _Row)) else ids)]

def _node(node):
    return node if isinstance(node, str) else node["id"]

def _texts(values):
    return [values] if isinstance(values, str) else values

class KnowledgeGraph:
    def describe(self, ids=(), *, include_snippet=False, page_size=25, missing="raise", scope=None, cursor=None):
        page = _ask("graph.describe", {
            "ids": _nodes(ids), "include_snippet": include_snippet, "page_size": page_size, "scope": scope,
            "cursor": cursor})
        return _found(page, missing) if ids else _Row({"graph": page["graph"]})
    def expand(self, ids, hops=1, *, direction="both", types=None, include_snippet=False, page_size=25,
               missing="raise", scope=None, cursor=None):
        return _found(_ask("graph.expand", {
            "ids": _nodes(ids), "hops": hops, "direction": direction, "types": _texts(types),
            "include_snippet": include_snippet, "page_size": page_size, "scope": scope,
            "cursor": cursor}), missing)
    def paths(self, from_ids, to_ids, max_hops=3, *, types=None, limit=10,
              missing="raise", scope=None, cursor=None):
        return _found(_ask("graph.paths", {
            "from_ids": _nodes(from_ids), "to_ids": _nodes(to_ids), "max_hops": max_hops, "types": _texts(types),
            "limit": limit, "scope": scope, "cursor": cursor}), missing)
    def parents(self, ids, hops=5, *, include_snippet=False, page_size=25,
                missing="raise", scope=None, cursor=None):
        return _found(_ask("graph.parents", {
            "ids": _nodes(ids), "hops": hops, "include_snippet": include_snippet, "page_size": page_size,
            "scope": scope, "cursor": cursor}), missing)
    def children(self, ids, hops=1, *, include_snippet=False, page_size=25,
                 missing="raise", scope=None, cursor=None):
        return _found(_ask("graph.children", {
            "ids": _nodes(ids), "hops": hops, "include_snippet": include_snippet, "page_size": page_size,
            "scope": scope, "cursor": cursor}), missing)
    def entities_for_sections(self, section_ids, *, page_size=25, missing="raise", scope=None, cursor=None):
        return _found(_ask("graph.entities_for_sections", {
            "section_ids": _nodes(section_ids), "page_size": page_size, "scope": scope,
            "cursor": cursor}), missing)
    def sections_for_entities(self, entity_ids, *, include_snippet=False, page_size=25,
                              missing="raise", scope=None, cursor=None):
        return _found(_ask("graph.sections_for_entities", {
            "entity_ids": _nodes(entity_ids), "include_snippet": include_snippet, "page_size": page_size,
            "scope": scope, "cursor": cursor}), missing)

def _entry(entry):
    return entry if isinstance(entry, str) else entry["entry_id"]

class ClaimNotebook:
    def search(self, query, *, mode="hybrid", top_k=10, topic_prefix=None, integration_status=None,
               min_similarity=0.3, max_claims=5, project=None):
        return _rows(_ask("claims.search", {
            "query": query, "mode": mode, "top_k": top_k, "topic_prefix": topic_prefix,
            "integration_status": integration_status, "min_similarity": min_similarity, "max_claims": max_claims,
            "project": project}))
    def related(self, entry_id, direction="all", max_results=10, *, project=None):
        return _rows(_ask("claims.related", {
            "entry_id": _entry(entry_id), "direction": direction, "max_results": max_results,
            "project": project}))
    def claims(self, entry_ids, *, missing="raise", project=None):
        given = [entry_ids] if isinstance(entry_ids, (str, _Row)) else entry_ids
        ids = list(dict.fromkeys([_entry(each) for each in given]))
        if not ids:
            return []
        return _found(_ask("claims.claims", {"entry_ids": ids, "project": project}), missing)
    def read(self, entry_id, start_char=0, *, project=None):
        return _Row(_ask("claims.read", {
            "entry_id": _entry(entry_id), "start_char": start_char, "project": project}))
    def topics(self, prefix=None, min_entries=1, *, project=None):
        return _rows(_ask("claims.topics", {"prefix": prefix, "min_entries": min_entries, "project": project}))
    def friction(self, min_friction=0.3, *, topic_prefix=None, integration_status=None, limit=10, project=None):
        return _rows(_ask("claims.friction", {
            "min_friction": min_friction, "topic_prefix": topic_prefix, "integration_status": integration_status,
            "limit": limit, "project": project}))
    def recent(self, since_sequence=0, limit=20, *, project=None):
        return _rows(_ask("claims.recent", {
            "since_sequence": since_sequence, "limit": limit, "project": project}))
    def status(self, *, project=None):
        return _Row(_ask("claims.status", {"project": project}))

class FindVendorInfo:
    def __call__(self, vendor_name, include_content=False, max_results=50, entity_types=None, *, scope=None,
                 cursor=None):
        return _rows(_ask("find_vendor_info", {
            "vendor_name": vendor_name, "include_content": include_content, "max_results": max_results,
            "entity_types": _texts(entity_types), "scope": scope, "cursor": cursor}))

def _cited(row):
    if not isinstance(row, (_Row, dict)):
        return {"id": row}
    for name in ("id", "passage_id", "section_id", "document_id"):
        if name in row and row[name]:
            span = row["page_span"] if "page_span" in row else None
            return {"id": row[name], "page_span": list(span)} if span else {"id": row[name]}
    raise ValueError("cite: a row has no id")

class Cite:
    def __call__(self, rows, style=None, *, scope=None):
        is_one = not isinstance(rows, (list, tuple))
        if is_one and style is None:
            return _cite(rows)
        given = [_cited(row) for row in ([rows] if is_one else rows)]
        if not given:
            empty = {"citations": [], "entries": [], "citekeys": [], "uncited": [], "places": []}
            return _Row({"style": style or "pandoc", **empty}, False)
        asked = {"rows": given, "style": style, "scope": scope}
        return _Row(_ask("kb.cite", {name: asked[name] for name in asked if asked[name] is not None}), False)

class Function:
    def __init__(self, made):
        self._made = made
    def __call__(self, *given, **named):
        return self._made(*given, **named)

_MAPPING = (dict, _Row)

class _Json:
    def loads(self, text):
        return _plain_json.loads(text)
    def dumps(self, value, ensure_ascii, separators, default):
        try:
            return _plain_json.dumps(value, ensure_ascii=ensure_ascii, separators=separators)
        except TypeError:
            return _plain_json.dumps(default(value), ensure_ascii=ensure_ascii, separators=separators)

_json = _Json()

def _misspelt(name, known):
    return None

def _callable(value):
    return not isinstance(value, (str, int, float, list, tuple))
"""
