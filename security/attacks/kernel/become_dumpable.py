# fence: rejected | walls: crashed
import ctypes
PR_SET_DUMPABLE = 4
result = ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)
print("BREACHED" if result == 0 else "refused")
