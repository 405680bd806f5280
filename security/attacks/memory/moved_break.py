# fence: rejected | walls: error | limits: memory_bytes=67108864
import time
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.sbrk.restype = ctypes.c_void_p
held = libc.sbrk(ctypes.c_long(280 << 20))
if held == 2**64 - 1:
    raise OSError(ctypes.get_errno(), "sbrk")
ctypes.memset(held, 1, 280 << 20)
time.sleep(0.3)
print("BREACHED")
