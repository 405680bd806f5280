"""Runs the tests; as root, also as an ordinary user. Options go to pytest; paths are what runs.

With ``--rare`` first it runs those that take long and seldom fail, once, as the user that this is, and no others.
With ``--record`` first it also writes how long each file took, which orders the queues of later runs.

Root passes checks that others do not, so each test of the sandbox must hold for both kinds of user. Tests that do
not depend on the user (protocols, schemas, indexes, the language) run once. Much of a run is waiting for processes
and limits, so three processes work side by side on two processors: one as root, the others as an ordinary user.
Those of a user share a queue of files, the longest first, so that they end together (``tests/file_queue.py``).

Temporary files are in memory where root may mount it and there is enough: a test with a store waits for the disk
some hundred times, longer than it computes.

Up to three tests that failed beside the others are run once more when these have ended, by the same user and
alone: some have limits of time that three processes on two processors may exceed. What fails again is a failure;
what passes is named, since it depends on the load, or on which of two events comes first.

The ordinary user changes nothing on the disk: the checkout is only read; homes, caches and temporary files are in
folders of that user. If only root may enter a parent folder of the interpreter or the checkout, the processes of
that user get a mount namespace in which the path is open.
"""

from __future__ import annotations

import compileall
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.file_queue import SLOWEST, read_claims, write_queue  # noqa: E402  # started as a file

NOBODY = 65_534
ROOT_USER, ORDINARY = "root", "ordinary"
# One process for each; two of the ordinary user have more files than root alone.
_WORKERS = (ROOT_USER, *[ORDINARY] * max(2, os.cpu_count() or 2))
_TAKES_FILES = ("-q", "-o", "console_output_style=classic", "-p", "tests.file_queue")
# User -> file -> seconds of wall clock, written with ``--record``. A file without a record is taken first.
_SECONDS = Path(__file__).with_name("file_seconds.json")
_UNKNOWN = 10_000.0
# A `make` that a test starts is none of the one that started the tests.
_OF_MAKE = ("MAKEFLAGS", "MFLAGS", "MAKELEVEL")
_REPORT_SECONDS, _LOOK_SECONDS = 10.0, 0.2

