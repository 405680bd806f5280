# fence: rejected | walls: crashed
import ctypes
ctypes.CDLL(None, use_errno=True).syscall(430, b"no such file system", 0)
print("BREACHED")
