"""Embedding models in a folder of the user: sentence-transformers models that were exported to ONNX.

The folder has the layout of the Hugging Face hub::

    model.onnx, or onnx/model.onnx     see ``OnnxEncoder``
    tokenizer.json
    1_Pooling/config.json              optional: mean (the default) or cls
    sentence_bert_config.json          optional: max_seq_length, the window in tokens; else that of tokenizer.json,
    tokenizer_config.json              else model_max_length; else 512
    config_sentence_transformers.json  optional: prompts, which are put before queries and passages

A file that is too large, or whose values have other types, is an error: with another prompt or window the vectors
would be others than the model's own.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tokenizers import Tokenizer

from winnow.server.backends.models.installed.table import MIB, EncodingRules, Pooling
from winnow.server.backends.models.model_identity import (
    GRAPHS,
    POOLING,
    PROMPTS,
    TOKENIZER,
    TOKENIZER_CONFIG,
    WINDOW,
    digest,
)
from winnow.server.backends.models.named_embedder import ANSWERS, QUESTIONS, NamedEmbedder
from winnow.server.backends.models.onnx_encoder import OnnxEncoder
from winnow.server.errors import WinnowError
from winnow.server.storage.base import Vector

# Incremented when a change of the computation changes vectors.
_RECIPE = 2
_WINDOW = 512
# Encoders of whole books read 32,768 tokens; a longer window is a mistake, and one text would fill the memory.
_LONGEST_WINDOW = 32_768
# The longest prompts of published models have some 400 characters.
_LONGEST_PROMPT = 2_000
# Configuration files have a few kilobytes, except those of tokenizers with thousands of special tokens; a
# tokenizer of 250,000 pieces has 17 MB.
_CONFIG_BYTES, _TOKENIZER_BYTES = MIB, 128 * MIB
_POOLINGS: Mapping[str, Pooling] = {"cls": "cls", "mean": "mean"}
_MODES: Mapping[str, str] = {"pooling_mode_cls_token": "cls", "pooling_mode_mean_tokens": "mean"}
# The names under which sentence-transformers looks for a prompt, in its order.
_QUERY_PROMPTS, _PASSAGE_PROMPTS = ("query",), ("document", "passage", "corpus")


class OnnxFolder(NamedEmbedder):
    """The model in ``folder``, loaded. Safe to call from several threads.

    Raises ``WinnowError("MODEL_UNAVAILABLE")`` if a file is missing, damaged or needs an unsupported feature.
    """

    def __init__(self, folder: Path) -> None:
        super().__init__(folder.resolve().name)
        graph = next((folder / name for name in GRAPHS if (folder / name).is_file()), None)
        if graph is None or not (folder / TOKENIZER).is_file():
            raise _unusable_model_error(folder, "it needs model.onnx (or onnx/model.onnx) and tokenizer.json")
        tokenizer = _load_tokenizer(folder)
        rules = read_rules(folder, tokenizer)
        files = _digest_files(folder, graph)
        self._encoder = OnnxEncoder(graph, tokenizer, rules)
        self._fingerprint = (
            f"onnx/{self._name}/{files}/{rules.pooling}/{rules.window}{_digest_prompts(rules)}/{_RECIPE}"
        )
        self._measure(self._encoder.embed_queries(QUESTIONS), self._encoder.embed(ANSWERS))

    def embed_queries(self, queries: Sequence[str]) -> Vector:
        """The same for queries, with the folder's prompt for them."""
        return self._encoder.embed_queries(queries) if queries else self.embed(queries)

    def _embed_texts(self, texts: Sequence[str]) -> Vector:
        return self._encoder.embed(texts)


def _digest_files(folder: Path, graph: Path) -> str:
    try:
        return digest([*sorted(graph.parent.glob("model.onnx*")), folder / TOKENIZER])
    except OSError as error:
        name = Path(str(error.filename)).name
        raise _unusable_model_error(folder, f"{name} cannot be read: {error.strerror}") from None


def _digest_prompts(rules: EncodingRules) -> str:
    """The prompts' part of the fingerprint; "" without prompts."""
    prompts = [rules.query_prefix, rules.passage_prefix]
    return f"/{hashlib.sha256(json.dumps(prompts).encode()).hexdigest()[:8]}" if any(prompts) else ""


