"""Commands of winnow in lines of a shell, as forks: a folder for ``PATH`` whose ``winnow`` asks this process.

The shell starts a small program, which sends its arguments, environment, folder and standard streams on a socket;
this process starts `winnow` with them, as its own child, and answers with the exit code.
"""

from __future__ import annotations

import os
import secrets
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.starts import requests

_WINNOW = Path(sys.executable).with_name("winnow")
_ASK = """#!{python} -IS
import os, sys
sys.path.insert(0, {root!r})
from tests.starts import shells
sys.exit(shells.ask({address!r}, sys.argv[1:]))
"""


@contextmanager
def folder_of_commands(folder: Path) -> Iterator[Path]:
    """Write ``winnow`` into this folder; within, it works."""
    address = f"\0winnow-{secrets.token_hex(16)}"  # none of the file system: a path may be too long for one
    program = folder / "winnow"
    program.write_text(_ASK.format(python=sys.executable, root=str(Path(__file__).parents[2]), address=address))
    program.chmod(0o755)
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as asked:
        asked.bind(address)
        asked.listen()
        answering = threading.Thread(target=_answer_all, args=(asked,), daemon=True)
        answering.start()
        yield folder
        asked.shutdown(socket.SHUT_RDWR)
        answering.join()


def ask(address: str, arguments: list[str]) -> int:
    """Have `winnow` run in this process's place; its exit code."""
    request = requests.Request(
        "winnow", "", arguments, dict(os.environb), os.getcwdb(), (0, 1, 2), has_own_session=False, group=-1,
        starts_others=False,
    )  # fmt: skip
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as channel:
        channel.connect(address)
        requests.send(channel, request, request.numbers)
        return int.from_bytes(requests.read(channel, 1), "little")


def _answer_all(asked: socket.socket) -> None:
    while True:
        try:
            channel, _ = asked.accept()
        except OSError:
            return
        threading.Thread(target=_answer, args=(channel,), daemon=True).start()  # one may wait for another's output


def _answer(channel: socket.socket) -> None:
    with channel:
        if (received := requests.receive(channel)) is None:
            return
        request, (given, output, errors) = received
        process = subprocess.Popen(
            [_WINNOW, *request.arguments],
            stdin=given, stdout=output, stderr=errors, cwd=request.folder, env=request.environment,
        )  # fmt: skip
        for each in (given, output, errors):
            os.close(each)
        code = process.wait()
        channel.sendall((code if code >= 0 else 128 - code).to_bytes(1, "little"))
