# fence: rejected | walls: crashed
import ctypes, sys
number = 206 if sys.implementation._multiarch.startswith("x86_64") else 0
context = ctypes.c_ulong()
ctypes.CDLL(None, use_errno=True).syscall(number, 1, ctypes.byref(context))
print("BREACHED")
