# surface: held
# An agent asks for very many ingests at once: the queue has a bound, and a refusal says when to ask again.
import asyncio
from pathlib import Path

from winnow.security.job_server import SERVER, make_folders
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings

FOLDERS = 200


def make_parts(allowed):
    for number in range(FOLDERS):
        (allowed / str(number)).mkdir()
        (allowed / str(number) / "note.md").write_text(f"# Note {number}\n\nHarmless words.\n")


def control():
    # A queue without a bound takes all of them.
    queue = asyncio.Queue()
    for number in range(FOLDERS):
        queue.put_nowait(number)
    return queue.qsize() == FOLDERS


def surface():
    allowed, _ = make_folders()
    make_parts(allowed)
    settings = load_settings(**SERVER, ingest_roots=(allowed,))
    most, refusals = asyncio.run(flood(open_application(settings, wait_for_model=False, starts_engine=True)))
    assert refusals, "no request was refused"
    return most > 20 or any((reason, wait) != ("QUEUE_FULL", 30.0) for reason, wait in refusals)


async def flood(server):
    refusals, most = [], 0
    async with server as application:
        kb = application.kb

        async def ask(number):
            arguments = {"project": "p", "source": str(number)}
            try:
                await kb.call("ingest_from_source", arguments, kb.caller(f"agent {number}"))
            except Exception as error:
                refusals.append((error.reason, error.retry_after_s))

        for start in range(0, FOLDERS, 50):
            await asyncio.gather(*map(ask, range(start, start + 50)))
            states = [path.read_text() for path in Path("store", "jobs").glob("job_*.json")]
            most = max(most, sum('"queued"' in state or '"running"' in state for state in states))
    return most, refusals
