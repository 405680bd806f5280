# surface: held
# A name of another site resolves to loopback, so that its page reads a console; its user's cookie comes along.
from winnow.security.console_server import serve_console
from winnow.security.loopback_servers import breaches_unprotected, is_served, make_store


def hosts(port):
    return (
        *("evil.example", f"evil.example:{port}", f"localhost.evil.example:{port}", f"127.0.0.1.evil.example:{port}"),
        *("127.0.0.1", "localhost", f"127.0.0.1:{port + 1}", f"127.0.0.2:{port}", f"0.0.0.0:{port}", ""),
        *(f"user@127.0.0.1:{port}", f"127.0.0.1:{port}/", f"127.0.0.1:{port}, evil.example", f"[::1%25lo]:{port}"),
    )


def control():
    return breaches_unprotected(lambda port: any(is_served(port, f"host: {host}") for host in hosts(port)))


def surface():
    make_store()
    with serve_console() as console:
        address = f"/enter?token={console.token}"
        if any(console.ask(address, f"host: {host}")[0] == 200 for host in hosts(console.port)):
            return True
        cookie = console.enter()
        if any(console.is_open(f"host: {host}", cookie) for host in hosts(console.port)):
            return True
        two = console.is_open(console.host, "host: evil.example", cookie)
        return two or console.is_open(cookie) or not console.is_open(console.host, cookie)
