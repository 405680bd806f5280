# fence: rejected | walls: crashed
import socket
server = socket.socket(socket.AF_INET6)
server.bind(("::", 0))
server.listen()
print("BREACHED")
