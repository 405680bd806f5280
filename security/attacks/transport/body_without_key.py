# surface: held
# A client without a key sends a body of 100 MB, announced or in chunks: the server must not take it.
import socket

from winnow.security.loopback_servers import add_key, breaches_product, breaches_unprotected, request_head

MIB = 1024 * 1024
TOTAL, TAKEN = 100 * MIB, 20 * MIB  # buffers of the system hold some
PART = b"a" * (MIB // 4)
FORMS = (
    ((f"content-length: {TOTAL}",), PART),
    (("transfer-encoding: chunked",), b"%x\r\n%s\r\n" % (len(PART), PART)),
)


def taken_of(port, lines, part):
    """How many bytes of a body the server takes before it closes the connection."""
    sent = 0
    with socket.create_connection(("127.0.0.1", port), 20) as client:
        try:
            client.sendall(request_head("/mcp", "host: localhost", *lines, method="POST"))
            while sent < TOTAL:
                client.sendall(part)
                sent += len(PART)
        except OSError:
            pass
    return sent


def breached(port):
    return any(taken_of(port, lines, part) > TAKEN for lines, part in FORMS[:1])


def control():
    return breaches_unprotected(breached)


def surface():
    add_key("laptop")
    return breaches_product(lambda port: any(taken_of(port, *form) > TAKEN for form in FORMS))
