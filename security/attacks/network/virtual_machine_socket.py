# fence: rejected | walls: crashed
import socket
try:
    socket.socket(40, socket.SOCK_STREAM)
except OSError:
    pass  # not every kernel has AF_VSOCK
print("BREACHED")
