# fence: rejected | walls: crashed
import ctypes, sys
number = 238 if sys.implementation._multiarch.startswith("x86_64") else 237
ctypes.CDLL(None, use_errno=True).syscall(number, 0, None, 0)
print("BREACHED")
