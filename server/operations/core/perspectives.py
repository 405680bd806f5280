"""Perspectives of a question, without a model: from its own words, from the graph, and from sections.

    kind       where it comes from                                            its query
    question   the question as it was asked                                   the question
    words      a part of the question between punctuation and conjunctions    the part
    name       an entity of the graph that the question names                 its title
    related    an entity or document that the best passages mention or       its title, and the question's words
               link to, and the question does not                            that those passages lack
    section    a heading of the best documents with words of the question     the heading and the document's title

The kinds take turns, so that no kind fills a plan; of two queries with mostly the same words, the first stays. The
same question over the same index gives the same perspectives in the same order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

from winnow.server.contracts.core.planning import MAX_NAMED_SECTIONS, PerspectiveKind
from winnow.server.errors import WinnowError
from winnow.server.ids import entity_id
from winnow.server.models import Chunk, Filters
from winnow.server.operations.base import RequestContext
from winnow.server.operations.graph.nodes import GraphView, shorten
from winnow.server.operations.graph.walks import MENTION_TYPES
from winnow.server.operations.ranking.candidates import Candidate, CandidateList, rank_distinct
from winnow.server.retrieval.graph.base import MAX_NODES
from winnow.server.retrieval.graph.records import Node, normalise_name
from winnow.server.retrieval.lexical import find_content_words
from winnow.server.runtime.deadlines import check_deadline
from winnow.server.text.printable import one_line
from winnow.server.text.words.languages import is_english
from winnow.server.text.words.tokens import first_tokens

# The best passages of the question, one of a document, that suggest entities and sections.
_BEST = 5
_EACH_KIND = 4
_NAME_WORDS, _NAMED_WORDS = 4, 40  # the longest name, and the words of a question that are looked at
_CONTEXT_WORDS = 8  # words of the question beside the title of what is related
_LEAST_PART_WORDS = 2
_QUERY_TOKENS = 64
# Two queries with so large a share of words in common find the same passages.
_SAME_WORDS = 0.8
_COMMON_TYPES = frozenset({"tag", "link"})  # they say what a document is about, and are no subject of their own
_RELATIONS = MENTION_TYPES | {"LINKS_TO"}
# What a document is about leads further than what is only mentioned.
_DEFINED = 3.0
_COMPARED = 24  # related nodes whose number of mentions is looked up
_PART = re.compile(
    r"[?!;:,]+\s|\.\s|\s(?:and|or|but|versus|vs\.?|compared (?:to|with)|while|whereas)\s", re.IGNORECASE
)
_WORD = re.compile(r"\w(?:[\w.'/-]*\w)?")
_NO_GRAPH = "no graph of this project answers: the perspectives are from the question's words and from sections"


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A perspective before it has a number."""

    kind: PerspectiveKind
    name: str
    query: str
    reason: str
    section_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Question:
    """A question within its scope, its content words, and the best passages for it."""

    context: RequestContext
    text: str
    filters: Filters
    words: Mapping[str, frozenset[str]]
    best: Sequence[Candidate]

    @property
    def forms(self) -> frozenset[str]:
        """The forms that the index has of the question's words."""
        return frozenset(chain.from_iterable(self.words.values()))


def suggest_perspectives(
    context: RequestContext, question: str, filters: Filters, most: int
) -> tuple[list[Suggestion], CandidateList]:
    """At most ``most`` perspectives of a question, its own first, and the ranking of the question."""
    ranking = rank_distinct(context, question, filters, _BEST, 1, syntax="plain")
    asked = _Question(context, question, filters, _words_of(context, question, filters), ranking.candidates)
    whole = Suggestion("question", shorten(question), question, "the question as it was asked")
    kinds = [[*_from_graph(asked)], [*_from_sections(asked)], [*_from_names(asked)], [*_from_words(asked)]]
    in_turn = (each for turn in zip_longest(*kinds) for each in turn if each is not None)
    return _distinct(asked, [whole, *in_turn], most), ranking


def _words_of(context: RequestContext, text: str, filters: Filters) -> dict[str, frozenset[str]]:
    languages = context.index.catalogue.languages(filters.project)
    return find_content_words(text, languages, is_english=is_english(text, languages))


