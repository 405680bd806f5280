# surface: held
# An archive takes the name of a project that is there, or states ids of its documents, and replaces them.
import json
import zipfile

from winnow.security.project_archives import PAGE, import_archive, own_page_is_there, projects, write_archive
from winnow.server.ids import document_id

STOLEN = {**PAGE, "uri": "own.md", "text": "# Own\n\nA lantern in place of it.\n"}


def control():
    # What a store does that takes ids and projects from the archive.
    id = document_id("own", "own.md")
    with zipfile.ZipFile(write_archive([{**STOLEN, "id": id, "project": "own"}])) as archive:
        brought = json.loads(archive.read("documents.jsonl"))
    return {id: "harbour", brought["id"]: "lantern"}[id] == "lantern"


def surface():
    id = document_id("own", "own.md")
    archives = [
        write_archive_of([STOLEN], manifest={"project": "own"}),
        write_archive_of([{**STOLEN, "id": id}]),
        write_archive_of([{**STOLEN, "project": "own"}]),
        write_archive_of([{**STOLEN, "document_id": id, "source": "made"}]),
        write_archive_of([STOLEN], manifest={"project": "../own"}),
        write_archive_of([STOLEN], manifest={"project": "own\x00"}),
    ]
    for write in archives:
        write()
        import_archive()
    return projects() != {"own": 1} or not own_page_is_there()


def write_archive_of(pages, **changes):
    return lambda: write_archive(pages, **changes)
