# surface: held
# The target of a request is a whole address of another site, which comes before the Host header.
from security.loopback_servers import REFUSED, answer, careless, head, product


def breached(port):
    targets = ("http://evil.example/health", "http://evil.example/mcp", "evil.example/health")
    return any(answer(port, head(target, "host: localhost"))[0] not in (*REFUSED, 404) for target in targets)


def control():
    with careless() as port:
        return breached(port)


def surface():
    with product() as port:
        return breached(port)
