# fence: rejected | walls: timeout | limits: wall_seconds=0.1
import ctypes
libc = ctypes.PyDLL(None)
libc.usleep(300_000)
print("BREACHED")
