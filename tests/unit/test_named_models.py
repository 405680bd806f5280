"""Models that are installed by name: their table, the sources of their files, and what is made of the files."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import socket
import sys
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import onnx
import pytest
from tokenizers import Tokenizer
from typer.testing import CliRunner

from tests.tiny_models import HIDDEN, PIECES, TABLE, write_model, write_packed_model
from winnow.server.backends.models.embedders import LazyEmbedder, install_model
from winnow.server.backends.models.installed import bert_graph, packed_weights, weights
from winnow.server.backends.models.installed.bert_graph import Blocks, Tensors
from winnow.server.backends.models.installed.loading import InstalledModel, convert, find_damage
from winnow.server.backends.models.installed.table import (
    BGE_SMALL,
    DEFAULT,
    MODEL,
    MODELS,
    MULTILINGUAL,
    TOKENIZER,
    EncodingRules,
    Hub,
    Jar,
    ModelRecord,
    Space,
    Wheel,
    find_record,
)
from winnow.server.backends.models.model_identity import embedder_of
from winnow.server.backends.models.onnx_runtime import open_session
from winnow.server.commands.model import app
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings
from winnow.server.settings.value_types import INSTALLED_MODELS

# --- the table


def test_the_setting_takes_the_names_of_the_table() -> None:
    assert tuple(MODELS) == INSTALLED_MODELS
    assert [find_record(load_settings(embedder=name)) for name in INSTALLED_MODELS] == [*MODELS.values()]
    assert find_record(load_settings(embedder="onnx:minilm")) is None


def test_no_two_models_share_a_folder_a_fingerprint_or_an_identity() -> None:
    records = MODELS.values()
    identities = {embedder_of(load_settings(embedder=record.key)) for record in records}
    assert {len({record.folder for record in records}), len({record.fingerprint for record in records})} == {3}
    assert len(identities) == 3


def test_the_default_has_the_fingerprint_of_stores_that_exist() -> None:
    assert DEFAULT.fingerprint == "all-MiniLM-L6-v2/int8/53aa5117/1"


@pytest.mark.parametrize("record", MODELS.values(), ids=MODELS)
def test_every_source_has_every_file_and_every_file_a_digest(record: ModelRecord) -> None:
    assert all(re.fullmatch("[0-9a-f]{64}", digest) for digest in record.sha256.values())
    assert record.weights in record.sha256
    for source in record.sources:
        match source:
            case Hub():
                assert source.paths.keys() == record.sha256.keys()
            case Jar():
                assert source.members.keys() == record.sha256.keys()
            case Wheel():
                assert re.fullmatch(r"[\w-]+==[\d.]+", source.requirement)


@pytest.mark.parametrize("name", [name for name in INSTALLED_MODELS if name != DEFAULT.key])
def test_a_model_that_is_missing_says_how_to_install_it(
    tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.path", [])  # as on a machine without its carrier
    source = LazyEmbedder(load_settings(models=tmp_path, embedder=name))
    assert source.wait() is None
    assert source.why == f"no embedding model {name} is installed; run: winnow model install {name}"


def test_a_model_is_named_once(tmp_path: Path) -> None:
    arguments = ["install", "bge-small", "--embedder", "multilingual"]
    result = CliRunner().invoke(app, arguments, env={"WINNOW_MODELS": str(tmp_path)})
    assert (result.exit_code, "name the model once" in result.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


# --- the sources of files, with a tiny model in the place of the real one


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A hub and a Maven repository on loopback; yields the folder with their files."""
    served = tmp_path / "served"
    served.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(served))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}/hub/")
        monkeypatch.setenv("MVNW_REPOURL", f"http://127.0.0.1:{server.server_address[1]}/maven/")
        yield served
        server.shutdown()
        thread.join()


