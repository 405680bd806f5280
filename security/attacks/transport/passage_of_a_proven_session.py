# surface: held
# A client of the 2026 protocol reads the passages of another client by known ids.
from winnow.security.loopback_servers import call_method, make_store, serve_product, search_canary

SHARED = {}  # what a server does that has one session for all


def control():
    SHARED["0123456789"] = "The canary sings at dawn."
    return "canary" in SHARED.get("0123456789", "")


def surface():
    make_store()
    with serve_product() as port:
        shown, cookie = search_canary(port)
        search_canary(port, f"cookie: {cookie}")  # returned: from now on the session is this client's
        row = shown["results"][0]
        read = {"name": "kb_read_excerpt", "arguments": {"passage_id": row["passage_id"]}}
        mine, _ = call_method(port, "tools/call", read, f"cookie: {cookie}")
        assert "canary" in str(mine)
        _, stranger = search_canary(port)
        for lines in ((), (f"cookie: {stranger}",), (f"cookie: {cookie[:-1]}",), (f"mcp-session-id: {cookie}",)):
            taken, _ = call_method(port, "tools/call", read, *lines)
            seen, _ = call_method(port, "resources/read", {"uri": row["scratch_uri"]}, *lines)
            if "dawn" in str(taken) + str(seen):
                return True
    return False
