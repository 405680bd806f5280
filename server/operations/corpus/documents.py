"""``kb.documents``: every document in scope, or how many there are of each kind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from winnow.server.bibliographies.facts import TITLE_CASE
from winnow.server.bibliographies.locators import work_fields
from winnow.server.contracts.base import CitedWork
from winnow.server.contracts.corpus.documents import DocumentsAnswer, ListDocuments
from winnow.server.errors import WinnowError
from winnow.server.models import DocumentRecord, Filters
from winnow.server.operations.answers.paging import Cursor, build_page, fingerprint, resume
from winnow.server.operations.answers.rendering import partial_note
from winnow.server.operations.base import DIRECT, Answer, RequestContext
from winnow.server.operations.corpus.page_bounds import DIRECT_ROWS, size_limit
from winnow.server.operations.corpus.tallies import MAX_KEYS
from winnow.server.operations.declaration import Operation, Script, ToolSpec, has_kb_tools
from winnow.server.operations.ranking.candidates import generation_of
from winnow.server.operations.ranking.nearest import near_field
from winnow.server.operations.ranking.scope import filters_of, find_whole_name
from winnow.server.runtime.deadlines import check_deadline
from winnow.server.storage.base import FACTS, FOLDER
from winnow.server.text.framing import frame_text
from winnow.server.text.matching import field_texts
from winnow.server.text.printable import one_line, printable, shorten
from winnow.server.text.sizes import count_of

_VALUE_CHARS = 200
_DIRECT_VALUE_CHARS = 80
_KEY_CHARS = 200
_MOST_VALUES, _MOST_FIELDS = 20, 50
_LABELS = ("vendor", "doc_tag", "tags", "environment", "repository")
_LOOK_EVERY = 256  # documents between two looks at the clock
_TOO_MANY_KEYS = "group_by: more than {most:,} keys; narrow with path or where, or list the documents instead"
# Fields of front matter that a row states elsewhere, or that are for programs alone.
_STATED = frozenset({*_LABELS, "title", "created", "date", "updated", "lastmod", "repo", TITLE_CASE})


def list_documents(context: RequestContext, request: ListDocuments) -> Answer:
    """Answer with the documents that the filters admit, in order, or with their counts by ``group_by``."""
    filters = filters_of(context, request.scope, request.filters, request.path, request.where)
    generation = generation_of(context, filters)
    cursor = resume(request.cursor, request, unlimited=True)
    most = min(request.limit, DIRECT_ROWS) if context.caller.budget.is_direct else request.limit
    documents, passages = context.index.catalogue.count_documents(filters)
    if request.group_by is None:
        records = context.index.catalogue.list_documents(filters, request.sort, cursor.offset, most + 1)
        rows = [_build_row(context, record) for record in records]
    else:
        rows = _count_by(context, filters, request.group_by)[cursor.offset : cursor.offset + most + 1]
    envelope = {"total": {"documents": documents, "passages": passages}, "complete": True}
    here = Cursor(cursor.offset, fingerprint(request), generation, "")
    page = build_page(rows[:most], envelope, size_limit(context, request), here, more=len(rows) > most)
    payload = {"results": list(page.rows), **envelope, "count": len(page.rows), **page.ending}
    return Answer(
        payload | {"next_cursor": page.next_cursor},
        "metadata",
        len(page.rows) if request.group_by is None else 0,  # counts cost a script only their call
        page.tokens,
        cursor.moved(generation, ""),
        noted={"cursors": int(request.cursor is not None)},
    )


def _build_row(context: RequestContext, record: DocumentRecord) -> dict[str, Any]:
    document, is_direct = record.document, context.caller.budget.is_direct
    work = work_fields(document.metadata)
    fields = list_fields(document.metadata, _DIRECT_VALUE_CHARS if is_direct else _VALUE_CHARS)
    labels = {name: _clip_label(getattr(document, name)) for name in _LABELS}
    row: dict[str, Any] = {
        "document_id": document.id,
        "file": one_line(document.uri, 1_000),
        "title": one_line(document.title or document.uri),
        "type": document.type,
        "language": document.language,
        "tokens": record.tokens,
        "passages": record.passages,
        "created": one_line(document.created, 40),
        "updated": one_line(str(document.metadata.get("updated") or document.metadata.get("lastmod") or ""), 40),
        "labels": {name: label for name, label in labels.items() if label},
        **work,
        "fields": {name: value for name, value in fields.items() if work.get(name) != value},
    }
    if is_direct:
        return {name: value for name, value in row.items() if value not in ("", {})}
    # In scripts every row has every field.
    return {name: None if value == "" else value for name, value in row.items()} | {"id": document.id}


def list_fields(metadata: Mapping[str, Any], chars: int = _VALUE_CHARS) -> dict[str, Any]:
    """The facts of a document, flat as the index has them, without those that its row states elsewhere."""
    kept = [
        (name, value) for name, value in metadata.items() if name not in _STATED and value not in ("", [], None)
    ]
    return {one_line(name, _KEY_CHARS): _clip(value, chars) for name, value in kept[:_MOST_FIELDS]}


def _clip_label(value: str | tuple[str, ...]) -> str | list[str]:
    """The label as it is shown; of a label without printable characters nothing is left."""
    clipped: str | list[str] = _clip(value, _KEY_CHARS)
    return clipped if isinstance(clipped, str) else [label for label in clipped if label]


def _clip(value: Any, chars: int) -> Any:
    match value:
        case str():
            return shorten(printable(value[: 2 * chars]).strip(), chars)
        case list() | tuple():
            return [_clip(item, chars) for item in value[:_MOST_VALUES]]
        case _:
            return value


def _count_by(context: RequestContext, filters: Filters, group_by: str) -> list[dict[str, Any]]:
    """The number of documents and of their passages by key, most documents first; "" is the key of none."""
    reach = replace(filters, path="", where=(), updated_after="")
    known = context.index.fields(reach)
    name = group_by if group_by == FOLDER else find_whole_name(group_by, known.union(FACTS))
    counts: dict[str, list[int]] = {}
    for number, (value, passages) in enumerate(context.index.catalogue.iterate_values(filters, name)):
        if number % _LOOK_EVERY == 0:
            check_deadline()
        for key in dict.fromkeys(field_texts(value)) or ("",):
            tally = counts.setdefault(one_line(key, _KEY_CHARS), [0, 0])
            tally[0] += 1
            tally[1] += passages
        if len(counts) > MAX_KEYS:
            raise WinnowError("INVALID_REQUEST", _TOO_MANY_KEYS.format(most=MAX_KEYS))
    if name not in known.union(FACTS, (FOLDER,)):
        context.warnings.append(near_field(context.index, reach, name))
    ordered = sorted(counts.items(), key=lambda item: (-item[1][0], item[0]))
    return [{"key": key, "documents": documents, "passages": passages} for key, (documents, passages) in ordered]


_KEY_CHARS, _FIELDS_CHARS = 200, 300


def render_documents(payload: dict[str, Any]) -> list[str]:
    """The totals, then the documents or the counts by key."""
    total = payload["total"]
    lines = [
        f"{count_of(total['documents'], 'document')} with "
        f"{count_of(total['passages'], 'passage')}; {count_of(payload['count'], 'row')}"
        f"{partial_note(payload, 'limit')}"
    ]
    for row in payload["results"]:
        lines += _render_count(row) if "key" in row else _render_document(row)
    if payload["next_cursor"]:
        lines.append(f"next_cursor: {payload['next_cursor']}")
    return lines


def _render_count(row: dict[str, Any]) -> list[str]:
    key = one_line(row["key"], _KEY_CHARS) or "(none)"
    return [f"{count_of(row['documents'], 'document')}, {count_of(row['passages'], 'passage')}:", *frame_text(key)]


def _render_document(row: dict[str, Any]) -> list[str]:
    dates = [f"{name} {row[name]}" for name in ("created", "updated") if name in row]
    labels = [f"{name} {_join(value)}" for name, value in row.get("labels", {}).items()]
    facts = [
        row["type"],
        row.get("language", ""),
        f"{row['tokens']} tokens",
        count_of(row["passages"], "passage"),
    ]
    place = " | ".join(filter(None, (row["title"], ", ".join(filter(None, facts)), *dates, *labels)))
    lines = [f"[{row['document_id']}] {row['file']} | {place}"]
    stated = {name: row[name] for name in CitedWork.model_fields if name in row} | row.get("fields", {})
    fields = "; ".join(f"{name}: {_join(value)}" for name, value in stated.items())
    return [*lines, *frame_text(one_line(fields, _FIELDS_CHARS))] if fields else lines


def _join(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


_KB_DOCUMENTS_DESCRIPTION = """\
List all documents, or count them by a field: nothing is ranked or left out.
Use when: you want every file, what there is, or how many.
Do not use when: you look for content (kb_search, kb_scan).
Returns at most: limit rows, 2,000 tokens; 8,000 with limit.
If you need more, call: this with cursor; kb_read for one.
Defaults: sort path. Max: limit 1,000."""
_KB_DOCUMENTS_DOC = """\
Every document in scope, or their counts: a list, not a ranking.

    page = documents("guides/*")
    print(page.total, [(row.file, row.title, row.tokens) for row in page.all()])
    print([(row.key, row.documents) for row in documents(group_by="type")])

path: a glob ("*" crosses "/") or the beginning of the path. where: front-matter fields ({"stage": "beta"}; a
list: any of the values; "": no value). filters: as in semantic_search. sort: "path", "title", "created",
"updated" or "tokens", with "-" descending. limit: rows of a page, 1 to 1,000; page.all() has all.

Rows: file, title, type, language, tokens, passages, created, updated, labels, citekey, authors, year and doi
of works, fields (other front matter; row.stage is row.fields.stage). With group_by ("type", "folder",
"language", "vendor", "doc_tag", "tags", "environment", "repository" or a field) rows are key, documents and
passages, most documents first; the key "" stands for documents without a value.
"""
KB_DOCUMENTS = Operation(
    "kb.documents",
    ListDocuments,
    list_documents,
    script=Script(
        "path * where filters scope sort group_by limit cursor",
        _KB_DOCUMENTS_DOC,
        name="documents",
        defaults={"limit": 1000},
    ),
    tool=ToolSpec(
        title="List documents",
        description=_KB_DOCUMENTS_DESCRIPTION,
        answer=DocumentsAnswer,
        render=render_documents,
        max_size=DIRECT.of("metadata"),
        is_repeatable=True,
        is_offered=has_kb_tools,
    ),
)