def _distinct(asked: _Question, suggestions: Sequence[Suggestion], most: int) -> list[Suggestion]:
    """The first suggestions, without those that repeat the words of an earlier one."""
    kept: list[Suggestion] = []
    seen: list[Collection[str]] = []
    for suggestion in suggestions:
        words = frozenset(chain.from_iterable(_words_of(asked.context, suggestion.query, asked.filters).values()))
        if len(kept) == most:
            break
        if kept and (not words or any(_share(words, other) >= _SAME_WORDS for other in seen)):
            continue
        kept.append(suggestion)
        seen.append(words)
    return kept


def _share(words: Collection[str], others: Collection[str]) -> float:
    together = len({*words, *others})
    return len({*words} & {*others}) / together if together else 0.0


# --- the question's own words


def _from_words(asked: _Question) -> Iterator[Suggestion]:
    parts = [part.strip(" ?!.,;:") for part in _PART.split(asked.text)]
    for part in parts if len(parts) > 1 else ():
        if len(_words_of(asked.context, part, asked.filters)) >= _LEAST_PART_WORDS:
            yield Suggestion("words", shorten(part), _as_query(part), "a part of the question")


def _as_query(text: str) -> str:
    return first_tokens(one_line(text), _QUERY_TOKENS)


# --- the graph


def _from_names(asked: _Question) -> Iterator[Suggestion]:
    view = _view_of(asked)
    for node in _named_entities(asked, view) if view else ():
        yield Suggestion(
            "name", shorten(node.title), _as_query(node.title), f"the question names this {node.type}"
        )


def _view_of(asked: _Question) -> GraphView | None:
    graph, filters = asked.context.index.graph, asked.filters
    try:
        if graph is not None and graph.generation(filters.project):
            return GraphView(asked.context, graph, filters, asked.context.index.admitted(filters))
    except WinnowError:
        check_deadline()
    asked.context.warnings.append(_NO_GRAPH)
    return None


def _named_entities(asked: _Question, view: GraphView) -> list[Node]:
    """The entities that a question names, the longest names first; of names that overlap, the longest."""
    words = list(_WORD.finditer(asked.text))[:_NAMED_WORDS]
    names = {
        (first, first + length): asked.text[words[first].start() : words[first + length - 1].end()]
        for length in range(_NAME_WORDS, 0, -1)
        for first in range(len(words) - length + 1)
    }
    ids = {
        span: entity_id(view.project, normalise_name(name))
        for span, name in names.items()
        if _may_be_name(asked, [word.group() for word in words[slice(*span)]])
    }
    known = _nodes(view, list(dict.fromkeys(ids.values())))
    found: list[Node] = []
    taken: set[int] = set()
    for span, id in ids.items():
        if id in known and taken.isdisjoint(range(*span)) and len(found) < _EACH_KIND:
            found.append(known[id])
            taken.update(range(*span))
    return found


def _may_be_name(asked: _Question, words: Sequence[str]) -> bool:
    """Whether words can name something: several with a content word, or one that is no everyday word."""
    if len(words) == 1:
        return words[0] in asked.words and not words[0].islower()
    return any(word in asked.words for word in words)


def _nodes(view: GraphView, ids: Sequence[str]) -> dict[str, Node]:
    return {
        id: node
        for first in range(0, len(ids), MAX_NODES)
        for id, node in view.nodes(ids[first : first + MAX_NODES]).items()
    }


def _from_graph(asked: _Question) -> Iterator[Suggestion]:
    """The nodes that the best passages mention or link to and the question does not name."""
    view = _view_of(asked)
    if view is None or not asked.best:
        return
    mentions = _mentions_of(asked, view)
    ranked = sorted(mentions, key=lambda id: (-mentions[id].weight, mentions[id].node.title, id))[:_COMPARED]
    # One that half of the documents mention says little about these.
    specific = {id: mentions[id].weight * _specificity(view, id) for id in ranked}
    for id in sorted(ranked, key=lambda id: (-specific[id], mentions[id].node.title, id))[:_EACH_KIND]:
        node, chunks = mentions[id].node, mentions[id].chunks
        reason = f"{len(chunks)} of the best {len(asked.best)} passages mention or link to this {node.type}"
        query = _as_query(" ".join((node.title, *_unanswered_words(asked, chunks))))
        yield Suggestion("related", shorten(node.title), query, reason, chunks[:MAX_NAMED_SECTIONS])


