"""Extraction from one document, independent of the other documents. Pure.

Theory of operation. A document's graph depends on other documents in two ways only: whether a candidate is a name
in another document too, and which page a link means. So the work has two steps::

    extract_document(document, text, chunks, gazetteer) -> DocumentExtraction    slow; of this document alone
    resolve_graph(extraction, ledger) -> DocumentGraph                           lookups

``DocumentExtraction.dependencies`` are the names and pages that its graph depends on: an ingest uses them to find
the documents that a change elsewhere affects.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from winnow.server.ids import entity_id
from winnow.server.models import Chunk, Document
from winnow.server.readers.extraction import front_matter_fields
from winnow.server.readers.extraction.code import CodeFacts, read_code
from winnow.server.readers.extraction.gazetteer import Gazetteer, GazetteerMatch
from winnow.server.readers.extraction.links import STEM_PREFIX, LinkTarget, link_target_of, path_target_of
from winnow.server.readers.extraction.name_candidates import (
    NameCandidate,
    find_candidates,
    find_expansions,
    name_parts,
)
from winnow.server.readers.extraction.names import entity_key, page_key, page_stem
from winnow.server.readers.extraction.prose import Prose, ProseLink, parse_prose
from winnow.server.readers.extraction.rules import CONFIDENCE, Rule
from winnow.server.readers.extraction.structure import (
    ChunkPlaces,
    Outline,
    build_outline,
    build_structure,
    clean_title,
    heading_node_id,
)
from winnow.server.retrieval.graph.records import MAX_EVIDENCE, Edge, EdgeType, Node, entity_type_order


@dataclass(frozen=True, slots=True)
class Mention:
    """A name that ``source`` (a node id) contains: its edge type, entity key, title, rule and count.

    A firm name is an entity even if no other document contains it.
    """

    source: str
    type: EdgeType
    key: str
    title: str
    entity_type: str
    rule: Rule
    count: int
    evidence: tuple[str, ...]
    is_firm: bool = False


@dataclass(frozen=True, slots=True)
class Reference:
    """A link from ``source`` (a node id): its edge type, text, candidate targets and count."""

    source: str
    type: EdgeType
    title: str
    link: LinkTarget
    count: int
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Relation:
    """A relation between two entity keys: ALIAS_OF, EXPANDS_TO, IMPORTS, CALLS."""

    source: str
    target: str
    type: EdgeType
    rule: Rule
    count: int
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PageIdentity:
    """The identity of a document as a link target.

    ``keys`` are its page keys, ``name`` is its title ("" if it has none of its own), ``anchors`` are section ids
    by fragment.
    """

    id: str
    uri: str
    name: str
    keys: tuple[str, ...]
    anchors: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DocumentExtraction:
    """A document's own nodes and edges, and the mentions and links to be resolved with the ledger.

    ``votes`` are the names in the document: a name in two documents is an entity. ``dependencies`` are the names
    and page keys that its graph depends on. ``entities`` are the titles and types of firm names by key.
    ``warnings`` are for the user.
    """

    page: PageIdentity
    project: str
    nodes: tuple[Node, ...]
    edges: tuple[Edge, ...]
    entities: Mapping[str, tuple[str, str]]
    mentions: tuple[Mention, ...]
    relations: tuple[Relation, ...]
    references: tuple[Reference, ...]
    votes: frozenset[str]
    dependencies: frozenset[str]
    warnings: tuple[str, ...] = ()


def name_dependency(name: str) -> str:
    """The dependency on a name."""
    return f"name:{name}"


def page_dependency(key: str) -> str:
    """The dependency on a page key."""
    return f"page:{key}"


def extract_document(
    document: Document, text: str, chunks: Sequence[Chunk], gazetteer: Gazetteer
) -> DocumentExtraction:
    """Extract entities and relations. ``text`` and ``chunks`` come from the chunker.

    Front matter is read as fields, not as prose.
    """
    text = "\n" * document.body_start + text[document.body_start :]  # offsets stay those of the document
    builder = _ExtractionBuilder(document, chunks)
    if document.type == "code":
        outline = build_outline(document, ())
        builder.add_code(read_code(document.uri, text))
    else:
        prose = parse_prose(text)
        outline = build_outline(document, prose.headings)
        builder.add_prose(prose, outline)
    builder.add_front_matter()
    slow_patterns = builder.add_gazetteer(gazetteer, text)
    return builder.build(outline, slow_patterns)


@dataclass(slots=True)
class _ChunkMention:
    """A name in a chunk: title and type of its most confident rule, the number of mentions, the last offset."""

    title: str
    entity_type: str
    rule: Rule
    count: int
    last_start: int


@dataclass(slots=True)
class _ExtractionBuilder:
    """Collects the extraction of a document, in a deterministic order."""

    document: Document
    chunks: Sequence[Chunk]
    places: ChunkPlaces = field(init=False)
    chunk_mentions: dict[tuple[str, str], _ChunkMention] = field(default_factory=dict)
    entities: dict[str, tuple[str, str]] = field(default_factory=dict)
    mentions: list[Mention] = field(default_factory=list)
    relations: dict[tuple[str, str, EdgeType], Relation] = field(default_factory=dict)
    references: dict[tuple[str, EdgeType, LinkTarget], Reference] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.places = ChunkPlaces(self.chunks)

    # --- prose

    def add_prose(self, prose: Prose, outline: Outline) -> None:
        for candidate in find_candidates(prose):
            self._add_candidate(candidate)
        for link in prose.links:
            self._add_link(link, outline)
        for expansion in find_expansions(prose.text):
            self._add_expansion(expansion.short, expansion.long, expansion.start, expansion.end)
        for heading in prose.headings:
            if (key := entity_key(heading.title)) and (path := outline.path_at(heading.start)):
                evidence = tuple(self.places.chunks_at(heading.start, heading.start)[:1])
                section = heading_node_id(self.document, path)
                self._add_mention(section, "DEFINES", key, heading.title, "term", "heading", evidence)

    def _add_candidate(self, candidate: NameCandidate, *, is_firm: bool = False) -> None:
        if is_firm:
            self._add_entity(candidate.key, candidate.title, candidate.type)
        how = candidate.title, candidate.type, candidate.rule
        for chunk in self.places.chunks_at(candidate.start, candidate.end):
            mention = self.chunk_mentions.get((chunk, candidate.key))
            if mention is None:
                self.chunk_mentions[chunk, candidate.key] = _ChunkMention(*how, 1, candidate.start)
                continue
            # two rules often find the same words
            if mention.last_start != candidate.start and candidate.rule != "term":
                mention.count, mention.last_start = mention.count + 1, candidate.start
            if CONFIDENCE[candidate.rule] > CONFIDENCE[mention.rule]:
                mention.title, mention.entity_type, mention.rule = how

    def _add_link(self, link: ProseLink, outline: Outline) -> None:
        target = link_target_of(link, self.document.uri)
        if link.kind != "role" and link.text and (key := entity_key(link.text)) and target and not target.is_here:
            self._add_candidate(NameCandidate(key, link.text, "term", "link text", link.start, link.start))
        if target is None:
            return
        if link.kind == "role" and target.name:
            title = link.target.removesuffix("()")
            self._add_candidate(NameCandidate(target.name, title, "identifier", "role", link.start, link.end))
            return
        path = outline.path_at(link.start)
        evidence = tuple(self.places.chunks_at(link.start, link.end))
        if target.is_here:
            self._add_own_anchor(path, target, outline, evidence)
        else:
            self._add_reference(heading_node_id(self.document, path), "LINKS_TO", link.target, target, evidence)

    def _add_own_anchor(
        self, path: tuple[str, ...], link: LinkTarget, outline: Outline, evidence: tuple[str, ...]
    ) -> None:
        target = outline.anchors.get(link.anchor)
        if target and target != path:
            here = LinkTarget(
                (page_key(self.document.uri),), self.document.uri, anchor=link.anchor, rule=link.rule
            )
            self._add_reference(heading_node_id(self.document, path), "LINKS_TO", "", here, evidence)

    def _add_expansion(self, short: str, long: str, start: int, end: int) -> None:
        keys = entity_key(short), entity_key(long)
        if not all(keys) or keys[0] == keys[1]:
            return
        self._add_candidate(NameCandidate(keys[0], short, "acronym", "expansion", start, end), is_firm=True)
        self._add_candidate(NameCandidate(keys[1], long, "term", "expansion", start, end), is_firm=True)
        self._add_relation(*keys, "EXPANDS_TO", "expansion", tuple(self.places.chunks_at(start, end)))

    # --- code

    def add_code(self, code: CodeFacts) -> None:
        for definition in code.definitions:
            if not (key := entity_key(definition.name)):
                continue
            self._add_entity(key, definition.name, definition.type)
            chunks = tuple(self.places.chunks_at(definition.start, definition.start))
            source = self.document.id if definition.name == code.module else next(iter(chunks), self.document.id)
            self._add_mention(
                source, "DEFINES", key, definition.name, definition.type, definition.rule, chunks[:1], is_firm=True
            )
            if definition.short and (short := entity_key(definition.short)) and short != key:
                self._add_entity(short, definition.short, definition.type)
                self._add_relation(short, key, "ALIAS_OF", "short name", chunks[:1])
        for use in code.uses:
            source, target = entity_key(use.source), entity_key(use.target)
            if source and target and source != target:
                self._add_entity(target, use.target, use.type)
                self._add_entity(source, use.source, "module" if use.source == code.module else "function")
                rule: Rule = "parsed code" if use.kind == "IMPORTS" else "call"
                self._add_relation(
                    source, target, use.kind, rule, tuple(self.places.chunks_at(use.start, use.start))
                )

    # --- the document as a whole

    def add_front_matter(self) -> None:
        document, first = self.document, self.places.first
        key = entity_key(document.title) if _has_given_title(document) else ""
        if key:
            type = "module" if document.type == "code" else "term"
            self._add_mention(document.id, "DEFINES", key, document.title, type, "title", first, is_firm=True)
        for value in front_matter_fields.read_tags(document):
            self._add_field_value(value, "TAGGED", first)
        for value in front_matter_fields.read_subjects(document):
            self._add_field_value(value, "ABOUT", first)
        for alias in front_matter_fields.read_aliases(document):
            if key and (other := entity_key(alias)) and other != key:
                self._add_entity(other, alias, "term")
                self._add_relation(other, key, "ALIAS_OF", "alias", first)
        for name in front_matter_fields.read_relations(document):
            self._add_related(name.removeprefix("[[").removesuffix("]]").partition("|")[0], first)

    def _add_field_value(
        self, field_value: front_matter_fields.FieldValue, type: EdgeType, evidence: tuple[str, ...]
    ) -> None:
        if key := entity_key(field_value.value):
            self._add_mention(
                self.document.id,
                type,
                key,
                field_value.value,
                field_value.type,
                "front matter",
                evidence,
                is_firm=True,
            )

    def _add_related(self, value: str, evidence: tuple[str, ...]) -> None:
        by_path = path_target_of(value, self.document.uri)
        name = "" if "/" in value else entity_key(value)
        keys = (*(by_path.keys if by_path else ()), STEM_PREFIX + page_stem(value))
        target = LinkTarget(
            keys, by_path.uri if by_path else "", name, by_path.anchor if by_path else "", rule="relation"
        )
        self._add_reference(self.document.id, "RELATED_TO", value, target, evidence)

    def add_gazetteer(self, gazetteer: Gazetteer, text: str) -> list[str]:
        """Add the matches of the user's gazetteer; returns the patterns that took too long."""
        matches, slow_patterns = gazetteer.find(text)
        for match in sorted(matches, key=lambda match: (match.start, match.end, match.entry.name)):
            self._add_gazetteer_match(match)
        return slow_patterns

    def _add_gazetteer_match(self, match: GazetteerMatch) -> None:
        entry = match.entry
        if not (key := entity_key(entry.name)):
            return
        rule: Rule = "pattern" if match.is_pattern else "gazetteer"
        self._add_candidate(NameCandidate(key, entry.name, entry.type, rule, match.start, match.end), is_firm=True)
        if entry.alias and (alias := entity_key(entry.alias)) and alias != key:
            self._add_entity(alias, entry.alias, entry.type)
            self._add_relation(
                alias, key, "ALIAS_OF", "alias", tuple(self.places.chunks_at(match.start, match.end))
            )

    # --- records

    def _add_mention(
        self,
        source: str,
        type: EdgeType,
        key: str,
        title: str,
        entity_type: str,
        rule: Rule,
        evidence: tuple[str, ...],
        *,
        is_firm: bool = False,
    ) -> None:
        if is_firm:
            self._add_entity(key, title, entity_type)
        self.mentions.append(
            Mention(source, type, key, title, entity_type, rule, 1, evidence[:MAX_EVIDENCE], is_firm)
        )

    def _add_entity(self, key: str, title: str, type: str) -> None:
        """Add a firm name: it keeps its first title in this document, and the type that wins."""
        first, other = self.entities.get(key, (title, type))
        self.entities[key] = first, min(type, other, key=entity_type_order)

    def _add_relation(self, source: str, target: str, type: EdgeType, rule: Rule, evidence: Iterable[str]) -> None:
        former = self.relations.get((source, target, type))
        count, shown_by = (former.count + 1, former.evidence) if former else (1, ())
        merged = tuple(dict.fromkeys((*shown_by, *evidence)))[:MAX_EVIDENCE]
        self.relations[source, target, type] = Relation(source, target, type, rule, count, merged)

    def _add_reference(
        self, source: str, type: EdgeType, title: str, link: LinkTarget, evidence: Iterable[str]
    ) -> None:
        former = self.references.get((source, type, link))
        count, shown_by = (former.count + 1, former.evidence) if former else (1, ())
        merged = tuple(dict.fromkeys((*shown_by, *evidence)))[:MAX_EVIDENCE]
        self.references[source, type, link] = Reference(source, type, title, link, count, merged)

    def build(self, outline: Outline, slow_patterns: Sequence[str]) -> DocumentExtraction:
        document, uri = self.document, clean_title(self.document.uri)
        nodes, edges = build_structure(document, self.chunks, outline)
        for (chunk, key), mention in self.chunk_mentions.items():
            how = mention.title, mention.entity_type, mention.rule, mention.count
            self.mentions.append(Mention(chunk, "MENTIONS", key, *how, (chunk,), is_firm=key in self.entities))
        return DocumentExtraction(
            page=self._page_identity(outline),
            project=document.project,
            nodes=tuple(nodes),
            edges=tuple(edges),
            entities=self.entities,
            mentions=tuple(self.mentions),
            relations=tuple(self.relations.values()),
            references=tuple(self.references.values()),
            votes=frozenset(self.entities)
            | {mention.key for mention in self.mentions if mention.rule != "heading"},
            dependencies=frozenset(self._dependencies()),
            warnings=tuple(
                f"{uri}: the pattern {pattern!r} of entities.toml took too long and was left out"
                for pattern in slow_patterns
            ),
        )

    def _page_identity(self, outline: Outline) -> PageIdentity:
        document = self.document
        anchors = {name: heading_node_id(document, path) for name, path in outline.anchors.items() if path}
        keys = tuple(dict.fromkeys((page_key(document.uri), STEM_PREFIX + page_stem(document.uri))))
        name = clean_title(document.title) if _has_given_title(document) else ""
        return PageIdentity(document.id, document.uri, name, tuple(key for key in keys if key), anchors)

    def _dependencies(self) -> Iterator[str]:
        yield from map(name_dependency, self.entities)
        for mention in self.mentions:
            yield name_dependency(mention.key)
            if mention.type == "MENTIONS" and not mention.is_firm:
                yield from (name_dependency(key) for key, _ in name_parts(mention.title))
        for reference in self.references.values():
            yield from map(page_dependency, reference.link.keys)
            if reference.link.name:
                yield name_dependency(reference.link.name)


def _has_given_title(document: Document) -> bool:
    """Whether the document has a title of its own, and not a file name with underscores."""
    title = document.title
    return not ("_" in title and title.lower() == page_stem(document.uri))


def edge_weight(count: int, rule: Rule) -> float:
    """The weight of an edge: grows with the logarithm of the count (3 mentions: 2), times the confidence."""
    return round((1 + math.log(count, 3)) * CONFIDENCE[rule], 3)


def entity_node(project: str, key: str, title: str, type: str) -> Node:
    """The node of an entity."""
    return Node(entity_id(project, key), "Entity", type, clean_title(title) or clean_title(key), 0, 0, "", "", "")
