"""The checks of ``winnow doctor``: each examines one thing and says what to do.

A check is a function from settings to findings; ``CHECKS`` lists them in the order they are shown. A check that
fails itself becomes a finding, never a traceback: the doctor runs when things are broken.
"""

from __future__ import annotations

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
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from importlib.metadata import Distribution, PackageNotFoundError, distribution, packages_distributions
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit
from urllib.request import url2pathname

from packaging.requirements import Requirement
from packaging.version import Version

from winnow import SEARCH_PATH, __version__
from winnow.sandbox.runners.availability import find_obstacle, tier_name_of
from winnow.server.backends.models.installed.table import find_record
from winnow.server.commands.health import notebooks, primary_data, walls
from winnow.server.commands.terminal.findings import Check, Finding
from winnow.server.errors import WinnowError
from winnow.server.ingest.inspection.stored_documents import AlteredDocument, describe_altered, find_altered
from winnow.server.settings.settings import MIB, Settings
from winnow.server.storage.files.private_file import name_of_user
from winnow.server.storage.files.private_folder import is_private
from winnow.server.storage.files.store_folder import REPAIR, probe_store, require_catalogue
from winnow.server.text.sizes import count_of
from winnow.server.tools.prompts.library import load_prompts
from winnow.server.tools.scripts.skills import load_skills
from winnow.server.tools.table import TAKEN_NAMES

if TYPE_CHECKING:
    from winnow.server.storage.files.seal import SealFlaw

DISTRIBUTION = "winnow-mcp"
PACKAGE = "winnow"
REINSTALL = "reinstall: pip install --force-reinstall winnow-mcp"
PYTHONS = ((3, 11), (3, 15))  # from, below
FREE_BYTES = 512 * MIB  # an index of 100,000 chunks takes about 400 MB
REACH_SECONDS = 3.0
MENDS_VECTORS = "run: winnow reindex"


def examine(settings: Settings) -> Iterator[Finding]:
    """Run every check; yields their findings in order, each as soon as it is there."""
    for check in CHECKS:
        yield from _run_check(check, settings)


def _run_check(check: Check, settings: Settings) -> Iterator[Finding]:
    name = check.__name__.lstrip("_")
    try:
        yield from check(settings)
    except WinnowError as error:  # raised by the store, the model or a server
        yield Finding(name, name, False, error.message, "do what the message says")
    except Exception as error:  # the other checks must still run
        yield Finding(name, name, False, f"the check itself failed: {type(error).__name__}: {error}", REINSTALL)


# --- the installation -------------------------------------------------------------------------------------


def _versions(settings: Settings) -> Iterator[Finding]:
    yield Finding("versions", "winnow", True, f"{__version__} in {SEARCH_PATH}")
    lowest, above = PYTHONS
    versions = f"{lowest[0]}.{lowest[1]} to {above[0]}.{above[1] - 1}"
    is_supported = lowest <= sys.version_info[:2] < above
    advice = "" if is_supported else f"install winnow under Python {versions}"
    yield Finding("versions", "python", is_supported, f"{platform.python_version()} ({sys.executable})", advice)


# Faults of the interpreter's memory, and the first release without each: of what is replaced for scripts, ...
_MEMORY_FAULTS: tuple[tuple[str, str, Mapping[tuple[int, int], int]], ...] = (
    ("gh-119004", "OrderedDict.__eq__ walks freed nodes", {(3, 12): 7, (3, 13): 0}),
    ("gh-142637", "other methods of OrderedDict walk freed nodes", {}),
    ("gh-142782", "ZoneInfo walks freed nodes", {}),
    ("gh-142732", "iterators of itertools use freed memory", {}),
    ("gh-138479", "a generic alias takes a value for an address", {(3, 13): 8, (3, 14): 0}),
    ("gh-143635", "the repr of a generic alias uses freed memory", {}),
    ("gh-123378", "a UnicodeDecodeError shows bytes in front of its object", {(3, 14): 0}),
    ("gh-91153", "a bytearray that grows meanwhile is written after it is freed", {(3, 14): 0}),
)
# ... and of what they cannot do without.
_REACHABLE_FAULTS: tuple[tuple[str, str, Mapping[tuple[int, int], int]], ...] = (
    (
        "gh-120384",
        "assigning to each second item of a list writes beyond it",
        {(3, 11): 10, (3, 12): 5, (3, 13): 0},
    ),
    (
        "gh-120298",
        "comparing lists that change meanwhile uses freed items",
        {(3, 11): 10, (3, 12): 5, (3, 13): 0},
    ),
    ("gh-143546", "sets that change while their items are compared use freed tables", {}),
)


