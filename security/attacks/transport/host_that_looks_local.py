# surface: held
# A name of another site is spelled so that a careless comparison takes it for loopback.
from winnow.security.loopback_servers import breaches_product, breaches_unprotected, is_served


def breached(port):
    hosts = (
        *("127.0.0.1.evil.example", "localhost.evil.example", "evil.localhost", "localhost:80.evil.example"),
        *("127.0.0.1@evil.example", "localhost:x@evil.example", "localhost#.evil.example", "localhost/evil.example"),
        *("127.0.0.1,evil.example", "127.0.0.1 evil.example", "[::1].evil.example", "[::1]@evil.example", "127.1"),
        *("2130706433", "0x7f000001", "0177.0.0.1", "localhost:99999", "localhost:", "[::1%25evil]", "::1"),
    )
    return any(is_served(port, f"host: {host}") for host in hosts)


def control():
    return breaches_unprotected(breached)


def surface():
    return breaches_product(breached)
