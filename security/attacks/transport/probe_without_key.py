# surface: held
# A client without a key reads more than a probe may, through the two routes that answer probes without one.
import json

from winnow.security.loopback_servers import add_key, breaches_product, breaches_unprotected, request_head, send_raw

PROBES = ("/health/live", "/health/ready", "/health/l%69ve")
BESIDE = ("/health/live/", "/health/live/../../metrics", "/health/live%2f..", "/health/ready;x", "/health/LIVE")
METHODS = ("POST", "PUT", "DELETE", "OPTIONS", "TRACE")


def breached(port):
    for path in PROBES:
        status, body = send_raw(port, request_head(path, "host: localhost"))
        if status not in (200, 503) or json.loads(body).keys() != {"status"} or b"store" in body:
            return True
        if send_raw(port, request_head(path, "host: evil.example"))[0] != 421:
            return True
        if any(send_raw(port, request_head(path, "host: localhost", method=method))[0] < 400 for method in METHODS):
            return True
    return any(send_raw(port, request_head(path, "host: localhost"))[0] < 400 for path in BESIDE)


def control():
    return breaches_unprotected(breached)


def surface():
    add_key("laptop")
    return breaches_product(breached)
