# surface: held
# Some revision of the protocol, or some method of HTTP, is served by code that does not look at Host and Origin.
from winnow.security.loopback_servers import REFUSED, REVISIONS, ROUTES, send_raw, serve_unprotected, request_head, serve_product


def breached(port, methods):
    bad = (("host: evil.example",), ("host: localhost", "origin: http://evil.example"))
    for lines in bad:
        for revision in (*REVISIONS, "2099-01-01", ""):
            for method in methods:
                for path in ROUTES:
                    sent = request_head(path, *lines, f"mcp-protocol-version: {revision}", "content-length: 0", method=method)
                    if send_raw(port, sent)[0] not in REFUSED:
                        return True
    return False


def control():
    with serve_unprotected() as port:
        return breached(port, ("GET",))


def surface():
    with serve_product() as port:
        return breached(port, ("GET", "POST", "DELETE", "OPTIONS"))
