# surface: held
# The ignore file of a folder is a pipe; read or not, what it might name must not be indexed.
import os

from winnow.security.bomb_ingest import hangs
from winnow.security.watched_folder import add_notes, count_documents, make_folders, watch_once


def control():
    notes, _ = make_folders()
    os.mkfifo(notes / "part" / ".gitignore")
    return hangs("open('notes/part/.gitignore').read()", "-I")


def surface():
    notes, _ = make_folders()
    os.mkfifo(notes / "part" / ".gitignore")
    add_notes()
    code, _ = watch_once()
    return code != 0 or count_documents() != 1
