# fence: rejected | walls: error/crashed
import socket
print("BREACHED" if socket.getaddrinfo("localhost", 80) else "empty")
