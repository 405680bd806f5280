# surface: held
# A line of a hundred megabytes is kept in memory as a whole.
from pathlib import Path

from winnow.security.loopback_servers import serve_on_pipe

KEEPS = "import sys\nline = sys.stdin.buffer.readline()\nprint('{}', flush=True)\nsys.stdin.buffer.read()"
HANDSHAKE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    b'"clientInfo":{"name":"attack","version":"1"}}}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
    b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"kb_search","arguments":{"query":"abc"}}}\n'
)
MEGABYTES = 100
SPARE = 40_000  # KiB that reading it may cost: a piece of it, and what an interpreter takes as it goes


def kept(process):
    lines = Path(f"/proc/{process.pid}/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def breached(program=""):
    with serve_on_pipe(program) as process:
        if not program:
            process.stdin.write(HANDSHAKE)
            process.stdin.flush()
            while b'"id":2' not in process.stdout.readline():  # by then everything is loaded
                pass
        before = kept(process)
        for _ in range(MEGABYTES):
            process.stdin.write(b"a" * 1_000_000)
        process.stdin.write(b"\n")
        process.stdin.flush()
        process.stdout.readline()
        return kept(process) - before > SPARE


def control():
    return breached(KEEPS)


def surface():
    return breached()
