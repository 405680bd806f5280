"""``kb.cite``: a citation for each row, and an entry for each of their works."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from winnow.server.bibliographies.citing import CitedPlace, write_citations
from winnow.server.bibliographies.cleaning import clean_item
from winnow.server.bibliographies.facts import item_of
from winnow.server.bibliographies.locators import address_of, describe_places, link_to_page, locate, work_fields
from winnow.server.bibliographies.records import LibraryItem
from winnow.server.contracts.citing import Cite, CitedRow
from winnow.server.errors import WinnowError
from winnow.server.ids import is_chunk_id
from winnow.server.models import Document, Filters, Passage, Place
from winnow.server.operations.base import Answer, RequestContext
from winnow.server.operations.declaration import Operation
from winnow.server.operations.ranking.scope import filters_of
from winnow.server.text.printable import one_line

_NAMED, _ID_CHARS = 5, 64
_UNCITED = "documents without a citekey, which no bibliography has: {files}; their citations are empty"


@dataclass(frozen=True, slots=True)
class _CitedText:
    """The origin of a row: a document, and the passage of it where it is known."""

    document: Document
    passage: Passage | None = None


def cite_rows(context: RequestContext, request: Cite) -> Answer:
    """A citation for each row in order, "" for a document without a citekey, and an entry for each work once.

    A citation has printed pages alone; ``places`` are the file of each row, and where the row is in it.
    ``citekeys`` are those of the rows and no others: the keys that a text made from them may use.

    Raises:
        WinnowError: NOT_FOUND for a row that is unknown within scope.
    """
    filters = filters_of(context, request.scope)
    texts = _find_texts(context, request.rows, filters)
    style = request.style or context.index.catalogue.project_settings(filters.project).citation_style
    items = {id: _item(text.document) for id, text in texts.items()}
    places = [_place(texts[row.id], row.page_span) for row in request.rows]
    cited = {
        number: (item, place)
        for number, (row, place) in enumerate(zip(request.rows, places, strict=True))
        if (item := items[row.id])
    }
    written = write_citations(list(cited.values()), style)
    citations = dict(zip(cited, written.citations, strict=True))
    without_key = (one_line(text.document.uri) for id, text in texts.items() if items[id] is None)
    uncited = list(dict.fromkeys(without_key))
    payload = {
        "style": style,
        "citations": [citations.get(number, "") for number in range(len(request.rows))],
        "entries": list(written.entries),
        "citekeys": list(dict.fromkeys(item.citekey for item, _ in cited.values())),
        "uncited": uncited,
        "places": [_name_place(texts[row.id], place) for row, place in zip(request.rows, places, strict=True)],
    }
    warnings = (_UNCITED.format(files=_list_names(uncited)),) if uncited else ()
    return Answer(payload, "ids_only", len(request.rows), 0, warnings)


def _item(document: Document) -> LibraryItem | None:
    """The work of a document that rows name a citekey of; rows and citations agree on which have one."""
    item = item_of(document.title, document.tags, document.metadata) if work_fields(document.metadata) else None
    return clean_item(item) if item else None  # a document may state anything of itself


def _find_texts(context: RequestContext, rows: Sequence[CitedRow], filters: Filters) -> Mapping[str, _CitedText]:
    """The origin of each row, by its id. Raises NOT_FOUND where one is unknown or out of scope."""
    ids = list(dict.fromkeys(row.id for row in rows))
    chunks = context.index.catalogue.passages([id for id in ids if is_chunk_id(id)], filters.project)
    found = {id: text for id in ids if (text := _find_text(context, id, chunks, filters))}
    if missing := [id for id in ids if id not in found]:
        raise WinnowError(
            "NOT_FOUND",
            f"no passage or document {_list_names([repr(one_line(id, _ID_CHARS)) for id in missing])}; passage "
            "ids are kept for a while and in one session only: search again, or give rows with id or document_id",
        )
    return found


def _find_text(
    context: RequestContext, id: str, chunks: Mapping[str, Passage], filters: Filters
) -> _CitedText | None:
    stored = context.session.get(id)
    passage = stored.passage if stored and stored.project == filters.project else chunks.get(id)
    if passage is not None:
        return _CitedText(passage.document, passage) if context.index.admits(filters, passage.document) else None
    documents = context.index.catalogue.find_documents(filters, id)
    return next((_CitedText(document) for document in documents if id in (document.id, document.uri)), None)


def _place(text: _CitedText, span: Sequence[int] | None) -> CitedPlace:
    """The place of a row: the pages that it states, if they are among those of its passage, else the passage's."""
    file = one_line(address_of(text.document))
    if text.passage is None:
        return CitedPlace(link=file)
    passage = text.passage
    located = locate(passage.places, passage.chunk.start, passage.chunk.end, file)
    if located is None:
        return CitedPlace(link=file)
    pages = {place.number: place for place in passage.places if place.kind == "page"}
    if located.page_span is None or not pages:
        return CitedPlace("", located.text, located.link)
    whole = located.page_span
    numbers = span if span and whole[0] <= span[0] <= span[1] <= whole[1] else whole
    first, last = (pages.get(number, Place(0, "page", number)) for number in numbers)
    ends = dict.fromkeys(one_line(page.label) or str(page.number) for page in (first, last))
    return CitedPlace("-".join(ends), describe_places(first, last), link_to_page(file, first.number))


def _name_place(text: _CitedText, place: CitedPlace) -> str:
    """The file of a row, and where it is in the file: "guide.pdf, p. 33 (file page 45)"."""
    return ", ".join(filter(None, (one_line(text.document.uri), place.words)))


def _list_names(names: Sequence[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


KB_CITE = Operation("kb.cite", Cite, cite_rows)
