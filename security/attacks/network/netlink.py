# fence: rejected | walls: crashed
import socket
socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).bind((0, 0))
print("BREACHED")
