"""Runs the tests; as root, also as an ordinary user. All arguments go to pytest.

Root passes checks that others do not, so each test of the sandbox must hold for both kinds of user. Tests that do
not depend on the user (protocols, schemas, indexes, the language) run once. Nothing on the disk changes: the
checkout is only read; homes, caches and temporary files are in a folder of that user. If only root may enter a
parent folder of the interpreter or the checkout, this process gets a mount namespace in which the path is open.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
NOBODY = 65_534

# Tests that do not depend on the user are divided between the two runs, so that both end at about the same time.
_ROOT_ALONE = (
    "tests/bench/test_code.py",
    "tests/bench/test_engine.py",
    "tests/bench/test_exhaustive.py",
    "tests/bench/test_graph.py",
    "tests/bench/test_pdf.py",
    "tests/bench/test_sandbox_peers.py",
    "tests/bench/test_watching.py",
    "tests/contract/test_current_vectors.py",
    "tests/contract/test_graph_stores.py",
    "tests/contract/test_places.py",
    "tests/contract/test_places_of_rows.py",
    "tests/contract/test_store_vectors.py",
    "tests/flow/test_bench.py",
    "tests/flow/test_bench_tokens.py",
    "tests/flow/test_damage.py",
    "tests/flow/test_demo.py",
    "tests/flow/test_engine.py",
    "tests/flow/test_frames.py",
    "tests/flow/test_hung_engine.py",
    "tests/flow/test_interop.py",
    "tests/flow/test_scarcity.py",
    "tests/flow/test_watched_folders.py",
    "tests/unit/test_docs.py",
    "tests/unit/test_docx.py",
    "tests/unit/test_engine_heartbeat.py",
    "tests/unit/test_epub.py",
    "tests/unit/test_golden.py",
    "tests/unit/test_graph_*.py",
    "tests/unit/test_languages.py",
    "tests/unit/test_mail.py",
    "tests/unit/test_model_install.py",
    "tests/unit/test_notebook.py",
    "tests/unit/test_opendocument.py",
    "tests/unit/test_pdf_readers.py",
    "tests/unit/test_pdf_words.py",
    "tests/unit/test_pptx.py",
    "tests/unit/test_rtf.py",
    "tests/unit/test_sandbox_batches.py",
    "tests/unit/test_sheets.py",
    "tests/unit/test_sqlite.py",
    "tests/unit/test_subtitles.py",
    "tests/unit/test_token_benchmark.py",
    "tests/unit/test_waits.py",
    "tests/walls/test_surface_attacks.py",
)
_ORDINARY_ALONE = (
    "tests/bench/test_code_mode.py",
    "tests/bench/test_ingest.py",
    "tests/bench/test_programs.py",
    "tests/bench/test_scale.py",
    "tests/bench/test_search_peers.py",
    "tests/contract/test_answers.py",
    "tests/contract/test_audit.py",
    "tests/contract/test_budgets.py",
    "tests/contract/test_confined_server.py",
    "tests/contract/test_deadlines.py",
    "tests/contract/test_followed_scans.py",
    "tests/contract/test_framing.py",
    "tests/contract/test_graph_modes.py",
    "tests/contract/test_graph_tools.py",
    "tests/contract/test_hostile_facts.py",
    "tests/contract/test_http.py",
    "tests/contract/test_kb.py",
    "tests/contract/test_knowledge.py",
    "tests/contract/test_languages.py",
    "tests/contract/test_large_results.py",
    "tests/contract/test_legacy.py",
    "tests/contract/test_mcp.py",
    "tests/contract/test_prompts.py",
    "tests/contract/test_ranking.py",
    "tests/contract/test_resources.py",
    "tests/contract/test_rollback.py",
    "tests/contract/test_scratch_sessions.py",
    "tests/contract/test_script_scope.py",
    "tests/contract/test_sdk.py",
    "tests/contract/test_search_many.py",
    "tests/contract/test_skills.py",
    "tests/contract/test_strict_limits.py",
    "tests/contract/test_tool_list.py",
    "tests/flow/test_corpus_commands.py",
    "tests/flow/test_credentials.py",
    "tests/flow/test_eval.py",
    "tests/flow/test_graph_commands.py",
    "tests/flow/test_graph_ingest.py",
    "tests/flow/test_ingest_changes.py",
    "tests/flow/test_ingest_hostile.py",
    "tests/flow/test_ingest_ignored.py",
    "tests/flow/test_ingest_labels.py",
    "tests/flow/test_ingest_resume.py",
    "tests/flow/test_log_hygiene.py",
    "tests/flow/test_migrate.py",
    "tests/flow/test_pdf_answers.py",
    "tests/flow/test_reading_reports.py",
    "tests/flow/test_reindex.py",
    "tests/flow/test_scale.py",
    "tests/flow/test_store_migration.py",
    "tests/flow/test_watch_commands.py",
    "tests/flow/test_watching.py",
    "tests/fuzz",
    "tests/unit/test_demo_corpus.py",
    "tests/unit/test_embedder*.py",
    "tests/unit/test_format_imports.py",
    "tests/unit/test_ignore_files.py",
    "tests/unit/test_locators.py",
    "tests/unit/test_needed_texts.py",
    "tests/unit/test_paragraphs.py",
    "tests/unit/test_parser_answers.py",
    "tests/unit/test_printable.py",
    "tests/unit/test_trigrams.py",
    "tests/unit/test_views.py",
    "tests/walls/test_first_try.py",
    "tests/walls/test_monty.py",
    "tests/walls/test_sandbox_help.py",
    "tests/walls/test_sandbox_language.py",
    "tests/walls/test_sandbox_precheck.py",
)

_CLONE_NEWNS = 0x20000
_MS_BIND, _MS_REC, _MS_PRIVATE = 1 << 12, 1 << 14, 1 << 18
_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE = 1, 4
_ASIDE = Path("/mnt")  # hidden in our own view while we rearrange it


def main(arguments: Sequence[str]) -> int:
    """Run pytest as the current user and, if that is root, also as an ordinary user. The worse exit code."""
    ours = [sys.executable, "-m", "pytest", *arguments]
    if sys.platform != "linux" or os.geteuid() != 0:
        print("the tests run once, as the ordinary user that this is", flush=True)
        return subprocess.call(ours, cwd=ROOT)
    print(
        "the tests run twice, side by side: as root, and as an ordinary user, who is heard at the end", flush=True
    )
    home = Path(tempfile.mkdtemp(prefix="winnow-ordinary-"))
    try:
        with tempfile.TemporaryFile() as told:
            other = _start_ordinary(home, arguments, told.fileno())
            code = subprocess.call([*ours, *_without(_ORDINARY_ALONE)], cwd=ROOT)
            _, status = os.waitpid(other, 0)
            told.seek(0)
            print("as an ordinary user:", flush=True)
            shutil.copyfileobj(told, sys.stdout.buffer)
            sys.stdout.flush()
    finally:
        shutil.rmtree(home, ignore_errors=True)
    return max(code, abs(os.waitstatus_to_exitcode(status)))


def _without(paths: Sequence[str]) -> list[str]:
    return [f"--ignore-glob={ROOT / path}" for path in paths]


def _start_ordinary(home: Path, arguments: Sequence[str], told: int) -> int:
    os.chown(home, NOBODY, NOBODY)
    pid = os.fork()
    if pid != 0:
        return pid
    try:
        os.dup2(told, 1)
        os.dup2(told, 2)
        _become()
        _run_pytest(home, arguments)
    except OSError as error:
        os.write(2, f"no ordinary user here: {error}\n".encode())
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


def _run_pytest(home: Path, arguments: Sequence[str]) -> None:
    (home / "tmp").mkdir()
    kept = {name: os.environ[name] for name in ("PATH", "LANG", "SSL_CERT_FILE") if name in os.environ}
    environment = {
        **kept,
        "HOME": str(home),
        "TMPDIR": str(home / "tmp"),
        "HYPOTHESIS_STORAGE_DIRECTORY": str(home / "hypothesis"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    os.chdir(ROOT)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *_without(_ROOT_ALONE), *arguments]
    os.execve(sys.executable, command, environment)


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
    libc = _libc()
    _checked(libc.unshare(_CLONE_NEWNS))
    _mount(None, Path("/"), _MS_REC | _MS_PRIVATE)
    for folder, kept in closed:
        _mount("tmpfs", _ASIDE, 0)
        for number, path in enumerate(kept):
            (_ASIDE / str(number)).mkdir()
            _mount(str(path), _ASIDE / str(number), _MS_BIND | _MS_REC)
        _mount("tmpfs", folder, 0)
        for number, path in enumerate(kept):
            path.mkdir(parents=True, exist_ok=True)
            _mount(str(_ASIDE / str(number)), path, _MS_BIND | _MS_REC)


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
