# fence: rejected | walls: crashed
import ctypes
ctypes.CDLL(None, use_errno=True).syscall(444, None, 0, 1)
print("BREACHED")
