# surface: held
# A key in the URL, which proxies and histories keep, is accepted instead of one in a header.
from winnow.security.loopback_servers import add_key, breaches_unprotected, request_head, send_raw, serve_product

NAMES = ("key", "api_key", "apikey", "X-API-Key", "access_token", "token", "authorization", "k")


def breached(port, key):
    targets = [f"/health?{name}={key}" for name in NAMES] + [f"/health/{key}", f"/{key}/health", f"/health;key={key}"]
    return any(send_raw(port, request_head(target, "host: localhost"))[0] == 200 for target in targets)


def control():
    return breaches_unprotected(lambda port: breached(port, "winnow_00000000_" + "0" * 64))


def surface():
    key = add_key("laptop")
    with serve_product() as port:
        return breached(port, key)
