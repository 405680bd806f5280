"""ONNX Runtime sends nothing: telemetry is off before the library is imported, and one module imports it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.tiny_models import write_model

ROOT = Path(__file__).parents[2]
DOOR = "server/backends/models/onnx_runtime.py"
# A program that other packages' interpreters run: it sets the variable itself.
PROGRAMS = ("tests/bench/ingest_peers.py",)
SETS_VARIABLE = 'os.environ["ORT_DISABLE_TELEMETRY"] = "1"'

# With telemetry the files exist once the session does; half a second is time for its first upload.
LOADS = """
import sys, time
from pathlib import Path
from winnow.server.backends.models import fastembed_model
from winnow.server.backends.models.{module} import {model}
{model}(Path(sys.argv[1])).{call}
time.sleep(0.5)
"""


@pytest.mark.parametrize(
    ("module", "model", "call"),
    [("onnx_folder", "OnnxFolder", "embed(['proxy'])"), ("cross_encoder", "CrossEncoder", "_model")],
)
def test_a_loaded_model_leaves_no_file_outside_the_store(
    module: str, model: str, call: str, tmp_path: Path
) -> None:
    folder, home = write_model(tmp_path / "model"), tmp_path / "home"
    places = {name: home / name for name in ("HOME", "XDG_CACHE_HOME", "XDG_DATA_HOME", "TMPDIR")}
    for place in places.values():
        place.mkdir(parents=True)
    asked_for = {"ORT_DISABLE_TELEMETRY": "0", "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT)}
    environment = asked_for | {name: str(place) for name, place in places.items()}
    program = LOADS.format(module=module, model=model, call=call)
    subprocess.run([sys.executable, "-c", program, str(folder)], env=environment, check=True, timeout=60)
    assert [path for path in home.rglob("*") if path.is_file()] == []


def test_no_other_module_imports_onnx_runtime() -> None:
    importing = re.compile(r"^\s*(import|from)\b[^#\n]*\bonnxruntime\b|import_module\([\"']onnxruntime", re.M)
    folders = ("server", "sandbox", "client_sdk", "security", "tests")
    texts = {path: path.read_text("utf-8") for folder in folders for path in (ROOT / folder).rglob("*.py")}
    found = {path.relative_to(ROOT).as_posix(): text for path, text in texts.items() if importing.search(text)}
    assert sorted(found) == sorted([DOOR, *PROGRAMS])
    for text in found.values():
        first = importing.search(text)
        assert first is not None
        assert 0 <= text.find(SETS_VARIABLE) < first.start()


def test_packages_that_bring_the_runtime_are_imported_through_its_module() -> None:
    text = (ROOT / "server/backends/models/fastembed_model.py").read_text("utf-8")
    assert 'import_with_runtime("fastembed")' in text
    assert "importlib" not in text
