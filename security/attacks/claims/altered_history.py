# surface: held
# Somebody who may write the file changes what an agent wrote, or an export on its way to another store.
import json
import sqlite3

from winnow.server.claims.exchange import export_lines, import_lines
from winnow.server.claims.records import Claim, Entry, new_entry_id
from winnow.server.claims.sqlite_store import SqliteClaimStore, claims_path
from winnow.server.claims.store import Notebook
from winnow.server.errors import WinnowError
from winnow.server.settings.loading import load_settings

BOOK = Notebook("p")


def make():
    store = SqliteClaimStore(claims_path(load_settings(store="store").store))
    for text in ("Backups are kept for 90 days.", "It is so."):
        id = new_entry_id()
        store.add(BOOK, Entry(id=id, project="p", topic="t", claims=(Claim(id=f"{id}.1", text=text),)))
    return store


def control():
    # What an import does that reads the records alone.
    lines = [line.replace("90 days", "9 days") for line in export_lines(make(), BOOK)]
    return "9 days" in json.loads(lines[1])["body"]


def surface():
    store = make()
    lines = [line.replace("90 days", "9 days").encode() for line in export_lines(store, BOOK)]
    other = SqliteClaimStore(claims_path(load_settings(store="other").store))
    try:
        import_lines(other, lines)
    except WinnowError:
        refused = not other.notebooks()
    else:
        refused = False
    with sqlite3.connect(store.database.path) as connection:
        connection.execute("UPDATE history SET body = replace(body, '90 days', '9 days')")
    return not refused or store.first_flaw(BOOK) != 1
