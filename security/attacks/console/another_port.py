# surface: held
# A server of another user, at another port, gets the cookie of a console by a link to itself, or sets one beside it.
import http.cookiejar
import threading
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from winnow.security.console_server import OPEN, PAGES, serve_console
from winnow.security.loopback_servers import make_store

COMMON = ("/", "/enter", "/documents", "/settings", "/x/y", "/static/console.css")


def serve(cookies, received):
    """A server of another user that sets these cookies, and keeps those that it receives."""

    class Answering(BaseHTTPRequestHandler):
        def do_GET(self):
            received.extend(self.headers.get_all("cookie", []))
            self.send_response(200)
            for cookie in cookies:
                self.send_header("set-cookie", cookie)
            self.end_headers()

        def log_message(self, *_):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def show(browser, port, path):
    try:
        with browser.open(f"http://127.0.0.1:{port}{path}", timeout=50) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code


def new_browser():
    return urllib.request.build_opener(urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar()))


def control():
    received = []
    browser = new_browser()
    show(browser, serve(["own=secret; Path=/; HttpOnly; SameSite=strict"], []), "/")
    show(browser, serve([], received), "/")
    return received == ["own=secret"]


def surface():
    make_store()
    received = []
    with serve_console() as console:
        name = f"winnow_console_{console.port}"
        other = serve([f"{name}=x; Path=/", f"{name}=y; Path=/documents"], received)
        browser = new_browser()
        with browser.open(f"http://127.0.0.1:{console.port}/enter?token={console.token}", timeout=50) as answer:
            root = answer.headers["set-cookie"].partition("Path=")[2].partition("/;")[0]
            cookie = answer.headers["set-cookie"].partition(";")[0]
        for path in COMMON:
            show(browser, other, path)
        stolen = any(cookie in each for each in received)
        outside = any(console.is_open(console.host, f"cookie: {each}") for each in (cookie, *received))
        hindered = any(show(browser, console.port, root + path) != OPEN for path in PAGES)
    return stolen or outside or hindered
