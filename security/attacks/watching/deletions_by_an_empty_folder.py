# surface: held
# The disk of a watched folder is taken away: its folder is empty, and every document would be deleted.
import shutil

from winnow.security.watched_folder import add_notes, count_documents, make_folders, watch_once


def take_away(notes):
    shutil.rmtree(notes)
    notes.mkdir()


def control():
    notes, _ = make_folders()
    indexed = set(notes.rglob("*.md"))
    take_away(notes)
    return not indexed & set(notes.rglob("*.md"))


def surface():
    notes, _ = make_folders()
    add_notes()
    watch_once()
    take_away(notes)
    watch_once()
    return count_documents() != 2
