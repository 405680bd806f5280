# surface: held
# The target of a request is a whole address of another site, which comes before the Host header.
from winnow.security.loopback_servers import REFUSED, breaches_product, breaches_unprotected, request_head, send_raw


def breached(port):
    targets = ("http://evil.example/health", "http://evil.example/mcp", "evil.example/health")
    return any(send_raw(port, request_head(target, "host: localhost"))[0] not in (*REFUSED, 404) for target in targets)


def control():
    return breaches_unprotected(breached)


def surface():
    return breaches_product(breached)
