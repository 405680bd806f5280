# fence: rejected | walls: ok
import ctypes
AT_EXECFN = 31
libc = ctypes.CDLL(None)
libc.getauxval.restype = ctypes.c_ulong
# The variables a process was started with lie just below the name of its program.
print("BREACHED" if b"\0PATH=" in ctypes.string_at(libc.getauxval(AT_EXECFN) - 16_000, 16_000) else "empty")
