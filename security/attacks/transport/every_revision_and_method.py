# surface: held
# Some revision of the protocol, or some method of HTTP, is served by code that does not look at Host and Origin.
from security.loopback_servers import REFUSED, REVISIONS, ROUTES, answer, careless, head, product


def breached(port, methods):
    bad = (("host: evil.example",), ("host: localhost", "origin: http://evil.example"))
    for lines in bad:
        for revision in (*REVISIONS, "2099-01-01", ""):
            for method in methods:
                for path in ROUTES:
                    sent = head(path, *lines, f"mcp-protocol-version: {revision}", "content-length: 0", method=method)
                    if answer(port, sent)[0] not in REFUSED:
                        return True
    return False


def control():
    with careless() as port:
        return breached(port, ("GET",))


def surface():
    with product() as port:
        return breached(port, ("GET", "POST", "DELETE", "OPTIONS"))
