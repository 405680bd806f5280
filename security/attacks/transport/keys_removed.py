# surface: held
# The file of keys is removed, emptied or damaged while the server runs: it must not become a server without keys.
from pathlib import Path

from winnow.security.loopback_servers import add_key, request_head, send_raw, serve_product

HOST = "host: localhost"
FILE = Path("store/keys.json")
CHANGES = (
    FILE.unlink,
    lambda: FILE.write_text('{"version": 1, "keys": []}', "utf-8"),
    lambda: FILE.write_text("{", "utf-8"),
    lambda: FILE.chmod(0o666),
    lambda: (FILE.unlink(), FILE.symlink_to("/dev/null")),
    lambda: (FILE.unlink(), FILE.mkdir()),
)


def control():
    FILE.parent.mkdir()
    FILE.write_text("a key", "utf-8")
    FILE.unlink()
    return not (FILE.exists() and FILE.read_text("utf-8"))  # the rule of a server that asks for keys if it has some


def is_open(port):
    return send_raw(port, request_head("/health", HOST))[0] == 200


def surface():
    add_key("laptop")
    with serve_product() as port:
        opened = [is_open(port)]
        for change in CHANGES:
            change()
            opened.append(is_open(port))
        return any(opened)
