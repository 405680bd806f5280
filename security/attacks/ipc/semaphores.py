# fence: rejected | walls: crashed
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
found = libc.semget(0, 1, 0o1600)
libc.semctl(found, 0, 0)
print("BREACHED" if found >= 0 else "refused")
