# surface: held
# A page of another site reaches the server by a name of its own that it lets resolve to loopback.
from winnow.security.loopback_servers import breaches_product, breaches_unprotected, is_served


def breached(port):
    hosts = ("evil.example", f"evil.example:{port}", "EVIL.EXAMPLE.", "10.0.0.1", "[2001:db8::1]", "0.0.0.0", "[::]")
    return any(is_served(port, f"host: {host}") for host in hosts)


def control():
    return breaches_unprotected(breached)


def surface():
    return breaches_product(breached)
