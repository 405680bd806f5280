# surface: held
# A value has a line break, so that a request gets a header or a second request of the attacker.
import socket
from urllib.parse import urlsplit

from winnow.security.tool_packs import call_pack, serve, write_pack

VALUES = ("a\r\nX-Forged: 1", "a\nX-Forged: 1", "a\rX-Forged: 1", "a\x00\r\n\r\nGET /forged HTTP/1.1", "a\u2028X-Forged: 1")


def control():
    with serve({}) as (origin, got):
        place = urlsplit(origin)
        with socket.create_connection((place.hostname, place.port)) as client:
            client.sendall(f"GET / HTTP/1.0\r\nX-Asked: {VALUES[0]}\r\n\r\n".encode())
            client.recv(1000)
        return "X-Forged: 1" in got[0]


def surface():
    with serve({"fine": 1}) as (origin, got):
        execution = {"kind": "http", "method": "GET", "url": f"{origin}/", "headers": {"X-Asked": "{{ input.q }}"}}
        write_pack(execution=execution, caps={"network": ["any"]})
        if call_pack("fine") != ({"fine": 1}, ""):
            raise RuntimeError("the pack does not answer")
        for value in VALUES:
            call_pack(value)
        return len(got) != 1
