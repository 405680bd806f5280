# fence: rejected | walls: error
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
if libc.open(b"/etc/passwd", 0) < 0:
    raise OSError(ctypes.get_errno())
print("BREACHED")
