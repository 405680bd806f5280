# surface: held
# A page of another site, or one whose name was made to resolve to this machine, sends a request that has a key.
from winnow.security.loopback_servers import add_key, bearer, breaches_unprotected, is_served, serve_product

SITES = (
    ("host: evil.example",),
    ("host: winnow.example.com.evil.example",),
    ("host: evil.example/winnow.example.com",),
    ("host: evil.example", "host: winnow.example.com"),
    ("host: winnow.example.com", "origin: https://evil.example"),
    ("host: winnow.example.com", "origin: https://winnow.example.com.evil.example"),
    ("host: winnow.example.com", "origin: https://winnow.example.com@evil.example"),
    ("host: winnow.example.com", "origin: null"),
    ("host: winnow.example.com", "origin: https://winnow.example.com", "origin: https://evil.example"),
)


def control():
    return breaches_unprotected(lambda port: is_served(port, *SITES[0]))


def surface():
    line = bearer(add_key("laptop"))
    with serve_product("127.0.0.1", "--host-name", "winnow.example.com") as port:
        assert is_served(port, "host: winnow.example.com", "origin: https://winnow.example.com", line)
        return any(is_served(port, *site, line) for site in SITES)
