# surface: held
# Half a request, and then nothing: each holds a connection for ever.
import socket
import time

from winnow.security.loopback_servers import serve_unprotected, serve_product

HALVES = (
    b"",
    b"POST /mcp HT",
    b"POST /mcp HTTP/1.1\r\nhost: localhost\r\nx-slow: ",
)


def breached(port, seconds):
    clients = [socket.create_connection(("127.0.0.1", port)) for _ in HALVES]
    for client, half in zip(clients, HALVES, strict=True):
        client.sendall(half)
    until = time.monotonic() + seconds
    for client in clients:
        client.settimeout(max(0.1, until - time.monotonic()))
        try:
            while client.recv(65_536):
                pass
        except TimeoutError:
            return True
    return False


def control():
    with serve_unprotected() as port:
        return breached(port, 3)


def surface():
    with serve_product() as port:
        return breached(port, 45)