# Left out of `make test`, and run by `make test-rare`: what measures, converts the model, installs clients of
# others, indexes collections, kills a process at every step, moves projects, or shows that attacks work elsewhere.
_RARE = (
    "tests/bench",
    "tests/flow/test_bench.py",
    "tests/flow/test_bench_tokens.py",
    "tests/flow/test_demo.py",
    "tests/flow/test_eval.py",
    "tests/flow/test_interop.py",
    "tests/flow/test_project_archives.py",
    "tests/flow/test_project_removal.py",
    "tests/fuzz/test_all_spies.py",
    "tests/unit/test_model_install.py",
    "tests/walls/test_attack_controls.py",
)
# Run by both, and by `make test-rare` alone with the server of another project that this variable allows to start.
_WITH_SERVERS, _STARTS_SERVERS = ("tests/contract/test_graph_stores.py",), "WINNOW_TEST_NEO4J"
# Tests that do not depend on the user run as one of them; all others run as both.
_ROOT_ALONE = (
    "tests/contract/test_graph_stores.py",  # builds Neo4j in the user's home folder
    "tests/flow/test_log_hygiene.py",
    "tests/flow/test_watch_commands.py",
    "tests/flow/test_watched_folders.py",
    "tests/unit/test_engine_heartbeat.py",
    "tests/unit/test_sandbox_batches.py",
    "tests/unit/test_waits.py",
    "tests/walls/test_lesser_hosts.py",
    "tests/walls/test_reader_pool.py",
    "tests/walls/test_surface_attacks.py",
)
# Files that ``_ROOT_ALONE`` names are excepted.
_ORDINARY_ALONE = (
    "tests/contract",
    "tests/flow/test_agent_day.py",
    "tests/flow/test_claim_commands.py",
    "tests/flow/test_commands.py",
    "tests/flow/test_corpus_commands.py",
    "tests/flow/test_credentials.py",
    "tests/flow/test_damage.py",
    "tests/flow/test_drain.py",
    "tests/flow/test_engine.py",
    "tests/flow/test_fastmcp.py",
    "tests/flow/test_frames.py",
    "tests/flow/test_graph_commands.py",
    "tests/flow/test_graph_ingest.py",
    "tests/flow/test_hostile_documents.py",
    "tests/flow/test_hung_engine.py",
    "tests/flow/test_ingest_changes.py",
    "tests/flow/test_ingest_hostile.py",
    "tests/flow/test_ingest_ignored.py",
    "tests/flow/test_ingest_images.py",
    "tests/flow/test_ingest_labels.py",
    "tests/flow/test_ingest_references.py",
    "tests/flow/test_ingest_resume.py",
    "tests/flow/test_job*.py",
    "tests/flow/test_keys.py",
    "tests/flow/test_links_that_open.py",
    "tests/flow/test_migrate.py",
    "tests/flow/test_pdf_answers.py",
    "tests/flow/test_project*.py",
    "tests/flow/test_reading_reports.py",
    "tests/flow/test_reindex.py",
    "tests/flow/test_scale.py",
    "tests/flow/test_scarcity.py",
    "tests/flow/test_stdio.py",
    "tests/flow/test_store_migration.py",
    "tests/flow/test_tool_pack_calls.py",
    "tests/flow/test_traces.py",
    "tests/flow/test_watching.py",
    "tests/flow/test_zotero_*.py",
    "tests/fuzz",
    "tests/unit/test_addresses.py",
    "tests/unit/test_allowances.py",
    "tests/unit/test_architecture.py",
    "tests/unit/test_attack_suite.py",
    "tests/unit/test_bibliographies.py",
    "tests/unit/test_boosts.py",
    "tests/unit/test_caches.py",
    "tests/unit/test_chunking.py",
    "tests/unit/test_citing.py",
    "tests/unit/test_claim_*.py",
    "tests/unit/test_client_sdk.py",
    "tests/unit/test_contracts.py",
    "tests/unit/test_cursors.py",
    "tests/unit/test_demo_corpus.py",
    "tests/unit/test_docs.py",
    "tests/unit/test_docx.py",
    "tests/unit/test_embedder*.py",
    "tests/unit/test_engine_wire.py",
    "tests/unit/test_epub.py",
    "tests/unit/test_errors.py",
    "tests/unit/test_evidence.py",
    "tests/unit/test_execute_code_text.py",
    "tests/unit/test_facade.py",
    "tests/unit/test_format_imports.py",
    "tests/unit/test_freezing.py",
    "tests/unit/test_front_matter.py",
    "tests/unit/test_frugal.py",
    "tests/unit/test_fusion.py",
    "tests/unit/test_golden.py",
    "tests/unit/test_graph_*.py",
    "tests/unit/test_harvest.py",
    "tests/unit/test_http_access.py",
    "tests/unit/test_http_address.py",
    "tests/unit/test_ids.py",
    "tests/unit/test_ignore_files.py",
    "tests/unit/test_images.py",
    "tests/unit/test_languages.py",
    "tests/unit/test_lexical.py",
    "tests/unit/test_locators.py",
    "tests/unit/test_log_files.py",
    "tests/unit/test_mail.py",
    "tests/unit/test_markdown_quotes.py",
    "tests/unit/test_markdown_records.py",
    "tests/unit/test_matching.py",
    "tests/unit/test_monitoring.py",
    "tests/unit/test_needed_texts.py",
    "tests/unit/test_notebook.py",
    "tests/unit/test_oidc.py",
    "tests/unit/test_old_workbooks.py",
    "tests/unit/test_onnx_runtime.py",
    "tests/unit/test_opendocument.py",
    "tests/unit/test_outlook.py",
    "tests/unit/test_packaging.py",
    "tests/unit/test_pages_of_documents.py",
    "tests/unit/test_paragraphs.py",
    "tests/unit/test_parser_answers.py",
    "tests/unit/test_passage_store.py",
    "tests/unit/test_pdf_readers.py",
    "tests/unit/test_pdf_words.py",
    "tests/unit/test_pptx.py",
    "tests/unit/test_printable.py",
    "tests/unit/test_project_settings.py",
    "tests/unit/test_prompt_packs.py",
    "tests/unit/test_public_names.py",
    "tests/unit/test_queries.py",
    "tests/unit/test_quotes.py",
    "tests/unit/test_read_ahead.py",
    "tests/unit/test_readers.py",
    "tests/unit/test_reference.py",
    "tests/unit/test_reference_matching.py",
    "tests/unit/test_refused_options.py",
    "tests/unit/test_relevance.py",
    "tests/unit/test_remote.py",
    "tests/unit/test_retrieval.py",
    "tests/unit/test_retrieval_evaluation.py",
    "tests/unit/test_rtf.py",
    "tests/unit/test_saved_values.py",
    "tests/unit/test_script_examples.py",
    "tests/unit/test_scan_patterns.py",
    "tests/unit/test_shaping.py",
    "tests/unit/test_sheet_rows.py",
    "tests/unit/test_sheets.py",
    "tests/unit/test_smaller_language.py",
    "tests/unit/test_spans.py",
    "tests/unit/test_sqlite.py",
    "tests/unit/test_subtitles.py",
    "tests/unit/test_teaching.py",
    "tests/unit/test_template_code.py",
    "tests/unit/test_text_meter.py",
    "tests/unit/test_threat_model.py",
    "tests/unit/test_token_benchmark.py",
    "tests/unit/test_tokens.py",
    "tests/unit/test_tool_packs.py",
    "tests/unit/test_trigrams.py",
    "tests/unit/test_verdict.py",
    "tests/unit/test_views.py",
    "tests/unit/test_zotero_*.py",
    "tests/walls/test_first_try.py",
    "tests/walls/test_monty.py",
    "tests/walls/test_sandbox_help.py",
    "tests/walls/test_sandbox_language.py",
    "tests/walls/test_sandbox_precheck.py",
)
_FAILED, _NOTHING_COLLECTED = 1, 5
_MAX_REPEATED = 3
_CACHE = "pytest-cache"
_ENOUGH_MEMORY = 12 << 30  # free bytes; the temporary files of a run take up to 5 GiB

