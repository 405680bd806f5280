# surface: held
# Pipes, devices and files of the kernel: by name, by link and inside an allowed folder; none may hold the job up.
import os
import threading

from winnow.security.job_server import SERVER, call_all, can_read, has_secret, ingests_of, make_folders
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings


def server(allowed):
    return open_application(load_settings(**SERVER, ingest_roots=(allowed,)), wait_for_model=False, starts_engine=True)


def control():
    # A pipe without a writer holds up a process that opens it.
    make_folders()
    os.mkfifo("pipe.md")
    reader = threading.Thread(target=lambda: open("pipe.md").read(), daemon=True)
    reader.start()
    reader.join(2.0)
    return reader.is_alive()


def surface():
    allowed, _ = make_folders()
    os.mkfifo(allowed / "pipe.md")
    (allowed / "zero.md").symlink_to("/dev/zero")
    (allowed / "environ.txt").symlink_to("/proc/self/environ")
    named = ["pipe.md", "zero.md", "environ.txt", "/dev/zero", "/dev/stdin", "/proc/self/environ", "/proc/self/fd/0"]
    answers = call_all(server(allowed), ingests_of(*named, str(allowed)))
    assert (answers[-1]["state"], answers[-1]["documents_processed"]) == ("done", 1), answers
    return any("refused" not in answer for answer in answers[:-1])
