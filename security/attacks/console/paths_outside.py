# surface: held
# A document, a page or a style of the console is asked for by a path that leads to a file outside what was ingested.
import os
from pathlib import Path

from winnow.security.console_server import AskedConsole, in_query, serve_console
from winnow.security.loopback_servers import make_store
from winnow.security.shown_pages import write_pdf
from winnow.security.surface import winnow

SECRET = "The vault opens at noon."
NAMES = (
    "../secret.md", "documents-p/../secret.md", "./one.md/../../secret.md", "secret.md", "link.md", "/etc/passwd",
    "file:///etc/passwd", "one.md\0.md", "%2e%2e/secret.md", "../secret.pdf", "link.pdf", "..\\secret.md", "//secret.md",
)  # fmt: skip
STATIC = ("../web.py", "%2e%2e/%2e%2e/server/errors.py", "..%2fconsole.css", "base.html", "/etc/passwd", "../../../secret.md")


def prepare():
    Path("secret.md").write_text(f"# Vault\n\n{SECRET}\n")
    write_pdf(Path("documents-p/paper.pdf"))
    write_pdf(Path("secret.pdf"))


def control():
    Path("documents-p").mkdir()
    prepare()
    return any(Path("documents-p", name).resolve() == Path("secret.md").resolve() for name in NAMES[:2])


def surface():
    make_store()
    prepare()
    done = winnow("ingest", "documents-p", "--store", "store", "--project", "p")
    assert done.returncode == 0, done.stderr
    os.symlink("../secret.md", "documents-p/link.md")
    os.symlink("../secret.pdf", "documents-p/link.pdf")
    with serve_console() as console:
        cookie = console.enter()
        shown = console.ask("/page?document=paper.pdf&page=1", console.host, cookie)
        assert "data:image/png" in shown[1] and console.ask("/document?id=one.md", console.host, cookie)[0] == 200
        asked = [
            f"{path}{in_query(name)}"
            for name in (*NAMES, str(Path("secret.md").absolute()), str(Path("secret.pdf").absolute()))
            for path in ("/document?id=", "/page?document=", "/page?passage_id=", "/graph?node=", "/script?id=")
        ] + [f"/static/{name}" for name in STATIC]
        for path in asked:
            for each in (console, AskedConsole(console.port, console.token)):  # below the secret path, and beside it
                status, page = each.ask(path, console.host, cookie)
                if status in (0, 200, 500) or SECRET in page or "data:image" in page:
                    return True
    return False
