# fence: rejected | walls: crashed
import ctypes
ctypes.CDLL(None, use_errno=True).syscall(440, -1, None, 0, 0, 0)
print("BREACHED")
