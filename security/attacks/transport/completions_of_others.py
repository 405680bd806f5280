# surface: held
# Completions of the 2026 protocol name the sessions and passages of other clients.
from winnow.security.loopback_servers import call_method, make_store, serve_product, search_canary


def control():
    session = ["0123456789"]  # one for all
    return [known for known in session if known.startswith("")] != []


def surface():
    make_store()
    with serve_product() as port:
        shown, cookie = search_canary(port)
        session_id, passage_id = shown["session_id"], shown["results"][0]["passage_id"]
        told = ""
        for lines in ((), (f"mcp-session-id: {cookie.partition('=')[2]}",)):
            for name in ("session_id", "passage_id"):
                asked = {
                    "ref": {"type": "ref/resource", "uri": "winnow://scratch/{session_id}/{passage_id}"},
                    "argument": {"name": name, "value": ""},
                    "context": {"arguments": {"session_id": session_id}},
                }
                answered, _ = call_method(port, "completion/complete", asked, *lines)
                told += str(answered["result"]["completion"]["values"])
        return session_id in told or passage_id in told
