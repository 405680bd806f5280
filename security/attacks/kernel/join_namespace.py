# fence: rejected | walls: crashed
import ctypes
ctypes.CDLL(None, use_errno=True).setns(-1, 0)
print("BREACHED")
