"""Ranks passages for a question. Rankings are cached; every page and tier of an answer is cut from one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import TYPE_CHECKING

from winnow.server.contracts.base import MAX_TOP_K, Syntax
from winnow.server.contracts.kb import SearchMode
from winnow.server.ids import is_chunk_id
from winnow.server.models import Filters, Hit, Legs, Passage, Ranking
from winnow.server.operations.base import RequestContext
from winnow.server.operations.ranking.nearest import near_operator
from winnow.server.operations.ranking.reordering import reorder
from winnow.server.retrieval.queries import ParsedQuery, parse_query, without_dates
from winnow.server.retrieval.search_notes import SearchNotes
from winnow.server.runtime.deadlines import check_deadline
from winnow.server.text.printable import one_line
from winnow.server.text.sizes import count_of

if TYPE_CHECKING:  # imports numerical libraries, which would delay the handshake
    from winnow.server.retrieval.graph_expansion import Walk
    from winnow.server.retrieval.hybrid import Mode

# The greatest depth to which a ranking is read for passages of further documents, and the factor of each step.
MAX_DEPTH = 6_400
DEPTH_FACTOR = 4
_BATCH_SIZE = 32
_NAMED, _OPERATOR_CHARS = 2, 60  # operators in a warning, and of each

BY_ID = "by-id"
WALKED = "+graph"
_WALKS: Mapping[SearchMode, Walk] = MappingProxyType(
    {"auto": "auto", "vector_only": "none", "hybrid_local": "hybrid_local", "multi_hop": "multi_hop"}
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage and its place in the ranking; ``hit`` is None where it was fetched, not ranked."""

    passage: Passage
    hit: Hit | None

    @property
    def score(self) -> float | None:
        """0 to 1, relative to the best hit."""
        return self.hit.score if self.hit else None

    @property
    def prior(self) -> float:
        """The score of the legs alone, 0 to 1. The graph moves the scores of good hits closer together."""
        if self.hit is None:
            return 0.0
        return self.hit.score if self.hit.before is None else self.hit.before


@dataclass(frozen=True, slots=True)
class CandidateList:
    """Passages in order, and how they were found.

    ``asked``: the query as it was read, with the filters that applied; None where passages were fetched by id.
    ``walked``: whether the graph contributed. ``duplicates``: how many passages were left out because their
    document had enough. ``stages``: milliseconds by stage; empty if the ranking was cached.
    """

    candidates: tuple[Candidate, ...]
    legs: Legs | str
    fusion: str
    generation: int
    warnings: tuple[str, ...] = ()
    missing: tuple[str, ...] | None = None
    duplicates: int = 0
    cache_hit: bool = False
    walked: bool = False
    stages: Mapping[str, float] = field(default_factory=dict)
    relevance: float | None = None
    asked: ParsedQuery | None = None

    @property
    def ranking_method(self) -> str:
        """The ranking method, in the form that cursors contain."""
        return self.legs + WALKED if self.walked else self.legs


def rank_chunks(
    context: RequestContext,
    query: str,
    filters: Filters,
    wanted: int = MAX_TOP_K,
    ranking_method: str = "",
    sparse_weight: float | None = None,
    syntax: Syntax = "fields",
) -> CandidateList:
    """The ``wanted`` best chunks by both legs. ``ranking_method``: that of the previous page, which is repeated.

    ``sparse_weight``: the weight of the lexical leg, 0 to 1; None for the default.
    """
    asked = _parse(context, query, filters, syntax)
    generation = generation_of(context, filters)
    ranking, cache_hit = _cached_ranking(
        context, asked, generation, MAX_TOP_K, ranking_method, "vector_only", sparse_weight
    )
    kept: list[Candidate] = []
    for batch in _batches(ranking.hits, wanted):
        kept += load_candidates(context, batch, asked.filters)
        if len(kept) >= wanted:
            break
    _record_choice(context, asked, kept[:wanted])
    return CandidateList(
        tuple(kept[:wanted]),
        ranking.legs,
        ranking.fusion,
        generation,
        (*_query_warnings(context, asked), *ranking.warnings),
        cache_hit=cache_hit,
    )


