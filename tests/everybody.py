"""Runs the tests; as root, also as an ordinary user. Options go to pytest; paths are what runs.

With ``--rare`` first it runs those that take long and seldom fail, once, as the user that this is, and no others.
With ``--record`` first it also writes how long each file took, which orders the queues of later runs.

Root passes checks that others do not. So files with the mark ``both_users`` run as root and as an ordinary user,
those with the mark ``as_root`` as root alone, and all others (protocols, schemas, indexes, the language) as the
ordinary user. Where the marks are is read from the text of the files, before any is imported.

Much of a run is waiting for processes and limits, so one process more than there are processors works, each as one
user. Those of a user share a queue of files, the longest first (``tests/file_queue.py``). Where it is empty, a new
process takes files of the other user, so that all end together.

Temporary files are in memory where root may mount it and there is enough: a test with a store waits for the disk
some hundred times, longer than it computes.

What fails fails: no test is run a second time.

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
_USERS = ROOT_USER, ORDINARY = "root", "ordinary"
# The first processes; the ordinary user has more files than root.
_WORKERS = (ROOT_USER, *[ORDINARY] * max(2, os.cpu_count() or 2))
_TAKES_FILES = ("-q", "-o", "console_output_style=classic", "-p", "no:cacheprovider", "-p", "tests.file_queue")
# User -> file -> seconds of wall clock, written with ``--record``. A file without a record is taken first.
_SECONDS = Path(__file__).with_name("file_seconds.json")
_UNKNOWN = 10_000.0
# A `make` that a test starts is none of the one that started the tests; an engine gets no variables of Python, and
# would be no fork of a template that has some (tests/starts).
_LEFT_OUT = re.compile(r"MAKEFLAGS|MFLAGS|MAKELEVEL|PYTHON.*")
_REPORT_SECONDS, _LOOK_SECONDS = 5.0, 0.2
# Lines of pytest's summary. With this variable, as on servers that build, it does not cut reasons to the terminal.
_FAILURES, _REASON_CHARS = re.compile(r"^(?:FAILED|ERROR) tests/.+$", re.MULTILINE), 400
_WHOLE_REASONS = "BUILD_NUMBER"

# Left out of `make test`, and run by `make test-rare`: what measures, converts the model, installs clients of
# others, indexes collections, kills a process at every step, moves projects, or shows that attacks work elsewhere.
_RARE = (
    "tests/bench",
    "tests/flow/test_bench.py",
    "tests/flow/test_bench_tokens.py",
    "tests/flow/test_demo.py",
    "tests/flow/test_distribution.py",
    "tests/flow/test_eval.py",
    "tests/flow/test_interop.py",
    "tests/flow/test_project_archives.py",
    "tests/flow/test_project_removal.py",
    "tests/fuzz/test_all_spies.py",
    "tests/unit/test_model_install.py",
    "tests/unit/test_real_models.py",
    "tests/walls/test_attack_controls.py",
)
# Run by both, and by `make test-rare` alone with the server of another project that this variable allows to start.
_WITH_SERVERS, _STARTS_SERVERS = ("tests/contract/test_graph_stores.py",), "WINNOW_TEST_NEO4J"
# The marks of files that run as both users, and as root alone.
_BOTH, _AS_ROOT = "both_users", "as_root"
_MARKS = re.compile(r"^pytestmark = .*?^(?=\S|\Z)", re.MULTILINE | re.DOTALL)
_NOTHING_COLLECTED = 5
_USUAL = (0, 1, _NOTHING_COLLECTED)  # exit codes of a process that took files until there was none
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
    marks = {file: read_marks((ROOT / file).read_text("utf-8")) for file in usual}
    as_root = {file for file in usual if marks[file]}
    return {ROOT_USER: as_root, ORDINARY: {file for file in usual if _AS_ROOT not in marks[file]}}


def read_marks(text: str) -> set[str]:
    """The marks that say as whom a file runs, of those that the module gives to all its tests."""
    given = " ".join(_MARKS.findall(text + "\n\n"))
    return {mark for mark in (_BOTH, _AS_ROOT) if re.search(rf"\bmark\.{mark}\b", given)}


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
        codes = _work(folder, queue, options)
        if is_recorded:
            _record(queue)
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


def _work(folder: Path, queue: Path, options: Sequence[str]) -> list[int]:
    """Run all files and report progress, then show what the processes wrote. Their exit codes."""

    def start(user: str) -> Worker:
        return _start(user, folder, [*_TAKES_FILES, f"--queue={queue / user}.json", *options])

    began = reported = time.monotonic()
    running = [start(user) for user in _WORKERS]
    ended: dict[Worker, int] = {}
    while running:
        time.sleep(_LOOK_SECONDS)
        for worker in list(running):
            if (code := worker.poll()) is not None:
                running.remove(worker)
                ended[worker] = code
                left = _count_files_left(queue)
                if code in _USUAL and not left[worker.user] and any(left.values()):
                    running.append(start(max(left, key=left.__getitem__)))
        if time.monotonic() - reported >= _REPORT_SECONDS or not running:
            reported = time.monotonic()
            print(_describe_progress(queue, reported - began), flush=True)
    for worker in ended:
        worker.show()
    print("the slowest tests:", *_find_slowest(queue), sep="\n", flush=True)
    if failures := [line for worker in ended for line in worker.find_failures()]:
        print("what failed:", *failures, sep="\n", flush=True)
    are_left = any(_count_files_left(queue).values())
    if are_left:
        print("some files did not run", flush=True)
    return [*ended.values(), int(are_left)]


def _count_files_left(queue: Path) -> dict[str, int]:
    """User -> the number of files that no process has taken."""
    return {user: len(_read_files(queue, user)) - len(read_claims(queue, user)) for user in _USERS}


def _read_files(queue: Path, user: str) -> list[str]:
    files: list[str] = json.loads((queue / f"{user}.json").read_text("utf-8"))
    return files


def _describe_progress(queue: Path, seconds: float) -> str:
    """One line: how much has run, how much failed, what runs."""
    listed = sum(len(_read_files(queue, user)) for user in _USERS)
    claims = [claim for user in _USERS for claim in read_claims(queue, user).items()]
    ended = [ran for _, ran in claims if ran]
    running = ", ".join(sorted(Path(file).stem.removeprefix("test_") for file, ran in claims if not ran))
    tests, failed = sum(ran.tests for ran in ended), sum(ran.failed for ran in ended)
    minutes = f"{int(seconds) // 60:3}:{int(seconds) % 60:02}"
    return f"{minutes}  {len(ended)} of {listed} files, {tests} tests, {failed} failed; now {running or 'nothing'}"


def _find_slowest(queue: Path) -> list[str]:
    """The slowest tests, with their seconds of wall clock."""
    times = [
        (seconds, f"{name} ({user})")
        for user in _USERS
        for ran in read_claims(queue, user).values()
        if ran
        for name, seconds in ran.slowest.items()
    ]
    return [f"{seconds:7.1f} s  {name}" for seconds, name in sorted(times, reverse=True)[:SLOWEST]]


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

    def find_failures(self) -> list[str]:
        """The tests that failed, each with the first line of its reason."""
        output = (self.home / "output").read_text("utf-8", "replace")
        return [f"{line[:_REASON_CHARS]} ({self.user})" for line in _FAILURES.findall(output)]


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
        environment = {name: value for name, value in os.environ.items() if not _LEFT_OUT.fullmatch(name)}
        environment["TMPDIR"] = str(home / "tmp")
        if user == ORDINARY:
            _become()
            environment = _environment_of_ordinary(home)
        environment[_WHOLE_REASONS] = "0"
        os.chdir(ROOT)
        command = [sys.executable, "-m", "pytest", *arguments]
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
