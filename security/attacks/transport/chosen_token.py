# surface: held
# A client chooses the token of its session, and gives it to another one in advance.
from security.loopback_servers import COOKIE, ingested, product, searched

CHOSEN = (*(digit * 64 for digit in "0af"), "a" * 32, "", "../..", "proven:" + "0" * 57, "%30" * 64)


def control():
    sessions = {}  # what a server does that takes whatever a client calls itself
    return sessions.setdefault(CHOSEN[0], object()) is sessions.setdefault(CHOSEN[0], object())


def surface():
    ingested()
    with product() as port:
        for token in CHOSEN:
            first, cookie = searched(port, f"cookie: {COOKIE}={token}")
            again, _ = searched(port, f"cookie: {COOKIE}={token}")
            if first["session_id"] == again["session_id"] or token in (cookie.partition("=")[2],):
                return True
        _, issued = searched(port)
        key = issued.partition("=")[2][:32]
        forged = [searched(port, f"cookie: {COOKIE}={key}{code}")[0]["session_id"] for code in ("0" * 32, key)]
        return len({*forged, searched(port, f"cookie: {issued}")[0]["session_id"]}) != 3
