# surface: held
# A page of another site sends bodies to the façade of the tools that a browser sends without asking first, or names
# its origin and host; a tool would run in the name of the user.
import json

from winnow.security.loopback_servers import breaches_product, breaches_unprotected, request_head, send_raw

BODY = json.dumps({"topic": "kb.search"}).encode()
ROUTES = ("/mcp/tool/help", "/v1/search", "/v1/research")
KINDS = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/json", "")


def is_answered(port, route, *lines):
    head = request_head(route, *lines, f"content-length: {len(BODY)}", method="POST")
    return send_raw(port, head + BODY)[0] == 200


def breached(port):
    forms = [is_answered(port, route, "host: localhost", f"content-type: {kind}") for route in ROUTES for kind in KINDS]
    json_type = "content-type: application/json"
    pages = [
        is_answered(port, route, "host: localhost", json_type, "origin: http://evil.example") for route in ROUTES
    ]
    hosts = [is_answered(port, route, "host: evil.example", json_type) for route in ROUTES]
    return any((*forms, *pages, *hosts))


def control():
    return breaches_unprotected(breached)


def surface():
    return breaches_product(breached)
