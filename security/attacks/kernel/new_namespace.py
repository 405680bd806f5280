# fence: rejected | walls: crashed | host: may refuse
import ctypes
result = ctypes.CDLL(None).unshare(0x10000000)
print("BREACHED" if result == 0 else "refused")
