"""The positive control: an attack on plain CPython, with a parent behind descriptor 3 that trusts every frame.

Executed by path, in a process and a session of its own, with the program on its standard input. The parent does
what each frame asks, whatever its size, shape and order; what it was made to believe, it prints. So a forged frame
succeeds here, as a file that is read does.
"""

from __future__ import annotations

import contextlib
import json
import marshal
import os
import pickle
import signal
import socket
import struct
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO

_HEADER = struct.Struct(">I")
_CHANNEL = 3


def main() -> None:
    """Play both: this process is the parent, its child the attack."""
    program = sys.stdin.buffer.read()
    ours, theirs = socket.socketpair()
    attack = os.fork()
    if attack == 0:
        _take_place(theirs)
        _attack(program)
        return
    theirs.close()
    parent = threading.Thread(target=_keep, args=[ours])
    parent.start()
    os.waitpid(attack, 0)
    ours.shutdown(socket.SHUT_RD)  # what is said is still heard, but nothing of what the attack left running
    parent.join()
    sys.stdout.flush()
    os.killpg(0, signal.SIGKILL)  # whatever the attack left running goes with us


def _take_place(channel: socket.socket) -> None:
    """The descriptors of a script: nothing to read, and the parent behind number 3 alone."""
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(channel.fileno(), _CHANNEL)
    os.closerange(_CHANNEL + 1, 64)
    channel.detach()


def _keep(channel: socket.socket) -> None:
    with channel.makefile("rb") as words:
        for body in _frames(words):
            _obey(body, channel)


def _attack(program: bytes) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1]))  # the SDK is all that is added to plain Python
    if b"client_sdk" in program:
        import client_sdk.transport

        client_sdk.transport.connect(_call)
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(program, "<attack>", "exec"), names)
    print(names.get("result"))  # a runner that trusts what a script calls its result


def _call(method: str, params: Mapping[str, Any], each: Sequence[Mapping[str, Any]] = ()) -> Any:
    if each:
        return [_call(method, {**params, **further}) for further in each]
    body = json.dumps({"call": method, "params": params}).encode()
    os.write(_CHANNEL, _HEADER.pack(len(body)) + body)
    (size,) = _HEADER.unpack(os.read(_CHANNEL, _HEADER.size))
    return marshal.loads(os.read(_CHANNEL, size))


def _frames(words: BinaryIO) -> Iterator[bytes]:
    while len(header := words.read(_HEADER.size)) == _HEADER.size:
        yield words.read(_HEADER.unpack(header)[0])


def _understood(body: bytes) -> Any:
    """Whatever it may mean: JSON in any coding, JSON with scratches, a pickle."""
    for attempt in (json.loads, lambda data: json.loads(data.decode(errors="replace")), pickle.loads):
        with contextlib.suppress(ValueError, RecursionError):
            return attempt(body)
    return None


def _obey(body: bytes, channel: socket.socket) -> None:
    frame = _understood(body)
    sys.stdout.write(str(frame).encode("ascii", "backslashreplace").decode() + "\n")
    sys.stdout.flush()
    if isinstance(frame, dict) and "call" in frame:
        value = {"ok": {"count": 0, "results": []}}
        answer = marshal.dumps([marshal.dumps(value) for _ in frame["each"]] if "each" in frame else value)
        with contextlib.suppress(OSError):
            channel.sendall(_HEADER.pack(len(answer)) + answer)


if __name__ == "__main__":
    main()
