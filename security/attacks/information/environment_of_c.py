# fence: rejected | walls: ok
import ctypes
libc = ctypes.CDLL(None)
libc.getenv.restype = ctypes.c_char_p
print("BREACHED" if libc.getenv(b"PATH") else "empty")
