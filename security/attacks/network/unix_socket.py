# fence: rejected | walls: crashed
import socket
socket.socket(socket.AF_UNIX).close()
print("BREACHED")
