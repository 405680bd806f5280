# fence: rejected | walls: error
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
if libc.sysinfo(ctypes.create_string_buffer(256)) < 0:
    raise OSError(ctypes.get_errno(), "sysinfo")
print("BREACHED")
