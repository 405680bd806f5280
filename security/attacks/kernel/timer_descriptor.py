# fence: rejected | walls: error
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
if libc.timerfd_create(0, 0) < 0:
    raise OSError(ctypes.get_errno(), "timerfd_create")
print("BREACHED")
