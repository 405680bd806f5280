# fence: rejected | walls: crashed
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.shmat(-1, None, 0)
print("BREACHED")
