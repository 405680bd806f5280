# fence: rejected | walls: timeout | limits: wall_seconds=1
import ctypes
libc = ctypes.PyDLL(None)
libc.usleep(2_000_000)
print("BREACHED")
