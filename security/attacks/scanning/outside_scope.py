# surface: held
# A pattern, a path and a cursor of another server look for documents that this server must not show.
import sqlite3

from winnow.security.scan_target import confined_to, ingest, scan

SECRET = "the vault's code is 7431"


def page(environment, text):
    return f"---\nenvironment: {environment}\n---\n\n# Page\n\n{text}\n"


def write():
    ingest({"open.md": page("dev", "nothing"), "secret.md": page("prod", SECRET)})


def control():  # a program that reads the catalogue without a scope
    write()
    with sqlite3.connect("store/catalogue.sqlite3") as catalogue:
        return any(SECRET in text for (text,) in catalogue.execute("SELECT text FROM texts"))


def surface():
    write()
    everything = scan("(?s).", "--limit", "1")["next_cursor"]
    scanned = []
    for options in ((), ("--path", "secret*"), ("--path", "*"), ("--cursor", everything), ("--group-by", "document")):
        pattern = "(?s)." if "--cursor" in options else "vault|code"
        scanned.append(scan(pattern, "--limit", "1", *options, environment=confined_to("dev")))
    known = [scan("nothing", environment=confined_to("dev"))["total"]["documents"]]
    return known != [1] or any("vault" in str(answer) or "secret.md" in str(answer) for answer in scanned)
