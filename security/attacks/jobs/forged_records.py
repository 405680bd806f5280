# surface: held
# Files in the folder of jobs that winnow did not write: links, other users' files, paths outside, endless text.
import json
import os
from pathlib import Path

from winnow.security.job_server import SECRET, SERVER, call_all, can_read, has_secret, make_folders
from winnow.security.surface import winnow
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings


def record(number, path, root, **others):
    request = {"project": "p", "path": str(path), "root": str(root)}
    return {"id": f"job_{number:032x}", "request": request, "state": "queued", "created_at": 1.0, **others}


def control():
    # What a server does that takes any file for a job: it reads the path that stands there.
    _, private = make_folders()
    Path("job.json").write_text(json.dumps(record(1, private, private)))
    return can_read(json.loads(Path("job.json").read_text())["request"]["path"])


def surface():
    allowed, private = make_folders()
    jobs = Path("store", "jobs")
    jobs.mkdir(mode=0o700)
    forged = [
        record(1, private, allowed),
        record(2, allowed / ".." / "private", allowed),
        record(3, private, private),
        record(4, allowed, allowed, state="done", result={"chunks_written": -1}),
        record(5, allowed, allowed, id="job_" + "f" * 32),
    ]
    for number, fields in enumerate(forged, 1):
        path = jobs / f"job_{number:032x}.json"
        path.write_text(json.dumps(fields))
        path.chmod(0o666 if number == 3 else 0o600)  # the third is one that other users may write
    (jobs / f"job_{6:032x}.json").symlink_to(private / "note.md")
    os.mkfifo(jobs / f"job_{7:032x}.json")
    (jobs / f"job_{8:032x}.json").write_text("[" * 60_000)
    settings = load_settings(**SERVER, ingest_roots=(allowed,))
    calls = [("job_status", {"job_id": f"job_{number:032x}"}) for number in range(1, 9)]
    answers = call_all(open_application(settings, wait_for_model=False, starts_engine=True), calls)
    listed = winnow("job", "list", "--store", "store", "--json").stdout
    assert json.loads(listed)["damaged"], listed
    return has_secret() or SECRET in repr(answers) or SECRET.encode() in listed
