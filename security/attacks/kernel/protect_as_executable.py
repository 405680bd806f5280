# fence: rejected | walls: crashed
import ctypes, mmap
page = mmap.mmap(-1, mmap.PAGESIZE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
address = ctypes.addressof(ctypes.c_char.from_buffer(page))
PROT_READ_EXEC = 5
result = ctypes.CDLL(None).mprotect(ctypes.c_void_p(address), mmap.PAGESIZE, PROT_READ_EXEC)
print("BREACHED" if result == 0 else "refused")
