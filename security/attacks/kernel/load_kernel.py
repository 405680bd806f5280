# fence: rejected | walls: crashed
import ctypes, sys
number = 246 if sys.implementation._multiarch.startswith("x86_64") else 104
ctypes.CDLL(None, use_errno=True).syscall(number, 0, 1 << 20, None, 0)
print("BREACHED")
