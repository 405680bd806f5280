"""Embedding models by setting (a local ONNX folder, an endpoint, fastembed), and the order of texts at a model."""

from __future__ import annotations

import importlib.util
import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.patience import LIMIT
from tests.tiny_models import TABLE, WORDS, write_model
from winnow.server.backends.models.embedders import LazyEmbedder, install_model, load_embedder
from winnow.server.backends.models.embedding_scheduler import FEW, EmbeddingScheduler, PriorityGate
from winnow.server.backends.models.model_identity import embedder_of
from winnow.server.backends.models.named_embedder import ANSWERS, QUESTIONS, languages_of, measure_scale
from winnow.server.backends.models.onnx_folder import OnnxFolder
from winnow.server.backends.models.openai_api import AT_ONCE, OpenAIEndpoint
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings


def unit(vector: Any) -> Any:
    return vector / np.linalg.norm(vector)


def test_a_folder_without_a_word_on_pooling_means_the_mean(tmp_path: Path) -> None:
    model = OnnxFolder(write_model(tmp_path / "model"))
    vectors = model.embed(["proxy gateway backup", "policy", "proxy nonsense"])
    expected = [unit(TABLE[1:4].mean(axis=0)), unit(TABLE[4]), unit(TABLE[[1, 0]].mean(axis=0))]
    assert vectors == pytest.approx(np.stack(expected), abs=1e-6)
    assert (model.dimension, model.languages, vectors.dtype) == (6, None, np.float32)


@pytest.mark.parametrize("pooling", [{"pooling_mode_cls_token": True}, {"pooling_mode": "cls"}])
def test_a_folder_that_says_cls_gives_the_first_token(tmp_path: Path, pooling: dict[str, Any]) -> None:
    model = OnnxFolder(write_model(tmp_path / "model", **{"1_Pooling__config": pooling}))
    assert model.embed(["gateway proxy"])[0] == pytest.approx(unit(TABLE[2]), abs=1e-6)


def test_the_window_is_the_folders_own(tmp_path: Path) -> None:
    model = OnnxFolder(write_model(tmp_path / "model", sentence_bert_config={"max_seq_length": 2}))
    assert model.embed(["proxy gateway backup"])[0] == pytest.approx(unit(TABLE[1:3].mean(axis=0)), abs=1e-6)


def test_a_text_has_the_same_vector_in_an_ingest_and_in_a_query(tmp_path: Path) -> None:
    model = OnnxFolder(write_model(tmp_path / "model"))
    texts = [" ".join([WORDS[at % 5], *WORDS[1 : at % 4 + 1]]) for at in range(3 * FEW)]
    alone = np.stack([model.embed([text])[0] for text in texts])
    assert np.array_equal(model.embed(texts), alone)
    assert model.embed([]).shape == (0, 6)


def test_the_fingerprint_is_that_of_the_bytes_and_of_what_is_done_with_them(tmp_path: Path) -> None:
    kinds = {
        OnnxFolder(write_model(tmp_path / name / "model", table, **files)).fingerprint
        for name, table, files in (
            ("a", TABLE, {}),
            ("same", TABLE, {}),
            ("other weights", TABLE + 1, {}),
            ("cls", TABLE, {"1_Pooling__config": {"pooling_mode": "cls"}}),
            ("window", TABLE, {"sentence_bert_config": {"max_seq_length": 3}}),
            ("query", TABLE, {"config_sentence_transformers": {"prompts": {"query": "proxy "}}}),
            ("passage", TABLE, {"config_sentence_transformers": {"prompts": {"passage": "proxy "}}}),
        )
    }
    assert len(kinds) == 6  # "a" and "same" are one


def test_the_scale_is_the_mean_cosine_of_questions_with_others_answers_and_with_their_own() -> None:
    questions = np.array([[1.0, 0.0], [0.6, 0.8]], dtype=np.float32)
    answers = np.array([[0.8, 0.6], [0.0, 1.0]], dtype=np.float32)
    assert measure_scale(questions, answers) == ((0.0 + 0.96) / 2, 0.8)
    assert measure_scale(questions, -answers) == (0.0, -0.8)


def test_a_background_below_a_tenth_is_none() -> None:
    questions = np.eye(2, dtype=np.float32)
    nearly = np.array([[0.99, 0.09], [0.09, 0.99]], dtype=np.float32)
    assert measure_scale(questions, nearly) == (0.0, 0.99)


