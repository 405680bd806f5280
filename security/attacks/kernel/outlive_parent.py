# fence: rejected | walls: crashed
import ctypes
PR_SET_PDEATHSIG = 1
result = ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, 0, 0, 0, 0)
print("BREACHED" if result == 0 else "refused")
