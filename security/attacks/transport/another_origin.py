# surface: held
# A page of another site sends requests to loopback; the browser says where they come from.
from security.loopback_servers import careless, gets_in, product


def breached(port):
    origins = (
        *("http://evil.example", "https://evil.example", "null", "http://localhost.evil.example", "file://", ""),
        *("http://127.0.0.1@evil.example", "http://localhost:80@evil.example", "http://localhost/", "localhost"),
        *("http://localhost, http://evil.example", "chrome-extension://localhost", "http://evil.localhost"),
    )
    return any(gets_in(port, "host: localhost", f"origin: {origin}") for origin in origins)



def control():
    with careless() as port:
        return breached(port)


def surface():
    with product() as port:
        return breached(port)
