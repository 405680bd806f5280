# fence: rejected | walls: crashed
import fcntl
TIOCSTI = 0x5412
try:
    fcntl.ioctl(0, TIOCSTI, b"x")
except OSError:
    pass
print("BREACHED")