def rank_distinct(
    context: RequestContext,
    query: str,
    filters: Filters,
    wanted: int,
    per_document: int,
    ranking_method: str = "",
    mode: SearchMode = "auto",
    syntax: Syntax = "fields",
) -> CandidateList:
    """The ``wanted`` best chunks, at most ``per_document`` of each document, however deep they lie.

    The order is that of the first ``MAX_TOP_K``, then of the new ones among four times as many, and so on. It does
    not depend on ``wanted``, so that pages neither repeat nor lose a row.
    """
    asked = _parse(context, query, filters, syntax)
    generation = generation_of(context, filters)
    seen: dict[str, int] = {}
    kept: list[Candidate] = []
    ranking, cache_hit, read, depth = _EMPTY, True, frozenset[str](), MAX_TOP_K
    notes = SearchNotes()
    while len(kept) < wanted and depth <= MAX_DEPTH:
        ranking, is_cached = _cached_ranking(context, asked, generation, depth, ranking_method, mode)
        cache_hit = cache_hit and is_cached
        notes.add({} if is_cached else ranking.stages)
        fresh = [hit for hit in ranking.hits if hit.chunk_id not in read]
        with notes.stage("read"):
            for batch in _batches(fresh):
                kept += _limit_per_document(load_candidates(context, batch, asked.filters), per_document, seen)
                if len(kept) >= wanted:
                    break
        read = frozenset(hit.chunk_id for hit in ranking.hits)
        if len(ranking.hits) < depth:
            break
        depth *= DEPTH_FACTOR
    _record_choice(context, asked, kept[:wanted])
    return CandidateList(
        tuple(kept[:wanted]),
        ranking.legs,
        ranking.fusion,
        generation,
        (*_query_warnings(context, asked), *ranking.warnings),
        duplicates=sum(seen.values()) - len(kept),
        cache_hit=cache_hit,
        walked=ranking.walked,
        stages=notes.stages,
        relevance=ranking.relevance,
        asked=asked,
    )


def fetch_by_id(
    context: RequestContext,
    ids: Sequence[str],
    filters: Filters,
    query: str | None,
    min_score: float,
    syntax: Syntax = "fields",
) -> CandidateList:
    """The chunks with these ids that the filters admit, in the order given; with a query, each with its score.

    The score is that of the chunk in a search of everything that the filters admit, at any depth. A passage id of
    the caller's session stands for its chunk.
    """
    store = context.index
    generation = generation_of(context, filters)
    asked = _parse(context, query, filters, syntax) if query else None
    within = asked.filters if asked else filters
    chunk_of = {id: _chunk_id_of(context, id) for id in ids}
    known = store.catalogue.passages(list(chunk_of.values()), filters.project)
    admitted = {chunk: passage for chunk, passage in known.items() if store.admits(within, passage.document)}
    hits, warnings = _score_chunks(context, asked, list(admitted)) if asked else ({}, ())
    named = [(id, chunk_of[id]) for id in ids]
    candidates = [Candidate(admitted[chunk], hits.get(chunk)) for _, chunk in named if chunk in admitted]
    found = CandidateList(
        tuple(candidates),
        BY_ID,
        "none",
        generation,
        warnings,
        missing=tuple(id for id, chunk in named if chunk not in admitted),
    )
    return drop_low_scores(found, min_score) if asked else found


def drop_low_scores(ranking: CandidateList, min_score: float) -> CandidateList:
    """The ranking without the candidates that score below ``min_score``, and a warning that counts them."""
    low = [candidate.score or 0.0 for candidate in ranking.candidates if (candidate.score or 0.0) < min_score]
    if not low:
        return ranking
    kept = tuple(candidate for candidate in ranking.candidates if (candidate.score or 0.0) >= min_score)
    below = _BELOW.format(least=min_score, below=len(low), all=len(ranking.candidates), best=max(low))
    return replace(ranking, candidates=kept, warnings=(*ranking.warnings, below))


def _score_chunks(
    context: RequestContext, asked: ParsedQuery, chunks: Sequence[str]
) -> tuple[dict[str, Hit], tuple[str, ...]]:
    """The scores of these chunks, and the warnings."""
    mode = leg_mode(context, asked.filters.project)
    ranking = context.index.retriever.rate(
        asked.text, asked.filters, chunks, mode=mode, vectors=context.rankings.vectors
    )
    ranking = reorder(context, asked, ranking)
    return {hit.chunk_id: hit for hit in ranking.hits}, (*_query_warnings(context, asked), *ranking.warnings)


_FILTERS = "of the query, this was read as filters: {fields}"
_UNKNOWN = (
    "of the query, this was read as words, since no document in reach has it: {fields}; "
    'syntax="plain" reads every query as words'
)
_UNDATED = "{documents} no date; a filter on dates leaves {them} out"
_BELOW = "min_score {least:g} left out {below} of {all} results; the best of those scores {best:.3f}"
_EMPTY = Ranking((), "lexical-only", "none")


def generation_of(context: RequestContext, filters: Filters) -> int:
    """A number that grows with every change of the index or the graph."""
    project, store = filters.project, context.index
    if project not in context.generations:
        context.generations[project] = store.catalogue.generation(project) + store.retriever.generation(project)
    return context.generations[project]


