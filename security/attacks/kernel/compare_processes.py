# fence: rejected | walls: crashed
import ctypes, os, sys
number = 312 if sys.implementation._multiarch.startswith("x86_64") else 272
ctypes.CDLL(None, use_errno=True).syscall(number, os.getpid(), os.getpid(), 0, 0, 0)
print("BREACHED")
