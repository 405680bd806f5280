# fence: rejected | walls: crashed
import ctypes, sys
number = 321 if sys.implementation._multiarch.startswith("x86_64") else 280
ctypes.CDLL(None, use_errno=True).syscall(number, 0, ctypes.create_string_buffer(128), 128)
print("BREACHED")
