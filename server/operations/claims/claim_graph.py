"""The notebook of a caller as a part of the graph: entries and claims as nodes, read when a walk comes near them.

    claim    PART_OF      its entry
    claim    SUPPORTS     a passage with a verified quote that supports it; REFUTES where the quote is against it
    claim    CONTRADICTS  a claim of another entry, where the latest verdict on the two says so
    entry    SIMILAR      an entry that it was compared with, and that is about the same

Nothing of it is written into the graph, which all clients of a project share: each call reads what its caller may
see, at most ``MAX_ENTRIES`` entries. Passages are nodes of the shared graph, and only those that the caller sees.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence

from winnow.server.claims.friction import contradictions
from winnow.server.claims.records import Claim, Comparison, Entry, entry_of
from winnow.server.operations.claims.notebooks import OpenNotebook
from winnow.server.operations.claims.reading import SIMILAR_ENTROPY
from winnow.server.retrieval.graph.base import MAX_NODES
from winnow.server.retrieval.graph.records import NOTEBOOK_EDGE_TYPES, TITLE_CHARS, Edge, EdgeType, Label, Node
from winnow.server.text.printable import one_line

MAX_ENTRIES = 50  # of one call
_MOST_CITING = 20  # claims of one passage
_ENTRY, _CLAIM = "entry:", "claim:"
# "claim:ENTRY.N", "entry:ENTRY", and the same as rows of the tools of claims have them.
_NAME = re.compile(r"(?:entry:)?(?P<entry>[0-9a-v]{12})|(?:claim:)?(?P<claim>[0-9a-v]{12}\.[1-9][0-9]{0,5})")
_OF_STANCE: Mapping[str, EdgeType] = {"supports": "SUPPORTS", "refutes": "REFUTES"}
CLAIM_EDGES = frozenset(NOTEBOOK_EDGE_TYPES)

FindNodes = Callable[[Sequence[str]], Mapping[str, Node]]


def is_of_notebook(id: str) -> bool:
    """Whether this is the id of an entry or a claim, as opposed to one of the shared graph."""
    return id.startswith((_ENTRY, _CLAIM))


def is_claim_name(name: str) -> bool:
    """Whether an entry or a claim may have this name."""
    return _NAME.fullmatch(name) is not None


class ClaimGraph:
    """The entries and claims of a notebook that were read so far. ``find`` finds nodes of the shared graph."""

    def __init__(self, book: OpenNotebook, find: FindNodes) -> None:
        self._book = book
        self._find = find
        self._entries: dict[str, Entry | None] = {}  # None: there is none that the caller may see
        self._passages: dict[str, Node | None] = {}
        self._edges: dict[str, list[Edge]] = {}
        self.is_cut = False  # more entries were near than one call reads

    def counts(self) -> dict[Label, int]:
        """The numbers of entries and claims, by label."""
        counts = self._book.store.counts(self._book.everything)
        return {"Entry": counts.entries, "Claim": counts.claims}

    def nodes(self, ids: Iterable[str]) -> dict[str, Node]:
        """The entries and claims with these names, by name."""
        named = {id: match for id in ids if (match := _NAME.fullmatch(id))}
        self._read(entry_of(match["claim"] or match["entry"]) for match in named.values())
        found = {}
        for id, match in named.items():
            entry = self._entries.get(entry_of(match["claim"] or match["entry"]))
            if entry is not None and match["claim"] is None:
                found[id] = _entry_node(entry)
            elif entry is not None:
                claim = next((each for each in entry.claims if each.id == match["claim"]), None)
                found |= {id: _claim_node(claim)} if claim else {}
        return found

    def edges_of(self, ids: Sequence[str]) -> list[tuple[Edge, Node]]:
        """The edges of these nodes within the notebook and into it, each with the node at its other end."""
        passages = [id for id in ids if not is_of_notebook(id)]
        citing = self._book.store.citing(self._book.view, passages, _MOST_CITING) if passages else []
        self.is_cut |= any(each.total > _MOST_CITING for each in citing)
        own = [entry_of(id.partition(":")[2]) for id in ids if is_of_notebook(id)]
        near = dict.fromkeys([*own, *(entry_of(each.claim_id) for each in citing)])
        self._read(near)
        edges = [edge for entry in near for edge in self._of(entry)]
        wanted = set(ids)
        touching = {
            (edge.source, edge.target, edge.type): edge for edge in edges if {edge.source, edge.target} & wanted
        }
        known = self._ends(touching.values())
        pairs = []
        for edge in touching.values():
            for here, there in ((edge.source, edge.target), (edge.target, edge.source)):
                if here in wanted and here in known and there in known:
                    pairs.append((edge, known[there]))
        return sorted(pairs, key=lambda pair: (-pair[0].weight, pair[1].title, pair[1].id, pair[0].type))

    def passages_of(self, node: Node, most: int) -> list[str]:
        """The passages that a claim, or a claim of an entry, cites: those that support it first."""
        entry = self._entries.get(entry_of(node.id.partition(":")[2]))
        claims = (
            [] if entry is None else [each for each in entry.claims if node.id in (_of(each), _ENTRY + entry.id)]
        )
        stances = [(edge.type, edge.target) for claim in claims for edge in _cited(claim)]
        ids = dict.fromkeys(id for _, id in sorted(stances, key=lambda pair: pair[0] != "SUPPORTS"))
        return [id for id in ids if id in self._seen(list(ids))][:most]

    def _of(self, entry_id: str) -> list[Edge]:
        """All edges of an entry and its claims; none for an entry that was not read."""
        entry = self._entries.get(entry_id)
        if entry is not None and entry_id not in self._edges:
            self._edges[entry_id] = self._find_edges(entry)
        return self._edges.get(entry_id, [])

    def _find_edges(self, entry: Entry) -> list[Edge]:
        verdicts = self._book.store.verdicts([entry.id])
        opposed = {tuple(sorted(pair)) for pair in contradictions(verdicts)}
        similar = [each for each in self._book.comparisons_of(entry) if each.entropy <= SIMILAR_ENTROPY]
        return [
            *(Edge(_of(claim), _ENTRY + entry.id, "PART_OF") for claim in entry.claims),
            *(edge for claim in entry.claims for edge in _cited(claim)),
            *(Edge(_CLAIM + first, _CLAIM + second, "CONTRADICTS") for first, second in sorted(opposed)),
            *(_similar(each) for each in similar),
        ]

    def _read(self, entry_ids: Iterable[str]) -> None:
        """Read entries, as many as one call reads."""
        new = [id for id in dict.fromkeys(entry_ids) if id not in self._entries]
        left = MAX_ENTRIES - len(self._entries)
        self.is_cut |= len(new) > left
        found = self._book.store.read(self._book.everything, new[:left]) if new[:left] else {}
        self._entries |= {id: found.get(id) for id in new[:left]}

    def _ends(self, edges: Iterable[Edge]) -> dict[str, Node]:
        """The nodes at the ends of these edges that the caller sees."""
        ids = dict.fromkeys(end for edge in edges for end in (edge.source, edge.target))
        shared = self._seen([id for id in ids if not is_of_notebook(id)])
        return {**shared, **self.nodes(id for id in ids if is_of_notebook(id))}

    def _seen(self, passage_ids: Sequence[str]) -> dict[str, Node]:
        new = [id for id in passage_ids if id not in self._passages]
        for start in range(0, len(new), MAX_NODES):
            part = new[start : start + MAX_NODES]
            found = self._find(part)
            self._passages |= {id: found.get(id) for id in part}
        return {id: node for id in passage_ids if (node := self._passages[id]) is not None}


def _of(claim: Claim) -> str:
    return _CLAIM + claim.id


def _entry_node(entry: Entry) -> Node:
    title = one_line(entry.title or entry.topic, TITLE_CHARS)
    return Node(_ENTRY + entry.id, "Entry", "entry", title)


def _claim_node(claim: Claim) -> Node:
    return Node(_of(claim), "Claim", "claim", one_line(claim.text, TITLE_CHARS))


def _cited(claim: Claim) -> list[Edge]:
    """The edges to the passages in which a quote for or against the claim was verified."""
    cited = {
        (each.passage_id, _OF_STANCE[each.stance]): None
        for each in claim.evidence
        if each.status == "verified" and each.passage_id and each.stance in _OF_STANCE
    }
    return [Edge(_of(claim), id, type, 1.0, claim.confidence, (id,)) for id, type in cited]


def _similar(comparison: Comparison) -> Edge:
    first, second = sorted((comparison.entry_id, comparison.other_id))
    return Edge(_ENTRY + first, _ENTRY + second, "SIMILAR", 1 - comparison.entropy)
