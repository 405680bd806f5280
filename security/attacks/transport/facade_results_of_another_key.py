# surface: held
# At the façade, a key for one project sends the request and the Idempotency-Key of another key, names its project,
# its passages and its schemas, sends no key, and sends it in the URL: kept results must not cross over.
import json

from winnow.security.loopback_servers import add_key, bearer, make_store, request_head, send_raw, serve_product

WORD = "heronry"
CALL = {"query": "birds in the marsh", "scope": {"project_id": "q"}}
AGAIN = "idempotency-key: 7f9c"


def post(port, tool, arguments, *lines):
    body = json.dumps(arguments).encode()
    own = ("host: localhost", "content-type: application/json", f"content-length: {len(body)}")
    return send_raw(port, request_head(f"/mcp/tool/{tool}", *own, *lines, method="POST") + body)[1].decode()


def make_both():
    make_store()
    make_store("q", f"The {WORD} of the marsh.")


def control():
    make_both()
    with serve_product("127.0.0.1", "--projects", "p,q") as port:  # a server without keys
        post(port, "kb.search", CALL, AGAIN)
        return WORD in post(port, "kb.search", CALL, AGAIN)


def surface():
    make_both()
    red_key = add_key("red", "--projects", "p")
    red, blue = bearer(red_key), bearer(add_key("blue", "--projects", "q"))
    with serve_product("127.0.0.1", "--projects", "p,q") as port:
        first = json.loads(post(port, "kb.search", CALL, AGAIN, blue))
        assert WORD in json.dumps(first)
        passage = first["data"]["results"][0]["passage_id"]
        shown = [
            post(port, "kb.search", CALL, AGAIN, red),
            post(port, "kb.search", CALL, red),
            post(port, "kb.search", {**CALL, "scope": {"project_id": "Q"}}, red),
            post(port, "kb.read_excerpt", {"passage_id": passage}, red),
            post(port, "kb.read_excerpt", {"passage_id": passage}),
            post(port, "kb.search", CALL, AGAIN),
            post(port, f"kb.search?api_key={red_key}", CALL, AGAIN),
        ]
        return WORD in json.dumps(shown)
