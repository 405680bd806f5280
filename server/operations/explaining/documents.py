"""The reason why one document came with a search or did not, and what to do next.

The reasons are looked for in the order in which they take effect: the index, the project, the filters, the legs,
the order of the rows, the end of the answer.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from winnow.server.contracts.base import MAX_TOP_K, Scope
from winnow.server.contracts.evidence import MAX_QUOTES
from winnow.server.contracts.kb import ExplainedTool, ExplainRanking
from winnow.server.errors import WinnowError
from winnow.server.ids import is_chunk_id
from winnow.server.models import Document, Filters, Hit, Passage
from winnow.server.operations.base import RequestContext
from winnow.server.operations.explaining.passages import explain_passages
from winnow.server.operations.explaining.records import DocumentOutcome, Outcome, RankedPassage
from winnow.server.operations.explaining.words import split_by_document
from winnow.server.operations.ranking.candidates import DEPTH_FACTOR, MAX_DEPTH, leg_mode, rank_at_depth
from winnow.server.operations.ranking.nearest import excluding_filters, near_documents, paths_having
from winnow.server.operations.ranking.recording import RankingRecord
from winnow.server.operations.ranking.scope import filters_of
from winnow.server.retrieval.queries import ParsedQuery
from winnow.server.text.printable import one_line
from winnow.server.text.sizes import count_of

_SHOWN = 3  # passages of the document
_NAME_CHARS = 200
_NAMED_PROJECTS = 5

_MOST_ROWS: Mapping[ExplainedTool, int] = {
    "semantic_search": MAX_TOP_K,
    "kb_search": MAX_TOP_K,
    "kb_retrieve_evidence": MAX_QUOTES,
}


@dataclass(frozen=True, slots=True)
class _Search:
    """A recorded search, the rows of its answer, and its query without misspelt words ("" if it has none)."""

    context: RequestContext
    request: ExplainRanking
    record: RankingRecord
    asked: ParsedQuery
    rows: Sequence[RankedPassage]
    corrected: str


def explain_document(
    context: RequestContext,
    request: ExplainRanking,
    record: RankingRecord,
    rows: Sequence[RankedPassage],
    corrected: str,
) -> DocumentOutcome:
    """Explain why the document of the request came or did not.

    Raises ``WinnowError("INVALID_REQUEST")`` for a title that several documents have.
    """
    if record.asked is None:
        raise ValueError("the record has no query")
    search = _Search(context, request, record, record.asked, rows, corrected)
    name = request.document or ""
    bounds = _bounds(context, request)
    document, passages = _find(context, bounds, name)
    if document is None:
        return _explain_unknown(search, bounds, name)
    known = DocumentOutcome(name, "came", "", "", one_line(document.uri, 1_000), document.id, document.project)
    if excluded := _excluding(search, bounds, document):
        return replace(
            known,
            outcome="filtered",
            sentence=f"it did not come: it does not pass {' and '.join(excluded)}",
            next="leave that filter out, or put the label on the document and ingest it again",
        )
    if not passages:
        return replace(
            known,
            outcome="no_text",
            sentence="it did not come: no text of it is in the index",
            next=f"see why with winnow ingest --explain {shlex.quote(one_line(document.uri, 1_000))}; "
            "pages that are pictures need --ocr",
        )
    return _explain_ranked(search, known, passages)


def _bounds(context: RequestContext, request: ExplainRanking) -> Filters:
    """All documents that a call may see in the project of the request."""
    project = request.scope.project_id if request.scope else None
    return filters_of(context, Scope(project_id=project))


def _find(context: RequestContext, bounds: Filters, name: str) -> tuple[Document | None, list[Passage]]:
    """The document with this id, path or title and its passages, or the passage with this id and its document."""
    catalogue = context.index.catalogue
    if is_chunk_id(name) and (passage := catalogue.passages([name], bounds.project).get(name)):
        return (passage.document, [passage]) if context.index.admits(bounds, passage.document) else (None, [])
    found = catalogue.find_documents(bounds, name)
    if len(found) > 1:
        files = ", ".join(one_line(each.uri, _NAME_CHARS) for each in found[:_NAMED_PROJECTS])
        raise WinnowError("INVALID_REQUEST", f"document: several have this title; name one by its path: {files}")
    if not found:
        return None, []
    ids = [chunk.id for chunk in catalogue.chunks(found[0].id, bounds.project)]
    known = catalogue.passages(ids, bounds.project)
    return found[0], [known[id] for id in ids if id in known]


def _explain_unknown(search: _Search, bounds: Filters, name: str) -> DocumentOutcome:
    """The explanation for a document that the project does not have, or that is outside the settings' scope."""
    others = _find_elsewhere(search.context, bounds, name)
    if others:
        listed = ", ".join(map(repr, others[:_NAMED_PROJECTS]))
        return DocumentOutcome(
            name,
            "other_project",
            f"it did not come: it is not in project {bounds.project!r}, but in {listed}",
            f"search there: --project {others[0]}",
            project=others[0],
        )
    near = near_documents(search.context.index, bounds, name)
    sentence = f"it did not come: project {bounds.project!r} has no document of this path, title or id; {near}"
    advice = (
        f"check the name with winnow documents, or put the file in: winnow ingest PATH --project {bounds.project}"
    )
    if alike := _find_alike_elsewhere(search.context, bounds, name):
        project, file = alike
        sentence += f"; project {project!r} has {file!r}"
        advice = f"search there: --project {project} --document {shlex.quote(file)}; or {advice}"
    return DocumentOutcome(name, "not_indexed", sentence, advice)


