# surface: held
# An attacker chooses a session token, and gives it to another client in advance.
from winnow.security.loopback_servers import COOKIE, make_store, serve_product, search_canary

CHOSEN = (*(digit * 64 for digit in "0af"), "a" * 32, "", "../..", "proven:" + "0" * 57, "%30" * 64)


def control():
    sessions = {}  # a server that accepts session names from clients
    return sessions.setdefault(CHOSEN[0], object()) is sessions.setdefault(CHOSEN[0], object())


def surface():
    make_store()
    with serve_product() as port:
        for token in CHOSEN:
            first, cookie = search_canary(port, f"cookie: {COOKIE}={token}")
            again, _ = search_canary(port, f"cookie: {COOKIE}={token}")
            if first["session_id"] == again["session_id"] or token in (cookie.partition("=")[2],):
                return True
        _, issued = search_canary(port)
        key = issued.partition("=")[2][:32]
        forged = [search_canary(port, f"cookie: {COOKIE}={key}{code}")[0]["session_id"] for code in ("0" * 32, key)]
        return len({*forged, search_canary(port, f"cookie: {issued}")[0]["session_id"]}) != 3
