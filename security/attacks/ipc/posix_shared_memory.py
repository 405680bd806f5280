# fence: rejected | walls: error
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
if libc.shm_open(b"/winnow-attack", os.O_RDWR | os.O_CREAT, 0o600) < 0:
    raise OSError(ctypes.get_errno(), "shm_open")
libc.shm_unlink(b"/winnow-attack")
print("BREACHED")
