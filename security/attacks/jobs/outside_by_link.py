# surface: held
# Links inside the allowed folder lead to a private one: a link to the folder, to its file, and a chain of links.
from winnow.security.job_server import SERVER, call_all, can_read, has_secret, ingests_of, make_folders
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings


def server(allowed):
    return open_application(load_settings(**SERVER, ingest_roots=(allowed,)), wait_for_model=False, starts_engine=True)


def links(allowed, private):
    (allowed / "folder").symlink_to(private)
    (allowed / "file.md").symlink_to(private / "note.md")
    (allowed / "chain").symlink_to(allowed / "folder")
    return ["folder", "folder/note.md", "file.md", "chain", str(allowed / "chain" / "note.md"), str(allowed)]


def control():
    allowed, private = make_folders()
    return all(can_read(allowed / name) for name in links(allowed, private)[:-1])


def surface():
    allowed, private = make_folders()
    answers = call_all(server(allowed), ingests_of(*links(allowed, private)))
    assert answers[-1]["state"] == "done", answers
    return has_secret() or any(answer.get("refused") != "SCOPE_VIOLATION" for answer in answers[:-1])
