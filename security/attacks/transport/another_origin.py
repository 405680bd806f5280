# surface: held
# A page of another site sends requests to loopback; the browser says where they come from.
from winnow.security.loopback_servers import breaches_product, breaches_unprotected, is_served


def breached(port):
    origins = (
        *("http://evil.example", "https://evil.example", "null", "http://localhost.evil.example", "file://", ""),
        *("http://127.0.0.1@evil.example", "http://localhost:80@evil.example", "http://localhost/", "localhost"),
        *("http://localhost, http://evil.example", "chrome-extension://localhost", "http://evil.localhost"),
    )
    return any(is_served(port, "host: localhost", f"origin: {origin}") for origin in origins)


def control():
    return breaches_unprotected(breached)


def surface():
    return breaches_product(breached)