_CLONE_NEWNS = 0x20000
_MS_BIND, _MS_REC, _MS_PRIVATE = 1 << 12, 1 << 14, 1 << 18
_MNT_DETACH = 2
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_ASIDE = Path("/mnt")  # hidden in our own view while we rearrange it


def _files_of(names: Sequence[str]) -> set[str]:
    """The test files that these patterns and folders have."""
    found = {file for name in names for path in ROOT.glob(name) for file in (path, *path.rglob("test_*.py"))}
    return {str(file.relative_to(ROOT)) for file in found if file.is_file()}


def _files_of_users() -> dict[str, set[str]]:
    """User -> the files that run as this user."""
    usual = _files_of(["tests"]) - _files_of(_RARE)
    root_alone = usual & _files_of(_ROOT_ALONE)
    ordinary_alone = (usual & _files_of(_ORDINARY_ALONE)) - root_alone
    return {ROOT_USER: usual - ordinary_alone, ORDINARY: usual - root_alone}


def main(arguments: Sequence[str]) -> int:
    """Run the tests as the current user and, if that is root, also as an ordinary user. The worst exit code."""
    ours = [sys.executable, "-m", "pytest", *arguments]
    if arguments and arguments[0] == "--rare":
        rare = [*ours[: -len(arguments)], *_RARE, *_WITH_SERVERS, *arguments[1:]]
        return subprocess.call(rare, cwd=ROOT, env={**os.environ, _STARTS_SERVERS: "1"})
    _compile_sources()
    if sys.platform != "linux" or os.geteuid() != 0:
        print("the tests run once, as the ordinary user that this is", flush=True)
        return subprocess.call([*ours, *_without(_RARE)], cwd=ROOT)
    if arguments and arguments[0] == "--record":
        return _run_all(arguments[1:], is_recorded=True)
    return _run_all(arguments, is_recorded=False)


