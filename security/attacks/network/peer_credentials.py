# fence: rejected | walls: crashed
import ctypes, struct
libc = ctypes.CDLL(None, use_errno=True)
found, size = ctypes.create_string_buffer(12), ctypes.c_uint32(12)
SOL_SOCKET, SO_PEERCRED = 1, 17
libc.getsockopt(3, SOL_SOCKET, SO_PEERCRED, found, ctypes.byref(size))
print("BREACHED" if struct.unpack("3i", found.raw)[0] else "nobody")
