# surface: held
# Keys that are wrong, revoked, rotated or expired, also in a session that they began while they were valid.
import time

from winnow.security.loopback_servers import (
    add_key,
    bearer,
    breaches_unprotected,
    is_served,
    request_head,
    send_raw,
    serve_product,
)
from winnow.security.surface import winnow

HOST = "host: localhost"


def with_key(port, key):
    return send_raw(port, request_head("/health", HOST, bearer(key)))[0]


def control():
    return breaches_unprotected(lambda port: is_served(port, HOST, bearer("winnow_00000000_" + "0" * 64)))


def surface():
    keys = {name: add_key(name) for name in ("revoked", "rotated", "known")}
    expiring = add_key("expiring", "--expires", "1h")
    with serve_product() as port:
        before = [with_key(port, key) for key in (*keys.values(), expiring)]
        for change in ("revoke", "rotate"):
            assert winnow("key", change, f"{change}d", "--store", "store").returncode == 0
        expired = add_key("expired", "--expires", time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(time.time() + 3)))
        time.sleep(4)
        wrong = keys["known"][:-1] + ("0" if keys["known"][-1] != "0" else "1")
        after = [with_key(port, key) for key in (keys["revoked"], keys["rotated"], expired, wrong)]
        known = with_key(port, keys["known"])
    assert (before, known) == ([200] * 4, 200)
    return after != [401] * 4
