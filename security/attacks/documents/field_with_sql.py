# surface: held
# The name of a field or a value closes a string of SQL and reads all documents.
import json
import sqlite3

from winnow.security.corpus_store import answers, ingest_pages

NAMES = ("x') OR 1=1 --", "$.stage') OR ('1'='1")


def control():
    with sqlite3.connect(":memory:") as base:
        base.execute("CREATE TABLE documents (uri, environment)")
        base.execute("INSERT INTO documents VALUES ('hidden', 'dev')")
        query = f"SELECT uri FROM documents WHERE environment = 'prod' AND (uri = '{NAMES[0]}"
        return base.execute(query.replace("--", "")).fetchall() == [("hidden",)]


def surface():
    ingest_pages()
    for name in NAMES:
        said = answers("documents", "--where", f"{name}=beta")
        counts = answers("documents", "--group-by", name)
        named = answers("read", name)
        value = answers("documents", "--where", f"stage={name}")
        if "hidden" in (said + counts + named + value).casefold():
            return True
    return json.loads(answers("documents"))["total"]["documents"] != 1
