# surface: held | seconds: 300
# A title, a line and a file name become markup or code of the page that hosts show beside the answer.
import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from pathlib import Path

from winnow.security.loopback_servers import call_method, serve_product
from winnow.security.surface import winnow

URI = "ui://winnow/shown-page"
HOSTILE = (
    "</script><script>taken()</script>",
    "</title></style><img src=x onerror=taken()><svg onload=taken()></svg>",
    "[click](javascript:taken()) ![](http://evil.test/pixel.png) <http://evil.test/>",
    "</li></ol></main><iframe srcdoc='<script>taken()</script>'></iframe>",
    "<base href=http://evil.test/><meta http-equiv=refresh content='0;url=http://evil.test/'>",
    "--><form action=http://evil.test/><button>Next page</button></form><!--",
)
# What makes markup, code or requests of a text.
SINKS = re.compile(r"innerHTML|outerHTML|insertAdjacent|document\.write|srcdoc|eval|Function\(|fetch|XMLHttp|WebSocket|https?:|location")


class Page(HTMLParser):
    """The elements of a page, and the texts of its scripts and styles."""

    def __init__(self, text):
        super().__init__()
        self.names, self.attributes, self.policy = [], [], ""
        self.texts = {"script": [], "style": []}
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.names.append(tag)
        self.attributes += [name for name, _ in attrs]
        self.policy = self.policy or dict(attrs).get("content") or ""

    def handle_data(self, data):
        if self.names and self.names[-1] in self.texts:
            self.texts[self.names[-1]].append(data)


def is_taken(text):
    """Whether a browser would run, load or show as markup something that the page's author did not write."""
    page = Page(text)
    scripts = [each for each in page.texts["script"] if each.strip()]
    if len(scripts) != 1 or page.names.count("script") != 1:
        return True
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}';" not in page.policy
        or "unsafe" in page.policy
        or not {"iframe", "svg", "base", "form", "a", "link", "object"}.isdisjoint(page.names)
        or any(name.startswith("on") or name in ("src", "href", "srcdoc") for name in page.attributes)
        or SINKS.search(scripts[0]) is not None
    )


def control():
    made = "<!doctype html><title>{0}</title><h1>{0}</h1><script>show({1})</script>"
    return all(is_taken(made.format(text, json.dumps(text))) for text in HOSTILE)


def read_app(port):
    response, _ = call_method(port, "resources/read", {"uri": URI})
    (contents,) = response["result"]["contents"]
    assert contents["mimeType"] == "text/html;profile=mcp-app"
    return contents["text"], contents["_meta"]["ui"]["csp"]


def surface():
    Path("documents").mkdir()
    for number, text in enumerate(HOSTILE):
        front = f"---\ntitle: {json.dumps(text)}\n---\n"
        Path(f"documents/{number} <b onclick=taken()>.md").write_text(f"{front}\nA line.\n{text}\nThe end.\n")
    done = winnow("ingest", "documents", "--store", "store", "--project", "p")
    assert done.returncode == 0, done.stderr
    with serve_product("127.0.0.1", "--tools", "all,pages") as port:
        before, _ = read_app(port)
        for number, text in enumerate(HOSTILE):
            asked = {"document": f"{number} <b onclick=taken()>.md", "quote": "The end."}
            response, _ = call_method(port, "tools/call", {"name": "kb_show", "arguments": asked})
            answer = response["result"]["structuredContent"]
            assert (answer["mark"], text in answer["text"]) == ("exact", True), answer
            page, policy = read_app(port)
            if page != before or is_taken(page) or any(policy.values()) or text in page:
                return True
    return False
