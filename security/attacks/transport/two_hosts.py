# surface: held
# Two Host headers: one for the check, one for code that reads the other one.
from security.loopback_servers import serve_unprotected, is_served, serve_product


def breached(port):
    pairs = (("localhost", "evil.example"), ("evil.example", "localhost"), ("localhost", "localhost"))
    return any(is_served(port, f"host: {a}", f"host: {b}", version=old) for a, b in pairs for old in ("1.0", "1.1"))



def control():
    with serve_unprotected() as port:
        return breached(port)


def surface():
    with serve_product() as port:
        return breached(port)