def _interpreter(settings: Settings) -> Iterator[Finding]:
    """Known faults of this Python's memory: the fence of scripts is as strong as that is, the walls are not."""
    withheld, reachable = (
        ", ".join(f"{name} ({what})" for name, what, mended in faults if not _is_mended(mended))
        for faults in (_MEMORY_FAULTS, _REACHABLE_FAULTS)
    )
    details = [f"known memory faults, for which scripts get other code: {withheld}"] * bool(withheld)
    details += [f"scripts can reach: {reachable}"] * bool(reachable)
    older = any(_is_newer_better(mended) for _, _, mended in (*_MEMORY_FAULTS, *_REACHABLE_FAULTS))
    meanwhile, is_held = _what_holds(settings)
    advice = f"install the newest Python 3.14 or later; {meanwhile}" if older else ""
    detail = "; ".join(details) or "none known"
    yield Finding("versions", "interpreter", is_held or not reachable, detail, advice, essential=False)


def _what_holds(settings: Settings) -> tuple[str, bool]:
    """The walls that hold while the interpreter has faults, and whether that is all of them, or no script runs."""
    missing = obstacle.missing if (obstacle := find_obstacle(settings.sandbox)) else frozenset()
    if settings.execute_code == "off" or find_obstacle(settings.sandbox, settings.allow_weaker_sandbox):
        return "no script runs here meanwhile", True
    if missing:
        tier = tier_name_of(missing)
        which = f"the walls of the tier {tier}" if tier else "the remaining walls"
        return f"scripts run here, and only {which} hold meanwhile", False
    return "the walls of the sandbox hold meanwhile", True


def _is_mended(mended: Mapping[tuple[int, int], int]) -> bool:
    release = mended.get(sys.version_info[:2])
    newest = max(mended, default=(9, 9))
    return sys.version_info[:2] > newest or (release is not None and sys.version_info[2] >= release)


def _is_newer_better(mended: Mapping[tuple[int, int], int]) -> bool:
    """Whether another release of Python is without this fault."""
    return bool(mended) and not _is_mended(mended)


def _dependencies(settings: Settings) -> Iterator[Finding]:
    requirements = [Requirement(text) for text in distribution(DISTRIBUTION).requires or ()]
    direct = [item for item in requirements if item.marker is None or item.marker.evaluate({"extra": ""})]
    wrong = [problem for item in direct if (problem := _check_requirement(item))]
    detail = "; ".join(wrong) or f"all {len(direct)} are installed in supported versions"
    yield Finding("versions", "dependencies", not wrong, detail, REINSTALL if wrong else "")


def _check_requirement(requirement: Requirement) -> str:
    try:
        installed = distribution(requirement.name).version
    except PackageNotFoundError:
        return f"{requirement.name} is missing (needs {requirement.specifier})"
    if requirement.specifier.contains(Version(installed), prereleases=True):
        return ""
    return f"{requirement.name} is {installed} (needs {requirement.specifier})"


def _installation(settings: Settings) -> Iterator[Finding]:
    """Whether our package is the installed one: another distribution or a folder may have its name, too."""
    ours = distribution(DISTRIBUTION)
    home, owners = _home_of(ours), packages_distributions()
    wrong = [*find_foreign_package(PACKAGE, home, owners.get(PACKAGE, [])), *find_changed_files(ours)]
    detail = "; ".join(wrong) or f"{PACKAGE} is ours, in {home}"
    advice = f"uninstall the other distribution, then {REINSTALL}" if wrong else ""
    yield Finding("versions", "installation", not wrong, detail, advice)


def _home_of(ours: Distribution) -> Path:
    """The folder of our packages: the checkout of an editable install, otherwise site-packages."""
    origin = json.loads(ours.read_text("direct_url.json") or "{}")
    if origin.get("dir_info", {}).get("editable"):
        return Path(url2pathname(unquote(urlsplit(origin["url"]).path))).resolve()
    return Path(str(ours.locate_file(""))).resolve()


def find_foreign_package(package: str, home: Path, owners: Sequence[str]) -> Iterator[str]:
    """Problems if the imported package is not the one in ``home``, or another distribution has it too."""
    imported = Path(importlib.import_module(package).__file__ or "").resolve()
    if imported != home / package / "__init__.py":
        yield f"{package} is imported from {imported.parent}, not from {home}"
    others = sorted({owner for owner in owners if owner != DISTRIBUTION})
    if others:
        yield f"{package} also belongs to {', '.join(others)}"


