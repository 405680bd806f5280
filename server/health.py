"""What ``winnow doctor`` checks. Each check looks at one thing and says what to do.

A check is a function from settings to findings; ``CHECKS`` lists them in the order they are shown. A check that
itself fails is a finding, never a traceback: a doctor is called when things are broken.
"""

from __future__ import annotations

import asyncio
import base64
import csv
import hashlib
import importlib
import json
import os
import platform
import shutil
import sys
import tempfile
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, dataclass
from importlib.metadata import Distribution, PackageNotFoundError, distribution, packages_distributions
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from packaging.requirements import Requirement
from packaging.version import Version

from server import __version__
from server.backends.files.private_folder import is_private
from server.backends.files.store_folder import probe_store
from server.backends.sqlite import REPAIR
from server.errors import WinnowError
from server.scripts.skills import load
from server.settings import MIB, Settings

if TYPE_CHECKING:
    from server.backends.files.seal import SealFlaw

DISTRIBUTION = "winnow-mcp"
PACKAGES = ("client_sdk", "sandbox", "security", "server")
REINSTALL = "reinstall: pip install --force-reinstall winnow-mcp"
PYTHONS = ((3, 11), (3, 15))  # from, below
FREE_BYTES = 512 * MIB  # an index of 100,000 chunks takes about 400 MB
REACH_SECONDS = 3.0
MENDS_VECTORS = "run: winnow reindex"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's. ``advice`` is what to do, "" where nothing is to be done.

    ``essential`` findings decide the verdict; the others are worth knowing. ``evidence`` is what was tried to
    find out, where that is more than looking.
    """

    group: str
    check: str
    ok: bool
    detail: str
    advice: str = ""
    essential: bool = True
    evidence: str = ""

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


Check = Callable[[Settings], Iterator[Finding]]


def examine(settings: Settings) -> list[Finding]:
    """Every finding of every check, in order."""
    return [finding for check in CHECKS for finding in _guarded(check, settings)]


def is_healthy(findings: Sequence[Finding]) -> bool:
    """Whether everything essential is right."""
    return all(finding.ok for finding in findings if finding.essential)


def _guarded(check: Check, settings: Settings) -> Iterator[Finding]:
    name = check.__name__.lstrip("_")
    try:
        yield from check(settings)
    except WinnowError as error:  # of the store, the model or a server: it says what to do
        yield Finding(name, name, False, error.message, "the message says what to do")
    except Exception as error:  # whatever is broken, the other checks still have something to say
        yield Finding(name, name, False, f"the check itself failed: {type(error).__name__}: {error}", REINSTALL)


# --- the installation -------------------------------------------------------------------------------------


def _versions(settings: Settings) -> Iterator[Finding]:
    yield Finding("versions", "winnow", True, f"{__version__} in {Path(__file__).parents[1]}")
    lowest, above = PYTHONS
    named = f"{lowest[0]}.{lowest[1]} to {above[0]}.{above[1] - 1}"
    right = lowest <= sys.version_info[:2] < above
    advice = "" if right else f"install winnow under Python {named}"
    yield Finding("versions", "python", right, f"{platform.python_version()} ({sys.executable})", advice)


def _dependencies(settings: Settings) -> Iterator[Finding]:
    requirements = [Requirement(text) for text in distribution(DISTRIBUTION).requires or ()]
    direct = [each for each in requirements if each.marker is None or each.marker.evaluate({"extra": ""})]
    wrong = [complaint for each in direct if (complaint := _complaint(each))]
    detail = "; ".join(wrong) or f"all {len(direct)} in their ranges"
    yield Finding("versions", "dependencies", not wrong, detail, REINSTALL if wrong else "")


def _complaint(requirement: Requirement) -> str:
    try:
        found = distribution(requirement.name).version
    except PackageNotFoundError:
        return f"{requirement.name} is missing (needs {requirement.specifier})"
    if requirement.specifier.contains(Version(found), prereleases=True):
        return ""
    return f"{requirement.name} is {found} (needs {requirement.specifier})"


def _installation(settings: Settings) -> Iterator[Finding]:
    """Whether our four packages are still ours: their names are ones that others use too."""
    ours = distribution(DISTRIBUTION)
    home, owners = _home_of(ours), packages_distributions()
    wrong = [complaint for name in PACKAGES for complaint in strangers(name, home, owners.get(name, []))]
    wrong += overwritten(ours)
    detail = "; ".join(wrong) or f"{', '.join(PACKAGES)} are ours, in {home}"
    advice = f"uninstall the other distribution, then {REINSTALL}" if wrong else ""
    yield Finding("versions", "installation", not wrong, detail, advice)


def _home_of(ours: Distribution) -> Path:
    """The folder that holds our packages: the checkout of an editable install, else site-packages."""
    origin = json.loads(ours.read_text("direct_url.json") or "{}")
    if origin.get("dir_info", {}).get("editable"):
        return Path(url2pathname(unquote(urlsplit(origin["url"]).path))).resolve()
    return Path(str(ours.locate_file(""))).resolve()


def strangers(package: str, home: Path, owners: Sequence[str]) -> Iterator[str]:
    """Why the package that is imported may not be the one in ``home``: its place, or another owner."""
    imported = Path(importlib.import_module(package).__file__ or "").resolve()
    if imported != home / package / "__init__.py":
        yield f"{package} is imported from {imported.parent}, not from {home}"
    others = sorted({owner for owner in owners if owner != DISTRIBUTION})
    if others:
        yield f"{package} also belongs to {', '.join(others)}"


def overwritten(ours: Distribution) -> Iterator[str]:
    """Files of our packages that are not as they were installed."""
    # The record itself is read: from Python 3.12 on, ``Distribution.files`` leaves out what is missing.
    for name, recorded, _ in csv.reader((ours.read_text("RECORD") or "").splitlines()):
        if name.split("/")[0] not in PACKAGES or not recorded.startswith("sha256="):
            continue
        path = Path(str(ours.locate_file(name)))
        digest = hashlib.sha256(path.read_bytes()).digest() if path.is_file() else b""
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != recorded.removeprefix("sha256="):
            yield f"{name} is {'not what was installed' if digest else 'missing'}"


def _tokens(settings: Settings) -> Iterator[Finding]:
    from server.text.tokens import ENCODING, encoding_name

    found = encoding_name()
    right = found == ENCODING
    detail = f"{found}, shipped with winnow" if right else f"{found}: counts are estimates"
    yield Finding("versions", "tokens", right, detail, "" if right else REINSTALL)


# --- what it works on -------------------------------------------------------------------------------------


def _store(settings: Settings) -> Iterator[Finding]:
    try:
        nearest = probe_store(settings.store)
    except WinnowError as error:
        detail, _, advice = error.message.partition("; ")
        yield Finding("store", "folder", False, detail, advice)
        return
    state = "" if nearest == settings.store else " (not made yet)"
    yield Finding("store", "folder", True, f"{settings.store}{state}")
    if settings.store.is_dir() and not is_private(settings.store):
        advice = f"others may read your documents' text there: chmod 700 {settings.store}"
        yield Finding("store", "privacy", False, f"{settings.store} is open to others", advice, essential=False)
    yield from _held(settings)
    yield from _projects(settings)
    free = shutil.disk_usage(nearest).free
    roomy = free >= FREE_BYTES
    advice = "" if roomy else f"make room, or choose another --store; {FREE_BYTES // MIB} MB is a small index"
    yield Finding("store", "space", roomy, f"{free // MIB:,} MB free", advice, essential=False)


def _integrity(settings: Settings) -> Iterator[Finding]:
    """Whether every file of the store is as it was written, and none is missing."""
    from server.backends.files.damaged_files import find_flaws, is_store_sealed, vector_folders
    from server.opening import catalogue_path

    if not settings.store.is_dir() or not (catalogue_path(settings).exists() or vector_folders(settings.store)):
        return
    found = [*find_flaws(settings.store), *_without_vectors(settings)]
    for flaw in found:
        detail = f"{settings.store / flaw.file}: {flaw.why}"
        advice = f"{MENDS_VECTORS}, or {REPAIR}" if "/" in flaw.file else REPAIR
        yield Finding("store", "integrity", False, detail, advice)
    if not found:
        is_sealed = is_store_sealed(settings.store)
        detail = "every file is as it was written" if is_sealed else "nothing to compare with: no ingest has ended"
        advice = "" if is_sealed else "run winnow ingest again, which brings everything in line"
        yield Finding("store", "integrity", is_sealed, detail, advice, essential=False)


def _without_vectors(settings: Settings) -> Iterator[SealFlaw]:
    from server.backends.catalogue import Catalogue
    from server.backends.files.seal import SealFlaw
    from server.opening import catalogue_path

    if settings.qdrant_url or not catalogue_path(settings).exists():
        return
    with suppress(WinnowError), closing(Catalogue(catalogue_path(settings))) as catalogue:
        folder = settings.store / catalogue.binding.vectors
        if catalogue.chunk_count() and not folder.is_dir():
            yield SealFlaw(f"{folder.name}/", "it is missing")


def _held(settings: Settings) -> Iterator[Finding]:
    from server.backends.files.lock import ENGINE, find_holder

    if shared_by := find_holder(settings.store, ENGINE):
        yield Finding("store", "holder", True, f"shared by {shared_by}", "", essential=False)
        return
    held_by = find_holder(settings.store)
    detail = f"held by {held_by}" if held_by else "held by nobody"
    advice = "fine while it serves; end it before you ingest, or use another --store" if held_by else ""
    yield Finding("store", "holder", held_by is None, detail, advice, essential=False)


def _projects(settings: Settings) -> Iterator[Finding]:
    from server.backends.catalogue import Catalogue
    from server.opening import catalogue_path

    path = catalogue_path(settings)
    if not path.exists():
        yield Finding(
            "store", "projects", False, "none yet", "index a folder: winnow ingest PATH", essential=False
        )
        return
    catalogue = Catalogue(path)
    try:
        told = [
            f"{each.name} ({each.documents:,} documents, {each.chunks:,} chunks)" for each in catalogue.projects()
        ]
    finally:
        catalogue.close()
    advice = "" if told else "index a folder: winnow ingest PATH"
    yield Finding("store", "projects", bool(told), ", ".join(told) or "none yet", advice, essential=False)


def _model(settings: Settings) -> Iterator[Finding]:
    from server.backends.models.embedders import LazyEmbedder

    source = LazyEmbedder(settings)
    model = source.wait()
    if model is not None:
        place = f", in {settings.models}" if settings.embedder.whole == "minilm" else ""
        detail = f"{model.fingerprint}, {model.dimension} dimensions{place}"
        yield Finding("model", "embedding", True, detail)
    elif source.state == "off":
        yield Finding("model", "embedding", True, f"{source.why}; search is lexical", essential=False)
    else:
        is_ours = settings.embedder.whole == "minilm"
        advice = "run: winnow model install" if is_ours else f"check the setting embedder ({settings.embedder})"
        yield Finding("model", "embedding", False, f"{source.why}; search is lexical", advice)


def _engine(settings: Settings) -> Iterator[Finding]:
    """The embedded engine, tried in a folder of its own: a point that is written is found again."""
    from server.backends.base import Point, SparseVector
    from server.backends.vectors.edge import EdgeStore
    from server.models import Filters

    word = SparseVector((1,), (1.0,))
    with tempfile.TemporaryDirectory(prefix="winnow-doctor-") as folder:
        store = EdgeStore(Path(folder), dimension=4)
        try:
            store.upsert([Point("000000000001", word, None, {"project": "doctor"})])
            found = [chunk for chunk, _ in store.search_sparse(word, Filters("doctor"), 1)]
        finally:
            store.close()
    right = found == ["000000000001"]
    detail = "the embedded index writes and finds" if right else "the embedded index does not find what it wrote"
    yield Finding("backends", "embedded", right, detail, "" if right else REINSTALL)


def _qdrant(settings: Settings) -> Iterator[Finding]:
    if settings.qdrant_url is None:
        return
    key = settings.qdrant_api_key
    request = urllib.request.Request(
        f"{settings.qdrant_url.whole.rstrip('/')}/collections",
        headers={"api-key": key.get_secret_value()} if key else {},
    )
    try:
        with urllib.request.urlopen(request, timeout=REACH_SECONDS) as response:
            names = [each["name"] for each in json.load(response)["result"]["collections"]]
    except urllib.error.HTTPError as error:
        advice = "set WINNOW_QDRANT_API_KEY" if error.code in (401, 403) else "check WINNOW_QDRANT_URL"
        yield Finding("backends", "qdrant", False, f"{settings.qdrant_url} answers {error.code}", advice)
    except (OSError, ValueError, KeyError) as error:
        advice = "start the server, or unset WINNOW_QDRANT_URL to use the embedded index"
        yield Finding(
            "backends",
            "qdrant",
            False,
            f"{settings.qdrant_url}: {settings.qdrant_url.without_credentials(error)}",
            advice,
        )
    else:
        yield Finding("backends", "qdrant", True, f"{settings.qdrant_url}, {len(names)} collections")


# --- what holds scripts -----------------------------------------------------------------------------------


def _walls(settings: Settings) -> Iterator[Finding]:
    from sandbox import probe
    from sandbox.runners.runner_table import tier_of

    accepted = settings.allow_weaker_sandbox
    found = asyncio.run(probe(settings.sandbox))
    name = tier_of(settings.sandbox, found)
    told, advice = _TIERS[name]
    missing = {wall.name for wall in found if not wall.stands and not wall.reinforces}
    served = not missing or (name == "container" and missing == set(accepted))
    advice = advice if settings.sandbox == "auto" and len(found) > 1 else "the lines below say what to do"
    yield Finding("walls", "tier", served, f"{name}: {told}", "" if served else advice, essential=False)
    for wall in found:
        needed = settings.execute_code == "on" and wall.name not in accepted and not wall.reinforces
        yield Finding("walls", wall.name, wall.stands, wall.protects, wall.advice, needed, wall.detail)


_OPT_IN = (
    "grant what the lines below say, or accept exactly what is missing: --allow-weaker-sandbox WALL, for each"
)
_TIERS = {
    "full": ("every wall of the kernel", ""),
    "container": ("no namespaces; seccomp, Landlock and limits hold files, network and processes twice", _OPT_IN),
    "language": ("a smaller language in a process with limits", ""),
    "none": ("too little stands to run scripts unasked", _OPT_IN),
}


def _smaller_language(settings: Settings) -> Iterator[Finding]:
    """Where it is installed: what it lacks, and what to write instead."""
    from sandbox.runners import monty

    version = monty.installed_version()
    if version is None:
        return
    group, chosen = (
        "smaller language",
        "in force" if settings.sandbox == "monty" else "chosen with --sandbox monty",
    )
    detail = f"{version}, {chosen}; its gaps are listed as measured for {monty.MEASURED_FOR}"
    yield Finding(group, "monty", True, detail, essential=False)
    for gap, instead in monty.GAPS.items():
        yield Finding(group, "lacks", False, gap, instead, essential=False)
    missing = f"the modules {', '.join(monty.MISSING_MODULES)}"
    yield Finding(
        group, "lacks", False, missing, "builtins, json, re, math, itertools, collections", essential=False
    )


def _host(settings: Settings) -> Iterator[Finding]:
    import psutil

    memory = psutil.virtual_memory().total // MIB
    detail = (
        f"{platform.system()} {platform.release()} {platform.machine()}, {os.cpu_count()} cores, {memory:,} MB"
    )
    yield Finding("host", "kernel", True, detail, essential=False)


def _skills(settings: Settings) -> Iterator[Finding]:
    shelf = load(settings.skills)
    yield Finding("skills", "skills", True, f"scripts may import {', '.join(shelf.skills)}", essential=False)
    for one in shelf.left_out:
        yield Finding(
            "skills", "left out", False, f"{one.what}: {one.why}", "correct it or remove it", essential=False
        )


CHECKS: tuple[Check, ...] = (
    _versions,
    _dependencies,
    _installation,
    _tokens,
    _store,
    _integrity,
    _model,
    _engine,
    _qdrant,
    _walls,
    _smaller_language,
    _skills,
    _host,
)
