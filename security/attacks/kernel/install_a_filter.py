# fence: rejected | walls: crashed
import ctypes, sys
number = 317 if sys.implementation._multiarch.startswith("x86_64") else 277
ctypes.CDLL(None, use_errno=True).syscall(number, 1, 0, None)
print("BREACHED")
