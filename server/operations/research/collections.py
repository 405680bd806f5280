"""``inspect_collection``: what the index holds of a project, as its engine and the catalogue state it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from winnow.server.bibliographies.locators import passage_fields
from winnow.server.contracts.base import Scope
from winnow.server.contracts.research import SECTION_CHARS, CollectionAnswer, InspectCollection
from winnow.server.errors import WinnowError
from winnow.server.models import CollectionFacts, Filters, Passage
from winnow.server.operations.answers import budget
from winnow.server.operations.base import DIRECT, GRAPH_SECONDS, Answer, RequestContext
from winnow.server.operations.declaration import Operation, ToolSpec
from winnow.server.operations.ranking.scope import filters_of
from winnow.server.operations.research.items import section_names, text_fact
from winnow.server.operations.research.models import (
    bound_models,
    collection_of,
    has_documents,
    projects_in_reach,
    require_project,
)
from winnow.server.settings.project_settings import ProjectSettings
from winnow.server.storage.base import LEXICAL
from winnow.server.text import stated_facts
from winnow.server.text.framing import frame_text
from winnow.server.text.printable import one_line, printable, shorten
from winnow.server.text.sizes import count_of

# The engine's name of a vector or a key -> its name in the contract; other names are the same.
_VECTOR_NAMES: Mapping[str, str] = MappingProxyType({LEXICAL: "sparse"})
_KEY_NAMES: Mapping[str, str] = MappingProxyType({"project": "project_id", "paths": "source_path"})
# The field that the lexical vectors are an index of.
_LEXICAL_FIELD = "chunk_text"
# The keys of every payload; the others are listed where a document has them.
_ALWAYS = (
    "project_id",
    "doc_id",
    "section_path",
    "title",
    "source_path",
    "chunk_text",
    "heading_chain",
    "version",
)
# Metadata of a document, as bibliographies and front matter state it.
_STATED = ("citekey", "doi", "year", "authors")
_LABELS = ("doc_tag", "environment", "repository", "tags", "type", "vendor")
_ORDER = (
    *(
        "project_id",
        "doc_id",
        "section_path",
        "page_start",
        "page_end",
        "citekey",
        "doi",
        "year",
        "authors",
        "title",
    ),
    *("tags", "source_path", "chunk_text", "heading_chain", "embed_model", "version"),
)
_AUTHORS, _VERSION_CHARS = 50, 12
_CUT = "{shown} of {found} sample payloads fit into the answer; ask for fewer (sample)"


def inspect_collection(context: RequestContext, request: InspectCollection) -> Answer:
    """Answer with the figures of a project's collection, and some of its payloads."""
    own, models = require_project(context, request.project), bound_models(context, request.project)
    filters = _filters_of(context, request.project)
    facts = context.index.retriever.inspect(filters, request.sample)
    if LEXICAL not in facts.vectors:
        message = f"the collection of project {request.project!r} has no lexical index; run: winnow reindex"
        raise WinnowError("INDEX_UNAVAILABLE", message)
    payload = {
        "project": request.project,
        "collection": collection_of(request.project, projects_in_reach(context)),
        "size": facts.size,
        "dense_model": models.dense,
        "sparse_model": models.sparse,
        "named_vectors": sorted(_VECTOR_NAMES.get(name, name) for name in facts.vectors),
        "payload_keys": _payload_keys(context, filters),
        "indexes": _indexes(facts),
        "storage": {"on_disk_vectors": facts.on_disk_vectors, "on_disk_hnsw": facts.on_disk_hnsw},
    }
    return _with_samples(context, payload, _samples(context, request.project, own, facts))


def _filters_of(context: RequestContext, project: str) -> Filters:
    """The filters of the server's scope within a project, which may have no documents yet."""
    if not has_documents(context, project):
        return Filters(project)
    return filters_of(context, Scope(project_id=project))


def _indexes(facts: CollectionFacts) -> dict[str, list[str]]:
    def of(kind: str) -> list[str]:
        return sorted(_KEY_NAMES.get(key, key) for key, held in facts.indexes.items() if held == kind)

    return {"keyword": of("keyword"), "fulltext": [_LEXICAL_FIELD], "numeric": of("float")}


def _payload_keys(context: RequestContext, filters: Filters) -> list[str]:
    """The keys that a payload of these documents has, or some of them have: those of the contract come first."""
    catalogue = context.index.catalogue
    if not catalogue.has_documents(filters):
        return []
    fields, labels = context.index.fields(filters), context.index.labels(filters)
    held = {
        *_ALWAYS,
        *(name for name in _STATED if name in fields),
        *(name for name in _LABELS if labels.values.get(name)),
        *(("page_start", "page_end") if catalogue.has_pages(filters) else ()),
        *(("embed_model",) if catalogue.embedding(filters.project) else ()),
        *(("updated",) if labels.dates else ()),
    }
    return [key for key in _ORDER if key in held] + sorted(held.difference(_ORDER))