def _run_all(arguments: Sequence[str], is_recorded: bool) -> int:
    """Run the files of both users, with these options of pytest; paths among them are the files to run."""
    print("the tests run side by side, as root and as an ordinary user; failures are shown at the end", flush=True)
    paths = [argument for argument in arguments if (ROOT / argument).exists()]
    options = [argument for argument in arguments if argument not in paths]
    with _temporary_folder() as folder:
        queue = _make_queue(folder, paths)
        workers = [
            _start(user, folder, [*_TAKES_FILES, f"--queue={queue / user}.json", *options]) for user in _WORKERS
        ]
        codes = _wait_for(workers, queue)
        if is_recorded:
            _record(queue)
        failures = [_read_failures(worker.home) for worker in workers]
        if _may_be_repeated(codes, failures):
            print("once more, alone: the tests that failed beside the others", flush=True)
            repeated = zip(workers, codes, failures, strict=True)
            codes = [code if not failed else _repeat(worker, failed) for worker, code, failed in repeated]
    return _join_codes(codes)


def _make_queue(folder: Path, paths: Sequence[str]) -> Path:
    """The queues of both users, the longest file first; of these paths alone, if there are any."""
    queue = folder / "queue"
    queue.mkdir()
    recorded = json.loads(_SECONDS.read_text("utf-8"))
    for user, files in _files_of_users().items():
        wanted = files & _files_of(paths) if paths else files
        write_queue(queue, user, sorted(wanted, key=lambda file: (-recorded[user].get(file, _UNKNOWN), file)))
    return queue


def _record(queue: Path) -> None:
    """Write how long the files took that ended, among those recorded before."""
    recorded = json.loads(_SECONDS.read_text("utf-8"))
    for user, files in _files_of_users().items():
        new = {file: ran.seconds for file, ran in read_claims(queue, user).items() if ran}
        known = {**recorded[user], **new}
        recorded[user] = {file: round(known[file], 1) for file in sorted(files & known.keys())}
    _SECONDS.write_text(json.dumps(recorded, indent=1) + "\n", "utf-8")


def _wait_for(workers: Sequence[Worker], queue: Path) -> list[int]:
    """Report progress until all have ended, then show what they wrote. Their exit codes."""
    began = time.monotonic()
    codes: dict[Worker, int] = {}
    while len(codes) < len(workers):
        end = time.monotonic() + _REPORT_SECONDS
        while time.monotonic() < end and len(codes) < len(workers):
            codes.update({one: code for one in workers if one not in codes and (code := one.poll()) is not None})
            time.sleep(_LOOK_SECONDS)
        print(_describe_progress(queue, time.monotonic() - began), flush=True)
    for worker in workers:
        worker.show()
    print("the slowest tests:", *_find_slowest(queue), sep="\n", flush=True)
    return [codes[worker] for worker in workers]


def _describe_progress(queue: Path, seconds: float) -> str:
    """One line: how much has run, how much failed, what runs."""
    listed = sum(len(json.loads((queue / f"{user}.json").read_text("utf-8"))) for user in _files_of_users())
    claims = [claim for user in _files_of_users() for claim in read_claims(queue, user).items()]
    ended = [ran for _, ran in claims if ran]
    running = ", ".join(sorted(Path(file).stem.removeprefix("test_") for file, ran in claims if not ran))
    tests, failed = sum(ran.tests for ran in ended), sum(ran.failed for ran in ended)
    minutes = f"{int(seconds) // 60:3}:{int(seconds) % 60:02}"
    return f"{minutes}  {len(ended)} of {listed} files, {tests} tests, {failed} failed; now {running or 'nothing'}"


