# fence: rejected | walls: crashed
import ctypes
ctypes.CDLL(None, use_errno=True).mount(None, b"missing", b"tmpfs", 0, None)
print("BREACHED")
