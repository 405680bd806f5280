# surface: held
# Sources that are addresses or name a library: a reader of addresses would open the private file.
from urllib.request import urlopen

from winnow.security.job_server import SERVER, call_all, can_read, has_secret, ingests_of, make_folders
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings


def server(allowed):
    return open_application(load_settings(**SERVER, ingest_roots=(allowed,)), wait_for_model=False, starts_engine=True)


def control():
    _, private = make_folders()
    return b"a-private-word" in urlopen(f"file://{private}/note.md").read()


def surface():
    allowed, private = make_folders()
    asked = [f"file://{private}/note.md", f"file:{private}/note.md", f"FILE://localhost{private}", "https://example.org/",
             "data:text/plain,words", "zotero", "zotero:collection/1", "zotero://select/items/1", "source=zotero",
             "smb://server/share", f"jar:file:{private}!/note.md"]
    answers = call_all(server(allowed), ingests_of(*asked))
    return has_secret() or any("refused" not in answer for answer in answers)
