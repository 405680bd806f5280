# surface: held
# A form on a page posts JSON as plain text, which a browser sends without asking first.
import json

from winnow.security.loopback_servers import breaches_product, breaches_unprotected, request_head, send_raw

INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "form", "version": "1"}}


def breached(port):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": INITIALIZE}).encode()
    lines = ("host: localhost", "accept: */*", f"content-length: {len(body)}")
    kinds = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x")
    heads = [request_head("/mcp", *lines, f"content-type: {kind}", method="POST") for kind in kinds]
    return any(send_raw(port, head + body)[0] == 200 for head in heads)


def control():
    return breaches_unprotected(breached)


def surface():
    return breaches_product(breached)
