# fence: rejected | walls: crashed
import socket
try:
    socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
except PermissionError:
    pass  # the kernel's own answer to who is not root
print("BREACHED")
