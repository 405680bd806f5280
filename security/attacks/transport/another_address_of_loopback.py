# surface: held
# A server on another address of loopback than 127.0.0.1 looks at nothing, as if others were meant to reach it.
from security.loopback_servers import careless, gets_in, product


def breached(port, host):
    bad = (("host: evil.example",), ("host: localhost", "origin: http://evil.example"))
    return any(gets_in(port, *lines, host=host) for lines in bad)


def control():
    with careless() as port:
        return breached(port, "127.0.0.1")


def surface():
    with product("127.0.0.2") as port:
        return breached(port, "127.0.0.2")
