# surface: held
# A script reads what a script of another session saved, by its name, by guesses, and by forged arguments.
from winnow.security.script_server import STORE, make_pages, run_scripts
from winnow.server.commands.entry.app import open_application
from winnow.server.settings.loading import load_settings

SHARED = {}  # what a server does that has one place for the values of all scripts

ATTEMPTS = """
import itertools
taken = [load("secret"), dict(saved())]
names = ["one", "one/secret", "one:secret", "one.secret", "proven:one", "unproven:one", "../one/secret"]
names += ["".join(letters) for letters in itertools.product("abc", repeat=2)]
for name in names:
    taken.append(load(name))
client = MCPClient()
for name, arguments in (("load", {"name": "secret", "connection": "one"}), ("load", {"name": "secret", "session": "one"}),
                        ("read_result", {"execution_id": "secret"}), ("saved", {"client": "one"})):
    try:
        taken.append(client.call_tool(name, arguments))
    except Exception as error:
        taken.append(type(error).__name__)
return taken
"""


def control():
    SHARED["secret"] = "The canary is in the attic."
    return "attic" in SHARED.get("secret", "")


def surface():
    make_pages(1)
    mine = "save('secret', 'The canary is in the attic.')\nreturn load('secret')"
    clients = ("two", "unproven:one", "proven:one")
    server = open_application(load_settings(**STORE), wait_for_model=False)
    saved, *others = run_scripts(server, [("one", mine), *((client, ATTEMPTS) for client in clients)])
    assert saved.result == "The canary is in the attic.", saved.error
    assert all(other.status == "ok" for other in others), [other.error for other in others]
    return any("attic" in repr(other.result) for other in others)
