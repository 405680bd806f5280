# surface: held
# A form on a page posts JSON as plain text, which a browser sends without asking first.
import json

from security.loopback_servers import breaches_product, breaches_unprotected, request_head, send_raw

INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "form", "version": "1"}}


def breached(port):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}).encode()
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        lines = ("host: localhost", "accept: */*", f"content-type: {kind}", f"content-length: {len(body)}")
        if send_raw(port, request_head("/mcp", *lines, method="POST") + body)[0] == 200:
            return True
    return False


def control():
    return breaches_unprotected(breached)


def surface():
    return breaches_product(breached)
