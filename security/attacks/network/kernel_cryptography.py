# fence: rejected | walls: crashed
import socket
try:
    socket.socket(38, socket.SOCK_SEQPACKET)
except OSError:
    pass  # not every kernel has AF_ALG
print("BREACHED")
