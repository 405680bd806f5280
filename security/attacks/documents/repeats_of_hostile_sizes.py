# surface: held
# Text repeats so often, or is so long, that a list of its places takes the server's time or memory; bounds are left.
import random
import resource
import time
from collections import defaultdict
from pathlib import Path

from winnow.security.script_server import run_scripts
from winnow.security.surface import winnow
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings

STORE = {"store": "store", "daemon": "off", "embedding": "off"}
COPIES, LONG, MIB = 60, 4, 1024 * 1024
SECONDS, MEMORY = 60.0, 500 * MIB
SCRIPT = """
said = []
for options in ({"min_chars": 20, "limit": 1000}, {"min_chars": 100_000}, {"min_chars": 20, "path": "long*"},
                {"min_chars": 19}, {"min_chars": 100_001}, {"limit": 0}, {"limit": 1001}, {"min_chars": 10 ** 40},
                {"min_chars": "x" * 100_000}):
    try:
        page = repeats(**options)
        rows = page.results
        said.append([page.total.texts, max([len(row.text) for row in rows] or [0]),
                     max([len(row.places) for row in rows] or [0])])
    except Exception as error:
        said.append(len(str(error)))
return said
"""


def shuffled():
    """Short paragraphs that each stand sixty times, never beside the same ones."""
    draw = random.Random(3)
    paragraphs = [f"Paragraph number {number} of the log says nothing new." for number in range(1_000)] * COPIES
    draw.shuffle(paragraphs)
    return "\n\n".join(paragraphs)


def control():  # a program that keeps every place of every piece of twenty characters
    places, text = defaultdict(list), shuffled()[: MIB // 2]
    for start in range(len(text) - 20):
        places[text[start : start + 20]].append(start)
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 > 64 * MIB and max(map(len, places.values())) > 1_000


def surface():
    Path("documents").mkdir()
    Path("documents/shuffled.txt").write_text(shuffled())
    for number in range(LONG):
        Path(f"documents/long{number}.txt").write_text("the same words without an end " * 10_000)
    ingested = winnow("ingest", "documents", "--store", "store")
    assert ingested.returncode == 0, ingested.stderr
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, time.monotonic()
    server = open_application(load_settings(**STORE), wait_for_model=False)
    (outcome,) = run_scripts(server, [("one", SCRIPT)])
    assert outcome.status == "ok", outcome.error
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    if time.monotonic() - started > SECONDS or grown > MEMORY:
        return True
    every, longest, long, *refused = outcome.result
    return (
        every != [1_001, 2_000, 50]
        or [longest, long] != [[1, 2_000, LONG]] * 2
        or not all(isinstance(one, int) and one < 500 for one in refused)
    )
