# fence: rejected | walls: crashed
import socket
channel = socket.socket(fileno=3)
socket.send_fds(channel, [b"x"], [0])
print("BREACHED")
