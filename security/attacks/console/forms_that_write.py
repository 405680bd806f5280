# surface: held
# A page of another site sends forms and other methods to a console, with the cookie of its user.
from winnow.security.console_server import serve_console
from winnow.security.loopback_servers import breaches_unprotected, make_store, request_head, send_raw

METHODS = ("POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT")


def control():
    return breaches_unprotected(lambda port: send_raw(port, request_head("/", "host: localhost", method="POST"))[0] == 200)


def surface():
    make_store()
    with serve_console() as console:
        cookie = console.enter()
        return any(console.is_open(console.host, cookie, method=method) for method in METHODS)