def _find_slowest(queue: Path) -> list[str]:
    """The slowest tests, with their seconds of wall clock."""
    times = [
        (seconds, f"{name} ({user})")
        for user in _files_of_users()
        for ran in read_claims(queue, user).values()
        if ran
        for name, seconds in ran.slowest.items()
    ]
    return [f"{seconds:7.1f} s  {name}" for seconds, name in sorted(times, reverse=True)[:SLOWEST]]


def _repeat(worker: Worker, failed: Sequence[str]) -> int:
    """Run these tests again, as the same user, and show how they went. The exit code."""
    once_more = _start(worker.user, worker.home.parent, ["-rA", *failed])
    while (code := once_more.poll()) is None:
        time.sleep(_LOOK_SECONDS)
    once_more.show()
    return code


def _may_be_repeated(codes: Sequence[int], failures: Sequence[Sequence[str]]) -> bool:
    """Whether the tests that failed are few, and nothing else went wrong."""
    failed = [name for names in failures for name in names]
    return set(codes) <= {0, _FAILED, _NOTHING_COLLECTED} and 0 < len(failed) <= _MAX_REPEATED


def _read_failures(home: Path) -> list[str]:
    """The tests that failed in the run with this home."""
    record = home / _CACHE / "v" / "cache" / "lastfailed"
    return sorted(json.loads(record.read_text("utf-8"))) if record.exists() else []


def _cache_in(home: Path) -> list[str]:
    return ["-o", f"cache_dir={home / _CACHE}"]


@contextmanager
def _temporary_folder() -> Iterator[Path]:
    """A folder for all temporary files, which is removed at the end; in memory if possible."""
    folder = Path(tempfile.mkdtemp(prefix="winnow-tests-"))
    folder.chmod(0o755)
    try:
        if _read_available_memory() >= _ENOUGH_MEMORY:
            with suppress(OSError):
                _own_namespace()
                _mount("tmpfs", folder, 0)
        yield folder
    finally:
        _libc().umount2(os.fsencode(folder), _MNT_DETACH)
        shutil.rmtree(folder, ignore_errors=True)


def _read_available_memory() -> int:
    """Bytes that processes can take without swapping."""
    (kib,) = re.findall(r"^MemAvailable: +(\d+) kB$", Path("/proc/meminfo").read_text("ascii"), re.MULTILINE)
    return int(kib) * 1024


def _compile_sources() -> None:
    """Bytecode for all runs: the ordinary user cannot write it, and each process of winnow would compile again."""
    for folder in ("server", "sandbox", "client_sdk", "security"):
        compileall.compile_dir(ROOT / folder, quiet=2, rx=re.compile(r"[/\\]attacks[/\\]"))


def _join_codes(codes: Sequence[int]) -> int:
    """The worst exit code; a run without tests is no failure beside one that has some."""
    return max([code for code in codes if code != _NOTHING_COLLECTED], default=_NOTHING_COLLECTED)


def _without(paths: Sequence[str]) -> list[str]:
    return [f"--ignore-glob={ROOT / path}" for path in paths]


@dataclass(frozen=True, slots=True)
class Worker:
    """A process of pytest, and the folder of its home, which has its output, caches and temporary files."""

    pid: int
    user: str
    home: Path

    def poll(self) -> int | None:
        """The exit code, once the process has ended."""
        pid, status = os.waitpid(self.pid, os.WNOHANG)
        return abs(os.waitstatus_to_exitcode(status)) if pid else None

    def show(self) -> None:
        """Print what the process wrote."""
        print(f"as {self.user}:", flush=True)
        sys.stdout.buffer.write((self.home / "output").read_bytes())
        sys.stdout.flush()


