# fence: rejected | walls: crashed
import ctypes, sys
number = 298 if sys.implementation._multiarch.startswith("x86_64") else 241
ctypes.CDLL(None, use_errno=True).syscall(number, ctypes.create_string_buffer(128), 0, -1, -1, 0)
print("BREACHED")