def find_changed_files(ours: Distribution) -> Iterator[str]:
    """Files of our packages that were changed or deleted after the installation."""
    # RECORD is read directly: from Python 3.12 on, ``Distribution.files`` omits missing files.
    for name, recorded, _ in csv.reader((ours.read_text("RECORD") or "").splitlines()):
        if name.split("/")[0] != PACKAGE or not recorded.startswith("sha256="):
            continue
        path = Path(str(ours.locate_file(name)))
        digest = hashlib.sha256(path.read_bytes()).digest() if path.is_file() else b""
        if base64.urlsafe_b64encode(digest).rstrip(b"=").decode() != recorded.removeprefix("sha256="):
            yield f"{name} is {'not what was installed' if digest else 'missing'}"


def _tokens(settings: Settings) -> Iterator[Finding]:
    from winnow.server.text.words.tokens import ENCODING, encoding_name

    name = encoding_name()
    is_exact = name == ENCODING
    detail = f"{name}, shipped with winnow" if is_exact else f"{name}: token counts are estimates"
    yield Finding("versions", "tokens", is_exact, detail, "" if is_exact else REINSTALL)


# --- the store, the model and the backends
# -------------------------------------------------------------------------------------


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
        advice = f"other users can read your documents' text there; run: chmod 700 {settings.store}"
        yield Finding(
            "store", "privacy", False, f"{settings.store} is accessible to other users", advice, essential=False
        )
    yield from _holder(settings)
    yield from _projects(settings)
    free = shutil.disk_usage(nearest).free
    is_enough = free >= FREE_BYTES
    advice = (
        ""
        if is_enough
        else f"free some space or choose another --store; {FREE_BYTES // MIB} MB hold a small index"
    )
    yield Finding("store", "space", is_enough, f"{free // MIB:,} MB free", advice, essential=False)


def _integrity(settings: Settings) -> Iterator[Finding]:
    """Whether the files of the store are complete and unchanged since they were written."""
    from winnow.server.backends.opening import catalogue_path
    from winnow.server.storage.files.damaged_files import find_flaws, is_store_sealed, vector_folders

    if not settings.store.is_dir() or not (catalogue_path(settings).exists() or vector_folders(settings.store)):
        return
    lost = [*_missing_vectors(settings)]
    flaws = [*find_flaws(settings.store), *lost]
    for flaw in flaws:
        detail = f"{settings.store / flaw.file}: {flaw.why}"
        advice = MENDS_VECTORS if flaw in lost else f"{MENDS_VECTORS}, or {REPAIR}" if "/" in flaw.file else REPAIR
        yield Finding("store", "integrity", False, detail, advice)
    try:
        if not flaws:
            require_catalogue(settings.store)
            yield from _compare_counts(settings)
    except WinnowError as error:
        detail, _, advice = error.message.partition("; ")
        yield Finding("store", "integrity", False, detail, advice)
        return
    altered = [] if flaws else _altered_documents(settings)
    if altered:
        yield Finding("store", "integrity", False, describe_altered(altered), "run those commands")
    elif not flaws:
        is_sealed = is_store_sealed(settings.store)
        detail = (
            "every file is as it was written"
            if is_sealed
            else "there are no checksums yet: no ingest has finished"
        )
        advice = "" if is_sealed else "run winnow ingest again; it completes the index"
        yield Finding("store", "integrity", is_sealed, detail, advice, essential=False)


def _altered_documents(settings: Settings) -> list[AlteredDocument]:
    """The documents of a store without checksums that are not as they were ingested."""
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.backends.opening import catalogue_path
    from winnow.server.storage.files import seal

    if seal.is_sealed(settings.store) or not catalogue_path(settings).exists():
        return []
    with closing(Catalogue(catalogue_path(settings))) as catalogue:
        return [*find_altered(catalogue)]


def _missing_vectors(settings: Settings) -> Iterator[SealFlaw]:
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.backends.opening import catalogue_path
    from winnow.server.storage.files.seal import SealFlaw

    if settings.qdrant_url or not catalogue_path(settings).exists():
        return
    with suppress(WinnowError), closing(Catalogue(catalogue_path(settings))) as catalogue:
        folder = settings.store / catalogue.binding.vectors
        if catalogue.chunk_count() and not folder.is_dir():
            yield SealFlaw(f"{folder.name}/", "it is missing")


