# fence: rejected | walls: crashed
import ctypes
result = ctypes.CDLL(None).ptrace(0, 0, 0, 0)
print("BREACHED" if result == 0 else "refused")
