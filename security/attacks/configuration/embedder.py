# surface: held
# A file in the working folder has the text of documents sent to a server of its choice.
import socket
import threading
import urllib.request
from contextlib import suppress
from pathlib import Path

from security.surface import winnow


def heard(act):
    """Whether something connects to a port of ours while `act` runs, and what it says first."""
    said = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        def listen():
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    connection.settimeout(2)
                    with connection, suppress(OSError):
                        said.append(connection.recv(65536))

        threading.Thread(target=listen, daemon=True).start()
        act(server.getsockname()[1])
    return said


def control():
    def act(port):
        with suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=2)

    return heard(act) != []


def surface():
    def act(port):
        Path("notes").mkdir(exist_ok=True)
        Path("notes/one.md").write_text("# One\n\nA private sentence about backups.\n")
        Path("winnow.toml").write_text(f'embedder = "openai:http://127.0.0.1:{port}/v1#model"\n')
        for command in (("ingest", "notes"), ("search", "backups"), ("doctor",)):
            winnow(*command, environment={"WINNOW_DAEMON": "off"})

    return heard(act) != []
