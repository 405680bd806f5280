# surface: held
# A folder is replaced by a link to a private one after it was listed, and before its files are read.
from pathlib import Path

from winnow.security.watched_folder import SECRET, has_secret, make_folders
from winnow.server.ingest.file_discovery import Root, SourcePart, find_files
from winnow.server.ingest.pipeline import ingest_parts
from winnow.server.ingest.selection.request import IngestRequest
from winnow.server.jobs.target import target_of
from winnow.server.backends.opening import open_backends
from winnow.server.settings.loading import load_settings


def swap(notes, private):
    (notes / "part").rename(notes.with_name("was"))
    (notes / "part").symlink_to(private / "part")


def control():
    notes, private = make_folders()
    listed = [path for path in notes.rglob("*.md") if path.is_file() and not path.is_symlink()]
    swap(notes, private)
    return any(SECRET in path.read_text() for path in listed)


def surface():
    notes, private = make_folders()
    root = Root(str(notes), "")
    part = SourcePart(root, find_files(root))
    swap(notes, private)
    settings = load_settings(store=Path("store"), embedding="off", graph="off")
    backends = open_backends(settings, wait_for_model=False)
    ingest_parts(target_of(settings, backends, None), [part], IngestRequest())
    backends.close()
    return has_secret()
