# fence: rejected | walls: crashed
import ctypes, sys
number = 155 if sys.implementation._multiarch.startswith("x86_64") else 41
ctypes.CDLL(None, use_errno=True).syscall(number, b"missing", b"missing")
print("BREACHED")