def test_a_folders_scale_is_measured_when_it_is_loaded(tmp_path: Path) -> None:
    model = OnnxFolder(write_model(tmp_path / "model"))
    expected = measure_scale(model.embed_queries(QUESTIONS), model.embed(ANSWERS))
    assert (model.background, model.related) == expected


PROMPTS: dict[str, Any] = {"query": "proxy ", "passage": "policy ", "other": "backup "}


@pytest.mark.parametrize(
    ("config", "query", "passage"),
    [
        ({"prompts": PROMPTS}, [1, 2], [4, 2]),
        ({"prompts": PROMPTS | {"document": "backup "}}, [1, 2], [3, 2]),
        ({"prompts": PROMPTS, "default_prompt_name": "other"}, [1, 2], [4, 2]),
        ({"prompts": {"other": "backup "}, "default_prompt_name": "other"}, [3, 2], [3, 2]),
        ({"prompts": {"other": "backup "}}, [2], [2]),
        ({"prompts": {"query": "", "document": ""}, "default_prompt_name": None}, [2], [2]),
        ({"prompts": None}, [2], [2]),
        ({}, [2], [2]),
    ],
)
def test_a_folders_prompts_stand_before_queries_and_passages(
    tmp_path: Path, config: dict[str, Any], query: list[int], passage: list[int]
) -> None:
    model = OnnxFolder(write_model(tmp_path / "model", config_sentence_transformers=config))
    assert model.embed_queries(["gateway"])[0] == pytest.approx(unit(TABLE[query].mean(axis=0)), abs=1e-6)
    assert model.embed(["gateway"])[0] == pytest.approx(unit(TABLE[passage].mean(axis=0)), abs=1e-6)
    assert model.embed_queries([]).shape == (0, 6)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"tokenizer_config": {"model_max_length": 2}}, 2),
        ({"tokenizer_config": {"model_max_length": 2}, "sentence_bert_config": {"max_seq_length": 1}}, 1),
        ({"tokenizer_config": {"model_max_length": 1000000000000000019884624838656}}, 3),
        ({"tokenizer_config": {}, "sentence_bert_config": {"max_seq_length": None}}, 3),
    ],
)
def test_the_window_is_that_of_sentence_transformers_or_else_the_tokenizers(
    tmp_path: Path, files: dict[str, Any], words: int
) -> None:
    model = OnnxFolder(write_model(tmp_path / "model", **files))
    expected = unit(TABLE[1 : words + 1].mean(axis=0))
    assert model.embed(["proxy gateway backup"])[0] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("config_sentence_transformers.json", '{"prompts": ["query: "]}', "prompts should be an object"),
        ("config_sentence_transformers.json", '{"default_prompt_name": 1}', "default_prompt_name a text"),
        ("config_sentence_transformers.json", '{"prompts": {"query": 7}}', "a prompt should be a text"),
        ("config_sentence_transformers.json", '{"prompts": {"query": null}}', "a prompt should be a text"),
        (
            "config_sentence_transformers.json",
            json.dumps({"prompts": {"document": "x" * 2001}}),
            "at most 2,000 characters",
        ),
        ("config_sentence_transformers.json", "[]", "config_sentence_transformers.json is no JSON object"),
        ("config_sentence_transformers.json", " " * (1 << 20) + "{}", "has more than 1 MB"),
        ("1_Pooling/config.json", "[" * 200_000, "1_Pooling/config.json is not JSON"),
        ("1_Pooling/config.json", '{"pooling_mode": ["cls"]}', "its pooling is ['cls']"),
        ("1_Pooling/config.json", "\xff", "1_Pooling/config.json is not JSON"),
        ("sentence_bert_config.json", '{"max_seq_length": "512"}', "its window is '512'"),
        ("sentence_bert_config.json", '{"max_seq_length": true}', "its window is 'True'"),
        ("sentence_bert_config.json", '{"max_seq_length": 0}', "its window is '0'"),
        ("sentence_bert_config.json", '{"max_seq_length": 1e9}', "from 1 to 32,768"),
        ("tokenizer_config.json", '{"model_max_length": -1}', "its window is '-1'"),
        ("tokenizer.json", "{}", "tokenizer.json cannot be read"),
    ],
)
def test_a_folder_with_a_hostile_file_says_which_and_why(
    tmp_path: Path, name: str, content: str, why: str
) -> None:
    path = write_model(tmp_path / "model") / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(WinnowError) as caught:
        OnnxFolder(tmp_path / "model")
    assert (caught.value.reason, why in caught.value.message) == ("MODEL_UNAVAILABLE", True), caught.value.message
    assert len(caught.value.message) < 1000


