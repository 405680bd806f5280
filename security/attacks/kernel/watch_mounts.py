# fence: rejected | walls: crashed
import ctypes
ctypes.CDLL(None, use_errno=True).fanotify_init(0, 0)
print("BREACHED")
