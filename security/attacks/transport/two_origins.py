# surface: held
# Two Origin headers: one for the check, one for code that reads the other one.
from winnow.security.loopback_servers import breaches_product, breaches_unprotected, is_served


def breached(port):
    pairs = (("http://localhost", "http://evil.example"), ("http://evil.example", "http://localhost"))
    return any(is_served(port, "host: localhost", f"origin: {a}", f"origin: {b}") for a, b in pairs)


def control():
    return breaches_unprotected(breached)


def surface():
    return breaches_product(breached)