def _start(user: str, folder: Path, arguments: Sequence[str]) -> Worker:
    """Start pytest as this user, with a new home in the folder."""
    home = Path(tempfile.mkdtemp(prefix=f"{user}-", dir=folder))
    (home / "tmp").mkdir()
    if user == ROOT_USER:
        home.chmod(0o755)  # processes that root starts as another user reach their files
    if user == ORDINARY:
        for path in (home, home / "tmp"):
            os.chown(path, NOBODY, NOBODY)
    pid = os.fork()
    if pid != 0:
        return Worker(pid, user, home)
    try:
        written = os.open(home / "output", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        os.dup2(written, 1)
        os.dup2(written, 2)
        environment = {name: value for name, value in os.environ.items() if name not in _OF_MAKE}
        environment["TMPDIR"] = str(home / "tmp")
        if user == ORDINARY:
            _become()
            environment = _environment_of_ordinary(home)
        os.chdir(ROOT)
        command = [sys.executable, "-m", "pytest", *_cache_in(home), *arguments]
        os.execve(sys.executable, command, environment)
    except OSError as error:
        os.write(2, f"no {user} user here: {error}\n".encode())
    finally:
        os._exit(1)


def _become() -> None:
    needed = [path.resolve() for path in (ROOT, Path(sys.prefix), Path(sys.base_prefix))]
    open_the_way(sorted(set(needed)))
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    # The change of user made root the owner of /proc/self, and cleared the death signal.
    _libc().prctl(_PR_SET_DUMPABLE, 1, 0, 0, 0)
    _libc().prctl(_PR_SET_PDEATHSIG, signal.SIGTERM, 0, 0, 0)
    if unreachable := [str(path) for path in needed if not os.access(path, os.R_OK | os.X_OK)]:
        raise OSError(f"no way to {', '.join(unreachable)}")


def _environment_of_ordinary(home: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SSL_CERT_FILE") if name in os.environ}
    return {
        **kept,
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(home / "hypothesis"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


# --- a private mount namespace ----------------------------------------------------------------------------------


def closed_folders(paths: Sequence[Path]) -> Iterator[tuple[Path, list[Path]]]:
    """The outermost folders that other users may not enter, each with the paths below it."""
    behind: dict[Path, list[Path]] = {}
    for path in paths:
        closed = next((folder for folder in reversed(path.parents) if not folder.stat().st_mode & 0o001), None)
        if closed is not None:
            behind.setdefault(closed, []).append(path)
    yield from behind.items()


def open_the_way(paths: Sequence[Path]) -> None:
    """Make each of these paths reachable for all users, in a mount namespace of this process."""
    closed = list(closed_folders(paths))
    if not closed:
        return
    _own_namespace()
    for folder, kept in closed:
        _mount("tmpfs", _ASIDE, 0)
        for number, path in enumerate(kept):
            (_ASIDE / str(number)).mkdir()
            _mount(str(path), _ASIDE / str(number), _MS_BIND | _MS_REC)
        _mount("tmpfs", folder, 0)
        for number, path in enumerate(kept):
            path.mkdir(parents=True, exist_ok=True)
            _mount(str(_ASIDE / str(number)), path, _MS_BIND | _MS_REC)


def _own_namespace() -> None:
    """Mounts of this process are seen by it and its children alone from here on."""
    _checked(_libc().unshare(_CLONE_NEWNS))
    _mount(None, Path("/"), _MS_REC | _MS_PRIVATE)


def _mount(source: str | None, target: Path, flags: int) -> None:
    kind = b"tmpfs" if source == "tmpfs" else None
    data = b"mode=755" if kind else None
    _checked(_libc().mount(source.encode() if source else None, str(target).encode(), kind, flags, data))


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _checked(result: int) -> None:
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
