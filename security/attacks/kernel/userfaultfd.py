# fence: rejected | walls: crashed
import ctypes, sys
number = 323 if sys.implementation._multiarch.startswith("x86_64") else 282
ctypes.CDLL(None, use_errno=True).syscall(number, 1)
print("BREACHED")
