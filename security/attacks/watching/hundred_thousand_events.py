# surface: held
# 100,000 changes at once: listing each path by itself would take a listing for each.
import time

from winnow.security.watched_folder import make_folders
from winnow.server.ingest.file_discovery import Root
from winnow.server.jobs.watching.scans import changed_parts, list_parts
from winnow.server.ingest.selection.ignore_files import FileRules


def changes(notes):
    return {str(notes / f"part{number % 100}" / f"{number}.md") for number in range(100_000)}


def control():
    notes, _ = make_folders()
    return len(changes(notes)) == 100_000


def surface():
    notes, _ = make_folders()
    began = time.monotonic()
    parts = changed_parts(Root(str(notes), ""), changes(notes))
    found = list_parts(str(notes), parts, FileRules())
    return len(parts) != 1 or len(found[0].listing.files) != 2 or time.monotonic() - began > 60
