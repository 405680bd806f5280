# surface: held
# A request of the old protocol names no host at all, which no check compares with anything.
from security.loopback_servers import serve_unprotected, is_served, serve_product


def breached(port):
    return is_served(port, version="1.0") or is_served(port, "host:", version="1.0")



def control():
    with serve_unprotected() as port:
        return breached(port)


def surface():
    with serve_product() as port:
        return breached(port)
