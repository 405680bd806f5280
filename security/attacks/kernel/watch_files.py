# fence: rejected | walls: crashed
import ctypes
ctypes.CDLL(None, use_errno=True).inotify_init1(0)
print("BREACHED")
