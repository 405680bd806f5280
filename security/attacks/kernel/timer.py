# fence: rejected | walls: crashed
import ctypes, sys
number = 222 if sys.implementation._multiarch.startswith("x86_64") else 107
timer = ctypes.c_int()
ctypes.CDLL(None, use_errno=True).syscall(number, 0, None, ctypes.byref(timer))
print("BREACHED")
