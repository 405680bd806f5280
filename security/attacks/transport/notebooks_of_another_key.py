# surface: held
# Over the routes of notebooks, a key reads and revises what another key wrote, names a project out of its reach in the
# path, in the body and behind encoded slashes, writes with a key that only reads, and sends no key.
import json

from winnow.security.loopback_servers import add_key, bearer, make_store, request_head, send_raw, serve_product

WORD = "heronry"
CLAIM = {"topic": "birds", "claims": [{"text": f"The {WORD} is in the marsh."}]}
FORGED = {"topic": "birds", "claims": [{"text": "Forged by a reader."}]}
OPTIONS = ("--projects", "p,q", "--tools", "claims", "--enable-writes")


def ask(port, method, path, body=None, *lines):
    sent = b"" if body is None else json.dumps(body).encode()
    own = ("host: localhost", "content-type: application/json", f"content-length: {len(sent)}")
    return send_raw(port, request_head(path, *own, *lines, method=method) + sent)[1].decode()


def requests(entry):
    for book in ("q", "p", "q%2f..%2fp", "p/../q", "Q", "%71"):
        yield "GET", f"/notebooks/{book}/entries/{entry}", None
        yield "GET", f"/notebooks/{book}/observe", None
        yield "GET", f"/notebooks/{book}/search?query={WORD[:5]}&project=q", None
        yield "POST", f"/notebooks/{book}/semantic-search", {"query": WORD[:5], "mode": "hybrid", "project": "q"}
        yield "POST", f"/notebooks/{book}/claims/batch", {"entry_ids": [entry], "project": "q", "owner": "blue"}
        yield "PATCH", f"/notebooks/{book}/entries/{entry}", {"topic": "taken", "project": "q"}


def make_both():
    make_store()
    make_store("q", "The marsh.")


def control():
    make_both()
    with serve_product("127.0.0.1", *OPTIONS) as port:  # a server without keys
        entry = json.loads(ask(port, "POST", "/notebooks/q/entries", CLAIM))["entry_id"]
        return any(WORD in ask(port, *request) for request in requests(entry))


def surface():
    make_both()
    red, blue = (bearer(add_key(name, "--projects", of)) for name, of in (("red", "p"), ("blue", "q")))
    second = bearer(add_key("second", "--projects", "q"))
    reader = bearer(add_key("reader", "--projects", "q", "--read-only"))
    with serve_product("127.0.0.1", *OPTIONS) as port:
        entry = json.loads(ask(port, "POST", "/notebooks/q/entries", CLAIM, blue))["entry_id"]
        shown = [ask(port, *each, *key) for each in requests(entry) for key in ((red,), (second,), (reader,), ())]
        forged = json.loads(ask(port, "POST", "/notebooks/q/entries", FORGED, reader))
        own = json.loads(ask(port, "GET", f"/notebooks/q/entries/{entry}", None, blue))
        return WORD in json.dumps(shown) or "entry_id" in forged or own["revision"] != 1
