# fence: rejected | walls: crashed
import ctypes
ctypes.CDLL(None, use_errno=True).syscall(438, -1, 0, 0)
print("BREACHED")
