# surface: held
# A journal beside Zotero's database names a file of the user, which SQLite deletes after it has rolled back.
import os
import sqlite3
import struct
from contextlib import closing
from pathlib import Path

from winnow.security.surface import winnow

MAGIC = bytes.fromhex("d9d505f920a163d7")
PAGE_BYTES, SECTOR_BYTES = 4096, 512


def _make_library():
    kept, folder = Path("kept.md").absolute(), Path("Zotero")
    kept.write_text("the only copy")
    folder.mkdir()
    with closing(sqlite3.connect(folder / "zotero.sqlite")) as database, database:
        database.execute("CREATE TABLE items (itemID)")
    pages = (folder / "zotero.sqlite").stat().st_size // PAGE_BYTES
    head = MAGIC + struct.pack(">5I", 0, 0, pages, SECTOR_BYTES, PAGE_BYTES)
    name = os.fsencode(kept)
    # Twice: what only takes one off the end finds the other.
    named = struct.pack(">I", 0x40000000 // PAGE_BYTES + 1) + name + struct.pack(">2I", len(name), sum(name)) + MAGIC
    (folder / "zotero.sqlite-journal").write_bytes(head.ljust(SECTOR_BYTES, b"\0") + named + named)
    return kept, folder


def control():
    kept, folder = _make_library()
    with closing(sqlite3.connect(folder / "zotero.sqlite")) as database:
        database.execute("SELECT count(*) FROM items").fetchall()
    return not kept.exists()


def surface():
    kept, folder = _make_library()
    done = winnow("zotero", "ingest", "--no-api", "--data-folder", str(folder.absolute()), "--store", "store")
    return not kept.exists() or b"is not a Zotero database" not in done.stderr
