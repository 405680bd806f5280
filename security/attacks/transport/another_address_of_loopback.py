# surface: held
# A server on a loopback address other than 127.0.0.1 skips the checks, as if it were public.
from winnow.security.loopback_servers import serve_unprotected, is_served, serve_product


def breached(port, host):
    bad = (("host: evil.example",), ("host: localhost", "origin: http://evil.example"))
    return any(is_served(port, *lines, host=host) for lines in bad)


def control():
    with serve_unprotected() as port:
        return breached(port, "127.0.0.1")


def surface():
    with serve_product("127.0.0.2") as port:
        return breached(port, "127.0.0.2")