@pytest.fixture
def tiny(tmp_path: Path) -> tuple[ModelRecord, Path]:
    """The record of a tiny model that is published as bge-small is, and its files."""
    files = write_model(tmp_path / "published")
    digests = {name: hashlib.sha256((files / name).read_bytes()).hexdigest() for name in (MODEL, TOKENIZER)}
    record = replace(
        BGE_SMALL,
        name="tiny",
        sha256=MappingProxyType(digests),
        rules=EncodingRules("cls", 2, query_prefix="proxy ", passage_prefix=""),
        dimension=6,
        space=Space(0, 0, 0),
    )
    return record, files


def _publish_jar(registry: Path, files: Path) -> None:
    jar = BGE_SMALL.sources[1]
    assert isinstance(jar, Jar)
    path = registry / "maven" / jar.path
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, member in jar.members.items():
            archive.write(files / name, member)


def test_the_hub_is_asked_first(tiny: tuple[ModelRecord, Path], registry: Path) -> None:
    record, files = tiny
    hub = record.sources[0]
    assert isinstance(hub, Hub)
    for name, path in hub.paths.items():
        target = registry / "hub" / hub.repository / "resolve" / "main" / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes((files / name).read_bytes())
    said: list[str] = []
    with weights.download_weights(said.append, record) as folder:
        assert sorted(path.name for path in folder.iterdir()) == [MODEL, TOKENIZER]
    assert [line for line in said if "failed" in line or "maven" in line] == []


def test_an_artifact_gives_the_files_where_the_hub_does_not(
    tiny: tuple[ModelRecord, Path], registry: Path, tmp_path: Path
) -> None:
    record, files = tiny
    _publish_jar(registry, files)
    said: list[str] = []
    with weights.download_weights(said.append, record) as folder:
        convert(folder, tmp_path / "models", record)
    assert (said[1], "/maven/dev/langchain4j/" in said[2]) == ("  failed: HTTP Error 404: File not found", True)
    assert find_damage(tmp_path / "models", record, compares_digests=True) == ""
    model = InstalledModel(record, tmp_path / "models" / record.folder)
    rows = np.stack([TABLE[1], TABLE[2]]) / np.linalg.norm(TABLE[1:3], axis=1, keepdims=True)
    assert model.embed_queries(["gateway backup"]) == pytest.approx(rows[:1], abs=1e-6)
    assert model.embed(["gateway backup"]) == pytest.approx(rows[1:], abs=1e-6)
    assert (model.embed([]).shape, model.embed_queries([]).shape) == ((0, 6), (0, 6))


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\nab",
        b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nab",
        b"220 mail.example ESMTP\r\n",
    ],
    ids=["broken off", "no length", "short", "another protocol"],
)
def test_the_next_source_is_asked_where_a_hub_answers_badly(
    tiny: tuple[ModelRecord, Path], registry: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes
) -> None:
    record, files = tiny
    _publish_jar(registry, files)
    with socket.create_server(("127.0.0.1", 0)) as server:
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.getsockname()[1]}")

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection:
                        connection.recv(65536)
                        connection.sendall(answer)

        threading.Thread(target=serve, daemon=True).start()
        with weights.download_weights(lambda _: None, record) as folder:
            weights.check(folder, record)
        server.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize("address", ["https://name:pass-word@hub.invalid", "https://name:pass/word@hub.invalid"])
