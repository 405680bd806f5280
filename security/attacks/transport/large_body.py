# surface: held
# A body of many megabytes, announced or in chunks, is kept in memory before any check.
from winnow.security.loopback_servers import breaches_product, breaches_unprotected, request_head, send_raw

LINES = ("host: localhost", "content-type: application/json", "accept: application/json, text/event-stream")
BODY = b'{"x": "' + b"a" * 6_000_000


def breached(port):
    sent = request_head("/mcp", *LINES, f"content-length: {len(BODY)}", method="POST") + BODY
    try:
        return send_raw(port, sent)[0] not in (0, 413)
    except ConnectionError:  # refused before it was sent to its end
        return False


def control():
    return breaches_unprotected(breached)


def surface():
    return breaches_product(breached)