def _cached_ranking(
    context: RequestContext,
    asked: ParsedQuery,
    generation: int,
    depth: int,
    ranking_method: str,
    mode: SearchMode,
    sparse_weight: float | None = None,
) -> tuple[Ranking, bool]:
    """The ranking, and whether it came from the cache."""
    own, rankings = context.index.catalogue.project_settings(asked.filters.project), context.rankings
    fusion = (own.fusion or context.settings.fusion) if sparse_weight is None else "convex"
    walk: Walk = "none" if ranking_method and not ranking_method.endswith(WALKED) else _WALKS[mode]
    by_words = ranking_method.startswith("lexical-only")
    key = (asked, fusion, own.hybrid, generation, depth, walk, sparse_weight)
    cached = rankings.get(key) if not by_words else None
    if cached is not None:
        return cached, True
    ranking = context.index.retriever.search(
        asked.text,
        asked.filters,
        depth,
        mode="lexical" if by_words else leg_mode(context, asked.filters.project),
        walk=walk,
        fusion=fusion,
        vectors=rankings.vectors,
        sparse_weight=sparse_weight,
        records=context.record is not None,
    )
    ranking = reorder(context, asked, ranking)
    if context.record is not None:
        context.record.rankings.append(ranking)
    rankings.put(key, ranking, _complete_legs(context, own.hybrid))
    return ranking, False


def rank_at_depth(context: RequestContext, asked: ParsedQuery, depth: int, mode: SearchMode) -> Ranking:
    """The ranking of so many passages that a deeper look at the same query gives."""
    generation = generation_of(context, asked.filters)
    return _cached_ranking(context, asked, generation, depth, "", mode)[0]


def _complete_legs(context: RequestContext, is_hybrid: bool) -> Legs:
    """The legs of a ranking that lacks nothing: where the model is switched off, none will be loaded."""
    if context.index.embedder.state == "off":
        return "lexical-only"
    return "hybrid" if is_hybrid else "semantic-only"


def leg_mode(context: RequestContext, project: str) -> Mode:
    """The legs that rank passages of a project, by its settings."""
    return "hybrid" if context.index.catalogue.project_settings(project).hybrid else "dense"


def _parse(context: RequestContext, query: str, filters: Filters, syntax: Syntax) -> ParsedQuery:
    return parse_query(query, filters, context.index if syntax == "fields" else None)


def _query_warnings(context: RequestContext, asked: ParsedQuery) -> tuple[str, ...]:
    """Warnings about the query's own filters, and about documents without a date that a filter leaves out."""
    fields, unknown, filters = asked.fields, asked.unknown, asked.filters
    is_dated = filters.updated_after or filters.updated_before
    undated = context.index.labels(without_dates(filters)).undated if is_dated else 0
    return (
        *((_FILTERS.format(fields=" ".join(fields)),) if fields else ()),
        *((_UNKNOWN.format(fields=_with_nearest(context, asked)),) if unknown else ()),
        *((_describe_undated(undated),) if undated else ()),
    )


def _describe_undated(count: int) -> str:
    documents = count_of(count, "document in reach states", "documents in reach state")
    return _UNDATED.format(documents=documents, them="it" if count == 1 else "them")


def _with_nearest(context: RequestContext, asked: ParsedQuery) -> str:
    """The operators that were read as words, each with the values near it."""
    described = []
    for operator in asked.unknown[:_NAMED]:
        field, _, value = operator.partition(":")
        near = near_operator(context.index, asked.filters, field, value.strip('"'))
        described.append(one_line(operator, _OPERATOR_CHARS) + (f" ({near})" if near else ""))
    return ", ".join(described)


def load_candidates(context: RequestContext, hits: Sequence[Hit], filters: Filters) -> tuple[Candidate, ...]:
    """The hits that the catalogue still has and the filters admit: an index may lag behind the catalogue."""
    check_deadline()
    known = context.index.catalogue.passages([hit.chunk_id for hit in hits], filters.project)
    admits = context.index.admits
    candidates = (Candidate(known[hit.chunk_id], hit) for hit in hits if hit.chunk_id in known)
    return tuple(candidate for candidate in candidates if admits(filters, candidate.passage.document))


def _record_choice(context: RequestContext, asked: ParsedQuery, chosen: Sequence[Candidate]) -> None:
    if context.record is not None:
        context.record.asked, context.record.chosen = asked, chosen


def _chunk_id_of(context: RequestContext, id: str) -> str:
    stored = None if is_chunk_id(id) else context.session.get(id)
    return stored.passage.chunk.id if stored else id


def _batches(hits: Sequence[Hit], first: int = _BATCH_SIZE) -> Iterator[Sequence[Hit]]:
    """The hits in batches, because the first few dozen usually have passages of enough documents.

    ``first``: the size of the first batch, if that many hits may be enough.
    """
    first = min(first, _BATCH_SIZE)
    if hits:
        yield hits[:first]
    for start in range(first, len(hits), _BATCH_SIZE):
        yield hits[start : start + _BATCH_SIZE]


def _limit_per_document(candidates: Sequence[Candidate], limit: int, seen: dict[str, int]) -> Iterator[Candidate]:
    for candidate in candidates:
        document = candidate.passage.document.id
        seen[document] = seen.get(document, 0) + 1
        if seen[document] <= limit:
            yield candidate