def _samples(
    context: RequestContext, project: str, own: ProjectSettings, facts: CollectionFacts
) -> list[dict[str, Any]]:
    known = context.index.catalogue.passages([id for id, _ in facts.sample], project)
    model = one_line(context.index.catalogue.embedding(project), SECTION_CHARS)
    return [
        _build_sample(known[id], payload, model, own.max_chars_per_chunk)
        for id, payload in facts.sample
        if id in known
    ]


def _build_sample(passage: Passage, payload: Mapping[str, Any], model: str, max_chars: int) -> dict[str, Any]:
    """A payload with the contract's names: the engine's keys, and the row of the catalogue that they belong to."""
    document, headings = passage.document, section_names(passage)
    year = document.metadata.get("year")
    first, last = passage_fields(passage).get("page_span") or (None, None)
    held: dict[str, Any] = {
        "project_id": document.project,
        "doc_id": document.id,
        "section_path": headings[:-1],
        "page_start": first,
        "page_end": last,
        "citekey": text_fact(document.metadata, "citekey"),
        "doi": text_fact(document.metadata, "doi"),
        "year": year if isinstance(year, int) else text_fact(document.metadata, "year"),
        "authors": _authors(document.metadata.get("authors")),
        "title": one_line(document.title or document.uri, SECTION_CHARS),
        "tags": [one_line(tag, 80) for tag in stated_facts.tags(document.tags)[:20]],
        "source_path": one_line(document.uri),
        "chunk_text": shorten(printable(passage.chunk.text), max_chars),
        "heading_chain": one_line(" > ".join(headings), SECTION_CHARS),
        "embed_model": model,
        "version": document.content_hash[:_VERSION_CHARS],
        **{key: payload.get(key) for key in (*_LABELS, "updated") if key != "tags"},
    }
    return {key: value for key, value in held.items() if key in _ALWAYS or value not in (None, "", [])}


def _authors(stated: Any) -> list[str]:
    authors = stated if isinstance(stated, list) else [stated]
    return [one_line(author, 200) for author in authors[:_AUTHORS] if isinstance(author, str)]


def _with_samples(context: RequestContext, payload: dict[str, Any], samples: list[dict[str, Any]]) -> Answer:
    allowed, around = context.caller.budget.of("full"), budget.measure({**payload, "sample_payloads": []})
    fitted = budget.fit_rows(samples, allowed.tokens - around.tokens, allowed.bytes - around.bytes)
    shown = len(fitted.rows)
    if shown < len(samples):
        context.warnings.append(_CUT.format(shown=shown, found=len(samples)))
    return Answer({**payload, "sample_payloads": list(fitted.rows)}, "full", shown, fitted.tokens)


def render_collection(payload: dict[str, Any]) -> list[str]:
    """The figures, one kind on a line; then each sample as JSON."""
    lines = [f"project {payload['project']}: {count_of(payload['size'], 'passage')} in {payload['collection']}"]
    lines += _render_facts(payload)
    for number, sample in enumerate(payload["sample_payloads"], start=1):
        lines += [f"sample {number}:", *frame_text(budget.dumps(sample))]
    return lines


def _render_facts(payload: dict[str, Any]) -> Iterator[str]:
    yield f"models: dense {payload['dense_model'] or 'none'}, sparse {payload['sparse_model'] or 'none'}"
    yield f"vectors: {', '.join(payload['named_vectors'])}"
    yield f"payload keys: {', '.join(payload['payload_keys']) or 'none'}"
    for kind, names in payload["indexes"].items():
        yield f"{kind} indexes: {', '.join(names) or 'none'}"
    yield "storage: " + ", ".join(f"{name} {str(is_so).lower()}" for name, is_so in payload["storage"].items())


_INSPECT_COLLECTION_DESCRIPTION = """\
What the index holds of one project: passages, models, vectors, keys of payloads, indexes, storage.
Use when: you want to know which filters and citation facts a project has.
Do not use when: you look for content (query).
Returns at most: 5 sample payloads, 20,000 tokens.
If you need more, call: kb_documents for all documents.
Defaults: sample 0. Max: 5."""
INSPECT_COLLECTION = Operation(
    "inspect_collection",
    InspectCollection,
    inspect_collection,
    in_scripts=False,
    seconds=GRAPH_SECONDS,
    tool=ToolSpec(
        title="Inspect a project's collection",
        description=_INSPECT_COLLECTION_DESCRIPTION,
        answer=CollectionAnswer,
        render=render_collection,
        max_size=DIRECT.of("full"),
        is_repeatable=True,
        pack="research",
    ),
)
