"""A log file is private, is rotated by size, and loses no line of the processes that share it."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from winnow.server.runtime.reports.log_files import SharedLogFile

WRITER = """
import logging, sys
from pathlib import Path
from winnow.server.runtime.reports.log_files import SharedLogFile
handler = SharedLogFile(Path(sys.argv[1]), 500, 100)
for number in range(300):
    handler.emit(logging.makeLogRecord({"msg": f"{sys.argv[2]} {number}"}))
"""


def write(handler: SharedLogFile, text: str) -> None:
    handler.emit(logging.makeLogRecord({"msg": text}))


def test_a_full_file_becomes_the_first_older_one_and_the_oldest_goes(tmp_path: Path) -> None:
    path = tmp_path / "log"
    handler = SharedLogFile(path, 10, kept=2)
    for text in ("one", "two", "three", "four", "five", "six", "seven"):
        write(handler, text)
    assert [file.name for file in sorted(tmp_path.iterdir())] == ["log", "log.1", "log.2"]
    contents = [(tmp_path / name).read_text().split() for name in ("log.2", "log.1", "log")]
    assert contents == [["three"], ["four", "five"], ["six", "seven"]]
    assert {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()} == {0o600}


def test_a_file_that_others_may_read_is_made_private(tmp_path: Path) -> None:
    path = tmp_path / "log"
    path.write_text("")
    path.chmod(0o644)
    SharedLogFile(path, 10, 1)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_processes_that_share_a_file_lose_no_line_and_mix_none(tmp_path: Path) -> None:
    path, names = tmp_path / "log", ("a", "b", "c")
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, path, name]) for name in names]
    assert [writer.wait() for writer in writers] == [0, 0, 0]
    lines = [line for file in tmp_path.iterdir() for line in file.read_text().splitlines()]
    assert sorted(lines) == sorted(f"{name} {number}" for name in names for number in range(300))
    assert len(list(tmp_path.iterdir())) > 3


def test_a_link_and_what_is_no_file_are_refused(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("kept")
    (tmp_path / "link").symlink_to(tmp_path / "target")
    os.mkfifo(tmp_path / "fifo")
    for name in ("link", "fifo", "nowhere/log"):
        with pytest.raises(OSError):
            SharedLogFile(tmp_path / name, 10, 1)
    assert (tmp_path / "target").read_text() == "kept"


def test_a_line_that_cannot_be_written_goes_to_stderr(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "folder"
    folder.mkdir()
    handler = SharedLogFile(folder / "log", 10, 1)
    (folder / "log").unlink()
    folder.rmdir()
    write(handler, "not lost")
    assert capsys.readouterr().err == "not lost\n"
