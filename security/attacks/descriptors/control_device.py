# fence: rejected | walls: crashed
import fcntl
FIONREAD = 0x541B
fcntl.ioctl(3, FIONREAD, bytes(4))
print("BREACHED")