def _compare_counts(settings: Settings) -> Iterator[Finding]:
    """Raise ``WinnowError`` if the vectors are too few; a process that holds them compared when it opened them.

    Opening them writes files, which the user of the store could not write any more if another account made them.
    """
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.backends.opening import catalogue_path, check_counts, open_vectors

    if settings.qdrant_url or not catalogue_path(settings).exists():
        return
    owner = settings.store.stat().st_uid
    if owner != os.geteuid():
        detail = f"vectors and chunks are not compared: this store belongs to {name_of_user(owner)}"
        yield Finding("store", "vectors", False, detail, "run it as that user", essential=False)
        return
    try:
        with (
            closing(Catalogue(catalogue_path(settings))) as catalogue,
            closing(open_vectors(settings, catalogue)) as vectors,
        ):
            check_counts(settings.store, catalogue, vectors)
    except WinnowError as error:
        if error.reason != "INDEX_HELD":
            raise


def _holder(settings: Settings) -> Iterator[Finding]:
    from winnow.server.storage.files.lock import ENGINE, find_holder

    if shared_by := find_holder(settings.store, ENGINE):
        yield Finding("store", "holder", True, f"shared by {shared_by}", "", essential=False)
        return
    process = find_holder(settings.store)
    detail = f"held by {process}" if process else "not in use"
    advice = "fine while that process serves; end it before you ingest, or use another --store" if process else ""
    yield Finding("store", "holder", process is None, detail, advice, essential=False)


def _projects(settings: Settings) -> Iterator[Finding]:
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.backends.opening import catalogue_path

    path = catalogue_path(settings)
    if not path.exists():
        yield Finding(
            "store", "projects", False, "none yet", "index a folder: winnow ingest PATH", essential=False
        )
        return
    catalogue = Catalogue(path)
    try:
        projects = [
            f"{info.name} ({count_of(info.documents, 'document')}, {count_of(info.chunks, 'chunk')})"
            for info in catalogue.projects()
        ]
    finally:
        catalogue.close()
    advice = "" if projects else "index a folder: winnow ingest PATH"
    yield Finding("store", "projects", bool(projects), ", ".join(projects) or "none yet", advice, essential=False)


def _model(settings: Settings) -> Iterator[Finding]:
    from winnow.server.backends.models.embedders import LazyEmbedder

    source, record = LazyEmbedder(settings), find_record(settings)
    model = source.wait()
    if model is not None:
        place = f", in {settings.models}" if record else ""
        detail = f"{model.fingerprint}, {model.dimension} dimensions{place}"
        damage = _find_model_damage(settings)
        advice = f"run: {record.command}" if record and damage else ""
        yield Finding("model", "embedding", not damage, f"{detail}: {damage}" if damage else detail, advice)
        yield from _check_vectors(settings, model.fingerprint)
    elif source.state == "off":
        yield Finding("model", "embedding", True, f"{source.why}; search is lexical", essential=False)
    else:
        advice = f"run: {record.command}" if record else f"check the setting embedder ({settings.embedder})"
        yield Finding("model", "embedding", False, f"{source.why}; search is lexical", advice)


def _check_vectors(settings: Settings, fingerprint: str) -> Iterator[Finding]:
    """Projects that are ranked by words alone because their vectors are missing or another model's."""
    from winnow.server.backends.catalogue import Catalogue
    from winnow.server.backends.opening import catalogue_path

    if not catalogue_path(settings).exists():
        return
    with closing(Catalogue(catalogue_path(settings))) as catalogue:
        made_with = {info.name: info.embedding for info in catalogue.projects() if info.embedding != fingerprint}
    for project, theirs in made_with.items():
        reason = f"indexed with another model ({theirs})" if theirs else "indexed without the embedding model"
        detail = f"project {project!r} was {reason}, so it is ranked by words alone"
        advice = MENDS_VECTORS if theirs else f"run: winnow ingest PATH... --project {project}, or winnow reindex"
        yield Finding("model", "vectors", False, detail, advice)


def _find_model_damage(settings: Settings) -> str:
    """The difference between an installed model's files and their recorded digests; "" for other models."""
    from winnow.server.backends.models.installed.loading import find_damage

    record = find_record(settings)
    return find_damage(settings.models, record, compares_digests=True) if record else ""


