# surface: held
# A script calls the operations that write, by every name it can form.
from pathlib import Path

from winnow.security.job_server import SERVER, make_folders
from winnow.security.script_server import run_scripts
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings

ATTEMPTS = """
taken = []
client = MCPClient()
for name in ("ingest_from_source", "ingest.from.source", "job_cancel", "job.cancel", "job_status", "kb.ingest_from_source"):
    for arguments in ({"project": "p", "source": "note.md"}, {"job_id": "job_" + "0" * 32}):
        try:
            taken.append(client.call_tool(name, arguments))
        except Exception as error:
            taken.append(type(error).__name__)
return taken
"""


def control():
    # The same operation, called as a tool.
    from winnow.security.job_server import call_all, ingests_of

    allowed, _ = make_folders()
    settings = load_settings(**SERVER, ingest_roots=(allowed,))
    call_all(open_application(settings, wait_for_model=False, starts_engine=True), ingests_of("note.md"))
    return any(Path("store", "jobs").glob("*.json"))


def surface():
    allowed, _ = make_folders()
    settings = load_settings(**SERVER, ingest_roots=(allowed,), tools="research")
    application = open_application(settings, wait_for_model=False, starts_engine=True)
    (outcome,) = run_scripts(application, [("one", ATTEMPTS)])
    assert outcome.status in ("ok", "error", "rejected"), outcome
    return any(Path("store").glob("jobs/*"))
