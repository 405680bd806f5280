# surface: held
# Paths with "..", an absolute path, a path whose beginning is that of the root, and the root's parent.
from winnow.security.job_server import SERVER, call_all, can_read, has_secret, ingests_of, make_folders
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings


def server(allowed):
    return open_application(load_settings(**SERVER, ingest_roots=(allowed,)), wait_for_model=False, starts_engine=True)


def paths(allowed, private):
    (allowed / "part").mkdir()
    sibling = allowed.with_name("allowed-not")
    sibling.mkdir()
    (sibling / "note.md").write_text((private / "note.md").read_text())
    return ["../private", "part/../../private", str(private), str(private / "note.md"), f"{allowed}/../private",
            str(sibling), f"{allowed}-not", f"{allowed}/./part/.././../private/note.md"]


def control():
    allowed, private = make_folders()
    return all(can_read(allowed / path) for path in paths(allowed, private))


def surface():
    allowed, private = make_folders()
    asked = [*paths(allowed, private), "..", str(allowed.parent), "/", "~", "/proc/self/root"]
    answers = call_all(server(allowed), ingests_of(*asked))
    return has_secret() or any("refused" not in answer for answer in answers)
