# surface: held
# A request of the old protocol names no host at all, which no check compares with anything.
from security.loopback_servers import careless, gets_in, product


def breached(port):
    return gets_in(port, version="1.0") or gets_in(port, "host:", version="1.0")



def control():
    with careless() as port:
        return breached(port)


def surface():
    with product() as port:
        return breached(port)
