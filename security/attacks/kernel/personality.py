# fence: rejected | walls: crashed
import ctypes
found = ctypes.CDLL(None).personality(ctypes.c_ulong(0xFFFFFFFF))
print("BREACHED" if found != -1 else "refused")
