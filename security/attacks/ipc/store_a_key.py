# fence: rejected | walls: crashed
import ctypes, sys
number = 248 if sys.implementation._multiarch.startswith("x86_64") else 217
ctypes.CDLL(None, use_errno=True).syscall(number, b"no such kind", b"x", b"x", 1, -1)
print("BREACHED")