def read_rules(folder: Path, tokenizer: Tokenizer) -> EncodingRules:
    """The use of the model in the folder, by its configuration files."""
    config = _read_config(folder, PROMPTS)
    query, passage = (_read_prompt(folder, config, names) for names in (_QUERY_PROMPTS, _PASSAGE_PROMPTS))
    pooling = _read_config(folder, POOLING)
    if (query or passage) and pooling.get("include_prompt", True) is not True:
        raise _unusable_model_error(folder, f"{POOLING} leaves the prompt out (include_prompt)")
    window = _read_window(folder, tokenizer)
    tokenizer.no_truncation()  # the encoder sets that of the window
    if any(prompt and len(tokenizer.encode(prompt).ids) >= window for prompt in (query, passage)):
        raise _unusable_model_error(folder, f"a prompt leaves no room in its window of {window} tokens")
    return EncodingRules(_read_pooling(folder, pooling), window, query, passage)


def _read_prompt(folder: Path, config: Mapping[str, Any], names: Sequence[str]) -> str:
    """The first prompt with one of these names, else the default one, else ""."""
    prompts, default = config.get("prompts") or {}, config.get("default_prompt_name")
    if not isinstance(prompts, dict) or not (default is None or isinstance(default, str)):
        raise _unusable_model_error(folder, f"{PROMPTS}: prompts should be an object, default_prompt_name a text")
    prompt = next((prompts[name] for name in (*names, default) if name in prompts), "")
    if not isinstance(prompt, str) or len(prompt) > _LONGEST_PROMPT:
        raise _unusable_model_error(
            folder, f"{PROMPTS}: a prompt should be a text of at most {_LONGEST_PROMPT:,} characters"
        )
    return prompt


def _read_pooling(folder: Path, config: Mapping[str, Any]) -> Pooling:
    asked = {
        mode.removeprefix("pooling_mode_") for mode, is_on in config.items() if is_on is True and "_mode_" in mode
    }
    named = {_MODES[f"pooling_mode_{mode}"] for mode in asked if f"pooling_mode_{mode}" in _MODES}
    if "pooling_mode" in config:
        asked = named = {str(config["pooling_mode"])}
    if not asked:
        return "mean"
    if len(asked) > 1 or not named or not named <= set(_POOLINGS):
        raise _unusable_model_error(
            folder, f"its pooling is {', '.join(sorted(asked))[:200]}; winnow supports mean and cls"
        )
    return _POOLINGS[named.pop()]


def _load_tokenizer(folder: Path) -> Tokenizer:
    path = folder / TOKENIZER
    if path.stat().st_size > _TOKENIZER_BYTES:
        raise _unusable_model_error(folder, f"tokenizer.json has more than {_TOKENIZER_BYTES // MIB} MB")
    try:
        return Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises bare Exception
        raise _unusable_model_error(folder, f"tokenizer.json cannot be read: {str(error)[:200]}") from error


def _read_window(folder: Path, tokenizer: Tokenizer) -> int:
    stated = _read_config(folder, WINDOW).get("max_seq_length")
    if stated is None:
        stated = (tokenizer.truncation or {}).get("max_length")
    if stated is None:
        stated = _read_config(folder, TOKENIZER_CONFIG).get("model_max_length")
        # A tokenizer without a limit states an astronomical number.
        stated = None if isinstance(stated, int | float) and stated > _LONGEST_WINDOW else stated
    if stated is None:
        return _WINDOW
    if type(stated) is not int or not 0 < stated <= _LONGEST_WINDOW:
        raise _unusable_model_error(
            folder, f"its window is {str(stated)[:50]!r}; it should be a number from 1 to {_LONGEST_WINDOW:,}"
        )
    return stated


def _read_config(folder: Path, name: str) -> dict[str, Any]:
    """The object in a configuration file of the folder; empty if there is no such file."""
    path = folder / name
    if not path.exists():
        return {}
    if not path.is_file():  # a pipe would never end
        raise _unusable_model_error(folder, f"{name} is no file")
    try:
        with path.open("rb") as file:
            text = file.read(_CONFIG_BYTES + 1)
        if len(text) > _CONFIG_BYTES:
            raise _unusable_model_error(folder, f"{name} has more than {_CONFIG_BYTES // MIB} MB")
        config = json.loads(text.decode("utf-8"))
    except OSError as error:
        raise _unusable_model_error(folder, f"{name} cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise _unusable_model_error(folder, f"{name} is not JSON: {error}") from None
    if not isinstance(config, dict):
        raise _unusable_model_error(folder, f"{name} is no JSON object")
    return config


def _unusable_model_error(folder: Path, why: str) -> WinnowError:
    return WinnowError("MODEL_UNAVAILABLE", f"the model in {folder} cannot be used: {why}")
