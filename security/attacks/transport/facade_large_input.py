# surface: held
# An input of many megabytes to the façade, announced or not, is kept in memory or handed to a tool.
import json

from winnow.security.loopback_servers import breaches_product, breaches_unprotected, request_head, send_raw

LINES = ("host: localhost", "content-type: application/json")
BODY = json.dumps({"topic": "a" * 6_000_000}).encode()
JUST_TOO_LARGE = json.dumps({"topic": "a" * 65_536}).encode()


def breached(port):
    accepted = []
    for body in (BODY, JUST_TOO_LARGE):
        sent = request_head("/mcp/tool/help", *LINES, f"content-length: {len(body)}", method="POST") + body
        try:
            accepted.append(send_raw(port, sent)[0] not in (0, 413))
        except ConnectionError:  # refused before it was sent to its end
            accepted.append(False)
    return any(accepted)


def control():
    return breaches_unprotected(breached)


def surface():
    return breaches_product(breached)
