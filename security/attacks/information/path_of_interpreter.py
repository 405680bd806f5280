# fence: rejected | walls: -
import ctypes
AT_EXECFN = 31
libc = ctypes.CDLL(None)
libc.getauxval.restype = ctypes.c_ulong
print("BREACHED" if b"python" in ctypes.string_at(libc.getauxval(AT_EXECFN)) else "")
