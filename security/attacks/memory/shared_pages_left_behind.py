# fence: rejected | walls: error | limits: memory_bytes=67108864
# Pages that are shared belong to an object: while one page is mapped, the others stay in memory, and nothing counts them.
import ctypes

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
size, page, shared_and_anonymous = 32 << 20, 4096, 0x21
for _ in range(6):
    place = libc.mmap(None, size, 3, shared_and_anonymous, -1, 0)
    if place == ctypes.c_void_p(-1).value:
        raise OSError(ctypes.get_errno(), "refused")
    ctypes.memset(place, 1, size)
    libc.munmap(place + page, size - page)
print("BREACHED")
