# fence: rejected | walls: crashed
import ctypes
ctypes.CDLL(None, use_errno=True).mlockall(2)
print("BREACHED")
