# surface: held
# Front matter is small as it is written and endless as it is nested, so that its reading fills the server's memory.
import resource
import time
from pathlib import Path

import yaml

from winnow.security.script_server import run_scripts
from winnow.security.surface import winnow
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings

STORE = {"store": "store", "daemon": "off", "embedding": "off"}
MIB, SECONDS = 1024 * 1024, 30.0
ALIASES = "\n".join(
    ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]", *(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9))]
)
FRONTS = {
    "aliases": ALIASES,
    "itself": "a: &a\n  - *a",
    "deep": "a: " + "[" * 45 + "]" * 45,
    "deeper": "a: " + "[" * 5_000 + "]" * 5_000,
    "wide": "a: [" + "x, " * 20_000 + "x]",
    "long": f"a: {'x' * 60_000}",
    "digits": f"a: {'9' * 20_000}\n1{'0' * 5_000}: b",
    "tags": 'a: !!python/object/apply:os.system ["echo breached"]',
    "dates": "a: 2026-01-02\nb: !!set {x, y}\nc: !!binary aGVsbG8=\nd: .inf\ne: .nan",
    "signs": 'a: "\\e[31mred\\u202e\\0"\n"k\\u202e": b',
}
ASKED = """
said = {}
for name in NAMES:
    try:
        said[name] = len(str(fields(name)))
    except SDKError as error:
        said[name] = error.type
return said, str(fields("signs.md")), budget().text_bytes.left
"""


def control():  # what a loader of YAML gives, written out as JSON would be
    value = yaml.safe_load(ALIASES)["a8"]
    count = 1
    while isinstance(value, list):
        count, value = count * len(value), value[0]
    return count > 10**8


def surface():
    Path("documents").mkdir()
    for name, front in FRONTS.items():
        Path(f"documents/{name}.md").write_text(f"---\n{front}\n---\n\n# A page\n", "utf-8")
    ingested = winnow("ingest", "documents", "--store", "store")
    assert ingested.returncode == 0, ingested.stderr
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024, time.monotonic()
    server = open_application(load_settings(**STORE, wall_seconds=60), wait_for_model=False)
    (outcome,) = run_scripts(server, [("one", f"NAMES = {[f'{name}.md' for name in FRONTS]!r}\n{ASKED}")])
    assert outcome.status == "ok", outcome.error
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - before
    said, signs, left = outcome.result
    return (
        time.monotonic() - started > SECONDS
        or grown > 300 * MIB
        or said["aliases.md"] != "INVALID_REQUEST"
        or any(isinstance(length, int) and length > 70_000 for length in said.values())
        or any(sign in signs for sign in ("\x1b", "\u202e", "\0"))
        or left >= 16 * MIB - 60_000
    )
