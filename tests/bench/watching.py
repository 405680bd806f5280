"""What watching costs: processor time while nothing changes, and how soon a change can be searched.

    python -m tests.bench.watching [--files 2000] [--idle-seconds 60] [--json]

Runs ``winnow watch`` without a model over generated pages, in a process of its own that holds the store.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import Any

import psutil

from tests import office_files, pdf_files
from winnow.server.jobs.watching.status import PathStatus, read_status

_POLL_SECONDS = 0.01
_LIMIT_SECONDS = 600.0
_FOLDERS = 50
_CHANGES = 10


def _small_pdf(text: str) -> bytes:
    return pdf_files.build_pdf(pdf_files.PdfFile([[pdf_files.Text(72, 700, text)]]))


# Suffix -> how a small file of that kind is made of a text.
_KINDS: Mapping[str, Callable[[str], bytes]] = MappingProxyType(
    {
        "md": lambda text: f"# {text}\n\n{text}.\n".encode(),
        "html": lambda text: f"<title>{text}</title><h1>{text}</h1><p>{text}.".encode(),
        "pdf": _small_pdf,
        "docx": lambda text: office_files.docx(office_files.paragraph(text)).getvalue(),
    }
)


def measure(files: int, idle_seconds: float) -> dict[str, Any]:
    """The figures, in seconds and in percent of one processor."""
    with tempfile.TemporaryDirectory() as place:
        store, folder = Path(place, "store"), Path(place, "pages").resolve()
        _write_pages(folder, files, "words")
        began = time.monotonic()
        with _watching(store, folder) as process:
            _wait(lambda: (row := _row(store)) and row.scanned_at > 0 and row.state == "events")
            first_scan = time.monotonic() - began
            before = _processor_seconds(process)
            time.sleep(idle_seconds)
            idle = (_processor_seconds(process) - before) / idle_seconds
            changes = {kind: _time_changes(store, folder, kind) for kind in _KINDS}
            began, written = time.monotonic(), _written(store)
            _write_pages(folder, files, "other words")
            _wait(lambda: _written(store) >= written + files)
            all_changed = time.monotonic() - began
    return {
        "files": files,
        "first_scan_seconds": round(first_scan, 2),
        "idle_percent_of_a_processor": round(100 * idle, 3),
        **{f"{kind}_seconds_{name}": value for kind, row in changes.items() for name, value in row.items()},
        "all_files_changed_seconds": round(all_changed, 2),
    }


def _write_pages(folder: Path, count: int, text: str) -> None:
    for number in range(count):
        path = folder / f"part{number % _FOLDERS}" / f"{number:05}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Page {number}\n\nThe {text} of page {number}.\n")


@contextmanager
def _watching(store: Path, folder: Path) -> Iterator[psutil.Process]:
    environment = {**os.environ, "WINNOW_DAEMON": "off", "WINNOW_EMBEDDING": "off", "WINNOW_GRAPH": "off"}
    program = "import sys; sys.argv[0] = 'winnow'; from winnow.server.commands.entry.cli import main; main()"
    command = [sys.executable, "-c", program, "watch", str(folder), "--store", str(store)]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment)
    try:
        yield psutil.Process(process.pid)
    finally:
        process.send_signal(signal.SIGINT)
        process.wait()


def _processor_seconds(process: psutil.Process) -> float:
    family = [process, *process.children(recursive=True)]
    return sum(times.user + times.system for times in (each.cpu_times() for each in family))


def _time_changes(store: Path, folder: Path, kind: str) -> dict[str, float]:
    """Of new files of a kind, one after another: the first, which may start readers, and all."""
    times = [_time_change(store, folder, kind, number) for number in range(_CHANGES)]
    figures = {"first": times[0], "median": sorted(times)[_CHANGES // 2], "longest": max(times)}
    return {name: round(value, 2) for name, value in figures.items()}


def _time_change(store: Path, folder: Path, kind: str, number: int) -> float:
    """Seconds from the end of writing a small file until it is in the index."""
    written = _written(store)
    (folder / "part0" / f"new{number}.{kind}").write_bytes(_KINDS[kind](f"A new page with number {number}"))
    began = time.monotonic()
    _wait(lambda: _written(store) > written)
    return time.monotonic() - began


def _row(store: Path) -> PathStatus | None:
    return next(iter(read_status(store).paths), None)


def _written(store: Path) -> int:
    row = _row(store)
    return row.written if row else 0


def _wait(is_so: Callable[[], object]) -> None:
    until = time.monotonic() + _LIMIT_SECONDS
    while not is_so():
        if time.monotonic() > until:
            raise SystemExit(f"no change was indexed within {_LIMIT_SECONDS:.0f} s")
        time.sleep(_POLL_SECONDS)


def main() -> None:
    """Print the figures."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--files", type=int, default=2_000)
    options.add_argument("--idle-seconds", type=float, default=60.0)
    options.add_argument("--json", action="store_true")
    given = options.parse_args()
    figures = measure(given.files, given.idle_seconds)
    if given.json:
        print(json.dumps(figures, indent=2))
        return
    for name, value in figures.items():
        print(f"{name.replace('_', ' ')}: {value:,}")


if __name__ == "__main__":
    main()