def _find_elsewhere(context: RequestContext, bounds: Filters, name: str) -> list[str]:
    """Other projects in reach that have the document; where nothing confines the caller, all of the store."""
    return [other.project for other in _others(context, bounds) if _find_one(context, other, name)]


def _others(context: RequestContext, bounds: Filters) -> Iterator[Filters]:
    """The same bounds in each other project that the caller may know of."""
    settings, catalogue = context.settings, context.index.catalogue
    in_reach = settings.reachable if settings.projects else [info.name for info in catalogue.projects()]
    for project in in_reach:
        if project != bounds.project and catalogue.generation(project):
            yield replace(bounds, project=project)


def _find_alike_elsewhere(context: RequestContext, bounds: Filters, name: str) -> tuple[str, str] | None:
    """Another project, and a path in it that has all words of the last part of the name."""
    for other in _others(context, bounds):
        for path in paths_having(context.index.catalogue.paths(other), name):
            return other.project, one_line(path, _NAME_CHARS)
    return None


def _find_one(context: RequestContext, within: Filters, name: str) -> bool:
    if context.index.catalogue.find_documents(within, name):
        return True
    passage = context.index.catalogue.passages([name], within.project).get(name)
    return passage is not None and context.index.admits(within, passage.document)


def _excluding(search: _Search, bounds: Filters, document: Document) -> list[str]:
    """The filters of the call and of its query that leave the document out; none if it passes all."""
    filters = search.asked.filters
    if search.context.index.admits(filters, document):
        return []
    return excluding_filters(search.context.index, bounds, filters, document) or ["the scope of the call"]


def _explain_ranked(search: _Search, known: DocumentOutcome, passages: Sequence[Passage]) -> DocumentOutcome:
    """The explanation for a document that passes the filters: its best passages, and what became of them."""
    chunks = [passage.chunk.id for passage in passages]
    has, lacks = split_by_document(search.context, search.asked, chunks)
    record = search.record if _rank(search.record, chunks) else _look_deeper(search, chunks)
    ranked = {hit.chunk_id for ranking in record.rankings for hit in ranking.hits}
    rest = [chunk for chunk in chunks if chunk not in ranked][: MAX_TOP_K * DEPTH_FACTOR]
    rated = {hit.chunk_id: hit for hit in _rate(search, rest)}
    shown = explain_passages(record, _best_passages(record, passages, rated), rated=rated)
    came = {row.section_id: row.rank for row in search.rows}
    known = replace(
        known,
        words=has,
        lacks=lacks,
        passages=tuple(replace(each, rank=came.get(each.section_id)) for each in shown),
    )
    outcome, sentence, advice = _decide(search, record, known, chunks, rated)
    if advice and search.corrected:
        advice = f"search for {search.corrected!r}; or {advice}"
    return replace(known, outcome=outcome, sentence=sentence, next=advice)


