# fence: rejected | walls: error
import ctypes, os, struct
libc = ctypes.CDLL(None, use_errno=True)
how = struct.pack("3Q", os.O_RDONLY, 0, 0)
if libc.syscall(437, -100, b"/", how, len(how)) < 0:
    raise OSError(ctypes.get_errno(), "openat2")
print("BREACHED")
