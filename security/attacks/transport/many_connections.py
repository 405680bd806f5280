# surface: held
# Too many idle connections, from one address and from several loopback addresses.
import socket

from winnow.security.loopback_servers import breaches_product, breaches_unprotected

MANY = 300


def breached(port):
    sources = [f"127.0.0.{number % 50 + 1}" for number in range(MANY)]
    clients = [socket.create_connection(("127.0.0.1", port), 5, (source, 0)) for source in sources]
    open_ones = 0
    for client in clients:
        client.settimeout(0.05 if open_ones else 1.0)
        try:
            client.recv(1)
        except TimeoutError:
            open_ones += 1
        except ConnectionError:
            pass
        if open_ones > 200:
            return True
    return False


def control():
    return breaches_unprotected(breached)


def surface():
    return breaches_product(breached)
