# surface: held
# Completions of the 2026 protocol name the sessions and passages of other clients.
from security.loopback_servers import called, ingested, product, searched


def control():
    session = ["0123456789"]  # one for all
    return [known for known in session if known.startswith("")] != []


def surface():
    ingested()
    with product() as port:
        shown, cookie = searched(port)
        session_id, passage_id = shown["session_id"], shown["results"][0]["passage_id"]
        told = ""
        for lines in ((), (f"mcp-session-id: {cookie.partition('=')[2]}",)):
            for name in ("session_id", "passage_id"):
                asked = {
                    "ref": {"type": "ref/resource", "uri": "winnow://scratch/{session_id}/{passage_id}"},
                    "argument": {"name": name, "value": ""},
                    "context": {"arguments": {"session_id": session_id}},
                }
                answered, _ = called(port, "completion/complete", asked, *lines)
                told += str(answered["result"]["completion"]["values"])
        return session_id in told or passage_id in told
