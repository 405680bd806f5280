# surface: held
# Two Origin headers: one for the check, one for whoever reads the other one.
from security.loopback_servers import careless, gets_in, product


def breached(port):
    pairs = (("http://localhost", "http://evil.example"), ("http://evil.example", "http://localhost"))
    return any(gets_in(port, "host: localhost", f"origin: {a}", f"origin: {b}") for a, b in pairs)



def control():
    with careless() as port:
        return breached(port)


def surface():
    with product() as port:
        return breached(port)
