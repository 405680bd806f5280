# fence: rejected | walls: crashed
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.accept4(3, None, None, 0)
print("BREACHED")
