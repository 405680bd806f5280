# fence: rejected | walls: -
import ctypes
ctypes.CDLL(None).getpid()
print("BREACHED")