def _unanswered_words(asked: _Question, chunks: Sequence[str]) -> list[str]:
    """The words of the question that the passages with these ids lack."""
    text = " ".join(each.passage.chunk.text for each in asked.best if each.passage.chunk.id in chunks)
    there = frozenset(chain.from_iterable(_words_of(asked.context, text, asked.filters).values()))
    return [word for word, forms in asked.words.items() if there.isdisjoint(forms)][:_CONTEXT_WORDS]


@dataclass(frozen=True, slots=True)
class _Mentions:
    """An entity or document, the weight of its mentions in the best passages, and these passages."""

    node: Node
    weight: float
    chunks: tuple[str, ...]


def _mentions_of(asked: _Question, view: GraphView) -> dict[str, _Mentions]:
    """The nodes that the best passages mention or link to; a passage counts by its rank."""
    scores = {candidate.passage.chunk.id: 1 / rank for rank, candidate in enumerate(asked.best, start=1)}
    own = {candidate.passage.document.id for candidate in asked.best}
    rows = view.store.neighbours(view.project, list(scores), "out", _RELATIONS, view.scope, MAX_NODES).rows
    found: dict[str, _Mentions] = {}
    for row in rows:
        node, chunk = row.node, row.edge.source
        words = frozenset(chain.from_iterable(_words_of(asked.context, node.title, asked.filters).values()))
        if node.type in _COMMON_TYPES or node.document_id in own or not words or words <= asked.forms:
            continue
        before = found.get(node.id, _Mentions(node, 0.0, ()))
        weight = before.weight + row.edge.weight * scores.get(chunk, 0.0)
        found[node.id] = _Mentions(node, weight, tuple(dict.fromkeys((*before.chunks, chunk))))
    return found


def _specificity(view: GraphView, id: str) -> float:
    """Less for what many passages mention; more for what a document is about."""
    counts = {
        degree.type: degree.count
        for degree in view.store.degrees(view.project, id, view.scope)
        if degree.direction == "in"
    }
    mentions = sum(count for type, count in counts.items() if type in _RELATIONS)
    return (_DEFINED if counts.get("DEFINES") else 1.0) / math.log(math.e + mentions)


# --- sections


def _from_sections(asked: _Question) -> Iterator[Suggestion]:
    """Headings of the best documents that share words with the question, most words first."""
    found = [
        (-len(shared), number, chunk.ordinal, _section(candidate, chunk))
        for number, candidate in enumerate(asked.best)
        for chunk in _first_of_sections(asked, candidate)
        if (shared := _shared_words(asked, chunk.heading_path[-1]))
    ]
    for *_, suggestion in sorted(found, key=lambda each: each[:3])[:_EACH_KIND]:
        yield suggestion


def _section(candidate: Candidate, chunk: Chunk) -> Suggestion:
    title = candidate.passage.document.title or candidate.passage.document.uri
    heading = chunk.heading_path[-1]
    reason = f"a section of {shorten(title)}, which is among the best documents"
    return Suggestion("section", shorten(heading), _as_query(f"{heading} {title}"), reason, (chunk.id,))


def _first_of_sections(asked: _Question, candidate: Candidate) -> Iterator[Chunk]:
    """The first chunk of each section below the title of a document."""
    check_deadline()
    document = candidate.passage.document
    seen: set[tuple[str, ...]] = set()
    for chunk in asked.context.index.catalogue.chunks(document.id, asked.filters.project):
        path = chunk.heading_path
        if path and path not in seen and path[-1].casefold() != document.title.casefold():
            seen.add(path)
            yield chunk


def _shared_words(asked: _Question, heading: str) -> frozenset[str]:
    words = _words_of(asked.context, heading, asked.filters)
    return asked.forms & frozenset(chain.from_iterable(words.values()))
