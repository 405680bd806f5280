# surface: held
# Two Host headers: one for the check, one for code that reads the other one.
from winnow.security.loopback_servers import breaches_product, breaches_unprotected, is_served


def breached(port):
    pairs = (("localhost", "evil.example"), ("evil.example", "localhost"), ("localhost", "localhost"))
    return any(is_served(port, f"host: {a}", f"host: {b}", version=old) for a, b in pairs for old in ("1.0", "1.1"))


def control():
    return breaches_unprotected(breached)


def surface():
    return breaches_product(breached)
