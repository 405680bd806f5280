# fence: rejected | walls: crashed/error
import ctypes
X32_BIT = 0x40000000
ctypes.CDLL(None, use_errno=True).syscall(ctypes.c_long(X32_BIT | 39))
if ctypes.get_errno() == 1:
    raise OSError(1, "refused")
print("BREACHED")
