# surface: held
# Names that are paths, lines or directions, and values that are no data, are saved all the same or end the server.
from winnow.security.script_server import STORE, make_pages, run_scripts
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings

STORED = {}  # what a server does that takes every name

SCRIPT = """
class Liar(dict):
    def items(self):
        while True:
            yield "a", 1
class Text(str):
    def encode(self, *arguments):
        return b"x" * 10_000_000
endless = []
endless.append(endless)
deep = []
for _ in range(5_000):
    deep = [deep]
values = [endless, deep, float("nan"), float("inf"), {1, 2}, object(), print, save, 10 ** 5_000, "x" * 2_000_000]
names = ["", "a" * 101, "a\\nb", "a\\u202eb", "../a\\0", "{a}", "<a>", "a\\u200b", None, 7, ["a"], {"a": 1}]
kept = []
for name, value in [*((name, 1) for name in names), *(("value", value) for value in values)]:
    try:
        save(name, value)
        kept.append(repr(name)[:20])
    except Exception:
        pass
return kept, dict(saved())
"""


def control():
    STORED["a\u202eb\n"] = float("nan")
    return bool(STORED)


def surface():
    make_pages(1)
    server = open_application(load_settings(**STORE), wait_for_model=False)
    hostile, after = run_scripts(server, [("one", SCRIPT), ("one", "save('fine', 1)\nreturn load('fine')")])
    assert after.result == 1, after.error
    assert hostile.status == "ok", hostile.error
    return hostile.result != [[], {}]
