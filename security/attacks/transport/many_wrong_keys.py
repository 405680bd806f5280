# surface: held
# 2,000 wrong keys, some with the id of a real one, each from another address as a header claims.
import time

from winnow.security.loopback_servers import add_key, bearer, breaches_unprotected, request_head, send_raw, serve_product

MANY, LOOKED_AT = 2_000, 40
SLOW_SECONDS = 10.0


def count_looked_at(port, known):
    """How many of the keys were looked at instead of being turned away."""
    looked_at = 0
    for number in range(MANY):
        id = known if number % 2 else f"{number:08x}"
        lines = (bearer(f"winnow_{id}_{number:064x}"), f"x-forwarded-for: 203.0.113.{number % 250}")
        looked_at += send_raw(port, request_head("/health", "host: localhost", *lines))[0] != 429
    return looked_at


def control():
    return breaches_unprotected(lambda port: count_looked_at(port, "00000000") > LOOKED_AT)


def surface():
    key = add_key("laptop")
    good = request_head("/health", "host: localhost", bearer(key))
    with serve_product() as port:
        assert send_raw(port, good)[0] == 200
        too_many = count_looked_at(port, key.split("_")[1]) > LOOKED_AT
        began = time.monotonic()
        is_locked_out = send_raw(port, good)[0] != 200 or time.monotonic() - began > SLOW_SECONDS
        return too_many or is_locked_out
