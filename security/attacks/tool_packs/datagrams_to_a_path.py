# surface: held
# A program without a network sends to a socket of the host by its path, from a pair of sockets that it may have.
import json
import socket
import subprocess
import sys
from pathlib import Path

from winnow.security.tool_packs import call_pack, write_pack

SEND = """
import socket
for kind in (socket.SOCK_DGRAM, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC, socket.SOCK_STREAM, socket.SOCK_SEQPACKET):
    try:
        one, other = socket.socketpair(socket.AF_UNIX, kind)
    except OSError:
        continue
    for send in (lambda: one.sendto(b"out", {path!r}), lambda: (other.connect({path!r}), other.send(b"out"))):
        try:
            send()
        except OSError:
            pass
print(json.dumps("tried"))
"""


def _run(tried):
    path = f"/tmp/winnow-attack-datagrams-{Path.cwd().name}"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as named:
        named.bind(path)
        Path(path).chmod(0o777)
        try:
            return tried(SEND.format(path=path)), _has_arrived(named)
        finally:
            Path(path).unlink()


def _has_arrived(named):
    named.setblocking(False)
    try:
        return bool(named.recv(10))
    except BlockingIOError:
        return False


def control():
    def tried(script):
        return subprocess.run([sys.executable, "-c", f"import json\n{script}"], capture_output=True)

    return _run(tried)[1]


def surface():
    def tried(script):
        reached = []
        for network in ([], ["https"]):
            write_pack(script, caps={"network": network})
            reached.append(call_pack())
        return reached

    return _run(tried) != ([("tried", "")] * 2, False)
