# fence: rejected | walls: crashed
import ctypes, sys
number = 250 if sys.implementation._multiarch.startswith("x86_64") else 219
ctypes.CDLL(None, use_errno=True).syscall(number, 0, -3, 0)
print("BREACHED")
