# surface: held
# A request of HTTP/1.0 has no Host header, so that a check has nothing to compare.
from winnow.security.loopback_servers import breaches_product, breaches_unprotected, is_served


def breached(port):
    return is_served(port, version="1.0") or is_served(port, "host:", version="1.0")


def control():
    return breaches_unprotected(breached)


def surface():
    return breaches_product(breached)
