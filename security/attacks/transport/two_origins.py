# surface: held
# Two Origin headers: one for the check, one for code that reads the other one.
from security.loopback_servers import serve_unprotected, is_served, serve_product


def breached(port):
    pairs = (("http://localhost", "http://evil.example"), ("http://evil.example", "http://localhost"))
    return any(is_served(port, "host: localhost", f"origin: {a}", f"origin: {b}") for a, b in pairs)



def control():
    with serve_unprotected() as port:
        return breached(port)


def surface():
    with serve_product() as port:
        return breached(port)
