# fence: rejected | walls: crashed
import ctypes, sys
number = 175 if sys.implementation._multiarch.startswith("x86_64") else 105
ctypes.CDLL(None, use_errno=True).syscall(number, None, 0, b"")
print("BREACHED")