def test_a_password_in_the_address_of_a_source_is_refused_and_not_shown(
    tiny: tuple[ModelRecord, Path], registry: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    record, _ = tiny
    monkeypatch.setenv("HF_ENDPOINT", address)
    said: list[str] = []
    with pytest.raises(WinnowError, match="password in an address is not supported") as caught:
        weights.download_weights(said.append, record).__enter__()
    shown = "".join([caught.value.message, *said])
    assert [part for part in ("name:", "pass-", "/word") if part in shown] == []


@pytest.mark.parametrize(("place", "change"), [(6, 1), (8, 77)], ids=["encrypted", "another compression"])
def test_an_archive_that_cannot_be_read_is_a_source_that_fails(
    tiny: tuple[ModelRecord, Path], registry: Path, place: int, change: int
) -> None:
    record, files = tiny
    _publish_jar(registry, files)
    jar = BGE_SMALL.sources[1]
    assert isinstance(jar, Jar)
    path = registry / "maven" / jar.path
    data = bytearray(path.read_bytes())
    for mark, further in ((b"PK\x03\x04", 0), (b"PK\x01\x02", 2)):
        for found in re.finditer(re.escape(mark), bytes(data)):
            data[found.start() + place + further] = change
    path.write_bytes(data)
    with pytest.raises(WinnowError, match="could not be downloaded"):
        weights.download_weights(lambda _: None, record).__enter__()


def test_a_carrier_of_another_version_is_not_used(
    tiny: tuple[ModelRecord, Path], registry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record, files = tiny
    _publish_jar(registry, files)
    carrier = tmp_path / "installed" / "winnow_tiny_carrier"
    carrier.mkdir(parents=True)
    for name in record.sha256:
        (carrier / name).write_bytes(b"of another version")
    wheel = Wheel("winnow-tiny-carrier==1.0", carrier.name, "", megabytes=1)
    record = replace(record, sources=(*record.sources, wheel))
    monkeypatch.setattr("sys.path", [str(carrier.parent), *sys.path])
    monkeypatch.setattr(
        "winnow.server.backends.models.installed.table.MODELS", MappingProxyType({record.key: record})
    )
    said: list[str] = []
    install_model(load_settings(models=tmp_path / "models", embedder=record.key), said.append)
    assert said[0] == f"not used, because it is not the published file: {carrier / MODEL}"
    assert find_damage(tmp_path / "models", record, compares_digests=True) == ""


def test_an_artifact_with_other_files_is_not_believed(tiny: tuple[ModelRecord, Path], registry: Path) -> None:
    record, files = tiny
    (files / MODEL).write_bytes(b"another model")
    _publish_jar(registry, files)
    with pytest.raises(WinnowError, match="sha256 differs") as caught:
        weights.download_weights(lambda _: None, record).__enter__()
    assert (caught.value.reason, caught.value.retryable) == ("MODEL_UNAVAILABLE", True)


def test_an_artifact_without_the_files_or_with_a_bomb_is_refused(
    tiny: tuple[ModelRecord, Path], registry: Path, tmp_path: Path
) -> None:
    record, files = tiny
    with (files / MODEL).open("ab") as file:
        file.truncate((128 << 20) + 1)
    jar = BGE_SMALL.sources[1]
    assert isinstance(jar, Jar)
    path = registry / "maven" / jar.path
    path.parent.mkdir(parents=True)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.write(files / MODEL, jar.members[MODEL])
        archive.write(files / TOKENIZER, jar.members[TOKENIZER])
    with pytest.raises(WinnowError, match="is larger than the published file"):
        weights.download_weights(lambda _: None, record).__enter__()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("README", "nothing")
    with pytest.raises(WinnowError, match="There is no item named"):
        weights.download_weights(lambda _: None, record).__enter__()


# --- the packed file


@pytest.fixture(scope="module")
def packed(tmp_path_factory: pytest.TempPathFactory) -> tuple[packed_weights.Packed, dict[str, Any]]:
    path = tmp_path_factory.mktemp("packed") / "model.bin"
    tensors = write_packed_model(path)
    return packed_weights.read(path), tensors


def test_the_tensors_of_a_packed_file_have_its_values(
    packed: tuple[packed_weights.Packed, dict[str, Any]],
) -> None:
    file, tensors = packed
    made = packed_weights.tensors_of(file).plain
    layer = "encoder.layer.0"
    for name, full in {
        "emb.pos": "embeddings.position_embeddings.weight",
        "emb.ln.b": "embeddings.LayerNorm.bias",
        "l0.q.w": f"{layer}.attention.self.query.weight",
        "l0.fi.w": f"{layer}.intermediate.dense.weight",
        "l0.fo.w": f"{layer}.output.dense.weight",
        "l0.fi.b": f"{layer}.intermediate.dense.bias",
        "l0.oln.w": f"{layer}.output.LayerNorm.weight",
    }.items():
        assert np.array_equal(made[full].reshape(-1), tensors[name]), name
    assert made[f"{layer}.output.dense.weight"].shape == (HIDDEN, 64)
    assert len(made) == 2 + 2 + 16


def test_a_graph_looks_words_up_in_blocks_as_in_a_plain_table(
    packed: tuple[packed_weights.Packed, dict[str, Any]], tmp_path: Path
) -> None:
    file, tensors = packed
    blocks = packed_weights.tensors_of(file)
    assert isinstance(blocks.words, Blocks)
    words = tensors["emb.word"].reshape(-1, HIDDEN)
    plain = Tensors({**blocks.plain, "embeddings.word_embeddings.weight": words}, words)
    vectors = []
    for name, given in (("blocks", blocks), ("plain", plain)):
        onnx.save(bert_graph.build(given), tmp_path / name)
        session = open_session(tmp_path / name, threads=1)
        vectors.append(session.run(None, {"input_ids": np.array([[0, 5, 6, 10, 2]])})[0])
    assert vectors[0] == pytest.approx(vectors[1], abs=1e-6)
    assert np.linalg.norm(vectors[0]) == pytest.approx(1, abs=1e-5)


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("the house", ["▁the", "▁house"]),
        ("  the   house ", ["▁the", "▁house"]),
        ("the\nhouse", ["▁the", "▁house"]),
        ("Haus haus", ["▁Haus", "▁ha", "us"]),
        ("家①", ["▁家", "1"]),
        ("x", ["▁", "<unk>"]),
        ("", []),
    ],
)
def test_the_tokenizer_of_a_packed_file_reads_any_script(
    packed: tuple[packed_weights.Packed, dict[str, Any]], text: str, pieces: list[str]
) -> None:
    encoded = packed_weights.make_tokenizer(packed[0]).encode(text)
    assert [PIECES[at] for at in encoded.ids] == ["<s>", *pieces, "</s>"]