def _engine(settings: Settings) -> Iterator[Finding]:
    """Whether the embedded vector store works: writes a point in a temporary folder and searches for it."""
    from winnow.server.backends.vectors.edge import EdgeStore
    from winnow.server.models import Filters
    from winnow.server.storage.base import Point, SparseVector

    word = SparseVector((1,), (1.0,))
    with tempfile.TemporaryDirectory(prefix="winnow-doctor-") as folder:
        store = EdgeStore(Path(folder), dimension=4)
        try:
            store.upsert([Point("000000000001", word, None, {"project": "doctor"})])
            matches = [chunk for chunk, _ in store.search_sparse(word, Filters("doctor"), 1)]
        finally:
            store.close()
    works = matches == ["000000000001"]
    detail = "the embedded index works" if works else "the embedded index does not find what it wrote"
    yield Finding("backends", "embedded", works, detail, "" if works else REINSTALL)


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
            names = [item["name"] for item in json.load(response)["result"]["collections"]]
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


def _host(settings: Settings) -> Iterator[Finding]:
    import psutil

    memory = psutil.virtual_memory().total // MIB
    detail = (
        f"{platform.system()} {platform.release()} {platform.machine()}, {os.cpu_count()} cores, {memory:,} MB"
    )
    yield Finding("host", "kernel", True, detail, essential=False)


def _skills(settings: Settings) -> Iterator[Finding]:
    skill_set = load_skills(settings.skills)
    yield Finding("skills", "skills", True, f"scripts may import {', '.join(skill_set.skills)}", essential=False)
    for one in skill_set.left_out:
        yield Finding(
            "skills", "left out", False, f"{one.what}: {one.why}", "correct it or remove it", essential=False
        )


def _prompts(settings: Settings) -> Iterator[Finding]:
    library = load_prompts(settings.prompt_packs)
    names = ", ".join(prompt.listed_name for prompt in library.prompts)
    yield Finding("prompts", "prompts", True, names, essential=False)
    for one in library.left_out:
        yield Finding(
            "prompts", "left out", False, f"{one.what}: {one.why}", "correct it or remove it", essential=False
        )


def _tool_packs(settings: Settings) -> Iterator[Finding]:
    if not settings.tool_packs:
        return
    from winnow.server.tools.operator_packs.contract_violations import ContractViolations
    from winnow.server.tools.operator_packs.offering import ToolRegistry

    registry = ToolRegistry(settings.tool_packs, TAKEN_NAMES, ContractViolations(settings.store))
    registry.refresh()
    names = ", ".join(pack.id for pack in registry.packs) or "none"
    yield Finding("tool packs", "tools", True, names, essential=False)
    for one in registry.left_out:
        advice = "winnow pack check FOLDER shows it; correct it or remove it"
        yield Finding("tool packs", "left out", False, f"{one.what}: {one.why}", advice, essential=False)


def _watching(settings: Settings) -> Iterator[Finding]:
    from winnow.server.commands.health.watching import check_watching

    yield from check_watching(settings)


def _capacities(settings: Settings) -> Iterator[Finding]:
    from winnow.server.commands.entry.statistics import ask_servers

    for server in ask_servers(settings.store):
        ratios = server.get("capacities", {})
        full = [f"{name} {ratios[name]:.0%}" for name, on in server.get("alerts", {}).items() if on]
        detail = (
            f"process {server['pid']}: {', '.join(full)} used" if full else f"process {server['pid']}: room left"
        )
        advice = "docs/monitoring.md says what to do for each" if full else ""
        yield Finding("capacities", "server", not full, detail, advice, essential=False)


def _circuits(settings: Settings) -> Iterator[Finding]:
    from winnow.server.commands.entry.statistics import ask_servers

    for server in ask_servers(settings.store):
        for name, figures in (server.get("backends") or {}).items():
            detail = f"process {server['pid']}: calls pass"
            if is_away := figures["state"] != "closed":
                detail = f"process {server['pid']}: {name} did not answer, and is not called for a while"
            advice = "start it, or mend its address in the settings; calls go on by themselves" if is_away else ""
            yield Finding("backends", f"{name} calls", not is_away, detail, advice, essential=False)


CHECKS: tuple[Check, ...] = (
    _versions,
    _interpreter,
    _dependencies,
    _installation,
    _tokens,
    _store,
    _integrity,
    *primary_data.CHECKS,
    _model,
    _engine,
    _qdrant,
    *notebooks.CHECKS,
    *walls.CHECKS,
    _skills,
    _prompts,
    _tool_packs,
    _watching,
    _capacities,
    _circuits,
    _host,
)
