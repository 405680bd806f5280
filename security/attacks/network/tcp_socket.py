# fence: rejected | walls: crashed
import socket
socket.socket().close()
print("BREACHED")
