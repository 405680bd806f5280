# fence: rejected | walls: error/crashed
import socket
print("BREACHED" if socket.if_nameindex() else "none")
