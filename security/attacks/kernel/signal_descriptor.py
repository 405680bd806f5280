# fence: rejected | walls: crashed
import ctypes
ctypes.CDLL(None, use_errno=True).signalfd(-1, ctypes.create_string_buffer(128), 0)
print("BREACHED")
