# fence: rejected | walls: crashed
import socket
server = socket.socket(socket.AF_UNIX)
server.bind("\0winnow-attack")
server.listen()
print("BREACHED")