def test_a_folder_whose_pooling_leaves_out_the_prompt_is_refused(tmp_path: Path) -> None:
    files = {
        "1_Pooling__config": {"pooling_mode": "mean", "include_prompt": False},
        "config_sentence_transformers": {"prompts": {"query": "proxy "}},
    }
    with pytest.raises(WinnowError, match="include_prompt"):
        OnnxFolder(write_model(tmp_path / "model", **files))


def test_a_prompt_that_fills_the_window_is_refused(tmp_path: Path) -> None:
    files: dict[str, Any] = {"config_sentence_transformers": {"prompts": {"query": "proxy policy "}}}
    roomy = OnnxFolder(write_model(tmp_path / "roomy", **files, sentence_bert_config={"max_seq_length": 3}))
    assert roomy.embed_queries(["gateway"]) == pytest.approx(unit(TABLE[[1, 4, 2]].mean(axis=0))[None], abs=1e-6)
    with pytest.raises(WinnowError, match="a prompt leaves no room in its window of 2 tokens"):
        OnnxFolder(write_model(tmp_path / "full", **files, sentence_bert_config={"max_seq_length": 2}))


def test_a_configuration_that_is_a_pipe_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(write_model(tmp_path / "model") / "sentence_bert_config.json")
    with pytest.raises(WinnowError, match=r"sentence_bert_config\.json is no file"):
        OnnxFolder(tmp_path / "model")


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir, lambda path: path.symlink_to("/dev/zero")])
def test_external_data_that_is_no_file_is_not_read(tmp_path: Path, make: Callable[[Path], None]) -> None:
    folder = write_model(tmp_path / "model")
    make(folder / "model.onnx_data")
    with pytest.raises(WinnowError, match=r"model\.onnx_data cannot be read: it is no file"):
        OnnxFolder(folder)
    assert embedder_of(load_settings(embedder=f"onnx:{folder}")) == f"onnx:model/{folder}"


@pytest.mark.parametrize("value", [0.0, np.nan])
def test_a_model_whose_vectors_have_no_direction_is_refused(tmp_path: Path, value: float) -> None:
    folder = write_model(tmp_path / "model", np.full_like(TABLE, value))
    with pytest.raises(WinnowError, match="its vectors are zero or not finite"):
        OnnxFolder(folder)


def test_a_huge_tokenizer_is_not_read(tmp_path: Path) -> None:
    with (write_model(tmp_path / "model") / "tokenizer.json").open("r+b") as file:
        file.truncate((128 << 20) + 1)
    with pytest.raises(WinnowError, match=r"tokenizer\.json has more than 128 MB"):
        OnnxFolder(tmp_path / "model")


def test_a_folder_that_cannot_be_used_says_what_it_lacks(tmp_path: Path) -> None:
    with pytest.raises(WinnowError, match=r"needs model\.onnx") as caught:
        OnnxFolder(tmp_path)
    assert caught.value.reason == "MODEL_UNAVAILABLE"
    with pytest.raises(WinnowError, match="its pooling is max_tokens"):
        OnnxFolder(write_model(tmp_path / "max", **{"1_Pooling__config": {"pooling_mode_max_tokens": True}}))


@pytest.mark.parametrize(
    ("name", "languages"),
    [
        ("BAAI/bge-small-en-v1.5", {"en"}),
        ("sentence-transformers/all-MiniLM-L6-v2", {"en"}),
        ("intfloat/multilingual-e5-small", None),
        ("open-encoder", None),
    ],
)
def test_a_name_tells_english_or_nothing(name: str, languages: set[str] | None) -> None:
    assert languages_of(name) == languages


# --- an endpoint


@dataclass
class Endpoint:
    """A test endpoint: the statuses other than 200 to answer with, once each, and the requests it received."""

    url: str = ""
    ill: list[int] = field(default_factory=list)
    short_by: int = 0
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)


