"""Co-occurrence edges: entities that chunks mention together more often than by chance. Pure.

The weight is the positive pointwise mutual information (PPMI) of two entities over chunks,
log2(n * joint / (first * second)), times the discount of Pantel & Lin (2002),
joint / (joint + 1) * least / (least + 1), where least is the lesser of first and second: without it the rarest
names have the heaviest edges. n is the number of chunks rounded to two significant figures, so that a new file
does not move every weight.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from winnow.server.retrieval.graph.csr_graph import Floats, Ints, concatenate_ranges
from winnow.server.retrieval.graph.merged_graph import EDGE_DTYPE
from winnow.server.retrieval.graph.records import DERIVED, EDGE_TYPES, MAX_EVIDENCE

# One shared chunk is chance: with such pairs, the rarest names would have the heaviest edges.
_LEAST_SHARED_CHUNKS = 2
# The heaviest entities of a chunk count: 32 make 496 pairs.
_MAX_ENTITIES_PER_CHUNK = 32
# The strongest edges of an entity are kept, so that no entity becomes a hub by being common.
_MAX_EDGES_PER_ENTITY = 32


def derive_edges(chunk: Ints, entity: Ints, weight: Floats, chunks: int) -> tuple[NDArray[np.void], Ints]:
    """Derive the edges (``EDGE_DTYPE``, source before target) and their evidence from mentions.

    ``chunk``, ``entity`` and ``weight`` are parallel, ids as numbers; ``chunks`` is the number of all chunks.
    """
    order = np.lexsort((-weight, entity, chunk))
    chunk, entity, weight = chunk[order], entity[order], weight[order]
    is_first = (np.diff(chunk, prepend=-1) != 0) | (np.diff(entity, prepend=-1) != 0)
    chunk, entity, weight = chunk[is_first], entity[is_first], weight[is_first]
    names, entity = np.unique(entity, return_inverse=True)
    frequency = np.bincount(entity, minlength=len(names))
    pair, shared_chunk, score = _list_pairs(chunk, entity, weight, len(names))
    order = np.lexsort((shared_chunk, -score, pair))
    pair, shared_chunk = pair[order], shared_chunk[order]
    start = np.flatnonzero(np.diff(pair, prepend=-1))
    joint = np.diff(np.append(start, len(pair)))
    first, second = pair[start] // len(names), pair[start] % len(names)
    least = np.minimum(frequency[first], frequency[second])
    discount = joint / (joint + 1) * (least / (least + 1))
    information = np.log2(_round_count(chunks) * joint / (frequency[first] * frequency[second]))
    weights = np.round(information * discount, 3)
    kept = np.flatnonzero(weights > 0)
    kept = kept[_select_strongest(first[kept], second[kept], weights[kept], joint[kept])]
    edges = np.zeros(len(kept), EDGE_DTYPE)
    edges["source"], edges["target"] = names[first[kept]], names[second[kept]]
    edges["type"] = EDGE_TYPES.index(DERIVED)
    edges["weight"] = weights[kept]
    edges["confidence"] = np.round(joint[kept] / least[kept], 3)
    edges["evidence_count"] = np.minimum(joint[kept], MAX_EVIDENCE)
    return edges, shared_chunk[concatenate_ranges(start[kept], edges["evidence_count"].astype(np.int64))]


def _list_pairs(chunk: Ints, entity: Ints, weight: Floats, names: int) -> tuple[Ints, Ints, Floats]:
    """List the pairs of entities that share two chunks or more, once for each chunk.

    The pair is one number, lesser * names + greater; with the chunk and the weight of the weaker mention.
    """
    order = np.lexsort((entity, -weight, chunk))
    chunk, entity, weight = chunk[order], entity[order], weight[order]
    start = np.flatnonzero(np.diff(chunk, prepend=-1))
    length = np.minimum(np.diff(np.append(start, len(chunk))), _MAX_ENTITIES_PER_CHUNK)
    place = concatenate_ranges(start, length)
    chunk, entity, weight = chunk[place], entity[place], weight[place]
    lefts = [_pairs_at_distance(chunk, distance) for distance in range(1, _MAX_ENTITIES_PER_CHUNK)]
    left = np.concatenate(lefts)
    right = np.concatenate([places + distance for distance, places in enumerate(lefts, 1)])
    pair = np.minimum(entity[left], entity[right]) * names + np.maximum(entity[left], entity[right])
    _, place, shared = np.unique(pair, return_inverse=True, return_counts=True)
    kept = np.flatnonzero(shared[place] >= _LEAST_SHARED_CHUNKS)
    return pair[kept], chunk[left[kept]], np.minimum(weight[left[kept]], weight[right[kept]])


def _pairs_at_distance(chunk: Ints, distance: int) -> Ints:
    return np.flatnonzero(chunk[:-distance] == chunk[distance:])


def _round_count(count: int) -> int:
    step: int = 10 ** max(len(str(count)) - 2, 0)
    return round(count / step) * step


def _select_strongest(first: Ints, second: Ints, weights: Floats, joint: Ints) -> Ints:
    """The positions of the edges that are among the strongest of both their ends."""
    places = np.arange(len(first))
    rank = np.zeros(len(first), np.int64)
    ends = np.concatenate([first, second])
    order = np.lexsort((np.tile(places, 2), -np.tile(joint, 2), -np.tile(weights, 2), ends))
    start = np.flatnonzero(np.diff(ends[order], prepend=-1))
    length = np.diff(np.append(start, len(order)))
    within = np.arange(len(order)) - np.repeat(start, length)
    np.maximum.at(rank, np.tile(places, 2)[order], within)
    return np.flatnonzero(rank < _MAX_EDGES_PER_ENTITY)
