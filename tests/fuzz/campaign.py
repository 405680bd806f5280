"""`make fuzz`: all targets for so many seconds, in parallel on the cores; failing inputs are kept as files.

    python -m tests.fuzz.campaign --seconds 300

Each target runs in a process of its own under atheris, which follows coverage, with seeds and a dictionary of
the language. Where atheris is not installed hypothesis makes the inputs instead, blindly. A finding is an input,
written to ``tests/fuzz/crashers/TARGET/``; test_crashers.py replays the files there for as long as they stay.
The exit code is 1 when there was one.
"""

from __future__ import annotations

import argparse
import builtins
import hashlib
import importlib
import importlib.util
import keyword
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import types
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

# Nothing of the sandbox is imported here: atheris has to see it being imported.
from tests.fuzz.targets import NAMES

_ROOT = Path(__file__).parents[2]
CRASHERS = Path(__file__).parent / "crashers"
_LONGEST_INPUT = 4_096
_SECONDS_PER_INPUT = 20  # counting a result of 200,000 values under instrumentation takes two
_MEGABYTES = 3_000
_GRACE_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Report:
    """What one target did."""

    target: str
    executions: int
    coverage: str
    findings: tuple[str, ...]
    trouble: str = ""  # the end of the output, where the engine itself failed

    def __str__(self) -> str:
        found = ", ".join(self.findings) or "none"
        return f"{self.target:<10} {self.executions:>10,} executions   {self.coverage:<26} findings: {found}"


def engine() -> str:
    """The available engine."""
    return "atheris" if importlib.util.find_spec("atheris") else "hypothesis"


def main() -> int:
    """Run one target (in a child), or all of them."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=300, help="of wall clock, for all targets together")
    parser.add_argument("--target", choices=NAMES, help="run this one, in this process")
    parser.add_argument("--engine", choices=("atheris", "hypothesis"), default=engine())
    arguments = parser.parse_args()
    if arguments.target:
        return _ENGINES[arguments.engine](arguments.target, arguments.seconds)
    return _all(arguments.seconds, arguments.engine)


def _all(seconds: int, name: str) -> int:
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    rounds = -(-len(NAMES) // cores)
    share = max(1, seconds // rounds)
    print(f"{len(NAMES)} targets, {share} s each, {cores} at a time, under {name}", flush=True)
    if name == "hypothesis":
        print("atheris is not installed: inputs are made without regard to coverage", flush=True)
    reports = []
    with ThreadPoolExecutor(cores) as pool:
        for report in pool.map(lambda target: _report(target, share, name), NAMES):
            print(report, flush=True)
            reports.append(report)
    for report in reports:
        if report.trouble:
            print(f"\n{report.target}:\n{report.trouble}")
    return int(any(report.findings or report.trouble for report in reports))


def _report(target: str, seconds: int, name: str) -> Report:
    before = _files(target)
    command = [sys.executable, "-m", "tests.fuzz.campaign", "--target", target, "--seconds", str(seconds)]
    try:
        done = subprocess.run(
            [*command, "--engine", name],
            cwd=_ROOT,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=seconds + _GRACE_SECONDS + _SECONDS_PER_INPUT,
            check=False,
        )
        said, failed = done.stdout + done.stderr, done.returncode != 0
    except subprocess.TimeoutExpired as expired:
        said, failed = f"{expired.stderr or ''}\nstill running at its end", True
    executions = re.findall(r"(?:stat::number_of_executed_units|executions): *(\d+)", said)
    coverage = re.findall(r"cov: (\d+) ft: (\d+)", said)
    findings = tuple(sorted(_files(target) - before))
    return Report(
        target,
        int(executions[-1]) if executions else 0,
        "{} edges, {} features".format(*coverage[-1]) if coverage else "not measured",
        findings,
        said[-4_000:] if failed or not executions else "",
    )


def _files(target: str) -> set[str]:
    return {path.name for path in (CRASHERS / target).glob("*")}


# --- engines, each in a process of its own ---------------------------------------------------------------------


def _module(target: str) -> types.ModuleType:
    return importlib.import_module(f"tests.fuzz.targets.{target}")


def _under_atheris(target: str, seconds: int) -> int:
    import atheris

    with atheris.instrument_imports(include=["sandbox", "RestrictedPython", "json"], enable_loader_override=False):
        module = _module(target)
    folder = CRASHERS / target
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        corpus = Path(scratch, "corpus")
        corpus.mkdir()
        for number, seed in enumerate(module.seeds()):
            Path(corpus, str(number)).write_bytes(seed)
        dictionary = Path(scratch, "dictionary")
        dictionary.write_text(_dictionary(), "ascii")
        options = [f"-max_total_time={seconds}", f"-artifact_prefix={folder}/", f"-dict={dictionary}",
                   f"-max_len={_LONGEST_INPUT}", f"-timeout={_SECONDS_PER_INPUT}", f"-rss_limit_mb={_MEGABYTES}",
                   "-report_slow_units=1000", "-print_final_stats=1", "-len_control=0"]  # fmt: skip
        atheris.Setup([sys.argv[0], *options, str(corpus)], module.check)
        atheris.Fuzz()
    return 0


def _dictionary() -> str:
    """Words of the language and of frames, in libFuzzer's notation."""
    inner = [name for kind in (types.CodeType, types.GeneratorType) for name in dir(kind)]
    words = [
        *keyword.kwlist,
        *keyword.softkwlist,
        *dir(builtins),
        *inner,
        "call",
        "params",
        "result",
        "error",
        "status",
    ]
    signs = [":=", "**", "->", "'''", "\\", "\x0c", "\ufeff", "\u2028", "f'{", "@", "1e999", "NaN", "[[[[", "{}"]
    escaped = ["".join(f"\\x{byte:02x}" for byte in word.encode()) for word in [*words, *signs]]
    return "".join(f'"{word}"\n' for word in escaped)


def _under_hypothesis(target: str, seconds: int) -> int:
    from hypothesis import HealthCheck, given, seed, settings

    from tests.fuzz.engine import TAPES

    module = _module(target)
    deadline, executions = time.monotonic() + seconds, 0
    last = b""

    @settings(max_examples=200, deadline=None, database=None, suppress_health_check=list(HealthCheck))
    @given(TAPES)
    def run(data: bytes) -> None:
        nonlocal executions, last
        executions, last = executions + 1, data
        module.check(data)

    try:
        for data in module.seeds():
            last = data
            module.check(data)
        while time.monotonic() < deadline:
            seed(random.getrandbits(64))(run)()
    except Exception as finding:  # the last input is the smallest that hypothesis found
        path = CRASHERS / target / f"crash-{hashlib.sha1(last).hexdigest()}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(last)
        print(f"{type(finding).__name__}: {finding}")
        return 1
    finally:
        print(f"executions: {executions}")
    return 0


_ENGINES = {"atheris": _under_atheris, "hypothesis": _under_hypothesis}

if __name__ == "__main__":
    sys.exit(main())
