# fence: rejected | walls: crashed
import socket
socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
print("BREACHED")
