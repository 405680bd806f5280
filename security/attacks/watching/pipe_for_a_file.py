# surface: held
# A watched note becomes a named pipe, which waits for a writer that never comes.
import os

from winnow.security.bomb_ingest import hangs
from winnow.security.watched_folder import add_notes, count_documents, make_folders, watch_once


def swap(notes):
    (notes / "two.md").unlink()
    os.mkfifo(notes / "two.md")


def control():
    notes, _ = make_folders()
    swap(notes)
    return hangs("open('notes/two.md').read()", "-I")


def surface():
    notes, _ = make_folders()
    add_notes()
    watch_once()
    swap(notes)
    (notes / "three.md").write_text("A note beside the pipe.\n")
    code, _ = watch_once()
    return code != 0 or count_documents() < 2
