# surface: held
# A second browser brings the token after the first one has used it, and beside it.
from concurrent.futures import ThreadPoolExecutor

from winnow.security.console_server import serve_console
from winnow.security.loopback_servers import make_store


def control():
    tokens = {"a"}  # a server that forgets to take a token away
    return all(token in tokens for token in ("a", "a"))


def surface():
    make_store()
    with serve_console() as console:
        address = f"/enter?token={console.token}"
        with ThreadPoolExecutor(8) as browsers:
            statuses = [*browsers.map(lambda _: console.ask(address, console.host)[0], range(8))]
        again = [console.ask(address, console.host, method=method)[0] for method in ("GET", "HEAD", "POST")]
        return statuses.count(200) != 1 or 200 in again