def letters(text: str) -> list[float]:
    return [1.0 + text.count(letter) for letter in "aeiou"]


@pytest.fixture(scope="module")
def serving() -> Iterator[Endpoint]:
    endpoint = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            endpoint.asked.append(body | {"path": self.path})
            endpoint.keys.append(self.headers["Authorization"])
            status = endpoint.ill.pop(0) if endpoint.ill else 200
            rows = [{"index": at, "embedding": letters(text)} for at, text in enumerate(body["input"])]
            rows = rows[: len(rows) - endpoint.short_by][::-1]  # in any order: the index counts
            payload = json.dumps({"data": rows}).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, format: str, *args: Any) -> None:
            """Nothing on stderr."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    endpoint.url = f"http://127.0.0.1:{server.server_port}/v1"
    yield endpoint
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def endpoint(serving: Endpoint) -> Endpoint:
    serving.ill, serving.short_by, serving.asked, serving.keys = [], 0, [], []
    return serving


def open_endpoint(endpoint: Endpoint) -> OpenAIEndpoint:
    return OpenAIEndpoint(endpoint.url, "letters", "a-key", pause_seconds=0.001)


def test_an_endpoint_gives_unit_vectors_in_the_order_of_the_texts(endpoint: Endpoint) -> None:
    model = open_endpoint(endpoint)
    texts = [f"{'a' * (at % 7)}{'o' * (at % 5)} {at}" for at in range(AT_ONCE + 9)]
    assert model.embed(texts) == pytest.approx(np.stack([unit(letters(text)) for text in texts]), abs=1e-6)
    assert [len(asked["input"]) for asked in endpoint.asked] == [len(QUESTIONS) + len(ANSWERS), AT_ONCE, 9]
    assert {(asked["path"], asked["model"]) for asked in endpoint.asked} == {("/v1/embeddings", "letters")}
    assert set(endpoint.keys) == {"Bearer a-key"}
    assert (model.dimension, model.fingerprint) == (5, "openai/letters/5")
    questions, answers = (np.stack([unit(letters(text)) for text in texts]) for texts in (QUESTIONS, ANSWERS))
    assert (model.background, model.related) == measure_scale(questions, answers)


def test_an_endpoint_that_is_busy_is_asked_again_and_a_query_once(endpoint: Endpoint) -> None:
    model = open_endpoint(endpoint)
    endpoint.ill = [503, 429, 500]
    assert len(model.embed(["a"] * (FEW + 1))) == FEW + 1
    endpoint.ill, endpoint.asked = [503, 503, 503], []
    with pytest.raises(WinnowError, match="503") as caught:
        model.embed(["a query"])
    assert (caught.value.reason, caught.value.retryable, len(endpoint.asked)) == ("MODEL_UNAVAILABLE", True, 2)


def test_an_endpoint_that_refuses_the_key_is_not_asked_again(endpoint: Endpoint) -> None:
    model = open_endpoint(endpoint)
    endpoint.ill, endpoint.asked = [401], []
    with pytest.raises(WinnowError, match=r"401.*check the settings") as caught:
        model.embed(["a"] * (FEW + 1))
    assert (caught.value.retryable, len(endpoint.asked)) == (False, 1)
    assert "a-key" not in caught.value.message


def test_an_endpoint_that_answers_for_fewer_texts_is_not_believed(endpoint: Endpoint) -> None:
    model = open_endpoint(endpoint)
    endpoint.short_by = 1
    with pytest.raises(WinnowError, match=r"shape \(2, 5\), not \(3, 5\)"):
        model.embed(["a", "b", "c"])


def test_an_endpoint_is_chosen_by_a_setting_and_its_key_is_one(endpoint: Endpoint) -> None:
    source = LazyEmbedder(load_settings(embedder=f"openai:{endpoint.url}#letters", embedder_key="of the setting"))
    model = source.wait()
    assert (source.state, model and model.dimension, endpoint.keys) == ("ready", 5, ["Bearer of the setting"])


def test_an_endpoint_that_was_away_at_the_start_is_asked_again(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("winnow.server.backends.models.embedders._AGAIN_SECONDS", 0.0)
    endpoint.ill = [503, 503]
    source = LazyEmbedder(load_settings(embedder=f"openai:{endpoint.url}#letters"))
    assert (source.wait(), source.state) == (None, "missing")
    source.start()
    assert source._thread
    source._thread.join()
    assert (source.state, source.why, source.ready() is not None) == ("ready", "", True)


# --- the choice of a model


def test_a_folder_is_chosen_by_a_setting(tmp_path: Path) -> None:
    model = load_embedder(load_settings(embedder=f"onnx:{write_model(tmp_path / 'mine')}"))
    assert model.fingerprint.startswith("onnx/mine/")


@pytest.mark.parametrize(
    "wrong", ["word2vec", "fastembed:", "openai:ftp://host#model", "openai:http://host", "onnx:"]
)
def test_a_model_of_no_known_kind_is_a_usage_error(wrong: str) -> None:
    with pytest.raises(WinnowError, match="embedder: should be minilm") as caught:
        load_settings(embedder=wrong)
    assert caught.value.reason == "INVALID_REQUEST"


@pytest.mark.skipif(importlib.util.find_spec("fastembed") is not None, reason="fastembed is installed")
def test_without_fastembed_its_models_say_how_to_install_it(tmp_path: Path) -> None:
    source = LazyEmbedder(load_settings(models=tmp_path, embedder="fastembed:BAAI/bge-small-en-v1.5"))
    assert (source.wait(), source.state, source.why) == (
        None,
        "missing",
        "fastembed is not installed; run: pip install fastembed",
    )


@pytest.mark.skipif(importlib.util.find_spec("fastembed") is None, reason="fastembed is not installed")
def test_fastembed_loads_what_is_there_and_asks_no_network(tmp_path: Path) -> None:
    source = LazyEmbedder(load_settings(models=tmp_path, embedder="fastembed:BAAI/bge-small-en-v1.5"))
    assert source.wait() is None
    assert "run: winnow model install --embedder fastembed:BAAI/bge-small-en-v1.5" in source.why


@pytest.mark.skipif(importlib.util.find_spec("fastembed") is None, reason="fastembed is not installed")
def test_fastembed_gives_the_vectors_of_the_files_that_are_there(tmp_path: Path) -> None:
    name, cache = "sentence-transformers/all-MiniLM-L6-v2", "models--Qdrant--all-MiniLM-L6-v2-onnx"
    folder = tmp_path / "fastembed" / name.replace("/", "--") / cache
    table = np.tile(TABLE, 64)
    told = {"pad_token": "[UNK]", "pad_token_id": 0, "max_length": 128, "model_max_length": 128}
    files = {"config": told, "tokenizer_config": told, "special_tokens_map": {}}
    write_model(folder / "snapshots" / "revision", table, **files)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("revision", encoding="utf-8")
    model = load_embedder(load_settings(models=tmp_path, embedder=f"fastembed:{name}"))
    assert model.embed(["gateway"])[0] == pytest.approx(unit(table[2]), abs=1e-5)
    assert (model.dimension, model.languages) == (384, {"en"})


def test_what_cannot_be_installed_says_so(tmp_path: Path) -> None:
    said: list[str] = []
    install_model(load_settings(embedder=f"onnx:{tmp_path}"), said.append)
    assert said == [f"nothing to install for onnx:{tmp_path}"]


# --- turns


def test_an_ingest_lets_a_question_go_first() -> None:
    """While a query is being embedded, no text of an ingest starts."""
    question_began, question_may_end = threading.Event(), threading.Event()
    began: list[str] = []

    def embed_one(text: str) -> Any:
        if text == "question":
            question_began.set()
            question_may_end.wait(LIMIT)
        began.append(text)
        return np.zeros(1, dtype=np.float32)

    turns = EmbeddingScheduler(embed_one)
    asking = threading.Thread(target=turns.rows, args=(["question"],))
    asking.start()
    assert question_began.wait(LIMIT)
    way = turns._gate
    assert not way.give(0.01)
    question_may_end.set()
    asking.join()
    assert way.give(0.01)
    assert turns.rows([str(at) for at in range(2 * FEW)]).shape == (2 * FEW, 1)
    assert began[0] == "question"


def test_who_has_the_right_of_way_does_not_wait_for_another_who_has_it() -> None:
    way = PriorityGate()
    with way.taken(), way.taken():
        assert not way.give(0.0)
    assert way.give(0.0)
