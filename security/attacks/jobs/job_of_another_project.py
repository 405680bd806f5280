# surface: held
# The id of a job of another project is known: its state, its files and its end must stay out of reach.
from pathlib import Path

from winnow.security.job_server import SERVER, call_all, make_folders
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings


def server(allowed, project):
    settings = load_settings(**{**SERVER, "project": project}, ingest_roots=(allowed,))
    return open_application(settings, wait_for_model=False, starts_engine=True)


def start_theirs(allowed):
    (theirs,) = call_all(server(allowed, "q"), [("ingest_from_source", {"project": "q", "source": "note.md"})])
    assert theirs["state"] == "done", theirs
    return theirs["job_id"]


def control():
    # What a server does that finds a job by its id alone: the file names the source.
    allowed, _ = make_folders()
    return "note.md" in Path("store", "jobs", f"{start_theirs(allowed)}.json").read_text()


def surface():
    allowed, _ = make_folders()
    known = start_theirs(allowed)
    names = [known, known.upper(), f"../jobs/{known}", f"{known}.json", "job_" + "0" * 32, "%2e%2e", "job_*", known[:12]]
    calls = [(tool, {"job_id": name}) for tool in ("job_status", "job_cancel") for name in names]
    calls.append(("ingest_from_source", {"project": "q", "source": "note.md"}))
    answers = call_all(server(allowed, "p"), calls)

    assert all(answer.get("refused") in ("NOT_FOUND", "SCOPE_VIOLATION") for answer in answers), answers
    return any("note.md" in repr(answer) for answer in answers) or any(Path("store", "jobs").glob("*.cancel"))
