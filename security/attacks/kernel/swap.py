# fence: rejected | walls: crashed
import ctypes
ctypes.CDLL(None, use_errno=True).swapoff(b"missing")
print("BREACHED")