def _rank(record: RankingRecord, chunks: Iterable[str]) -> int | None:
    """The best rank of these chunks in a recorded ranking, from 1."""
    wanted = frozenset(chunks)
    for ranking in record.rankings:
        for rank, hit in enumerate(ranking.hits, start=1):
            if hit.chunk_id in wanted:
                return rank
    return None


def _look_deeper(search: _Search, chunks: Sequence[str]) -> RankingRecord:
    """The record of deeper and deeper rankings of the same query, until one has a chunk of these."""
    deep = RankingRecord(asked=search.asked)
    context = replace(search.context, record=deep)
    depth = len(search.record.rankings[-1].hits)
    mode = "vector_only" if search.request.tool == "semantic_search" else search.request.mode or "auto"
    if depth < MAX_TOP_K:
        return deep  # the ranking has all that any leg finds
    depth = MAX_TOP_K
    while depth < MAX_DEPTH and _rank(deep, chunks) is None:
        depth *= DEPTH_FACTOR
        rank_at_depth(context, search.asked, depth, mode)
    return deep


def _best_passages(record: RankingRecord, passages: Sequence[Passage], rated: Iterable[str]) -> list[Passage]:
    """The best of the passages: those that were ranked by rank, then the others by their scores in the legs."""
    by_id = {passage.chunk.id: passage for passage in passages}
    ranked = dict.fromkeys(
        hit.chunk_id for ranking in record.rankings for hit in ranking.hits if hit.chunk_id in by_id
    )
    return [by_id[id] for id in dict.fromkeys([*ranked, *rated, *by_id])][:_SHOWN]


def _rate(search: _Search, chunks: Sequence[str]) -> Sequence[Hit]:
    """The scores of chunks that no ranking has, by the same legs, best first."""
    if not chunks:
        return ()
    asked, retriever = search.asked, search.context.index.retriever
    mode = leg_mode(search.context, asked.filters.project)
    return retriever.rate(asked.text, asked.filters, chunks, mode=mode).hits


def _decide(
    search: _Search,
    record: RankingRecord,
    known: DocumentOutcome,
    chunks: Sequence[str],
    rated: Mapping[str, Hit],
) -> tuple[Outcome, str, str]:
    """The outcome for ranked passages, a sentence, and what to do next."""
    rows = [row for row in search.rows if row.section_id in chunks]
    if rows:
        place = f", {rows[0].place}" if rows[0].place else ""
        return "came", f"it came: row {rows[0].rank}{place}, with a score of {rows[0].score or 0:.3f}", ""
    chosen = {candidate.passage.chunk.id: candidate for candidate in search.record.chosen}
    for chunk in chunks:
        if chunk in chosen:
            return _decide_cut(search, chosen[chunk].score or 0.0)
    others = [row for row in search.rows if row.document_id == known.document_id]
    if search.request.tool == "kb_search" and others:  # the asked for is one passage, and not a row
        return _decide_pooled(others, search.request.max_per_doc or 1)
    rank = _rank(record, chunks)
    if rank is not None:
        return _decide_rank(search, record, known, rank)
    return _decide_unranked(search, known, rated)


def _decide_cut(search: _Search, score: float) -> tuple[Outcome, str, str]:
    if score < search.request.min_score:
        return (
            "min_score",
            f"it did not come: it scores {score:.3f}, below --min-score {search.request.min_score:g}",
            f"lower the limit: --min-score {int(score * 100) / 100:g}",
        )
    return (
        "budget",
        "it did not come: it is among the rows, and the answer was full before them",
        "read the next page with the cursor of the answer, or ask for less of each row",
    )


def _decide_pooled(others: Sequence[RankedPassage], most: int) -> tuple[Outcome, str, str]:
    """The outcome for a passage whose document has as many rows as it may have."""
    return (
        "same_document",
        f"it did not come: row {others[0].rank} stands for its document, of which {most} may come",
        f"show more of one document: --per-document {most + 2}",
    )


