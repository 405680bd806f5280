# surface: held
# A client behind a TLS proxy writes a slash too many, follows the answer, and sends its key and its question in clear.
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from winnow.security.loopback_servers import add_key, bearer, request_head, send_raw, serve_product

ROUTES = ("/mcp", "/mcp/discover", "/mcp/tool/kb.search", "/v1/search", "/health", "/metrics", "/openapi.json", "/")
METHODS = ("GET", "POST", "DELETE")


def breached(port, *lines):
    """Whether any spelling of a route is answered with a redirect."""
    for route in ROUTES:
        for path in (f"{route}/", f"{route}//", f"/{route}", f"//evil.example{route}", f"{route}/..", f"{route}%2f"):
            for method in METHODS:
                head = request_head(path, "host: localhost", "content-length: 0", *lines, method=method)
                if 300 <= send_raw(port, head)[0] < 400:
                    return True
    return False


class _Redirecting(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(307)
        self.send_header("location", f"http://{self.headers['host']}{self.path.rstrip('/')}")
        self.end_headers()

    def log_message(self, *arguments):
        pass


def control():
    with ThreadingHTTPServer(("127.0.0.1", 0), _Redirecting) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            return breached(server.server_address[1])
        finally:
            server.shutdown()


def surface():
    line = bearer(add_key("laptop"))
    with serve_product() as port:
        return breached(port, line) or breached(port)
