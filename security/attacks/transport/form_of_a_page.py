# surface: held
# A form on a page posts JSON as plain text, which a browser sends without asking first.
import json

from security.loopback_servers import send_raw, serve_unprotected, request_head, serve_product

INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "form", "version": "1"}}


def breached(port):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        lines = ("host: localhost", "accept: */*", f"content-type: {kind}", f"content-length: {len(body)}")
        if send_raw(port, request_head("/mcp", *lines, method="POST") + body)[0] == 200:
            return True
    return False


def control():
    with serve_unprotected() as port:
        return breached(port)


def surface():
    with serve_product() as port:
        return breached(port)
