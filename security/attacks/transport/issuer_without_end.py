# surface: held
# An issuer whose keys are 10 MB, or never come: who has a key must not wait, and no token is accepted.
import json
import time
import urllib.request

from winnow.security.loopback_servers import add_key, bearer, request_head, send_raw, serve_product
from winnow.security.token_issuer import AUDIENCE, make_token, serve_issuer

MANY_BYTES = 10 * 1024 * 1024
SLOW_SECONDS = 5.0


def control():
    with serve_issuer(padding=MANY_BYTES) as issuer:
        with urllib.request.urlopen(f"{issuer}/keys") as answer:
            return len(json.loads(answer.read())["filler"]) == MANY_BYTES  # the rule of one that reads all


def breached(**kind):
    def asks(text):
        return send_raw(port, request_head("/health", "host: localhost", bearer(text)))[0]

    with serve_issuer(**kind) as issuer:
        with serve_product("127.0.0.1", "--oidc-issuer", issuer, "--oidc-audience", AUDIENCE) as port:
            statuses = [asks(make_token(issuer)) for _ in range(3)]
            began = time.monotonic()
            is_locked_out = asks(key) != 200 or time.monotonic() - began > SLOW_SECONDS
            return statuses != [503] * 3 or is_locked_out


def surface():
    global key
    key = add_key("laptop")
    return breached(padding=MANY_BYTES) or breached(pause=60.0)
