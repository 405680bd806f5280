# fence: rejected | walls: error | limits: memory_bytes=67108864
import time
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
POPULATED = 0x8022
held = libc.mmap(None, ctypes.c_size_t(280 << 20), 3, POPULATED, -1, ctypes.c_long(0))
if held == 2**64 - 1:
    raise OSError(ctypes.get_errno(), "mmap")
time.sleep(0.3)
print("BREACHED")
