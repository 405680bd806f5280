# fence: rejected | walls: crashed
import ctypes
ctypes.CDLL(None, use_errno=True).sethostname(bytes(65), 65)  # longer than any kernel takes
print("BREACHED")
