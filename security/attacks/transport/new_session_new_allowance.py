# surface: held
# A client that has used up its minute begins another session, and names another address each time.
import time

from winnow.security.loopback_servers import call_method, serve_product

HELP = {"name": "help", "arguments": {}}


def control():
    allowed = {}  # calls by session alone
    return all(allowed.setdefault(f"session {number}", 0) < 100 for number in range(130))


def surface():
    served = []
    with serve_product() as port:
        for number in range(130):
            forwarded = f"203.0.113.{number}"
            lines = (f"x-forwarded-for: {forwarded}", f"forwarded: for={forwarded}", f"x-real-ip: {forwarded}")
            asked = time.monotonic()
            answered, _ = call_method(port, "tools/call", HELP, *lines)
            if "RATE_LIMIT" not in str(answered):
                served.append(asked)
    return any(later - first < 59 for first, later in zip(served, served[100:], strict=False))
