# fence: rejected | walls: crashed
import ctypes
libc = ctypes.CDLL(None)
segment = libc.shmget(0, 4096, 0o1600)
libc.shmctl(segment, 0, None)
print("BREACHED" if segment >= 0 else "refused")
