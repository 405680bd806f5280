# fence: rejected | walls: error
import ctypes, errno
libc = ctypes.CDLL(None, use_errno=True)
libc.mmap.restype = ctypes.c_void_p
libc.mmap(None, ctypes.c_size_t(4096), 1, 2, 3, ctypes.c_long(0))
if ctypes.get_errno() != errno.ENODEV:  # what a socket answers
    raise OSError(ctypes.get_errno(), "mmap")
print("BREACHED")
