# fence: rejected | walls: crashed
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.mq_open(b"/winnow-attack", 0)
print("BREACHED")
