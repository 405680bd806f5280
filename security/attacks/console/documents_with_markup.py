# surface: held
# Names, titles and lines of documents, and the words of a question, become markup or code of a page of the console.
import json
import re
from html.parser import HTMLParser
from pathlib import Path

from winnow.security.console_server import in_query, serve_console
from winnow.security.surface import winnow

HOSTILE = (
    "</pre></script><script>taken()</script>",
    "</title></style><img src=x onerror=taken()><svg onload=taken()></svg>",
    "[click](javascript:taken()) ![](http://evil.test/pixel.png) <http://evil.test/>",
    "</option></select></li></ol></main><iframe srcdoc='<script>taken()</script>'></iframe>",
    "<base href=http://evil.test/><meta http-equiv=refresh content='0;url=http://evil.test/'>",
    "\" autofocus onfocus=taken() x=\" ' onmouseover=taken() x='",
    "--><form action=http://evil.test/><button>Search</button></form><!--",
    "{{ cycler.__init__.__globals__ }} {% include 'base.html' %}",
)
# Addresses in which a person writes words.
ASKED = (
    *("/?q=", "/?q=ab&tier=", "/documents?path=", "/page?document=", "/claims?q=", "/script?id=", "/scripts?verdict="),
    *("/savings?since=", "/graph?node=", "/claim?id=", "/document?id="),
)
FORBIDDEN = {"script", "iframe", "object", "embed", "base", "style", "foreignobject", "animate"}


class Page(HTMLParser):
    """Whether something in a page would run, load or lead elsewhere."""

    def __init__(self, text):
        super().__init__()
        self.taken = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        values = {name: value or "" for name, value in attrs}
        leads = [values[name] for name in ("href", "action", "src") if name in values]
        self.taken |= tag in FORBIDDEN or any(name.startswith("on") or name in ("style", "srcdoc") for name in values)
        self.taken |= any(not re.match(r"/[^/\\]|/$|#|data:(,$|image/png;)", lead) for lead in leads)
        self.taken |= tag == "meta" and "evil" in values.get("content", "")


def control():
    made = "<title>{0}</title><h1>{0}</h1><input value=\"{0}\">"
    return sum(Page(made.format(text)).taken for text in HOSTILE) >= len(HOSTILE) - 2


def surface():
    Path("documents").mkdir()
    for number, text in enumerate(HOSTILE):
        front = f"---\ntitle: {json.dumps(text)}\ndoc_tag: {json.dumps(text)}\ntags: [{json.dumps(text)}]\n---\n"
        Path(f"documents/{number} <b onclick=taken()>.md").write_text(f"{front}\n# {text}\n\nA line.\n{text}\n\nThe end.\n")
    done = winnow("ingest", "documents", "--store", "store", "--project", "p")
    assert done.returncode == 0, done.stderr
    with serve_console() as console:
        cookie = console.enter()
        paths = ["/documents", "/documents/health", "/graph", "/settings", "/?q=The+end&tier=full", "/?q=line&tier=quotes"]
        for number, text in enumerate(HOSTILE):
            name = in_query(f"{number} <b onclick=taken()>.md")
            paths += [f"/document?id={name}", f"/page?document={name}&quote=The+end.", f"/graph?node={name}"]
            paths += [f"{path}{in_query(text)}" for path in ASKED]
        for path in paths:
            status, page = console.ask(path, console.host, cookie)
            if status in (0, 500) or Page(page).taken or "cycler" in page and "<function" in page:
                return True
    return False
