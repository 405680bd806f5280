# fence: rejected | walls: crashed
import ctypes
ctypes.CDLL(None, use_errno=True).clock_settime(99, ctypes.create_string_buffer(16))
print("BREACHED")
