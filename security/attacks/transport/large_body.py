# surface: held
# A body of many megabytes, announced or in chunks, is kept in memory before anybody looks at it.
from security.loopback_servers import answer, careless, head, product

LINES = ("host: localhost", "content-type: application/json", "accept: application/json, text/event-stream")
BODY = b'{"x": "' + b"a" * 6_000_000


def breached(port):
    sent = head("/mcp", *LINES, f"content-length: {len(BODY)}", method="POST") + BODY
    try:
        return answer(port, sent)[0] not in (0, 413)
    except ConnectionError:  # refused before it was sent to its end
        return False


def control():
    with careless() as port:
        return breached(port)


def surface():
    with product() as port:
        return breached(port)
