# fence: rejected | walls: crashed
import socket
here, there = socket.socketpair()
here.send(b"x")
print("BREACHED" if there.recv(1) else "empty")
