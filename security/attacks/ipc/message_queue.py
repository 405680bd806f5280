# fence: rejected | walls: crashed
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
found = libc.msgget(0, 0o1600)
libc.msgctl(found, 0, None)
print("BREACHED" if found >= 0 else "refused")
