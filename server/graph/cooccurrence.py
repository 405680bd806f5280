"""Which entities are named together more often than chance would have it: the derived edges of a graph. Pure.

The weight is the positive pointwise mutual information of two entities over chunks,
log2(n * both / (one * other)), times the discount of Pantel & Lin (2002), both / (both + 1) * least / (least + 1),
where least is the lesser of one and other: without it the rarest names are tied most strongly. n is the number of
chunks rounded to two significant figures, so that a new file does not move every weight.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from server.graph.csr_graph import Floats, Ints, concatenate_ranges
from server.graph.merged_graph import EDGE_DTYPE
from server.graph.records import DERIVED, EDGE_TYPES, MAX_EVIDENCE

# Seen together once is chance: with pairs that share one chunk, the rarest names would be tied most strongly.
_LEAST_SHARED_CHUNKS = 2
# Of one chunk the heaviest entities count: 32 make 496 pairs.
_MAX_ENTITIES_PER_CHUNK = 32
# Edges that one entity keeps, so that no entity becomes a hub by being common.
_MAX_EDGES_PER_ENTITY = 32


def derive_edges(chunk: Ints, entity: Ints, weight: Floats, chunks: int) -> tuple[NDArray[np.void], Ints]:
    """Edges (see ``parts.EDGE``, source before target) and their evidence, from mentions.

    ``chunk``, ``entity`` and ``weight`` are parallel, ids as numbers; ``chunks`` is how many there are in all.
    """
    order = np.lexsort((-weight, entity, chunk))
    chunk, entity, weight = chunk[order], entity[order], weight[order]
    once = (np.diff(chunk, prepend=-1) != 0) | (np.diff(entity, prepend=-1) != 0)
    chunk, entity, weight = chunk[once], entity[once], weight[once]
    names, entity = np.unique(entity, return_inverse=True)
    seen = np.bincount(entity, minlength=len(names))
    pair, where, score = _count_pairs(chunk, entity, weight, len(names))
    order = np.lexsort((where, -score, pair))
    pair, where = pair[order], where[order]
    first = np.flatnonzero(np.diff(pair, prepend=-1))
    both = np.diff(np.append(first, len(pair)))
    one, other = pair[first] // len(names), pair[first] % len(names)
    least = np.minimum(seen[one], seen[other])
    discount = both / (both + 1) * (least / (least + 1))
    bits = np.round(np.log2(_round_count(chunks) * both / (seen[one] * seen[other])) * discount, 3)
    kept = np.flatnonzero(bits > 0)
    kept = kept[_select_strongest(one[kept], other[kept], bits[kept], both[kept])]
    edges = np.zeros(len(kept), EDGE_DTYPE)
    edges["source"], edges["target"] = names[one[kept]], names[other[kept]]
    edges["type"] = EDGE_TYPES.index(DERIVED)
    edges["weight"] = bits[kept]
    edges["confidence"] = np.round(both[kept] / least[kept], 3)
    edges["shown"] = np.minimum(both[kept], MAX_EVIDENCE)
    return edges, where[concatenate_ranges(first[kept], edges["shown"].astype(np.int64))]


def _count_pairs(chunk: Ints, entity: Ints, weight: Floats, names: int) -> tuple[Ints, Ints, Floats]:
    """Every two entities that share two chunks or more, once for each chunk.

    The pair as one number, lesser * names + greater; the chunk; the weight of the lesser mention.
    """
    order = np.lexsort((entity, -weight, chunk))
    chunk, entity, weight = chunk[order], entity[order], weight[order]
    start = np.flatnonzero(np.diff(chunk, prepend=-1))
    length = np.minimum(np.diff(np.append(start, len(chunk))), _MAX_ENTITIES_PER_CHUNK)
    place = concatenate_ranges(start, length)
    chunk, entity, weight = chunk[place], entity[place], weight[place]
    apart = [_pairs_at_distance(chunk, distance) for distance in range(1, _MAX_ENTITIES_PER_CHUNK)]
    left = np.concatenate(apart)
    right = np.concatenate([at + distance for distance, at in enumerate(apart, 1)])
    pair = np.minimum(entity[left], entity[right]) * names + np.maximum(entity[left], entity[right])
    _, place, shared = np.unique(pair, return_inverse=True, return_counts=True)
    kept = np.flatnonzero(shared[place] >= _LEAST_SHARED_CHUNKS)
    return pair[kept], chunk[left[kept]], np.minimum(weight[left[kept]], weight[right[kept]])


def _pairs_at_distance(chunk: Ints, distance: int) -> Ints:
    return np.flatnonzero(chunk[:-distance] == chunk[distance:])


def _round_count(count: int) -> int:
    step: int = 10 ** max(len(str(count)) - 2, 0)
    return round(count / step) * step


def _select_strongest(one: Ints, other: Ints, bits: Floats, both: Ints) -> Ints:
    """The places of the edges that are among the strongest of either end's."""
    places = np.arange(len(one))
    rank = np.zeros(len(one), np.int64)
    ends = np.concatenate([one, other])
    order = np.lexsort((np.tile(places, 2), -np.tile(both, 2), -np.tile(bits, 2), ends))
    start = np.flatnonzero(np.diff(ends[order], prepend=-1))
    length = np.diff(np.append(start, len(order)))
    within = np.arange(len(order)) - np.repeat(start, length)
    np.maximum.at(rank, np.tile(places, 2)[order], within)
    return np.flatnonzero(rank < _MAX_EDGES_PER_ENTITY)
