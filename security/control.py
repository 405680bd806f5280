"""The positive control: an attack on plain CPython, with a parent behind descriptor 3 that trusts every frame.

Executed by path, in a process and a session of its own, with the attack on its standard input. The parent obeys
each frame, whatever its size, shape and order, and prints it. So a forged frame succeeds here, as reading a file
does.
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
    """Run both sides: this process is the parent, its child the attack."""
    program = sys.stdin.buffer.read()
    ours, theirs = socket.socketpair()
    attack = os.fork()
    if attack == 0:
        _arrange_descriptors(theirs)
        _run_attack(program)
        return
    theirs.close()
    parent = threading.Thread(target=_serve, args=[ours])
    parent.start()
    os.waitpid(attack, 0)
    ours.shutdown(socket.SHUT_RD)  # sent frames are still read, but none of processes that the attack left running
    parent.join()
    sys.stdout.flush()
    os.killpg(0, signal.SIGKILL)  # kills this process and everything that the attack left running


def _arrange_descriptors(channel: socket.socket) -> None:
    """Set up the descriptors of a script: an empty standard input, and the parent behind number 3."""
    os.dup2(os.open(os.devnull, os.O_RDWR), 0)
    os.dup2(channel.fileno(), _CHANNEL)
    os.closerange(_CHANNEL + 1, 64)
    channel.detach()


def _serve(channel: socket.socket) -> None:
    with channel.makefile("rb") as stream:
        for body in _read_frames(stream):
            _obey(body, channel)


def _run_attack(program: bytes) -> None:
    sys.path.insert(0, str(Path(__file__).parents[2]))  # the SDK is all that is added to plain Python
    if b"client_sdk" in program:
        _offer_sdk()
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(program, "<attack>", "exec"), names)
    print(names.get("result"))  # trusts the script's own result


def _offer_sdk() -> None:
    """Connect the SDK, and give it the name that scripts import it by."""
    from winnow import client_sdk
    from winnow.client_sdk import transport

    transport.connect(_call)
    ours = {name: module for name, module in sys.modules.items() if name.startswith(client_sdk.__name__)}
    sys.modules.update({name.removeprefix("winnow."): module for name, module in ours.items()})


def _call(method: str, params: Mapping[str, Any], each: Sequence[Mapping[str, Any]] = ()) -> Any:
    if each:
        return [_call(method, {**params, **further}) for further in each]
    body = json.dumps({"call": method, "params": params}).encode()
    os.write(_CHANNEL, _HEADER.pack(len(body)) + body)
    (size,) = _HEADER.unpack(os.read(_CHANNEL, _HEADER.size))
    return marshal.loads(os.read(_CHANNEL, size))


def _read_frames(stream: BinaryIO) -> Iterator[bytes]:
    while len(header := stream.read(_HEADER.size)) == _HEADER.size:
        yield stream.read(_HEADER.unpack(header)[0])


def _decode(body: bytes) -> Any:
    """Decode in every way that works: JSON in any encoding, JSON with invalid bytes, a pickle."""
    for attempt in (json.loads, lambda data: json.loads(data.decode(errors="replace")), pickle.loads):
        with contextlib.suppress(ValueError, RecursionError):
            return attempt(body)
    return None


def _obey(body: bytes, channel: socket.socket) -> None:
    frame = _decode(body)
    sys.stdout.write(str(frame).encode("ascii", "backslashreplace").decode() + "\n")
    sys.stdout.flush()
    if isinstance(frame, dict) and "call" in frame:
        value = {"ok": {"count": 0, "results": []}}
        answer = marshal.dumps([marshal.dumps(value) for _ in frame["each"]] if "each" in frame else value)
        with contextlib.suppress(OSError):
            channel.sendall(_HEADER.pack(len(answer)) + answer)


if __name__ == "__main__":
    main()
