# surface: held
# Two Host headers: one for the check, one for whoever reads the other one.
from security.loopback_servers import careless, gets_in, product


def breached(port):
    pairs = (("localhost", "evil.example"), ("evil.example", "localhost"), ("localhost", "localhost"))
    return any(gets_in(port, f"host: {a}", f"host: {b}", version=old) for a, b in pairs for old in ("1.0", "1.1"))



def control():
    with careless() as port:
        return breached(port)


def surface():
    with product() as port:
        return breached(port)
