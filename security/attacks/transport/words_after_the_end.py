# surface: held
# Output after the client has closed its end is treated as a fault by some clients.
from winnow.security.loopback_servers import serve_on_pipe

LATE = "import sys\nsys.stdin.read()\nprint('{}', flush=True)"
HANDSHAKE = (
    b'{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},'
    b'"clientInfo":{"name":"attack","version":"1"}}}\n{"jsonrpc":"2.0","method":"notifications/initialized"}\n'
)
CALL = b'{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"kb_search","arguments":{"query":"abc"}}}\n'


def breached(program=""):
    with serve_on_pipe(program) as process:
        process.stdin.write(HANDSHAKE)
        process.stdin.flush()
        if not program:
            process.stdout.readline()
        process.stdin.write(CALL)
        process.stdin.close()
        return process.stdout.read() != b""


def control():
    return breached(LATE)


def surface():
    return breached()
