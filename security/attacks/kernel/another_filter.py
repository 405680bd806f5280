# fence: rejected | walls: crashed
import ctypes
PR_GET_SECCOMP = 21
found = ctypes.CDLL(None).prctl(PR_GET_SECCOMP, 0, 0, 0, 0)
print("BREACHED" if found >= 0 else "refused")
