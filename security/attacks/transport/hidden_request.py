# surface: held
# Request smuggling: a request without a key in the body of one with a key, by framings that servers read differently.
import re
import socket

from winnow.security.loopback_servers import add_key, bearer, breaches_unprotected, serve_product

HIDDEN = b"GET /health HTTP/1.1\r\nhost: localhost\r\n\r\n"
CHUNKED = b"%x\r\n%s\r\n0\r\n\r\n" % (len(HIDDEN), HIDDEN)
FRAMINGS = (
    (b"content-length: 0\r\ntransfer-encoding: chunked", b"0\r\n\r\n" + HIDDEN),
    (b"transfer-encoding: chunked\r\ncontent-length: 4", b"0\r\n\r\n" + HIDDEN),
    (b"transfer-encoding: xchunked", HIDDEN),
    (b"transfer-encoding : chunked", b"0\r\n\r\n" + HIDDEN),
    (b"transfer-encoding: identity, chunked", b"0\r\n\r\n" + HIDDEN),
    (b"transfer-encoding: chunked\r\ntransfer-encoding: x", b"0\r\n\r\n" + HIDDEN),
    (b"content-length: 0\r\ncontent-length: 44", HIDDEN),
    (b"content-length: +0", HIDDEN),
    (b"content-length: 0, 44", HIDDEN),
    (b"x: y\r\n content-length: 44\r\ncontent-length: 0", HIDDEN),
    (b"content-length: 0\nx: y", HIDDEN),
    (b"transfer-encoding: chunked", b"0;a=\n\r\n\r\n" + HIDDEN),
    (b"transfer-encoding: chunked", CHUNKED),
    (b"x: y\x00\r\ncontent-length: 0", HIDDEN),
)


def count_served(port, framing, body, line):
    """How many requests of one connection are served: the first may be."""
    head = b"POST /health HTTP/1.1\r\nhost: localhost\r\n" + line.encode() + b"\r\n" + framing + b"\r\n\r\n"
    received = b""
    with socket.create_connection(("127.0.0.1", port), 20) as client:
        client.settimeout(1.0)
        try:
            client.sendall(head + body)
            while chunk := client.recv(65_536):
                received += chunk
        except OSError:
            pass
    return len(re.findall(rb"HTTP/1\.1 (?:200|405)", received))


def control():
    return breaches_unprotected(lambda port: count_served(port, *FRAMINGS[6], "x: y") > 1)


def surface():
    line = bearer(add_key("laptop"))
    with serve_product() as port:
        return any(count_served(port, *framing, line) > 1 for framing in FRAMINGS)
