# surface: held
# A page of another site, or of another server on this machine, asks a console for pages by the cookie of its user.
from winnow.security.console_server import serve_console
from winnow.security.loopback_servers import breaches_unprotected, is_served, make_store


def origins(port):
    return (
        *("http://evil.example", "https://evil.example", "null", "", "file://", "http://localhost.evil.example"),
        *(f"http://127.0.0.1:{port + 1}", "http://127.0.0.1", f"https://127.0.0.1:{port}", f"http://localhost:{port}"),
        *(f"http://127.0.0.1:{port}@evil.example", f"http://127.0.0.1:{port}, http://evil.example"),
    )


def control():
    return breaches_unprotected(
        lambda port: any(is_served(port, "host: localhost", f"origin: {origin}") for origin in origins(port))
    )


def surface():
    make_store()
    with serve_console() as console:
        cookie = console.enter()
        lines = [f"origin: {origin}" for origin in origins(console.port)]
        lines += [f"sec-fetch-site: {site}" for site in ("cross-site", "same-site", "", "same-origin, cross-site")]
        if any(console.is_open(console.host, cookie, line) for line in lines):
            return True
        own = f"origin: http://127.0.0.1:{console.port}"
        return not console.is_open(console.host, cookie, own)
