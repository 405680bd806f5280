# surface: held
# A key for one project names the other project, its scope, ids and URIs, and calls in the session of the other key.
import json

from winnow.security.loopback_servers import add_key, bearer, call_method, make_store, serve_product

WORD = "heronry"
SEARCH = {"name": "kb_search", "arguments": {"query": "birds in the marsh"}}


def search(port, *lines, **scope):
    arguments = {**SEARCH["arguments"], **({"scope": scope} if scope else {})}
    return call_method(port, "tools/call", {"name": "kb_search", "arguments": arguments}, *lines)[0]


def make_both():
    make_store()
    make_store("q", f"The {WORD} of the marsh.")


def control():
    make_both()
    with serve_product("127.0.0.1", "--projects", "p,q") as port:  # a server without keys
        return WORD in json.dumps(search(port, project_id="q"))


def surface():
    make_both()
    red, blue = bearer(add_key("red", "--projects", "p")), bearer(add_key("blue", "--projects", "q"))
    with serve_product("127.0.0.1", "--projects", "p,q") as port:
        row = search(port, blue)["result"]["structuredContent"]["results"][0]
        assert WORD in json.dumps(row)
        reads = [{"uri": row["scratch_uri"]}]
        calls = [
            {"name": "kb_read_excerpt", "arguments": {"passage_id": row[name]}} for name in ("passage_id", "section_id")
        ]
        calls += [{"name": "kb_documents", "arguments": {"scope": {"project_id": "q"}}}]
        calls += [{"name": "kb_scan", "arguments": {"pattern": "(?s).+", "scope": {"project_id": "q"}}}]
        shown = [search(port, red), search(port, red, project_id="q"), search(port, red, project_id="Q")]
        shown += [call_method(port, "tools/call", call, red)[0] for call in calls]
        shown += [call_method(port, "resources/read", read, red)[0] for read in reads]
        return WORD in json.dumps(shown)
