# fence: rejected | walls: memory | limits: memory_bytes=134217728
# A page that is only read is no memory of the process, but where it stands alone it takes two pages of tables.
import ctypes
import time

libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
read, private_anonymous_at_this_address = 1, 0x32
for number in range(31_000):
    place = libc.mmap((1024 + number) << 30, 4096, read, private_anonymous_at_this_address, -1, 0)
    ctypes.c_char.from_address(place).value
time.sleep(1)
print("BREACHED")
