# surface: held
# The admitted folder is replaced by a link to a private one, again and again, while jobs wait and run.
import threading
import time

from winnow.security.job_server import SERVER, call_all, can_read, has_secret, ingests_of, make_folders
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings


def server(allowed):
    return open_application(load_settings(**SERVER, ingest_roots=(allowed,)), wait_for_model=False, starts_engine=True)


def swap_for(seconds, folder, private):
    was, until = folder.with_name("was"), time.monotonic() + seconds
    while time.monotonic() < until:
        folder.rename(was)
        folder.symlink_to(private)
        time.sleep(0.002)
        folder.unlink()
        was.rename(folder)
        time.sleep(0.002)


def asks_while(swapping):
    # A refusal takes less time than a swap: a fixed number of requests may all meet the same link.
    while swapping.is_alive():
        yield from ingests_of("part")
        time.sleep(0.001)


def make_part(allowed):
    part = allowed / "part"
    part.mkdir()
    for number in range(20):
        (part / f"{number}.md").write_text(f"# Note {number}\n\nHarmless words.\n")
    (part / "note.md").write_text("# A note\n\nHarmless words.\n")
    return part


def control():
    # Checked once, read later: what a server does that compares the path only when it takes the request.
    allowed, private = make_folders()
    part = make_part(allowed)
    assert part.resolve().is_relative_to(allowed)
    part.rename(allowed / "was")
    part.symlink_to(private)
    return can_read(part)


def surface():
    allowed, private = make_folders()
    part = make_part(allowed)
    swapping = threading.Thread(target=swap_for, args=(15.0, part, private))
    swapping.start()
    answers = call_all(server(allowed), asks_while(swapping))
    swapping.join()
    assert any("state" in answer for answer in answers), answers[:2]
    return has_secret()
