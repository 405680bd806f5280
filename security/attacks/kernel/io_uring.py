# fence: rejected | walls: crashed
import ctypes
ctypes.CDLL(None, use_errno=True).syscall(425, 1, ctypes.create_string_buffer(120))
print("BREACHED")
