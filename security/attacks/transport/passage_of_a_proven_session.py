# surface: held
# A client of the 2026 protocol reads what another one was shown, by ids that it came to know.
from security.loopback_servers import called, ingested, product, searched

SHARED = {}  # what a server does that has one session for all


def control():
    SHARED["0123456789"] = "The canary sings at dawn."
    return "canary" in SHARED.get("0123456789", "")


def surface():
    ingested()
    with product() as port:
        shown, cookie = searched(port)
        searched(port, f"cookie: {cookie}")  # returned: from now on the session is this client's
        row = shown["results"][0]
        read = {"name": "kb_read_excerpt", "arguments": {"passage_id": row["passage_id"]}}
        mine, _ = called(port, "tools/call", read, f"cookie: {cookie}")
        assert "canary" in str(mine)
        _, stranger = searched(port)
        for lines in ((), (f"cookie: {stranger}",), (f"cookie: {cookie[:-1]}",), (f"mcp-session-id: {cookie}",)):
            taken, _ = called(port, "tools/call", read, *lines)
            seen, _ = called(port, "resources/read", {"uri": row["scratch_uri"]}, *lines)
            if "dawn" in str(taken) + str(seen):
                return True
    return False
