"""Rows and calls of the host, in the smaller language: source text that the interpreter is fed before a script.

The language has no ``__getattr__`` and no classes with bases, so that the SDK's own classes cannot be used. Calls
go through ``_ask``, which the host gives; those of operations are in ``monty_functions``. Names that begin with an
underscore are not a script's.
"""

from __future__ import annotations

CALLS = """
import bisect as _bisect
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

def _to_row(fields):
    return _Row({name: _nested(fields[name]) for name in fields})

def _nested(value):
    if isinstance(value, dict):
        return _Row({name: _nested(value[name]) for name in value}, False)
    return [_nested(each) for each in value] if isinstance(value, list) else value

def _refusal(kind, message, hint=None):
    return RuntimeError(kind + ": " + message + (" (" + hint + ")" if hint else ""))

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

def _entry(entry):
    return entry if isinstance(entry, str) else entry["entry_id"]

def _document(document):
    return document if isinstance(document, str) else document["document_id"]

def _listed(values):
    return [values] if isinstance(values, (str, _Row)) else values

def _converted(name, value):
    if name in _IDS:
        return _identities(_listed(value))
    if name == "passage_ids":
        return [_passage(each) for each in _listed(value)]
    if name == "entry_ids":
        return list(dict.fromkeys([_entry(each) for each in _listed(value)]))
    if name in _LISTS:
        return list(_listed(value))
    one = {"passage_id": _passage, "entry_id": _entry, "document": _document}
    return one[name](value) if name in one else value

def _arguments(method, given):
    unsent, options = _UNSENT.get(method, {}), _OPTIONS.get(method, {})
    arguments, chosen = {}, {}
    for name in given:
        value = given[name]
        if value is None or (name in unsent and value == unsent[name]):
            continue
        if name in options:
            if value != options[name]:
                chosen[name] = value
        else:
            arguments[name] = _converted(name, value)
    if method == "kb.search":
        arguments["page_size"] = arguments["top_k"]
    if chosen:
        arguments["options"] = chosen
    return arguments

def _request_row(method, given):
    return _Row(_ask(method, _arguments(method, given)))

def _request_page(method, given):
    arguments = _arguments(method, given)
    missing = given.get("missing", "raise")
    if method not in _TAKES_MISSING and "missing" in arguments:
        arguments.pop("missing")
    if method == "semantic_search" and ("filters" in arguments or "vendor_filter" in arguments):
        missing = "skip"
    if method in _EMPTY and not arguments[_EMPTY[method]]:
        return []
    page = _ask(method, arguments)
    if method == "graph.describe" and not arguments["ids"]:
        return _Row({"graph": page["graph"]})
    return _rows(page) if method in _TAKES_MISSING else _found(page, missing)

def _found(page, missing):
    unknown = page.get("missing_ids")
    if unknown and missing != "skip":
        named = ", ".join([repr(identity) for identity in unknown[:5]])
        raise ValueError("unknown ids: " + named + '; missing="skip" leaves out what is not there')
    return _rows(page)

class SearchMany:
    def __call__(self, queries, *, top_k=10, response_mode="metadata", min_score=0.0, filters=None, scope=None,
                 errors="raise"):
        if errors != "raise":
            raise ValueError("here a page has no error: call semantic_search for each question, with try")
        return [semantic_search(query, top_k=top_k, response_mode=response_mode, min_score=min_score,
                                filters=filters, scope=scope) for query in queries]

search_many = SearchMany()

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

grep = Grep()

class Texts:
    def __call__(self, path=None, *, where=None, filters=None, scope=None):
        found, cursor = [], None
        while True:
            asked = {"path": path, "where": where, "filters": filters, "scope": scope, "cursor": cursor}
            listing = _ask("kb.documents", {name: asked[name] for name in asked if asked[name] is not None})
            rows = listing["results"]
            while rows:
                asked = {"documents": _first_ids(rows)}
                if scope is not None:
                    asked["scope"] = scope
                for piece in _ask("kb.text", asked)["results"]:
                    found.append(_Row({**rows[0], **_read_on(asked, piece)}))
                    rows = rows[1:]
            cursor = listing["next_cursor"]
            if not cursor:
                return found

texts = Texts()

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

rerank = Rerank()

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

tokens = Tokens()

class ReadResult:
    def __call__(self, execution_id):
        return _rows_again(_json.loads(_ask("read_result", {"execution_id": execution_id})["text"]))

read_result = ReadResult()

class Save:
    def __call__(self, name, value):
        text = _plain_json.dumps(_json_data(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        total, sent = len(text.encode()), 0
        for start in range(0, len(text), 15_000):
            piece = text[start : start + 15_000]
            _ask("save", {"name": name, "text": piece, "start": sent, "bytes": total})
            sent += len(piece.encode())

save = Save()

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

load = Load()

class Saved:
    def __call__(self):
        return _ask("saved", {})["sizes"]

saved = Saved()

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

budget = Budget()

class Progress:
    def __call__(self, message):
        _ask("progress", {"message": str(message)[:200]})

progress = Progress()

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

cite = Cite()

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
