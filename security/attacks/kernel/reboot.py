# fence: rejected | walls: crashed
import ctypes, sys
number = 169 if sys.implementation._multiarch.startswith("x86_64") else 142
ctypes.CDLL(None, use_errno=True).syscall(number, 1, 2, 3, 4)  # magic numbers that no kernel takes
print("BREACHED")
