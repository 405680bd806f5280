# surface: held
# A program with a network asks the kernel for all sockets of the host, and for other things that it tells by netlink.
import socket

from winnow.security.tool_packs import call_pack, write_pack

ASK = """
import socket
opened = []
for protocol in range(32):
    for kind in (socket.SOCK_RAW, socket.SOCK_DGRAM):
        try:
            with socket.socket(socket.AF_NETLINK, kind, protocol):
                opened.append(protocol)
        except OSError:
            pass
with socket.socket(socket.AF_INET, socket.SOCK_STREAM), socket.socket(socket.AF_INET6, socket.SOCK_DGRAM):
    print(json.dumps(sorted(set(opened))))
"""
SOCK_DIAG = 4


def control():
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, SOCK_DIAG):
        return True


def surface():
    write_pack(ASK, caps={"network": ["any"]})
    return call_pack() != ([0], "")