def _decide_rank(
    search: _Search, record: RankingRecord, known: DocumentOutcome, rank: int
) -> tuple[Outcome, str, str]:
    best, is_deep = known.passages[0], record is not search.record
    sentence = f"it did not come: its best passage is ranked {rank:,}{_ordinal(rank)}, {_compare(search, best)}"
    most = _MOST_ROWS[search.request.tool]
    position = _row_number(search, record, known) if search.request.tool == "kb_search" else rank
    narrow = _narrow(known)
    advice = f"ask for more rows: --top-k {position}; or {narrow}" if position <= most else narrow
    if is_deep:
        sentence += "; " + "; ".join(_compare_legs(search, best))
    if known.lacks:
        sentence += f"; no passage of it has {_quote_all(known.lacks)}"
    if (best.score or 0.0) < search.request.min_score:
        sentence += f"; --min-score {search.request.min_score:g} leaves it out as well"
    return "below_depth" if is_deep else "below_top_k", sentence, advice


def _row_number(search: _Search, record: RankingRecord, known: DocumentOutcome) -> int:
    """The row that the document would have: the passages before it that its tool shows, and one more."""
    hits = record.rankings[-1].hits
    ids = [hit.chunk_id for hit in hits]
    documents = search.context.index.catalogue.passages(ids, search.asked.filters.project)
    seen: dict[str, int] = {}
    rows, most = 0, search.request.max_per_doc or 1
    for id in (id for id in ids if id in documents):
        document = documents[id].document.id
        seen[document] = seen.get(document, 0) + 1
        rows += seen[document] <= most
        if document == known.document_id:
            break
    return rows


def _compare(search: _Search, best: RankedPassage) -> str:
    """The score of a passage, and the last one that came."""
    if not search.rows:
        return f"with a score of {best.score or 0:.3f}"
    last = search.rows[-1]
    return (
        f"with a score of {best.score or 0:.3f}; the last of "
        f"{count_of(len(search.rows), 'row')} has {last.score or 0:.3f}"
    )


def _compare_legs(search: _Search, best: RankedPassage) -> Iterator[str]:
    """For each leg the rank and the score of a passage, and of the last that the leg returned."""
    steps = {step.name: step for step in search.record.rankings[-1].steps}
    for leg in best.legs:
        returned = steps[leg.leg].scores if leg.leg in steps else {}
        last = (
            f"its {len(returned):,} best end at {min(returned.values()):.3f}" if returned else "it found nothing"
        )
        if leg.score is None:
            yield f"the {leg.leg} leg does not have it, {last}"
        else:
            place = f"{leg.rank:,}{_ordinal(leg.rank)}" if leg.rank else "below its deepest look"
            yield f"the {leg.leg} leg has it {place} with {leg.score:.3f}, {last}"


def _decide_unranked(
    search: _Search, known: DocumentOutcome, rated: Mapping[str, Hit]
) -> tuple[Outcome, str, str]:
    first = search.record.rankings[0]
    if first.legs == "lexical-only":
        return _decide_without_words(search, known, first.warnings)
    if not any(hit.dense is not None for hit in rated.values()):
        return (
            "no_vectors",
            "it did not come: the index has no vectors of its passages",
            "mend the index: winnow reindex",
        )
    best = max((hit.score for hit in rated.values()), default=0.0)
    return (
        "below_depth",
        f"it did not come: it is below the {MAX_DEPTH:,} best passages, with a score of {best:.3f}",
        _narrow(known),
    )


def _decide_without_words(
    search: _Search, known: DocumentOutcome, warnings: Sequence[str]
) -> tuple[Outcome, str, str]:
    """The outcome for a document without words of the query where words alone rank, which the warnings explain."""
    lacks = f": {_quote_all(known.lacks)}" if known.lacks else ""
    has_model = search.context.index.embedder.ready() is not None
    return (
        "no_vectors" if has_model else "no_match",
        f"it did not come: words alone rank here, and it has none of the query's{lacks}",
        "; ".join(("search for words that it has", *warnings)),
    )


def _narrow(known: DocumentOutcome) -> str:
    """The advice to search in the document alone."""
    path = f'"{known.file}"' if " " in known.file else known.file
    return f"search in it alone: add path:{path} to the query"


def _quote_all(words: Sequence[str]) -> str:
    return ", ".join(repr(one_line(word, 60)) for word in words)


def _ordinal(number: int) -> str:
    """The letters after an ordinal number.

    >>> [f"{number}{_ordinal(number)}" for number in (1, 2, 3, 4, 11, 22, 113)]
    ['1st', '2nd', '3rd', '4th', '11th', '22nd', '113th']
    """
    if number % 100 in (11, 12, 13):
        return "th"
    return {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
