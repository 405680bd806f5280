# surface: held
# A watched folder is replaced by a link to a private one.
from winnow.security.watched_folder import SECRET, add_notes, has_secret, make_folders, watch_once


def swap(notes, private):
    notes.rename(notes.with_name("was"))
    notes.symlink_to(private)


def control():
    notes, private = make_folders()
    swap(notes, private)
    return any(SECRET in path.read_text() for path in notes.glob("*.md"))


def surface():
    notes, private = make_folders()
    add_notes()
    watch_once()
    swap(notes, private)
    watch_once()
    return has_secret()
