# surface: held
# Frames of LSP with a length of gigabytes, two lengths, a header without end, or a request hidden in a header: the
# server must end the stream with a message, and run nothing of what comes after.
from winnow.security.loopback_servers import serve_on_pipe

REQUEST = b'{"jsonrpc": "2.0", "id": 7, "method": "mcp.tool.invoke", "params": {"tool": "help", "input": {}}}'
FRAME = b"Content-Length: %d\r\n\r\n%s" % (len(REQUEST), REQUEST)
LIES = (
    b"Content-Length: 99999999999\r\n\r\n",
    b"Content-Length: 900000000\r\n\r\n",
    b"Content-Length: 2\r\nContent-Length: %d\r\n\r\n{}" % len(REQUEST),
    b"Content-Length: -5\r\n\r\n",
    b"Content-Length: 2\r\nX: y\r\n\r\n{}",
    b"X" * 100_000,
)
# Takes any length at its word, and looks for the next request wherever it is.
_CARELESS = (
    "import re, sys\n"
    "data = sys.stdin.buffer.read()\n"
    'for found in re.finditer(rb\'"id": (\\d+)\', data):\n'
    "    sys.stdout.buffer.write(b'Content-Length: 26\\r\\n\\r\\n{\"id\": 7, \"result\": \"done\"}')\n"
)


def breached(program):
    answered = []
    for lie in LIES:
        with serve_on_pipe(program, "--lsp") as process:
            output, _ = process.communicate(lie + FRAME, 50)
            answered.append(b'"result"' in output)
    return any(answered)


def control():
    return breached(_CARELESS)


def surface():
    return breached("")
