# surface: held
# Another user of the machine reads the text of documents in a new store.
import os
from pathlib import Path

from winnow.security.surface import winnow


def others_may_enter(folder):
    return bool(Path(folder).stat().st_mode & 0o077)


def control():
    os.umask(0o022)
    Path("store").mkdir()
    return others_may_enter("store")


def surface():
    os.umask(0o022)
    Path("notes").mkdir()
    Path("notes/one.md").write_text("# One\n\nA private sentence about backups.\n")
    made = winnow("ingest", "notes", "--store", "store").returncode == 0
    return not made or others_may_enter("store")