def test_another_file_is_no_packed_model(tmp_path: Path) -> None:
    (tmp_path / "model.bin").write_bytes(b"GGUF" + bytes(100))
    with pytest.raises(ValueError, match=r"model\.bin is no packed model"):
        packed_weights.read(tmp_path / "model.bin")


def test_a_packed_model_is_installed_and_embeds(tmp_path: Path) -> None:
    write_packed_model(tmp_path / MULTILINGUAL.weights)
    digest = hashlib.sha256((tmp_path / MULTILINGUAL.weights).read_bytes()).hexdigest()
    rules = EncodingRules("graph", 8, query_prefix="the ", passage_prefix="Haus ")
    record = replace(
        MULTILINGUAL, sha256=MappingProxyType({MULTILINGUAL.weights: digest}), rules=rules, space=Space(0, 0, 0)
    )
    convert(tmp_path, tmp_path / "models", record)
    folder = tmp_path / "models" / record.folder
    assert [path.name for path in sorted(folder.iterdir())] == [MODEL, "record.json", TOKENIZER]
    model = InstalledModel(record, folder)
    assert np.array_equal(model.embed_queries(["house"]), model.embed_queries(["house "]))
    assert model.embed(["house"]) @ model.embed_queries(["house"]).T < 0.999
    assert np.linalg.norm(model.embed(["house"])) == pytest.approx(1, abs=1e-5)
    assert json.loads((folder / "record.json").read_text("utf-8")).keys() == {MODEL, TOKENIZER}
    assert Tokenizer.from_file(str(folder / TOKENIZER)).get_vocab_size() == len(PIECES)
