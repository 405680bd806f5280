# fence: rejected | walls: crashed
import ctypes
SIZE_OF_BUFFER = 10
ctypes.CDLL(None, use_errno=True).klogctl(SIZE_OF_BUFFER, None, 0)
print("BREACHED")
