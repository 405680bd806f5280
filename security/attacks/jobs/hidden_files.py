# surface: held
# Hidden files of an allowed home folder, by name: keys and tokens are there.
from winnow.security.job_server import SERVER, call_all, can_read, has_secret, ingests_of, make_folders
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings


def server(allowed):
    return open_application(load_settings(**SERVER, ingest_roots=(allowed,)), wait_for_model=False, starts_engine=True)


def control():
    allowed, private = make_folders()
    private.rename(allowed / ".ssh")
    return can_read(allowed / ".ssh" / "note.md")


def surface():
    allowed, private = make_folders()
    private.rename(allowed / ".ssh")
    asked = [".ssh", ".ssh/note.md", str(allowed / ".ssh" / "note.md"), "./.ssh", str(allowed)]
    answers = call_all(server(allowed), ingests_of(*asked))
    assert answers[-1]["state"] == "done", answers
    return has_secret() or any("refused" not in answer for answer in answers[:-1])
