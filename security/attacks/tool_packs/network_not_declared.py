# surface: held
# A program without a declared network, or with another port, reaches a server, another process or the host's names.
import json
import socket
import subprocess
import sys

from winnow.security.tool_packs import call_pack, write_pack

CONNECT = """
import socket
done = []
for family, kind, address in (
    (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", {port})),
    (socket.AF_UNIX, socket.SOCK_STREAM, "\\0winnow-attack-{port}"),
    (socket.AF_UNIX, socket.SOCK_STREAM, {path!r}),
):
    try:
        with socket.socket(family, kind) as made:
            made.settimeout(5)
            made.connect(address)
            done.append(str(address))
    except OSError:
        pass
print(json.dumps(done))
"""


def _run(tried):
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as abstract:
        with socket.socket(socket.AF_UNIX) as named:
            port, path = server.getsockname()[1], f"/tmp/winnow-attack-{server.getsockname()[1]}"
            abstract.bind(f"\0winnow-attack-{port}")
            abstract.listen()
            named.bind(path)
            named.listen()
            try:
                return tried(CONNECT.format(port=port, path=path))
            finally:
                subprocess.run(["rm", "-f", path], check=True)


def control():
    def tried(script):
        done = subprocess.run([sys.executable, "-c", f"import json\n{script}"], capture_output=True)
        return len(json.loads(done.stdout)) == 3

    return _run(tried)


def surface():
    def tried(script):
        reached = []
        for network in ([], ["https"]):
            write_pack(script, caps={"network": network})
            reached.append(call_pack())
        return reached != [([], "")] * 2

    return _run(tried)
