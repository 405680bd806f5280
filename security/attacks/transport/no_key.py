# surface: held
# A client without a key tries every route and method of a server with keys, and those that servers often leave open.
from winnow.security.loopback_servers import add_key, breaches_product, breaches_unprotected, request_head, send_raw

ROUTES = ("/mcp", "/mcp/", "//mcp", "/%6dcp", "/health", "/metrics", "/.well-known/../mcp", "/docs", "/nowhere")
METHODS = ("GET", "POST", "DELETE", "OPTIONS", "HEAD", "PUT", "TRACE", "X")
EMPTY = ("authorization:", "authorization: Bearer", "authorization: Bearer null", "x-api-key:", "cookie: key=1")


def breached(port):
    heads = [request_head(route, "host: localhost", method=method) for route in ROUTES for method in METHODS]
    heads += [request_head("/health", "host: localhost", line) for line in EMPTY]
    return any(send_raw(port, head)[0] not in (400, 401, 404, 429) for head in heads)


def control():
    return breaches_unprotected(breached)


def surface():
    add_key("laptop")
    return breaches_product(breached)
